/** What an activity may return beside a plain value and a Wait. */

/** Branches that a step takes, and its output. Made by {@link choose}. */
export class Chosen<T = undefined> {
  /** Names of the branches that are taken; steps on the others are SKIPPED. */
  readonly branches: readonly string[];
  /** What dependants get. */
  readonly output: T;

  /** @internal */
  constructor(branches: readonly string[], output: T) {
    this.branches = branches;
    this.output = output;
  }
}

/** Inputs of the next children of a paging step. Made by {@link page}. */
export class Page {
  /** At most 1,000, in order. */
  readonly children: readonly unknown[];
  /** Where the next page begins; undefined: this was the last. */
  readonly cursor: unknown;

  /** @internal */
  constructor(children: readonly unknown[], cursor: unknown) {
    this.children = children;
    this.cursor = cursor;
  }
}

/**
 * Return it from a step with branches.
 *
 * @param branches - One name or several.
 * @param output - What dependants get. Absent: no value.
 */
export function choose<T = undefined>(branches: string | readonly string[], output?: T): Chosen<T> {
  return new Chosen(typeof branches === "string" ? [branches] : branches, output as T);
}

/**
 * Return it from the activity of a paging step.
 *
 * @param children - Inputs of the next children, at most 1,000, in order.
 * @param cursor - The next page's activity finds it in `ctx.cursor`. Absent: this was the last page.
 */
export function page(children: readonly unknown[], cursor?: unknown): Page {
  return new Page(children, cursor);
}

/** A child of a map step that failed. */
export interface MapError {
  /** Which item, from 0. */
  readonly index: number;
  /** The child's type. */
  readonly workflowType: string;
  /** The child's key. */
  readonly businessKey: string;
  /** The failure's type. */
  readonly type: string;
  /** The failure's words. */
  readonly text: string;
}

/** The output of a map step; `run.children(step)` gives the children themselves. */
export interface MapResult {
  /** How many children there were. */
  readonly total: number;
  /** Ended well. */
  readonly completed: number;
  /** Ended with a failure. */
  readonly failed: number;
  /** Cancelled or terminated. */
  readonly cancelled: number;
  /** Started and not ended when the step was done. */
  readonly open: number;
  /** The first 20 that failed, by index. */
  readonly errors: readonly MapError[];
  /** All that the server told: perdure.v1.MapResult in canonical protobuf JSON. */
  readonly json: unknown;
}

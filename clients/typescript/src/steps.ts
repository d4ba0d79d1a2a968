import type { Context } from "./context.js";
import type { Failure } from "./failure.js";
import type { Chosen, Page } from "./outcomes.js";
import type { Wait } from "./waits.js";

declare const OUTPUT: unique symbol;

/** Something that a step may need: another step's output, or the workflow's input. */
export interface Need<Name extends string = string, T = unknown> {
  /** The step's name, or `input`. */
  readonly name: Name;
  /** Whether the activity takes the failure of a dependency that failed under `onExhausted: "continue"`. */
  readonly takesFailure?: boolean | undefined;
  /** Never there; carries the type of the value. */
  readonly [OUTPUT]?: () => T;
}

/** A way to go on after a step, for `after` of the steps that are on it. */
export interface Branch {
  /** The step that chooses. */
  readonly step: string;
  /** What it answers with, by {@link choose} or by a condition's `choose`. */
  readonly branch: string;
}

/** What `after` takes: a step, its name, or one of its branches. */
export type Earlier = Need | string | Branch;

/** The type of a value that this program does not make itself; made by `type`. */
export interface TypeOf<T> {
  /** Never there; carries the type. */
  readonly [OUTPUT]?: () => T;
}

/**
 * Names a type where there is no value to infer it from: `payload: type<number>()`. Nothing is checked when the program runs.
 */
export function type<T>(): TypeOf<T> {
  return {};
}

/** The activity of a step: an ordinary function that is run again from its top after each wait. */
export type Activity<Checkpoint, Inputs, Result> = (ctx: Context<Checkpoint>, inputs: Inputs) => Result | Promise<Result>;

/** What an activity gets: the values of what its step needs, by name. */
export type InputsOf<Needs extends readonly Need[]> = {
  readonly [N in Needs[number] as N["name"]]: N extends Need<string, infer T> ? T : never;
};

/** What dependants of a step get, by what its activity returns. */
export type OutputOf<Result> = Result extends Wait | Page ? never : Result extends Chosen<infer T> ? T : Result;

/** A step of a definition; name it in `needs` and `after` of later steps. */
export class Step<Name extends string = string, Output = unknown> implements Need<Name, Output> {
  /** Its name in the definition. */
  readonly name: Name;
  /** Never there; carries the type of its output. */
  declare readonly [OUTPUT]?: () => Output;

  /** @internal */
  constructor(name: Name) {
    this.name = name;
  }

  /**
   * A way to go on that this step may choose, for `after` of the steps that are on it.
   *
   * @param branch - What the step answers with.
   */
  branch(branch: string): Branch {
    return { step: this.name, branch };
  }

  /** In `needs`: its output, or the failure that it ended with under `onExhausted: "continue"`. */
  orFailure(): Need<Name, Output | Failure> {
    return { name: this.name, takesFailure: true };
  }
}

/** A step that has an activity in this program. */
export class ActivityStep<Name extends string = string, Output = unknown, Checkpoint = unknown, Inputs = unknown> extends Step<Name, Output> {
  /** The activity, for tests: call it with a fake context. */
  readonly activity: Activity<Checkpoint, Inputs, unknown>;

  /** @internal */
  constructor(name: Name, activity: Activity<Checkpoint, Inputs, unknown>) {
    super(name);
    this.activity = activity;
  }
}

/**
 * Names of steps, given as steps, names or branches.
 * @internal
 */
export function stepNames(steps: Earlier | readonly Earlier[] | undefined): readonly string[] {
  const given = steps === undefined ? [] : isList(steps) ? steps : [steps];
  return [...new Set(given.map((step) => (typeof step === "string" ? step : "step" in step ? step.step : step.name)))];
}

/**
 * The branches among them.
 * @internal
 */
export function branchesOf(steps: Earlier | readonly Earlier[] | undefined): readonly Branch[] {
  const given = steps === undefined ? [] : isList(steps) ? steps : [steps];
  return given.filter((step): step is Branch => typeof step === "object" && "branch" in step && "step" in step);
}

function isList(steps: Earlier | readonly Earlier[]): steps is readonly Earlier[] {
  return Array.isArray(steps);
}

const STEP_NAME = /^[a-z][a-z0-9_]{0,62}$/;

/** The word by which steps need the workflow's own input. */
export const INPUT = "input";

/**
 * What is wrong with a step's name; empty: nothing.
 * @internal
 */
export function nameFault(name: string): string {
  if (STEP_NAME.test(name) && name !== INPUT) return "";
  return `a step's name must match ${STEP_NAME.source} and not be \`${INPUT}\`, so that every language can name it`;
}

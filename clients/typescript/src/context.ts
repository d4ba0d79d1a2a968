import { create } from "@bufbuild/protobuf";

import { PayloadRejected } from "./errors.js";
import type { Failure } from "./failure.js";
import { type Claim, ClaimSchema, type HookContext } from "./gen/perdure/v1/claim_pb.js";
import { type Payload, PayloadSchema } from "./gen/perdure/v1/payload_pb.js";
import { Frame_Kind } from "./gen/perdure/v1/watch_pb.js";
import { HookKind } from "./gen/perdure/v1/workflow_pb.js";
import { toJson } from "./json.js";
import { decode, encode, noValue } from "./payloads.js";
import { failureOf, stepState, type StepState } from "./view.js";
import { NO_VALUE, type Woken, wokenOf } from "./waits.js";

/**
 * Why an activity should stop. WORKFLOW_CANCELLED, WORKFLOW_FAILING and TERMINATED are about the work: end what you began elsewhere,
 * too. TIMED_OUT is about this attempt; CLAIM_LOST and DRAINING are about this worker: after them a next attempt may go on with it.
 */
export type CancelReason = "WORKFLOW_CANCELLED" | "WORKFLOW_FAILING" | "TERMINATED" | "TIMED_OUT" | "CLAIM_LOST" | "DRAINING" | (string & {});

/** What `ctx.signal` is aborted with. Throw it on, or any AbortError: the attempt then ends as cancelled, not as failed. */
export class ActivityCancelled extends Error {
  override readonly name: string = "AbortError";
  /** Why the activity should stop. */
  readonly reason: CancelReason;

  /** @param reason - Why. */
  constructor(reason: CancelReason) {
    super(`the activity should stop: ${reason}`);
    this.reason = reason;
  }
}

/** A step that was begun and did not complete. */
export interface UnfinishedStep {
  /** Its name. */
  readonly step: string;
  /** Where it ended. */
  readonly state: StepState;
  /** What its activity handed to what it called. */
  readonly idempotencyKey: string;
  /** Its last checkpoint; undefined: none. Throws PayloadRejected. */
  checkpoint(): unknown;
}

/** Why a hook or a compensation runs. */
export interface HookFacts {
  /** Which role the step has. */
  readonly kind: Exclude<keyof typeof HookKind, "UNSPECIFIED"> | "UNKNOWN";
  /** What the workflow failed with; undefined: it did not fail. */
  readonly failure: Failure | undefined;
  /** The step that failed; empty: none. */
  readonly failedStep: string;
  /** Why it was cancelled; empty: it was not, or nobody said why. */
  readonly cancelReason: string;
  /** Steps that were cut short. */
  readonly unfinished: readonly UnfinishedStep[];
  /** For a compensation: the step to undo. */
  readonly compensates: string;
  /** For a compensation: the step was begun, and nobody knows whether it took effect. */
  readonly inDoubt: boolean;
  /** For a compensation: what the step to undo handed to what it called. */
  readonly compensatedIdempotencyKey: string;
  /** For a compensation: the output of the step to undo; undefined: in doubt, or none. Throws PayloadRejected. */
  compensatedOutput(): unknown;
}

/**
 * The way from an activity to its worker.
 * @internal
 */
export interface ActivityLink {
  readonly signal: AbortSignal;
  save(payload: Payload): Promise<void>;
  frame(kind: Frame_Kind, payload: Payload): void;
  alive(): void;
}

/** Given to every activity: facts of its claim, checkpoints, progress. `Checkpoint` is the type of what it saves. */
export class Context<Checkpoint = unknown> {
  /** Aborted when the activity should stop; its reason is an {@link ActivityCancelled}. Hand it to what you call. */
  readonly signal: AbortSignal;
  readonly #claim: Claim;
  readonly #link: ActivityLink;
  #checkpoint: Checkpoint | undefined;

  /** @internal */
  constructor(claim: Claim, link: ActivityLink) {
    this.#claim = claim;
    this.#link = link;
    this.signal = link.signal;
    this.#checkpoint = decode(claim.checkpoint) as Checkpoint | undefined;
  }

  /** The last checkpoint that was saved, by this attempt or an earlier one; undefined: none. */
  get checkpoint(): Checkpoint | undefined {
    return this.#checkpoint;
  }

  /** Of a paging step: what the page before had as its cursor; undefined: this is the first page. */
  get cursor(): unknown {
    return decode(this.#claim.cursor);
  }

  /**
   * Stores a checkpoint; resolves to it once it is stored. Also a sign of life. Rejects with ClaimLost if the claim is not yours any
   * more (stop then), and with PayloadRejected if the value cannot travel or is too large.
   *
   * @param checkpoint - What to store; {@link NO_VALUE} clears what is stored.
   */
  save<T extends Checkpoint | typeof NO_VALUE>(checkpoint: T): Promise<T> {
    const saved = this.#save(checkpoint);
    // The activity is told by its signal too: a save that nobody awaits must not end the program.
    saved.catch(() => undefined);
    return saved;
  }

  async #save<T extends Checkpoint | typeof NO_VALUE>(checkpoint: T): Promise<T> {
    await this.#link.save(checkpoint === NO_VALUE ? noValue() : (encode(checkpoint) ?? noValue()));
    this.#checkpoint = checkpoint === NO_VALUE ? undefined : (checkpoint as Checkpoint);
    return checkpoint;
  }

  /**
   * Sends a piece of text to watchers, appended to the text before; never waits. Returns the text.
   *
   * @param text - At most 64 KiB; more: RangeError.
   */
  frame(text: string): string {
    this.#link.frame(Frame_Kind.TEXT, jsonPayload(text));
    return text;
  }

  /**
   * Tells watchers how far the activity is; replaces what was told before; never waits.
   *
   * @param done - How much is done.
   * @param total - Of how much. Absent: unknown.
   * @param options - The unit, and words for people.
   */
  progress(done: number, total?: number, options: { readonly unit?: string | undefined; readonly message?: string | undefined } = {}): void {
    this.#link.frame(Frame_Kind.PROGRESS, jsonPayload({ done, total, ...options }));
  }

  /**
   * Sends a line for people to watchers; never waits.
   *
   * @param line - At most 64 KiB; more: RangeError.
   */
  log(line: string): void {
    this.#link.frame(Frame_Kind.LOG, jsonPayload(line));
  }

  /** A sign of life, for steps with a silence timeout; costs next to nothing. */
  alive(): void {
    this.#link.alive();
  }

  /** Why the activity should stop; undefined: it should not. */
  get cancelReason(): CancelReason | undefined {
    const reason: unknown = this.signal.reason;
    if (!this.signal.aborted) return undefined;
    return reason instanceof ActivityCancelled ? reason.reason : "WORKFLOW_CANCELLED";
  }

  /** What ended this step's last wait; undefined: it has not waited. Throws PayloadRejected. */
  woken<T = unknown>(): Woken<T> | undefined {
    const [first] = this.#claim.wakes;
    return first === undefined ? undefined : (wokenOf(first.condition, this.#claim.wakes) as Woken<T>);
  }

  /** The definition's name. */
  get workflowType(): string {
    return this.#claim.workflow?.workflowType ?? "";
  }

  /** The caller's name of the business object. */
  get businessKey(): string {
    return this.#claim.workflow?.businessKey ?? "";
  }

  /** Namespace of the workflow. */
  get namespace(): string {
    return this.#claim.workflow?.namespace ?? "";
  }

  /** Which round of the key. */
  get round(): number {
    return Number(this.#claim.workflow?.round ?? 0n);
  }

  /** Name of the step. */
  get step(): string {
    return this.#claim.step;
  }

  /** Charged executions of this generation, this one included. */
  get attempt(): number {
    return this.#claim.attempt;
  }

  /** How many attempts the policy allows; 0: unlimited. */
  get maxAttempts(): number {
    return this.#claim.maxAttempts;
  }

  /** Rises with every grant of the step. */
  get claimNo(): number {
    return Number(this.#claim.claimNo);
  }

  /** Which generation of the step this is; 0 the first time. */
  get generation(): number {
    return this.#claim.generation;
  }

  /** The run's fence; hand it to your own store's conditional writes. */
  get fence(): bigint {
    return this.#claim.fence;
  }

  /** The same in all attempts of this generation; hand it to what you call. */
  get idempotencyKey(): string {
    return this.#claim.idempotencyKey;
  }

  /** For callbacks: whoever has it may signal this step. A secret. */
  get wakeToken(): string {
    return this.#claim.wakeToken;
  }

  /** The workflow's labels. */
  get labels(): Readonly<Record<string, string>> {
    return this.#claim.labels;
  }

  /** The last failure of this generation; undefined: none. */
  get lastFailure(): Failure | undefined {
    return failureOf(this.#claim.lastFailure);
  }

  /** W3C trace context of this attempt's span; empty: not traced. */
  get traceparent(): string {
    return this.#claim.traceparent;
  }

  /** Why this runs, if it is a hook or a compensation; undefined: an ordinary step. */
  get hook(): HookFacts | undefined {
    return this.#claim.hook === undefined ? undefined : hookFacts(this.#claim.hook);
  }
}

/**
 * An empty claim of a step that is run by itself.
 * @internal
 */
export function emptyClaim(): Claim {
  return create(ClaimSchema);
}

function jsonPayload(value: unknown): Payload {
  try {
    return create(PayloadSchema, { data: { case: "json", value: toJson(value) } });
  } catch (error) {
    if (error instanceof PayloadRejected) throw new RangeError(error.text);
    throw error;
  }
}

function hookFacts(hook: HookContext): HookFacts {
  const kind = HookKind[hook.kind] as keyof typeof HookKind | undefined;
  return {
    kind: kind === undefined || kind === "UNSPECIFIED" ? "UNKNOWN" : kind,
    failure: failureOf(hook.failure),
    failedStep: hook.failedStep,
    cancelReason: hook.cancel?.reason ?? "",
    unfinished: hook.unfinished.map((item) => ({
      step: item.step,
      state: stepState(item.state),
      idempotencyKey: item.idempotencyKey,
      checkpoint: () => decode(item.checkpoint),
    })),
    compensates: hook.compensates,
    inDoubt: hook.inDoubt,
    compensatedIdempotencyKey: hook.compensatedIdempotencyKey,
    compensatedOutput: () => decode(hook.compensatedOutput),
  };
}

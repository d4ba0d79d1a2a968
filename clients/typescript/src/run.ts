import { create } from "@bufbuild/protobuf";

import type { CallOptions, Calls } from "./calls.js";
import { type Duration, durationOf, toMs } from "./durations.js";
import { CallTimeout, WorkflowCancelled, WorkflowFailed, WorkflowTerminated } from "./errors.js";
import type { Event } from "./events.js";
import { AdminService } from "./gen/perdure/v1/admin_service_pb.js";
import type { Payload } from "./gen/perdure/v1/payload_pb.js";
import {
  type ExplainWorkflowResponse,
  type WaitForResultResponse,
  WatchRequestSchema,
  WorkflowService,
} from "./gen/perdure/v1/workflow_service_pb.js";
import { type Attempt, Workflow_State, type WorkflowRef as WorkflowRefMessage, WorkflowView } from "./gen/perdure/v1/workflow_pb.js";
import { knownId } from "./ids.js";
import * as limits from "./limits.js";
import { listed } from "./pages.js";
import { decode, encode } from "./payloads.js";
import { type Earlier, stepNames } from "./steps.js";
import { failureOf, refMessage, Workflow, type WorkflowRef, workflowState, type WorkflowState } from "./view.js";
import { watch } from "./watching.js";

/** What a start answered. */
export interface Started {
  /** Whether this call began the round; false for every repeat. */
  readonly created: boolean;
  readonly runId: string;
  readonly fence: bigint;
  /** State at the time of the answer. */
  readonly state: WorkflowState;
  readonly definitionFingerprint: string;
}

/** A signal is stored. */
export interface Signalled {
  /** It was stored before. */
  readonly duplicate: boolean;
  /** It ended a wait in the same write; otherwise it is in the inbox. */
  readonly consumed: boolean;
  /** What makes it count once. */
  readonly signalId: string;
}

/** What a change by a person may be given. */
export interface VerbOptions extends CallOptions {
  /** Why, for people. */
  readonly reason?: string | undefined;
  /** Makes a repeat recognisable. Absent: a new one. */
  readonly requestId?: string | undefined;
  /** Only if the workflow is unchanged since it was read. */
  readonly etag?: string | undefined;
}

/** How to watch. */
export interface WatchOptions {
  /** Also progress frames. Absent: true. */
  readonly frames?: boolean | undefined;
  /** Go on into the next rounds instead of ending with this one. */
  readonly follow?: boolean | undefined;
  /** `resumeToken` of an earlier event, to go on behind it. */
  readonly resumeToken?: string | undefined;
  /** Also an `idle` event, after about 15 s without another and whenever a lost connection is tried again. */
  readonly idle?: boolean | undefined;
  /** Ends the watch, which then throws the signal's reason. Leaving the loop ends it too. */
  readonly signal?: AbortSignal | undefined;
}

/** One workflow, by name. Making a handle asks nobody; every method asks the server. */
export class Run {
  /** Its name; with the round if the handle comes from a start. */
  readonly ref: WorkflowRef;
  /** What the start answered; undefined if the handle does not come from one. */
  readonly started: Started | undefined;
  readonly #calls: Calls;

  /** @internal */
  constructor(calls: Calls, ref: WorkflowRef, started?: Started) {
    this.#calls = calls;
    this.ref = ref;
    this.started = started;
  }

  /** Whether the start that made this handle began the workflow; false for repeats and for other handles. */
  get created(): boolean {
    return this.started?.created ?? false;
  }

  /** The business key. */
  get key(): string {
    return this.ref.businessKey;
  }

  /**
   * The same workflow, if its fence is this one: else calls reject with Conflict.
   *
   * @param fence - The fence that is expected.
   */
  expecting(fence: bigint): Run {
    return new Run(this.#calls, { ...this.ref, expectedFence: fence }, this.started);
  }

  /**
   * The workflow now, with its steps and, unless told otherwise, its values. Rejects with NotFound.
   *
   * @param options - `withValues: false` leaves the values out.
   */
  async get(options: CallOptions & { readonly withValues?: boolean | undefined } = {}): Promise<Workflow> {
    const view = options.withValues === false ? WorkflowView.STEPS : WorkflowView.FULL;
    const answer = await this.#calls.unary(WorkflowService.method.getWorkflow, { workflow: this.#ref(), view }, options);
    return workflowOf(answer.workflow);
  }

  /**
   * Waits for the end, however long it takes, and gives the output. Rejects with WorkflowFailed (with the failure in it),
   * WorkflowCancelled, WorkflowTerminated, NotFound; and with CallTimeout when `timeout` is over (the workflow goes on).
   *
   * @param options - How long to wait at most; absent: for ever.
   */
  async result<T = unknown>(options: { readonly timeout?: Duration | undefined; readonly signal?: AbortSignal | undefined } = {}): Promise<T> {
    const end = options.timeout === undefined ? Number.POSITIVE_INFINITY : performance.now() + toMs(options.timeout);
    for (;;) {
      const wait = Math.min(limits.RESULT_WAIT_TIMEOUT, Math.max(0, end - performance.now()));
      const answer = await this.#calls.unary(
        WorkflowService.method.waitForResult,
        { workflow: this.#ref(), timeout: durationOf(wait) },
        { timeoutMs: wait + Math.max(this.#calls.timeoutMs, limits.CALL_MARGIN_TIMEOUT), ...(options.signal === undefined ? {} : { signal: options.signal }) },
      );
      if (answer.done) return (await this.#outcome(answer)) as T;
      if (performance.now() >= end) {
        throw new CallTimeout(`${this.#name()} has not ended within ${String(options.timeout)}: it is ${workflowState(answer.state)}`);
      }
    }
  }

  /**
   * A snapshot, then changes and frames until the end: `for await (const event of run.watch())`. Opens itself again after a cut,
   * without repeats. Throws NotFound if there is no such workflow, and Unavailable if no server was reached at all.
   *
   * @param options - What to watch, and from where.
   */
  watch(options: WatchOptions = {}): AsyncGenerator<Event, void, undefined> {
    const { follow = false } = options;
    const workflow = this.#ref();
    if (follow) delete workflow.round;
    const request = create(WatchRequestSchema, { workflow, resumeToken: options.resumeToken ?? "", includeFrames: options.frames ?? true, follow });
    return watch(this.#calls, request, options.idle ?? false, options.signal);
  }

  /**
   * Sends a signal; resolves when it is stored. Rejects with NotFound, NotAllowed (ended, or its inbox is full) and AlreadyExists
   * (the signal id was used with another name or payload).
   *
   * @param name - Which wait it is for.
   * @param payload - What it carries. Absent: nothing.
   * @param options - `signalId` makes it count once however often it is sent; absent: a new one.
   */
  async signal(name: string, payload?: unknown, options: CallOptions & { readonly signalId?: string | undefined } = {}): Promise<Signalled> {
    return signalTo(this.#calls, { case: "workflow", value: this.#ref() }, name, payload, options);
  }

  /**
   * Asks for a cancel; gives the state that follows, CANCELLING or CANCELLED. Rejects with NotFound, NotAllowed.
   *
   * @param options - Why.
   */
  async cancel(options: VerbOptions = {}): Promise<WorkflowState> {
    return workflowState((await this.#calls.unary(WorkflowService.method.cancelWorkflow, this.#verb(options), options)).state);
  }

  /**
   * Ends it at once: its claims are fenced, no hook runs. Rejects with NotFound, NotAllowed.
   *
   * @param options - Why.
   */
  async terminate(options: VerbOptions = {}): Promise<void> {
    await this.#calls.unary(WorkflowService.method.terminateWorkflow, this.#verb(options), options);
  }

  /**
   * No step is begun any more until `resume`; what runs goes on. Rejects with NotFound, NotAllowed.
   *
   * @param options - Why.
   */
  async pause(options: VerbOptions = {}): Promise<void> {
    await this.#calls.unary(WorkflowService.method.pauseWorkflow, this.#verb(options), options);
  }

  /**
   * Ends a pause. Rejects with NotFound, NotAllowed.
   *
   * @param options - Why.
   */
  async resume(options: VerbOptions = {}): Promise<void> {
    await this.#calls.unary(WorkflowService.method.resumeWorkflow, this.#verb(options), options);
  }

  /**
   * Lets an ended workflow go on: what did not complete is done again. Gives the steps that were reopened. With
   * `run.expecting(fence)` it happens once, however often it is sent. Rejects with NotFound, NotAllowed, Conflict.
   *
   * @param options - `reopen`: completed steps to do again, with all that comes after them.
   */
  async replay(options: VerbOptions & { readonly reopen?: Earlier | readonly Earlier[] | undefined } = {}): Promise<readonly string[]> {
    const request = { ...this.#verb(options), reopenSteps: [...stepNames(options.reopen)] };
    return (await this.#calls.unary(WorkflowService.method.replayWorkflow, request, options)).reopenedSteps;
  }

  /**
   * Removes an ended workflow, all its rounds and values. Rejects with NotFound, NotAllowed.
   *
   * @param options - Why.
   */
  async delete(options: VerbOptions = {}): Promise<void> {
    const request = this.#verb(options);
    delete request.workflow.round; // with one, only that archived round would go
    await this.#calls.unary(WorkflowService.method.deleteWorkflow, request, options);
  }

  /**
   * Why it is where it is: what each step that has not ended waits for, since when, what would move it. Rejects with NotFound.
   *
   * @param step - Only this one. Absent: all.
   * @param options - Of the call.
   */
  explain(step?: Earlier, options: CallOptions = {}): Promise<ExplainWorkflowResponse> {
    return this.#calls.unary(WorkflowService.method.explainWorkflow, { workflow: this.#ref(), step: stepNames(step)[0] ?? "" }, options);
  }

  /**
   * The workflows that its map and child steps run, by step and index; pages are fetched as they are needed.
   *
   * @param options - Only those of one step, in some states; with values or without.
   */
  children(
    options: { readonly step?: Earlier | undefined; readonly states?: readonly Exclude<WorkflowState, "UNKNOWN">[] | undefined; readonly withValues?: boolean | undefined } = {},
  ): AsyncGenerator<Workflow, void, undefined> {
    const request = {
      workflow: this.#ref(),
      step: stepNames(options.step)[0] ?? "",
      states: (options.states ?? []).map((state) => Workflow_State[state]),
      view: options.withValues === true ? WorkflowView.FULL : WorkflowView.BASIC,
    };
    return listed(this.#calls, WorkflowService.method.listChildren, request, (answer) => answer.children.map(workflowOf));
  }

  /** The rounds of its key that are kept, newest first; pages are fetched as they are needed. */
  rounds(): AsyncGenerator<Workflow, void, undefined> {
    const request = { workflow: this.#ref(), view: WorkflowView.BASIC };
    return listed(this.#calls, WorkflowService.method.listRounds, request, (answer) => answer.rounds.map(workflowOf));
  }

  /**
   * The last claims of its steps, newest first: 10 of each step are kept; pages are fetched as they are needed.
   *
   * @param step - Only those of this step. Absent: all.
   */
  attempts(step?: Earlier): AsyncGenerator<Attempt, void, undefined> {
    const request = { workflow: this.#ref(), step: stepNames(step)[0] ?? "" };
    return listed(this.#calls, WorkflowService.method.listAttempts, request, (answer) => answer.attempts);
  }

  /**
   * The value of a payload of this workflow's, read from its own place if it was too large to travel along. Rejects with NotFound if
   * it was freed or redacted.
   *
   * @param payload - As a view or an event has it in its `message`.
   */
  async fetch(payload: Payload | undefined): Promise<unknown> {
    return decode(await this.#whole(payload));
  }

  /** The workflow with all that belongs to it, as a file in pieces, for a report of a fault. It holds no token or secret. */
  async *export(): AsyncGenerator<Uint8Array, void, undefined> {
    const stream = this.#calls.stream(AdminService.method.exportWorkflow, { workflow: this.#ref() }, this.#calls.timeoutMs);
    try {
      for (let answer = await stream.read(); answer !== undefined; answer = await stream.read()) yield answer.chunk;
    } finally {
      stream.cancel();
    }
  }

  #ref(): WorkflowRefMessage {
    return refMessage(this.ref, this.#calls.config.namespace);
  }

  #name(): string {
    return `${this.ref.workflowType}/${this.ref.businessKey}`;
  }

  #verb(options: VerbOptions) {
    return { workflow: this.#ref(), reason: options.reason ?? "", requestId: knownId(options.requestId), etag: options.etag ?? "" };
  }

  async #whole(payload: Payload | undefined): Promise<Payload | undefined> {
    if (payload?.data.case !== "ref") return payload;
    const holder = { case: "workflow", value: this.#ref() } as const;
    return (await this.#calls.unary(WorkflowService.method.fetchPayload, { holder, payloadId: payload.data.value.payloadId })).payload;
  }

  async #outcome(answer: WaitForResultResponse): Promise<unknown> {
    const state = workflowState(answer.state);
    const told = answer.reason === "" ? "" : `: ${answer.reason}`;
    switch (state) {
      case "COMPLETED":
        return decode(await this.#whole(answer.output));
      case "FAILED": {
        const failure = failureOf(answer.failure ?? { $typeName: "perdure.v1.Failure", type: "UNKNOWN", message: "", nonRetryable: false });
        const where = answer.failedStep === "" ? "" : ` in ${answer.failedStep}`;
        throw new WorkflowFailed(`${this.#name()} failed${where}: ${failure.message}`, failure, answer.failedStep);
      }
      case "CANCELLED":
        throw new WorkflowCancelled(`${this.#name()} was cancelled${told}`, { reason: state });
      default:
        throw new WorkflowTerminated(`${this.#name()} was terminated${told}`, { reason: state });
    }
  }
}

/**
 * Signals by name or by wake token.
 * @internal
 */
export async function signalTo(
  calls: Calls,
  target: { case: "workflow"; value: WorkflowRefMessage } | { case: "wakeToken"; value: string },
  name: string,
  payload: unknown,
  options: CallOptions & { readonly signalId?: string | undefined },
): Promise<Signalled> {
  const signalId = knownId(options.signalId);
  const encoded = encode(payload);
  const request = { target, signalName: name, signalId, ...(encoded === undefined ? {} : { payload: encoded }) };
  const answer = await calls.unary(WorkflowService.method.signal, request, options);
  return { duplicate: answer.duplicate, consumed: answer.consumed, signalId };
}

/**
 * The value of a workflow that an answer must have.
 * @internal
 */
export function workflowOf(message: ConstructorParameters<typeof Workflow>[0] | undefined): Workflow {
  if (message === undefined) throw new TypeError("the server's answer has no workflow");
  return new Workflow(message);
}

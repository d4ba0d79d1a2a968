import { create } from "@bufbuild/protobuf";

import { failureText } from "./codec.js";
import { dateOf, msOf } from "./durations.js";
import { Failure } from "./failure.js";
import type { Failure as FailureMessage } from "./gen/perdure/v1/payload_pb.js";
import type { WaitCondition } from "./gen/perdure/v1/wait_pb.js";
import {
  Phase as PhaseNumbers,
  type StepView as StepViewMessage,
  StepView_State,
  type Workflow as WorkflowMessage,
  type WorkflowRef as WorkflowRefMessage,
  WorkflowRefSchema,
  Workflow_State,
} from "./gen/perdure/v1/workflow_pb.js";
import { decode, inline } from "./payloads.js";

/** Life of a workflow; UNKNOWN for a state that only newer servers know. */
export type WorkflowState = Exclude<keyof typeof Workflow_State, "UNSPECIFIED"> | "UNKNOWN";
/** Life of a step; UNKNOWN for a state that only newer servers know. */
export type StepState = Exclude<keyof typeof StepView_State, "UNSPECIFIED"> | "UNKNOWN";
/** What an open workflow or step is doing; empty once ended. */
export type Phase = Exclude<keyof typeof PhaseNumbers, "UNSPECIFIED"> | "";

/** Names a workflow. */
export interface WorkflowRef {
  /** The definition's name. */
  readonly workflowType: string;
  /** The caller's own name of the business object. */
  readonly businessKey: string;
  /** Absent: the client's. */
  readonly namespace?: string | undefined;
  /** Which round of the key. Absent: the current one. */
  readonly round?: number | undefined;
  /** An expectation: if the run's fence is another, calls reject with Conflict. Absent: none. */
  readonly expectedFence?: bigint | undefined;
}

/** One step of a workflow, as it was when it was read. */
export interface StepView {
  readonly name: string;
  readonly state: StepState;
  readonly phase: Phase;
  /** The phase in a sentence, for people. */
  readonly phaseReason: string;
  /** Charged executions of this generation. */
  readonly attempt: number;
  /** Grants so far. */
  readonly claimNo: number;
  /** Who runs it; empty: nobody. */
  readonly workerId: string;
  /** The last failure. */
  readonly failure: Failure | undefined;
  /** Names of the signals that it waits for now. */
  readonly waitsFor: readonly string[];
  /** When it moves by itself; undefined: it does not. */
  readonly nextTime: Date | undefined;
  /** All that the server told. */
  readonly message: StepViewMessage;
}

const ENDED: ReadonlySet<WorkflowState> = new Set(["COMPLETED", "FAILED", "CANCELLED", "TERMINATED"]);

/**
 * Whether a workflow in this state has ended.
 *
 * @param state - The state.
 */
export function isEnded(state: WorkflowState): boolean {
  return ENDED.has(state);
}

/** One execution of a definition for one business key, as it was when it was read. */
export class Workflow {
  /** All that the server told. */
  readonly message: WorkflowMessage;
  /** Its steps by name; empty where the view has none. */
  readonly steps: ReadonlyMap<string, StepView>;
  /** Why it is failing or failed. */
  readonly failure: Failure | undefined;

  /** @param message - The wire's message. */
  constructor(message: WorkflowMessage) {
    this.message = message;
    this.steps = new Map(message.steps.map((step) => [step.name, stepOf(step)]));
    this.failure = failureOf(message.failure);
  }

  /** The definition's name. */
  get workflowType(): string {
    return this.message.workflow?.workflowType ?? "";
  }

  /** The caller's own name of the business object. */
  get businessKey(): string {
    return this.message.workflow?.businessKey ?? "";
  }

  /** The namespace that it is in. */
  get namespace(): string {
    return this.message.workflow?.namespace ?? "";
  }

  /** Which round of the key. */
  get round(): number {
    return Number(this.message.workflow?.round ?? 0n);
  }

  /** Random id of this round's run. */
  get runId(): string {
    return this.message.runId;
  }

  /** Rises over rounds, replays and purges of the key; for conditional writes to your own store. */
  get fence(): bigint {
    return this.message.fence;
  }

  /** Where it is in its life. */
  get state(): WorkflowState {
    return workflowState(this.message.state);
  }

  /** What it is doing now. */
  get phase(): Phase {
    return phaseName(this.message.phase);
  }

  /** Whether it has ended. */
  get isEnded(): boolean {
    return isEnded(this.state);
  }

  /** Given at start; may be filtered by. */
  get labels(): Readonly<Record<string, string>> {
    return this.message.labels;
  }

  /** When this round was accepted. */
  get startTime(): Date | undefined {
    return dateOf(this.message.startTime);
  }

  /** When it ended. */
  get endTime(): Date | undefined {
    return dateOf(this.message.endTime);
  }

  /** Its input; undefined if it has none, or the view carries none. Throws PayloadRejected; a large one travels apart: `run.fetch`. */
  input(): unknown {
    return decode(this.message.input);
  }

  /** Its output; undefined if it has none. Throws PayloadRejected; a large one travels apart: use `run.result`. */
  output(): unknown {
    return decode(this.message.output);
  }

  /**
   * Whether a step waits for this signal now.
   *
   * @param signal - The signal's name.
   */
  waitsFor(signal: string): boolean {
    return [...this.steps.values()].some((step) => step.waitsFor.includes(signal));
  }
}

/**
 * The wire's name of a workflow.
 * @internal
 */
export function refMessage(ref: WorkflowRef, namespace: string): WorkflowRefMessage {
  const { round, expectedFence } = ref;
  return create(WorkflowRefSchema, {
    namespace: ref.namespace ?? namespace,
    workflowType: ref.workflowType,
    businessKey: ref.businessKey,
    ...(round === undefined ? {} : { round: BigInt(round) }),
    ...(expectedFence === undefined ? {} : { expectedFence }),
  });
}

/**
 * The value of a failure; details that cannot be decoded stay out.
 * @internal
 */
export function failureOf(message: FailureMessage): Failure;
/** @internal */
export function failureOf(message: FailureMessage | undefined): Failure | undefined;
export function failureOf(message: FailureMessage | undefined): Failure | undefined {
  if (message === undefined) return undefined;
  const retryAfter = msOf(message.retryAfter);
  return new Failure(message.type, failureText(message), {
    details: inline(message.details),
    nonRetryable: message.nonRetryable,
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
}

/**
 * The state's name.
 * @internal
 */
export function workflowState(value: Workflow_State): WorkflowState {
  return nameOf(Workflow_State, value, "UNKNOWN");
}

/**
 * The state's name.
 * @internal
 */
export function stepState(value: StepView_State): StepState {
  return nameOf(StepView_State, value, "UNKNOWN");
}

/**
 * The phase's name; empty for none.
 * @internal
 */
export function phaseName(value: PhaseNumbers): Phase {
  return nameOf(PhaseNumbers, value, "");
}

/**
 * Names of the signals among a wait's conditions.
 * @internal
 */
export function signalsOf(conditions: readonly WaitCondition[]): readonly string[] {
  return conditions.flatMap(({ kind }) => (kind.case === "signal" ? [kind.value.signalName] : []));
}

function stepOf(message: StepViewMessage): StepView {
  return {
    name: message.name,
    state: stepState(message.state),
    phase: phaseName(message.phase),
    phaseReason: message.phaseReason,
    attempt: message.attempt,
    claimNo: Number(message.claimNo),
    workerId: message.workerId,
    failure: failureOf(message.failure),
    waitsFor: message.state === StepView_State.WAITING ? signalsOf(message.wait?.anyOf ?? []) : [],
    nextTime: dateOf(message.nextTime),
    message,
  };
}

/** The value's name; `otherwise` for unspecified and for what only newer servers know. */
function nameOf<E extends Readonly<Record<number, string>>, Name extends string>(names: E, value: number, otherwise: Name): Exclude<keyof E & string, "UNSPECIFIED"> | Name {
  const found = names[value];
  return found === undefined || value === 0 ? otherwise : (found as Exclude<keyof E & string, "UNSPECIFIED">);
}

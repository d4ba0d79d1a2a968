import { dateOf } from "./durations.js";
import type { Failure } from "./failure.js";
import { type Frame as FrameMessage, Frame_Kind, type StateChange, type WatchEnd, type WatchEvent } from "./gen/perdure/v1/watch_pb.js";
import { StepView_State, Workflow_State } from "./gen/perdure/v1/workflow_pb.js";
import { decode, inline } from "./payloads.js";
import { failureOf, signalsOf, stepState, type StepState, Workflow, workflowState, type WorkflowState } from "./view.js";

/** What every event has. */
interface EventBase<Kind extends string> {
  /** What happened. */
  readonly kind: Kind;
  /** Give it to `run.watch` to go on after this event, in another process too. */
  readonly resumeToken: string;
}

/** The whole workflow; everything shown before is void. */
export interface SnapshotEvent extends EventBase<"snapshot"> {
  readonly workflow: Workflow;
}

/** One change of state. */
export interface ChangeEvent extends EventBase<"change"> {
  /** Position in the order of the round's changes, without holes. */
  readonly seq: number;
  readonly round: number;
  /** What happened, for people; an open set. */
  readonly reason: string;
  /** Empty: the change is about the workflow alone. */
  readonly step: string;
  /** The step's new state; undefined: unchanged. */
  readonly stepState: StepState | undefined;
  /** The workflow's new state; undefined: unchanged. */
  readonly workflowState: WorkflowState | undefined;
  readonly attempt: number;
  readonly claimNo: number;
  readonly workerId: string;
  readonly failure: Failure | undefined;
  /** Names of the signals that the step now waits for. */
  readonly signals: readonly string[];
  /** Signal that arrived or was consumed; empty: none. */
  readonly signalName: string;
  /** Store time of the change. */
  readonly time: Date | undefined;
  /** When the step moves by itself. */
  readonly nextTime: Date | undefined;
  /** The step's output, if it came along; undefined otherwise. Throws PayloadRejected. */
  output(): unknown;
  /** All that the server told. */
  readonly message: StateChange;
}

/** A piece of progress of one claim. */
export interface FrameEvent extends EventBase<"frame"> {
  readonly step: string;
  readonly claimNo: number;
  /** From 1, without holes, within the claim. */
  readonly seq: number;
  readonly frameKind: "TEXT" | "PROGRESS" | "LOG" | "UNKNOWN";
  /** What was sent: text, an object for progress; as sent by other languages for the rest. */
  readonly value: unknown;
  /** The text of a TEXT or LOG frame; of progress, its message or numbers. */
  readonly text: string;
  /** All that the server told. */
  readonly message: FrameMessage;
}

/** What was shown of this step's claim, and of those before it, is void. */
export interface FramesResetEvent extends EventBase<"frames_reset"> {
  readonly step: string;
  readonly claimNo: number;
}

/** Something is no longer retained; a snapshot follows if changes are missing. */
export interface GapEvent extends EventBase<"gap"> {
  /** Changes are missing; the snapshot makes up for them. */
  readonly changes: boolean;
  /** Frames are missing for good. */
  readonly frames: boolean;
  /** Why, for people. */
  readonly reason: string;
}

/** The workflow has ended. */
export interface EndEvent extends EventBase<"end"> {
  readonly state: WorkflowState;
  readonly failure: Failure | undefined;
  readonly time: Date | undefined;
  readonly fence: bigint;
  readonly round: number;
  /** Its output; undefined if there is none. Throws PayloadRejected. */
  output(): unknown;
  /** All that the server told. */
  readonly message: WatchEnd;
}

/** Nothing happened for a while; only told to who asks for it (`idle: true`). */
export type IdleEvent = EventBase<"idle">;

/** One thing that a watcher is told; branch on `kind`. */
export type Event = SnapshotEvent | ChangeEvent | FrameEvent | FramesResetEvent | GapEvent | EndEvent | IdleEvent;

/**
 * Whether an event says that a step now waits for this signal.
 *
 * @param event - The event.
 * @param signal - The signal's name.
 */
export function waitsFor(event: Event, signal: string): boolean {
  if (event.kind === "snapshot") return event.workflow.waitsFor(signal);
  return event.kind === "change" && event.signals.includes(signal);
}

/**
 * An event as a line for people.
 *
 * @param event - The event.
 */
export function describe(event: Event): string {
  switch (event.kind) {
    case "snapshot": {
      const { workflow } = event;
      const steps = [...workflow.steps.values()].filter((step) => step.state !== "BLOCKED").map((step) => `${step.name} ${step.state}`);
      return `${workflow.workflowType}/${workflow.businessKey} is ${workflow.state}${steps.length > 0 ? `: ${steps.join(", ")}` : ""}`;
    }
    case "change":
      return describeChange(event);
    case "frame":
      return `${event.step} [${String(event.claimNo)}.${String(event.seq)}] ${event.text}`;
    case "frames_reset":
      return `${event.step}: frames up to claim ${String(event.claimNo)} are void`;
    case "gap":
      return `gap: ${[event.changes ? "changes" : "", event.frames ? "frames" : ""].filter(Boolean).join(" and ")} missing (${event.reason})`;
    case "end":
      return event.failure === undefined ? event.state : `${event.state}: ${event.failure.message}`;
    case "idle":
      return "idle";
  }
}

/**
 * The value of a message; undefined for keep-alives and for kinds that only newer servers know.
 * @internal
 */
export function eventOf({ event, resumeToken }: WatchEvent): Event | undefined {
  switch (event.case) {
    case "snapshot":
      return { kind: "snapshot", resumeToken, workflow: new Workflow(event.value) };
    case "change":
      return changeOf(event.value, resumeToken);
    case "frame":
      return frameOf(event.value, resumeToken);
    case "framesReset":
      return { kind: "frames_reset", resumeToken, step: event.value.step, claimNo: Number(event.value.claimNo) };
    case "gap":
      return { kind: "gap", resumeToken, changes: event.value.changes, frames: event.value.frames, reason: event.value.reason };
    case "end":
      return endOf(event.value, resumeToken);
    default:
      return undefined;
  }
}

function changeOf(message: StateChange, resumeToken: string): ChangeEvent {
  return {
    kind: "change",
    resumeToken,
    seq: Number(message.seq),
    round: Number(message.round),
    reason: message.reason,
    step: message.step,
    stepState: message.stepState === StepView_State.UNSPECIFIED ? undefined : stepState(message.stepState),
    workflowState: message.workflowState === Workflow_State.UNSPECIFIED ? undefined : workflowState(message.workflowState),
    attempt: message.attempt,
    claimNo: Number(message.claimNo),
    workerId: message.workerId,
    failure: failureOf(message.failure),
    signals: signalsOf(message.wait?.anyOf ?? []),
    signalName: message.signalName,
    time: dateOf(message.changeTime),
    nextTime: dateOf(message.nextTime),
    output: () => decode(message.output),
    message,
  };
}

function frameOf(message: FrameMessage, resumeToken: string): FrameEvent {
  const value = inline(message.payload);
  const kinds = { [Frame_Kind.TEXT]: "TEXT", [Frame_Kind.PROGRESS]: "PROGRESS", [Frame_Kind.LOG]: "LOG", [Frame_Kind.UNSPECIFIED]: "UNKNOWN" } as const;
  return {
    kind: "frame",
    resumeToken,
    step: message.step,
    claimNo: Number(message.claimNo),
    seq: Number(message.seq),
    frameKind: (kinds as Partial<typeof kinds>)[message.kind] ?? "UNKNOWN",
    value,
    text: frameText(value),
    message,
  };
}

function endOf(message: WatchEnd, resumeToken: string): EndEvent {
  return {
    kind: "end",
    resumeToken,
    state: workflowState(message.state),
    failure: failureOf(message.failure),
    time: dateOf(message.endTime),
    fence: message.fence,
    round: Number(message.round),
    output: () => decode(message.output),
    message,
  };
}

function frameText(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  const { done, total, unit, message } = value as Record<string, unknown>;
  const count = `${textOf(done, "?")}${total === undefined || total === null ? "" : `/${textOf(total, "?")}`}`;
  return [count, textOf(unit, ""), textOf(message, "")].filter((part) => part !== "").join(" ");
}

function textOf(value: unknown, otherwise: string): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "bigint" ? String(value) : otherwise;
}

function describeChange(event: ChangeEvent): string {
  const parts = [event.step === "" ? "workflow" : event.step, event.stepState ?? event.workflowState ?? (event.reason === "" ? "changed" : event.reason)];
  if (event.step !== "" && event.stepState !== undefined && event.workflowState !== undefined) parts.push(`(workflow ${event.workflowState})`);
  if (event.workerId !== "" && event.stepState === "RUNNING") parts.push(`attempt ${String(event.attempt)} on ${event.workerId}`);
  if (event.signals.length > 0) parts.push(`for ${event.signals.join(" or ")}`);
  if (event.failure !== undefined) parts.push(`(${event.failure.message})`);
  return parts.join(" ");
}

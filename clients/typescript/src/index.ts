/**
 * Client and worker of Perdure, the durable workflow service.
 *
 * @packageDocumentation
 */

export { AesGcm, type KeyRing, parseKeyRing } from "./aes-gcm.js";
export type { CallOptions } from "./calls.js";
export { Client, type ClientOptions, type Count, type Start } from "./client.js";
export { AES_GCM, type Codec } from "./codec.js";
export { type ConnectionOptions, DEFAULT_ADDRESS } from "./config.js";
export { ActivityCancelled, type CancelReason, type Context, type HookFacts, type UnfinishedStep } from "./context.js";
export {
  type ActivityOptions,
  type ChildOptions,
  type ChildrenOptions,
  Definition,
  type DefinitionOptions,
  type HookName,
  type HookOptions,
  type Join,
  type MapOptions,
  type PagesOptions,
  type RemoteStepOptions,
  type StepOptions,
  type WaitStepOptions,
} from "./definition.js";
export { loadDefinition, parseDefinition } from "./definition-file.js";
export { Definitions, type RegisterOptions } from "./definitions.js";
export type { Duration } from "./durations.js";
export {
  AccessDenied,
  AlreadyExists,
  CallTimeout,
  ClaimLost,
  Conflict,
  type DecodingFault,
  DefinitionRejected,
  type ErrorDetails,
  InvalidRequest,
  NotAllowed,
  NotFound,
  NotImplementedYet,
  Overloaded,
  PayloadRejected,
  PayloadUndecodable,
  PerdureError,
  reasonOf,
  ServerFault,
  Unavailable,
  type Violation,
  WorkflowCancelled,
  WorkflowFailed,
  WorkflowNotCompleted,
  WorkflowTerminated,
} from "./errors.js";
export {
  type ChangeEvent,
  describe,
  type EndEvent,
  type Event,
  type FrameEvent,
  type FramesResetEvent,
  type GapEvent,
  type IdleEvent,
  type SnapshotEvent,
  waitsFor,
} from "./events.js";
export { Failure, type FailureOptions } from "./failure.js";
export type { Filter } from "./filtering.js";
export { fromJson as parseJson, toJson as stringifyJson } from "./json.js";
export type { LogFacts, Logger } from "./logger.js";
export { choose, Chosen, type MapError, type MapResult, Page, page } from "./outcomes.js";
export { RawPayload } from "./payloads.js";
export type { OnExhausted, Retry, StepPolicy, WorkflowPolicy } from "./policies.js";
export { ErrorReason } from "./reasons.js";
export { type ResourceOptions, Resources } from "./resources.js";
export { Run, type Signalled, type Started, type VerbOptions, type WatchOptions } from "./run.js";
export type { TlsOptions } from "./security.js";
export type { StartOptions, StartSignal } from "./starting.js";
export {
  type Activity,
  ActivityStep,
  type Branch,
  type Earlier,
  type InputsOf,
  type Need,
  type OutputOf,
  Step,
  type TypeOf,
  type,
} from "./steps.js";
export type { Requests, Stub, StubMethod, StubOptions } from "./stub.js";
export { VERSION } from "./version.js";
export { isEnded, type Phase, type StepState, type StepView, Workflow, type WorkflowRef, type WorkflowState } from "./view.js";
export { type Condition, NO_VALUE, Wait, type WaitOptions, type Wake, Woken } from "./waits.js";
export type { ExistingSentEvent, ManyEvent, StartOverEvent, WorkflowChangedEvent, WorkflowRemovedEvent } from "./watching.js";
export { serve, type Served, type ServedStep, type StepContract, type WorkerOptions } from "./worker/plan.js";
export { type RunOptions, Worker } from "./worker/worker.js";

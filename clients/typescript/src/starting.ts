import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";

import { type Definition, typeOf } from "./definition.js";
import { type Duration, durationOf } from "./durations.js";
import {
  type StartWorkflowRequest,
  StartWorkflowRequest_OnClosed,
  StartWorkflowRequest_OnOpen,
  StartWorkflowRequestSchema,
} from "./gen/perdure/v1/workflow_service_pb.js";
import { knownId } from "./ids.js";
import { encode } from "./payloads.js";
import { refMessage } from "./view.js";

/** A signal that rides along with a start, in the same write. */
export interface StartSignal {
  /** Which wait it is for. */
  readonly name: string;
  /** What it carries. Absent: nothing. */
  readonly payload?: unknown;
  /** Makes it count once. Absent: a new one. */
  readonly signalId?: string | undefined;
}

/** What a start may be given. */
export interface StartOptions<Input = unknown> {
  /** The caller's own name of the business object, unique for the type. */
  readonly key: string;
  /** What it is about. Absent: no value. */
  readonly input?: Input | undefined;
  /** To find it by, and for keys of resources. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Makes a repeat of this very request recognisable. Absent: a new one. */
  readonly requestId?: string | undefined;
  /** What if the key has an open round. Absent: `use_existing`. */
  readonly onOpen?: "use_existing" | "reject" | "supersede" | undefined;
  /** What if the key's last round has ended. Absent: `use_existing`. */
  readonly onClosed?: "use_existing" | "new_round" | "new_round_if_failed" | "reject" | undefined;
  /** The first step waits until then. */
  readonly startAt?: Date | undefined;
  /** Signals stored in the same write. */
  readonly signals?: readonly StartSignal[] | undefined;
  /** 0 to 9, higher sooner. Absent: 5. */
  readonly priority?: number | undefined;
  /** Queue of all steps, instead of their policies'. */
  readonly queue?: string | undefined;
  /** Step name to queue, stronger than `queue`. */
  readonly stepQueues?: Readonly<Record<string, string>> | undefined;
  /** Work of one key shares a queue fairly with that of others. */
  readonly fairnessKey?: string | undefined;
  /** Share of this fairness key. Absent: 1. */
  readonly fairnessWeight?: number | undefined;
  /** Instead of the definition's. */
  readonly workflowTimeout?: Duration | undefined;
  /** Instead of the definition's. */
  readonly retention?: Duration | undefined;
  /** Which registered definition. Absent: the active one. */
  readonly definitionFingerprint?: string | undefined;
  /** Fence of the round before; if it is another, the start rejects with Conflict. */
  readonly expectedFence?: bigint | undefined;
  /** Checks everything and stores nothing. */
  readonly validateOnly?: boolean | undefined;
}

const ON_OPEN = {
  use_existing: StartWorkflowRequest_OnOpen.USE_EXISTING,
  reject: StartWorkflowRequest_OnOpen.REJECT,
  supersede: StartWorkflowRequest_OnOpen.SUPERSEDE,
} as const;

const ON_CLOSED = {
  use_existing: StartWorkflowRequest_OnClosed.USE_EXISTING,
  new_round: StartWorkflowRequest_OnClosed.NEW_ROUND,
  new_round_if_failed: StartWorkflowRequest_OnClosed.NEW_ROUND_IF_FAILED,
  reject: StartWorkflowRequest_OnClosed.REJECT,
} as const;

/**
 * The wire's start. Throws PayloadRejected.
 * @internal
 */
export function startMessage(workflow: Definition | string, options: StartOptions, namespace: string): StartWorkflowRequest {
  const { expectedFence, priority, fairnessWeight, startAt, workflowTimeout, retention } = options;
  const ref = { workflowType: typeOf(workflow), businessKey: options.key, ...(expectedFence === undefined ? {} : { expectedFence }) };
  const input = encode(options.input);
  return create(StartWorkflowRequestSchema, {
    workflow: refMessage(ref, namespace),
    requestId: knownId(options.requestId),
    onOpen: options.onOpen === undefined ? StartWorkflowRequest_OnOpen.UNSPECIFIED : ON_OPEN[options.onOpen],
    onClosed: options.onClosed === undefined ? StartWorkflowRequest_OnClosed.UNSPECIFIED : ON_CLOSED[options.onClosed],
    labels: { ...options.labels },
    queue: options.queue ?? "",
    stepQueues: { ...options.stepQueues },
    fairnessKey: options.fairnessKey ?? "",
    definitionFingerprint: options.definitionFingerprint ?? "",
    validateOnly: options.validateOnly ?? false,
    signals: (options.signals ?? []).map((signal) => signalInit(signal)),
    ...(input === undefined ? {} : { input }),
    ...(priority === undefined ? {} : { priority }),
    ...(fairnessWeight === undefined ? {} : { fairnessWeight }),
    ...(startAt === undefined ? {} : { startAt: timestampFromDate(startAt) }),
    ...(workflowTimeout === undefined ? {} : { workflowTimeout: durationOf(workflowTimeout) }),
    ...(retention === undefined ? {} : { retention: durationOf(retention) }),
  });
}

function signalInit(signal: StartSignal) {
  const payload = encode(signal.payload);
  return { signalName: signal.name, signalId: knownId(signal.signalId), ...(payload === undefined ? {} : { payload }) };
}

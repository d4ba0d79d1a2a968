import { create } from "@bufbuild/protobuf";

import { type Duration, durationOf } from "./durations.js";
import {
  type RetryPolicy as RetryPolicyMessage,
  RetryPolicySchema,
  type StepPolicy as StepPolicyMessage,
  StepPolicy_OnExhausted,
  StepPolicySchema,
  type WorkflowPolicy as WorkflowPolicyMessage,
  WorkflowPolicySchema,
} from "./gen/perdure/v1/definition_pb.js";

/** When and how often an attempt is made again. What is absent is the server's default: 3 attempts, 1 s, doubling to 1 min, jitter 20 %. */
export interface Retry {
  /** How many attempts, the first included; `"unlimited"`: until it succeeds or fails for good. */
  readonly maxAttempts?: number | "unlimited" | undefined;
  /** Before the second attempt. */
  readonly initialInterval?: Duration | undefined;
  /** Growth per attempt; at least 1. */
  readonly backoffCoefficient?: number | undefined;
  /** Longest interval. */
  readonly maxInterval?: Duration | undefined;
  /** Share of the interval that is random, 0 to 1. */
  readonly jitter?: number | undefined;
  /** Failure types that are never retried, compared exactly. */
  readonly nonRetryable?: readonly string[] | undefined;
}

/** What a step without attempts left does to its workflow. */
export type OnExhausted = "fail_workflow" | "hold" | "skip_dependants" | "continue";

/** Limits, times and costs of a step; they may change under running workflows. What is absent is the server's default. */
export interface StepPolicy {
  /** What follows a failed attempt. */
  readonly retry?: Retry | undefined;
  /** From claim to result. Default: 10 min. */
  readonly attemptTimeout?: Duration | undefined;
  /** Longest time without checkpoint, frame or `ctx.alive()`; at least three renewals. Default: none. */
  readonly silenceTimeout?: Duration | undefined;
  /** All attempts and back-offs together. Default: none. */
  readonly stepTimeout?: Duration | undefined;
  /** Longest time ready without a worker. Default: none. */
  readonly queueTimeout?: Duration | undefined;
  /** Which queue its claims come from. Default: `default`. */
  readonly queue?: string | undefined;
  /** 0 to 9, higher sooner. Default: the workflow's. */
  readonly priority?: number | undefined;
  /** What follows the last failed attempt. Default: the workflow fails. */
  readonly onExhausted?: OnExhausted | undefined;
  /** Units of shared resources that it holds while it runs, by the resource's name. */
  readonly permits?: Readonly<Record<string, number>> | undefined;
}

/** Limits and times of a whole workflow; they may change under running ones. What is absent is the server's default. */
export interface WorkflowPolicy {
  /** From the start of the round until it must have ended. */
  readonly workflowTimeout?: Duration | undefined;
  /** How long running steps may go on after a cancel or a failure. Default: 30 s. */
  readonly cancelGrace?: Duration | undefined;
  /** How many claims of one step may be lost with their worker. Default: 5. */
  readonly maxLostClaims?: number | undefined;
  /** How long an ended workflow is kept. Default: the namespace's. */
  readonly retention?: Duration | undefined;
}

const ON_EXHAUSTED: Readonly<Record<OnExhausted, StepPolicy_OnExhausted>> = {
  fail_workflow: StepPolicy_OnExhausted.FAIL_WORKFLOW,
  hold: StepPolicy_OnExhausted.HOLD,
  skip_dependants: StepPolicy_OnExhausted.SKIP_DEPENDANTS,
  continue: StepPolicy_OnExhausted.CONTINUE,
};

/**
 * The wire's policy of a step.
 * @internal
 */
export function stepPolicyMessage(policy: StepPolicy): StepPolicyMessage {
  return create(StepPolicySchema, {
    queue: policy.queue ?? "",
    onExhausted: policy.onExhausted === undefined ? StepPolicy_OnExhausted.UNSPECIFIED : ON_EXHAUSTED[policy.onExhausted],
    permits: Object.entries(policy.permits ?? {}).map(([resource, units]) => ({ resource, units })),
    ...(policy.priority === undefined ? {} : { priority: policy.priority }),
    ...(policy.retry === undefined ? {} : { retry: retryMessage(policy.retry) }),
    ...durations(policy, ["attemptTimeout", "silenceTimeout", "stepTimeout", "queueTimeout"]),
  });
}

/**
 * The wire's policy of a workflow.
 * @internal
 */
export function workflowPolicyMessage(policy: WorkflowPolicy): WorkflowPolicyMessage {
  return create(WorkflowPolicySchema, {
    ...(policy.maxLostClaims === undefined ? {} : { maxLostClaims: policy.maxLostClaims }),
    ...durations(policy, ["workflowTimeout", "cancelGrace", "retention"]),
  });
}

function retryMessage(retry: Retry): RetryPolicyMessage {
  const { maxAttempts, backoffCoefficient, jitter } = retry;
  const message = create(RetryPolicySchema, {
    nonRetryableTypes: [...(retry.nonRetryable ?? [])],
    ...(backoffCoefficient === undefined ? {} : { backoffCoefficient }),
    ...(jitter === undefined ? {} : { jitter }),
    ...durations(retry, ["initialInterval", "maxInterval"]),
  });
  if (maxAttempts === "unlimited") message.attempts = { case: "unlimited", value: true };
  else if (maxAttempts !== undefined) message.attempts = { case: "maxAttempts", value: maxAttempts };
  return message;
}

/** The durations that are given, as the wire has them. */
function durations<Name extends string>(
  holder: Readonly<Partial<Record<Name, Duration | undefined>>>,
  names: readonly Name[],
): Partial<Record<Name, ReturnType<typeof durationOf>>> {
  const found: Partial<Record<Name, ReturnType<typeof durationOf>>> = {};
  for (const name of names) {
    const duration: Duration | undefined = holder[name];
    if (duration !== undefined) found[name] = durationOf(duration);
  }
  return found;
}

import { create, type MessageInitShape } from "@bufbuild/protobuf";

import { type Duration, durationOf } from "../durations.js";
import { Failure } from "../failure.js";
import { type ScriptedOutcome, ScriptedOutcomeSchema } from "../gen/perdure/v1/scripted_pb.js";
import { encode, noValue } from "../payloads.js";
import type { Need } from "../steps.js";
import { NO_VALUE, type Wait, waitMessage } from "../waits.js";

/** Which attempts a script is for; the first script that matches an attempt is used. */
export interface ScriptOptions {
  /** Only this attempt, from 1. Absent: any. */
  readonly attempt?: number | undefined;
  /** Only for this business key. Absent: any. */
  readonly key?: string | undefined;
  /** How often it may be used. Absent: always. */
  readonly times?: number | undefined;
  /** How long the attempt takes on the test's clock. Absent: no time. */
  readonly takes?: Duration | undefined;
}

type AnyStep = Need | string;

/**
 * The step is done.
 *
 * @param step - The step; empty: any.
 * @param output - Its output. Absent: none.
 * @param options - Which attempts; and the branches that it chooses.
 */
export function completes(step: AnyStep, output?: unknown, options: ScriptOptions & { readonly choose?: readonly string[] | undefined } = {}): ScriptedOutcome {
  const payload = encode(output);
  const value = { choose: [...(options.choose ?? [])], ...(payload === undefined ? {} : { output: payload }) };
  return scripted(step, options, { case: "completed", value });
}

/**
 * The attempt fails, and is retried by policy.
 *
 * @param step - The step; empty: any.
 * @param failure - Why; text: its type.
 * @param options - Which attempts.
 */
export function fails(step: AnyStep, failure: Failure | string = "test.failed", options: ScriptOptions = {}): ScriptedOutcome {
  const told = typeof failure === "string" ? new Failure(failure, "as the test says") : failure;
  const details = encode(told.details);
  const value = {
    type: told.type,
    message: told.text,
    nonRetryable: told.nonRetryable,
    ...(details === undefined ? {} : { details }),
    ...(told.retryAfterMs === undefined ? {} : { retryAfter: durationOf(told.retryAfterMs) }),
  };
  return scripted(step, options, { case: "failed", value });
}

/**
 * The step waits durably, as an activity that returns a Wait; the claim after it takes the next script. Once, unless told otherwise.
 *
 * @param step - The step.
 * @param wait - What for.
 * @param options - Which attempts.
 */
export function waits(step: AnyStep, wait: Wait, options: ScriptOptions = {}): ScriptedOutcome {
  const checkpoint = wait.checkpoint === NO_VALUE ? noValue() : encode(wait.checkpoint);
  const value = { wait: waitMessage(wait.conditions), ...(checkpoint === undefined ? {} : { checkpoint }) };
  return scripted(step, { times: 1, ...options }, { case: "waiting", value });
}

/**
 * The attempt gives no result: a timeout ends it.
 *
 * @param step - The step; empty: any.
 * @param options - Which attempts.
 */
export function neverEnds(step: AnyStep, options: ScriptOptions = {}): ScriptedOutcome {
  return scripted(step, options, { case: "never", value: {} });
}

/**
 * The worker vanishes in the middle of it. Once, unless told otherwise.
 *
 * @param step - The step; empty: any.
 * @param options - Which attempts.
 */
export function losesWorker(step: AnyStep, options: ScriptOptions = {}): ScriptedOutcome {
  return scripted(step, { times: 1, ...options }, { case: "lost", value: {} });
}

function scripted(step: AnyStep, options: ScriptOptions, outcome: NonNullable<MessageInitShape<typeof ScriptedOutcomeSchema>["outcome"]>): ScriptedOutcome {
  return create(ScriptedOutcomeSchema, {
    step: typeof step === "string" ? step : step.name,
    attempt: options.attempt ?? 0,
    businessKey: options.key ?? "",
    times: options.times ?? 0,
    outcome,
    ...(options.takes === undefined ? {} : { duration: durationOf(options.takes) }),
  });
}

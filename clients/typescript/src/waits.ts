import { create, fromJsonString } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";

import { dateOf, type Duration, durationOf } from "./durations.js";
import { PayloadRejected } from "./errors.js";
import type { Payload } from "./gen/perdure/v1/payload_pb.js";
import {
  type Wait as WaitMessage,
  type WaitCondition,
  WaitConditionSchema,
  type WaitResult,
  WaitResultSchema,
  WaitSchema,
  type Wake as WakeMessage,
} from "./gen/perdure/v1/wait_pb.js";
import { decode } from "./payloads.js";
import { ErrorReason } from "./reasons.js";

/** As the checkpoint of a {@link Wait}, or in `ctx.save`: clears what is stored. */
export const NO_VALUE: unique symbol = Symbol("perdure.NO_VALUE");

/** One thing to wait for: signals, a duration, or a time. Exactly one of the three. */
export interface Condition {
  /** Name of the signals. */
  readonly signal?: string | undefined;
  /** How many signals of that name, oldest first. Absent: 1; at most 100. */
  readonly count?: number | undefined;
  /** This long after the wait was stored; at least 50 ms in effect, years are fine. */
  readonly after?: Duration | undefined;
  /** At this time by the store's clock; in the past: at once. */
  readonly at?: Date | undefined;
  /** Told when this condition won. Absent: the signal's name, `after` or `at_time`. */
  readonly name?: string | undefined;
  /** In a wait step with branches: those that are taken when this condition wins. */
  readonly choose?: readonly string[] | undefined;
}

/** What `Wait.any` takes: at least one of signal, after and at, or further conditions. */
export interface WaitOptions {
  /** Name of the signal to wait for. */
  readonly signal?: string | undefined;
  /** How many of them. Absent: 1. */
  readonly count?: number | undefined;
  /** How long at most. */
  readonly after?: Duration | undefined;
  /** Until when at most. */
  readonly at?: Date | undefined;
  /** Further conditions, 16 in all, with distinct names. */
  readonly conditions?: readonly Condition[] | undefined;
  /** Stored with the wait. Absent: what is stored stays. {@link NO_VALUE}: it is cleared. */
  readonly checkpoint?: unknown;
}

/**
 * Return it from an activity to wait without holding a worker; the activity is then run again from its top.
 * Nothing is charged, and the checkpoint stays unless another is given. The first condition to come true wins.
 */
export class Wait {
  /** 1 to 16, with distinct names. */
  readonly conditions: readonly Condition[];
  /** Stored with the wait. Undefined: what is stored stays. */
  readonly checkpoint: unknown;

  private constructor(conditions: readonly Condition[], checkpoint: unknown) {
    this.conditions = conditions;
    this.checkpoint = checkpoint;
  }

  /**
   * Waits for the first of: signals of a name, a duration, a time, and further conditions.
   *
   * @param options - What to wait for. Throws a RangeError if that is nothing.
   */
  static any(options: WaitOptions): Wait {
    return new Wait(conditionsOf(options), options.checkpoint);
  }
}

/** One thing that ended a wait: a signal that was consumed, or a time that came. */
export interface Wake<T = unknown> {
  /** Name of the condition that won. */
  readonly condition: string;
  /** What the signal carried; undefined for a time, or a signal without content. */
  readonly value: T | undefined;
  /** Empty for a time. */
  readonly signalName: string;
  /** Undefined for a time. */
  readonly signalId: string | undefined;
  /** Store time at which the timer fired or the signal was stored. */
  readonly time: Date | undefined;
}

/** How a wait ended: which condition won, and what the signals carried. */
export class Woken<T = unknown> {
  /** Name of the condition that won: the signal's name, `after`, `at_time`, or the name that was given to it. */
  readonly condition: string;
  /** What was consumed, oldest first; one for a time. */
  readonly wakes: readonly Wake<T>[];

  /**
   * @param condition - Name of the condition that won.
   * @param wakes - What was consumed.
   */
  constructor(condition: string, wakes: readonly Wake<T>[]) {
    this.condition = condition;
    this.wakes = wakes;
  }

  /** What the first signal carried; undefined when a time won. */
  get value(): T | undefined {
    return this.wakes[0]?.value;
  }

  /** What each signal carried. */
  get values(): readonly (T | undefined)[] {
    return this.wakes.filter((wake) => wake.signalId !== undefined).map((wake) => wake.value);
  }

  /** Whether a duration or a time won. */
  get timedOut(): boolean {
    return this.wakes.every((wake) => wake.signalId === undefined);
  }
}

/**
 * All conditions of the options. Throws a RangeError if there is none.
 * @internal
 */
export function conditionsOf(options: WaitOptions): readonly Condition[] {
  const found: Condition[] = [...(options.conditions ?? [])];
  if (options.signal !== undefined) found.push({ signal: options.signal, ...(options.count === undefined ? {} : { count: options.count }) });
  if (options.after !== undefined) found.push({ after: options.after });
  if (options.at !== undefined) found.push({ at: options.at });
  if (found.length === 0) throw new RangeError("a wait needs at least one of: signal, after, at, conditions");
  return found;
}

/**
 * The wire's wait. Throws a RangeError for a condition that is not exactly one of its three kinds.
 * @internal
 */
export function waitMessage(conditions: readonly Condition[]): WaitMessage {
  return create(WaitSchema, { anyOf: conditions.map(conditionMessage) });
}

/**
 * The output of a wait step. Throws PayloadRejected if it is something else.
 * @internal
 */
export function parseWaitResult(payload: Payload): WaitResult {
  try {
    return fromJsonString(WaitResultSchema, payload.data.case === "json" ? payload.data.value : "", { ignoreUnknownFields: true });
  } catch (error) {
    throw new PayloadRejected("not the output of a wait step", { reason: ErrorReason.PAYLOAD_INVALID, cause: error });
  }
}

/**
 * The wire's wakes with their payloads decoded. Throws PayloadRejected.
 * @internal
 */
export function wokenOf(condition: string, wakes: readonly WakeMessage[]): Woken {
  return new Woken(
    condition,
    wakes.map((wake) => ({
      condition: wake.condition,
      value: decode(wake.payload),
      signalName: wake.signalName,
      signalId: wake.signalId,
      time: dateOf(wake.wakeTime),
    })),
  );
}

function conditionMessage(condition: Condition): WaitCondition {
  const message = create(WaitConditionSchema, { name: condition.name ?? "", choose: [...(condition.choose ?? [])] });
  const { signal, after, at } = condition;
  if ([signal, after, at].filter((kind) => kind !== undefined).length !== 1) {
    throw new RangeError("a condition is one of: `signal`, `after` (a duration), `at` (a time)");
  }
  if (signal !== undefined) {
    message.kind = { case: "signal", value: { $typeName: "perdure.v1.SignalCondition", signalName: signal, count: condition.count ?? 1 } };
  } else if (after !== undefined) {
    message.kind = { case: "after", value: durationOf(after) };
  } else if (at !== undefined) {
    message.kind = { case: "atTime", value: timestampFromDate(at) };
  }
  return message;
}

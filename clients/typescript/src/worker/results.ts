/** How an attempt ended, as the message that says so. */

import { create, type DescMessage, type MessageInitShape, type MessageShape, toBinary } from "@bufbuild/protobuf";

import { FAILURE_PREFIX, type Codec } from "../codec.js";
import { durationOf } from "../durations.js";
import { Overloaded, PayloadRejected, PayloadUndecodable, type PerdureError } from "../errors.js";
import { cut, Failure, failureType, textOf } from "../failure.js";
import { type Failure as FailureMessage, FailureSchema, type Payload } from "../gen/perdure/v1/payload_pb.js";
import { type Result, ResultSchema } from "../gen/perdure/v1/worker_service_pb.js";
import { toJson } from "../json.js";
import * as limits from "../limits.js";
import { Chosen, Page } from "../outcomes.js";
import { encode, noValue, RawPayload, sizeOf } from "../payloads.js";
import { ErrorReason } from "../reasons.js";
import { seal } from "../sealing.js";
import { NO_VALUE, Wait, waitMessage } from "../waits.js";
import type { Held } from "./claims.js";

/** Failure type of an attempt whose result the server did not take, such as one that is too large. */
const REFUSED = "perdure.result_refused";

/** What an activity returned: an output, a choice, a page, or a wait. Throws PayloadRejected if it cannot travel. */
export function ofValue(value: unknown): Result {
  if (value instanceof Wait) {
    const checkpoint = value.checkpoint === NO_VALUE ? noValue() : encode(value.checkpoint);
    const wait = waitMessage(value.conditions);
    return made({ case: "waiting", value: { wait, ...(checkpoint === undefined ? {} : { checkpoint }) } });
  }
  if (value instanceof Page) {
    const cursor = encode(value.cursor);
    const children = value.children.map((child) => encode(child) ?? noValue());
    return made({ case: "page", value: { children, ...(cursor === undefined ? {} : { cursor }) } });
  }
  const chosen = value instanceof Chosen ? (value as Chosen<unknown>) : undefined;
  const output = encode(chosen === undefined ? value : chosen.output);
  return made({ case: "completed", value: { choose: [...(chosen?.branches ?? [])], ...(output === undefined ? {} : { output }) } });
}

/** What an activity threw. */
export function ofError(error: unknown): Result {
  return made({ case: "failed", value: failureMessage(error) });
}

/** The claim is given back unharmed, its checkpoint kept. */
export function released(): Result {
  return made({ case: "released", value: {} });
}

/** The activity stopped because it was asked to. */
export function cancelled(): Result {
  return made({ case: "cancelled", value: {} });
}

/** Instead of a result that the server did not take: the attempt failed, with the server's words. */
export function refused(error: PerdureError): Result {
  return ofError(new Failure(REFUSED, error.message));
}

/** The result of this very claim, its checkpoint behind those that were saved before. */
export function addressed(result: Result, held: Held, codec: Codec | undefined): Result {
  try {
    seal(ResultSchema, result, codec); // the activity's side has sealed its own; what is made on this side is small
  } catch {
    result.outcome = released().outcome; // nothing may leave unencrypted
  }
  result.claimToken = held.token;
  result.lastFrameSeq = held.lastFrameSeq;
  if (result.outcome.case === "waiting" && result.outcome.value.checkpoint !== undefined) {
    held.checkpointNo += 1n;
    result.outcome.value.checkpointNo = held.checkpointNo;
  }
  return result;
}

/** Throws PayloadRejected for a message that breaks the stream which has to take it, again and again. */
export function checkSendable<D extends DescMessage>(desc: D, message: MessageShape<D>): void {
  try {
    toBinary(desc, message);
  } catch (error) {
    throw new PayloadRejected(`it cannot travel: ${textOf(error)}`, { reason: ErrorReason.PAYLOAD_INVALID, cause: error });
  }
}

/** Whether gRPC itself refused a message, without a reason of the server's: it is too large, and stays so. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof Overloaded && error.reason === "";
}

/** Bytes of a result, about. */
export function sizeOfResult({ outcome }: Result): number {
  switch (outcome.case) {
    case "completed":
      return sizeOf(outcome.value.output);
    case "waiting":
    case "released":
    case "cancelled":
      return sizeOf(outcome.value.checkpoint);
    case "failed":
      return sizeOf(outcome.value.details) + outcome.value.message.length;
    case "page":
      return outcome.value.children.reduce((sum, child) => sum + sizeOf(child) + 16, sizeOf(outcome.value.cursor));
    default:
      return 0;
  }
}

/** The wire's failure of an error, with its stack trace in the details. */
export function failureMessage(error: unknown): FailureMessage {
  if (error instanceof Failure) {
    const type = cut(textOf(error.type), limits.FAILURE_TYPE_BYTES);
    return create(FailureSchema, {
      type: type === "" ? "Failure" : type,
      message: cut(textOf(error.text), limits.FAILURE_MESSAGE_BYTES),
      nonRetryable: error.nonRetryable,
      details: detailsOf(error, error.details),
      ...(error.retryAfterMs === undefined ? {} : { retryAfter: durationOf(error.retryAfterMs) }),
    });
  }
  if (error instanceof PayloadUndecodable) {
    // Another worker may have the key, or this one may get it: tried again by policy, but not at once.
    return create(FailureSchema, {
      type: FAILURE_PREFIX + error.fault,
      message: cut(error.text, limits.FAILURE_MESSAGE_BYTES),
      details: detailsOf(error, undefined),
      retryAfter: durationOf(limits.CODEC_RETRY_INTERVAL),
    });
  }
  return create(FailureSchema, {
    type: failureType(error),
    message: cut(textOf(error instanceof Error ? error.message : error), limits.FAILURE_MESSAGE_BYTES),
    nonRetryable: error instanceof PayloadRejected || isTooLarge(error), // the same value fails the same way in every attempt
    details: detailsOf(error, undefined),
  });
}

function detailsOf(error: unknown, details: unknown): Payload {
  if (details instanceof RawPayload || ArrayBuffer.isView(details)) return encode(details) ?? noValue();
  const stack = cut(stackOf(error), limits.FAILURE_STACK_BYTES);
  try {
    return encode(details === undefined ? { stack } : { stack, details }) ?? noValue();
  } catch {
    return encode({ stack, details: textOf(details) }) ?? noValue(); // what cannot travel must not hide the failure itself
  }
}

function stackOf(error: unknown): string {
  const lines: string[] = [];
  const seen = new Set<unknown>(); // a cause may lead back to its error
  for (let found = error; lines.length === 0 || (found !== undefined && !seen.has(found)); ) {
    seen.add(found);
    lines.push(found instanceof Error ? traceOf(found) : safeJson(found));
    found = found instanceof Error ? found.cause : undefined;
  }
  return lines.join("\ncaused by: ");
}

function traceOf(error: Error): string {
  try {
    return textOf(error.stack ?? error.message); // Node makes the trace only now, out of the name and the message
  } catch {
    return textOf(error.message);
  }
}

function safeJson(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return toJson(value);
  } catch {
    return textOf(value);
  }
}

function made(outcome: NonNullable<MessageInitShape<typeof ResultSchema>["outcome"]>): Result {
  return create(ResultSchema, { outcome });
}

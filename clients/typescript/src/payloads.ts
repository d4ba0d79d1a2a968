import { clone, create } from "@bufbuild/protobuf";

import { told, undecodable } from "./codec.js";
import { PayloadRejected, PayloadUndecodable } from "./errors.js";
import { type Payload, PayloadSchema } from "./gen/perdure/v1/payload_pb.js";
import { fromJson, toJson } from "./json.js";
import { ErrorReason } from "./reasons.js";

/** A value as it travels; give it as an input or return it from an activity to do without any conversion. */
export class RawPayload {
  /** All of it, as the wire has it. */
  readonly message: Payload;

  /** @param message - The wire's message, as {@link Payload} of `@perdure/client/stubs`. */
  constructor(message: Payload) {
    this.message = message;
  }

  /**
   * A payload of JSON text, kept as it was written.
   *
   * @param text - The JSON.
   * @param contentType - Media type; empty: JSON.
   */
  static json(text: string, contentType = ""): RawPayload {
    return new RawPayload(create(PayloadSchema, { data: { case: "json", value: text }, contentType }));
  }

  /**
   * A payload of bytes.
   *
   * @param bytes - The bytes.
   * @param contentType - Media type; empty: unknown.
   */
  static binary(bytes: Uint8Array, contentType = ""): RawPayload {
    return new RawPayload(create(PayloadSchema, { data: { case: "binary", value: bytes }, contentType }));
  }
}

/**
 * A payload without data: clears a checkpoint.
 * @internal
 */
export function noValue(): Payload {
  return create(PayloadSchema);
}

/**
 * The payload of a value: JSON, or bytes as they are; undefined for undefined. Throws PayloadRejected.
 * @internal
 */
export function encode(value: unknown): Payload | undefined {
  if (value === undefined) return undefined;
  if (value instanceof RawPayload) return clone(PayloadSchema, value.message); // a codec changes what is sent in place
  if (value instanceof ArrayBuffer) return create(PayloadSchema, { data: { case: "binary", value: new Uint8Array(value) } });
  if (ArrayBuffer.isView(value)) {
    return create(PayloadSchema, { data: { case: "binary", value: new Uint8Array(value.buffer, value.byteOffset, value.byteLength) } });
  }
  return create(PayloadSchema, { data: { case: "json", value: toJson(value) } });
}

/**
 * The value of a payload; undefined for an absent one. Throws PayloadRejected if it is a ref or no JSON, and PayloadUndecodable if
 * it is encoded.
 * @internal
 */
export function decode(payload: Payload | undefined): unknown {
  if (payload?.data.case === undefined) return undefined;
  if (payload.encoding !== "") throw undecodable(payload);
  switch (payload.data.case) {
    case "ref":
      throw new PayloadRejected("the value is stored apart: fetch it first", { reason: ErrorReason.PAYLOAD_INVALID });
    case "binary":
      return payload.data.value;
    case "json":
      return parsed(payload.data.value);
  }
}

/**
 * As `decode`, with the place in the error.
 * @internal
 */
export function decodeNamed(place: string, payload: Payload | undefined): unknown {
  try {
    return decode(payload);
  } catch (error) {
    if (error instanceof PayloadUndecodable) throw new PayloadUndecodable(`${place}: ${error.text}`, error.fault);
    if (error instanceof PayloadRejected) throw new PayloadRejected(`${place}: ${error.text}`, { reason: error.reason });
    throw error;
  }
}

/**
 * A value for people and logs: decoded JSON, bytes as their size, refs and encoded values as their names.
 * @internal
 */
export function inline(payload: Payload | undefined): unknown {
  switch (payload?.data.case) {
    case "ref":
      return `<${payload.data.value.sizeBytes.toString()} bytes, stored apart>`;
    case "binary":
      return payload.encoding === "" ? `<${String(payload.data.value.length)} bytes>` : `<${told(payload)}>`;
    case "json":
      return parsed(payload.data.value);
    default:
      return undefined;
  }
}

/**
 * Bytes of a payload's value, about.
 * @internal
 */
export function sizeOf(payload: Payload | undefined): number {
  switch (payload?.data.case) {
    case "json":
      return Buffer.byteLength(payload.data.value);
    case "binary":
      return payload.data.value.length;
    default:
      return 0;
  }
}

function parsed(text: string): unknown {
  try {
    return fromJson(text);
  } catch (error) {
    throw new PayloadRejected(`not JSON: ${error instanceof Error ? error.message : String(error)}`, { reason: ErrorReason.PAYLOAD_INVALID });
  }
}

/**
 * Codecs: what makes values unreadable to everything between two programs that hold the keys.
 * docs/how-to/encrypt-payloads.md of the repository tells what is encoded and what is not.
 */

import { type DecodingFault, PayloadUndecodable } from "./errors.js";
import type { Failure as FailureMessage, Payload } from "./gen/perdure/v1/payload_pb.js";

/** Name of the codec of {@link AesGcm}. */
export const AES_GCM = "aes-gcm";
/**
 * Metadata that this library puts beside a value which it could not decode, for who asks for that value; it never travels.
 * @internal
 */
export const UNDECODED = "perdure-undecoded";
/**
 * Begins the failure types of attempts whose values could not be decoded; their texts hold nothing of a value and stay readable.
 * @internal
 */
export const FAILURE_PREFIX = "perdure.codec.";

const HEADER_VERSION = 1;

/** Encodes values before they leave, and decodes them where they are used. What it is given begins with one byte that says what it is. */
export interface Codec {
  /** Travels as `Payload.encoding`; the same in all languages. */
  readonly name: string;
  /**
   * The encoded form.
   *
   * @param plain - What to encode.
   * @param contentType - Travels readable beside it and should be bound to it.
   */
  encode(plain: Uint8Array, contentType: string): Uint8Array;
  /**
   * What `encode` was given. Throws {@link PayloadUndecodable}.
   *
   * @param encoded - What `encode` gave.
   * @param contentType - As given to `encode`.
   */
  decode(encoded: Uint8Array, contentType: string): Uint8Array;
  /**
   * A keyed hash: equal for equal values, tells nothing without the key. At most 128 characters.
   *
   * @param plain - What to hash.
   */
  digest(plain: Uint8Array): string;
}

/**
 * First byte of what a codec encodes: JSON text, bytes, or a Failure with only its message and details.
 * @internal
 */
export const Kind = { JSON: 0x6a, BINARY: 0x62, FAILURE: 0x66 } as const;

/**
 * The id of the key that encoded an `aes-gcm` value, without any key; empty if this is none.
 * @internal
 */
export function keyIdOf(encoded: Uint8Array): string {
  const size = encoded[1];
  if (encoded[0] !== HEADER_VERSION || size === undefined || encoded.length < 2 + size) return "";
  const found = encoded.subarray(2, 2 + size);
  return found.every((byte) => byte < 0x80) ? Buffer.from(found).toString("ascii") : "";
}

/**
 * An encoded value in a few words, such as `encrypted (aes-gcm, key k1)`.
 * @internal
 */
export function told(payload: Payload): string {
  if (payload.encoding !== AES_GCM) return `encoded (${payload.encoding})`;
  const keyId = payload.data.case === "binary" ? keyIdOf(payload.data.value) : "";
  return `encrypted (${AES_GCM}, key ${keyId === "" ? "unknown" : keyId})`;
}

/**
 * The error of asking for a value that is still encoded.
 * @internal
 */
export function undecodable(payload: Payload): PayloadUndecodable {
  const note = Buffer.from(payload.metadata[UNDECODED] ?? new Uint8Array()).toString("utf8");
  const colon = note.indexOf(":");
  if (colon < 0) {
    return new PayloadUndecodable(`the value is ${told(payload)}: this program has no codec named "${payload.encoding}"`, "encoding_unknown");
  }
  return new PayloadUndecodable(`the value is ${told(payload)}: ${note.slice(colon + 1)}`, note.slice(0, colon) as DecodingFault);
}

/**
 * The message of a failure; where it is encoded, what it is encoded with.
 * @internal
 */
export function failureText(failure: FailureMessage): string {
  const { details } = failure;
  return failure.message === "" && details !== undefined && details.encoding !== "" ? told(details) : failure.message;
}

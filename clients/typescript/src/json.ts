/**
 * JSON without loss: integers beyond 2^53 arrive as bigint, and bigint is written as a number.
 *
 * `JSON.parse` of Node 20 does not show how a number was written, so long numbers are marked in the text before it is parsed.
 */

import { randomUUID } from "node:crypto";

import { PayloadRejected } from "./errors.js";
import { textOf } from "./failure.js";
import { ErrorReason } from "./reasons.js";

// Nobody can guess it, so no string of a user's begins with it.
const MARK = `perdure:${randomUUID()}:`;
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, "g");
/** Shorter integers are exact as they are. */
const EXACT_DIGITS = 15;
const LONG = /\d{16}/;

/**
 * JSON text of a value, with bigint as a number. Dates become ISO text, undefined members are left out. Throws PayloadRejected with the
 * place of what cannot travel, such as NaN, a Map, or bytes.
 *
 * @param value - Any value but undefined, which has no text.
 */
export function toJson(value: unknown): string {
  if (value === undefined) throw rejected("undefined is no value", "");
  const seen = { bigint: false };
  const write = function (this: unknown, key: string, item: unknown): unknown {
    switch (typeof item) {
      case "bigint":
        seen.bigint = true;
        return MARK + item.toString();
      case "number":
        if (!Number.isFinite(item)) throw rejected(`${String(item)} cannot travel as JSON`, key);
        return item;
      case "function":
      case "symbol":
        throw rejected(`a ${typeof item} cannot travel as JSON`, key);
      case "object":
        refuseOpaque(item, key);
        return item;
      default:
        return item;
    }
  };
  let text: string | undefined;
  try {
    const stringify: (from: unknown, by: typeof write) => string | undefined = JSON.stringify;
    text = stringify(value, write);
  } catch (error) {
    if (error instanceof PayloadRejected) throw error;
    throw rejected(textOf(error instanceof Error ? error.message : error), "", error);
  }
  if (text === undefined) throw rejected("its toJSON gives undefined, which is no value", "");
  return seen.bigint ? text.replace(MARKED, "$1") : text;
}

/**
 * The value of JSON text; integers that a number cannot hold exactly become bigint. Throws a SyntaxError.
 *
 * @param text - The JSON.
 */
export function fromJson(text: string): unknown {
  if (!LONG.test(text)) return JSON.parse(text);
  return JSON.parse(marked(text), (_key, item: unknown) =>
    typeof item === "string" && item.startsWith(MARK) ? exact(item.slice(MARK.length)) : item,
  );
}

function exact(digits: string): number | bigint {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : BigInt(digits);
}

/** The text with each long integer as a marked string. */
function marked(text: string): string {
  const parts: string[] = [];
  let kept = 0;
  let at = 0;
  while (at < text.length) {
    const sign = text.charCodeAt(at);
    if (sign === 0x22) {
      at = endOfString(text, at);
    } else if (sign === 0x2d || (sign >= 0x30 && sign <= 0x39)) {
      const end = endOfNumber(text, at);
      const found = text.slice(at, end);
      if (end - at > EXACT_DIGITS && /^-?(0|[1-9]\d*)$/.test(found)) {
        parts.push(text.slice(kept, at), `"${MARK}${found}"`);
        kept = end;
      }
      at = end;
    } else {
      at += 1;
    }
  }
  parts.push(text.slice(kept));
  return parts.join("");
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length) {
    const sign = text.charCodeAt(at);
    if (sign === 0x22) return at + 1;
    at += sign === 0x5c ? 2 : 1;
  }
  return at; // not closed: JSON.parse says so
}

function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && "0123456789+-.eE".includes(text.charAt(at))) at += 1;
  return at;
}

function refuseOpaque(item: object | null, key: string): void {
  if (item instanceof Map || item instanceof Set) throw rejected(`a ${item.constructor.name} would travel as {}: make it an object or an array`, key);
  if (ArrayBuffer.isView(item) || item instanceof ArrayBuffer) {
    throw rejected("bytes travel only as a whole value, not inside JSON", key);
  }
}

function rejected(text: string, key: string, cause?: unknown): PayloadRejected {
  return new PayloadRejected(key === "" ? text : `${text}: at \`${key}\``, { reason: ErrorReason.PAYLOAD_INVALID, cause });
}

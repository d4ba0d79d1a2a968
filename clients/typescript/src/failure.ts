import { FAILURE_TYPE_BYTES } from "./limits.js";
import { type Duration, toMs } from "./durations.js";

/** What goes with a {@link Failure}. */
export interface FailureOptions {
  /** Machine-readable details: any value that JSON can hold. Absent: none. */
  details?: unknown;
  /** Ends the step's attempts at once, whatever its policy says. Absent: false. */
  nonRetryable?: boolean | undefined;
  /** Wish for the time until the next attempt; wins over the policy's back-off. Absent: by policy. */
  retryAfter?: Duration | undefined;
  /** The error behind it; its stack travels along. */
  cause?: unknown;
}

/**
 * Why a step, attempt or workflow did not work: thrown by an activity, read from a workflow.
 *
 * Throw it to choose the words that other languages and retry policies see:
 * `throw new Failure("asr.quota", "no minutes left", { retryAfter: "5m" })`.
 * Any other error becomes a Failure of its own name (`TypeError`, `QuotaError`).
 */
export class Failure extends Error {
  override readonly name: string = "Failure";
  /** Dotted string, the same in all languages; at most 128 bytes. */
  readonly type: string;
  /** The words for people, without the type; cut at 4 KiB. */
  readonly text: string;
  /** Machine-readable details. Undefined: none. */
  readonly details: unknown;
  /** Whether it ends the step's attempts at once. */
  readonly nonRetryable: boolean;
  /** Wish for the time until the next attempt, in milliseconds. Undefined: by policy. */
  readonly retryAfterMs: number | undefined;

  /**
   * @param type - The author's dotted string, such as `asr.quota`.
   * @param text - For people.
   * @param options - Details and wishes.
   */
  constructor(type: string, text = "", options: FailureOptions = {}) {
    super(text === "" ? type : `${type}: ${text}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.type = type;
    this.text = text;
    this.details = options.details;
    this.nonRetryable = options.nonRetryable ?? false;
    this.retryAfterMs = options.retryAfter === undefined ? undefined : toMs(options.retryAfter);
  }
}

/**
 * The failure type that an error becomes: its name.
 * @internal
 */
export function failureType(error: unknown): string {
  if (!(error instanceof Error)) return "Error";
  const own = textOf((error.constructor as { name?: unknown } | undefined)?.name ?? "");
  const given = textOf(error.name);
  const name = given === "Error" && own !== "" ? own : given;
  return cut(name === "" ? "Error" : name, FAILURE_TYPE_BYTES);
}

/**
 * Whatever was thrown, or stands in an error where text should, as text.
 * @internal
 */
export function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return "a value that cannot be made text";
  }
}

/**
 * The text, cut so that its UTF-8 form has at most `size` bytes and no broken character.
 * @internal
 */
export function cut(text: string, size: number): string {
  const encoded = Buffer.from(text, "utf8");
  if (encoded.length <= size) return encoded.toString("utf8");
  let end = size;
  while (end > 0 && ((encoded[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return encoded.subarray(0, end).toString("utf8");
}

import { durationFromMs, durationMs, type Duration as DurationMessage, timestampDate, type Timestamp } from "@bufbuild/protobuf/wkt";

type Unit = "ms" | "s" | "m" | "h" | "d" | "w";

/** A length of time: milliseconds as a number, or a number and its unit as text, such as `"500ms"`, `"30s"` or `"3d"`. */
export type Duration = number | `${number}${Unit}`;

const UNITS: Readonly<Record<Unit, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
/** The wire's own bound: 10,000 years. */
const MAX_MS = 315_576_000_000_000;
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d|w)/gy;

/**
 * The duration in milliseconds. Throws a RangeError that says how to write one.
 * @internal
 */
export function toMs(duration: Duration): number {
  const found = typeof duration === "number" ? duration : parseDuration(duration);
  if (!(found >= 0 && found <= MAX_MS)) throw new RangeError(`${String(duration)} is no duration: it must be from 0 to 10,000 years`);
  return found;
}

/**
 * Milliseconds of a text such as `1h30m`, as in definition files. Throws a RangeError that says how to write one.
 * @internal
 */
export function parseDuration(text: string): number {
  const compact = text.replaceAll(" ", "");
  let total = 0;
  let end = 0;
  PART.lastIndex = 0;
  for (let part = PART.exec(compact); part !== null; part = PART.exec(compact)) {
    total += Number(part[1]) * UNITS[part[2] as Unit];
    end = PART.lastIndex;
  }
  if (end === 0 || end !== compact.length) {
    throw new RangeError(`"${text}" is no duration: write a number and a unit (ms, s, m, h, d, w), such as 30s, 1h30m or 3d`);
  }
  return total;
}

/**
 * The wire's duration.
 * @internal
 */
export function durationOf(duration: Duration): DurationMessage {
  return durationFromMs(Math.round(toMs(duration)));
}

/**
 * Milliseconds of the wire's duration; undefined if it is absent.
 * @internal
 */
export function msOf(message: DurationMessage | undefined): number | undefined {
  return message === undefined ? undefined : durationMs(message);
}

/**
 * The time of the wire's timestamp; undefined if it is absent.
 * @internal
 */
export function dateOf(message: Timestamp | undefined): Date | undefined {
  return message === undefined ? undefined : timestampDate(message);
}

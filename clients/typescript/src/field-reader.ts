import { timestampFromDate, type Duration as DurationMessage, type Timestamp, durationFromMs } from "@bufbuild/protobuf/wkt";

import { parseDuration } from "./durations.js";
import type { Violation } from "./errors.js";

/** A mapping of a document. */
export type Fields = Readonly<Record<string, unknown>>;

/** Takes values out of a document by kind; a wrong one becomes a fault with its place and a harmless value. */
export class FieldReader {
  readonly faults: Violation[] = [];

  /** Notes what is wrong, and where. */
  fault(field: string, description: string): void {
    this.faults.push({ field, description });
  }

  /** A mapping, all of its keys known. */
  mapping(path: string, value: unknown, known?: ReadonlySet<string>): Fields {
    if (value === undefined || value === null) return {};
    if (typeof value !== "object" || Array.isArray(value) || value instanceof Date) {
      this.fault(path, `must be a mapping, not ${kindOf(value)}`);
      return {};
    }
    for (const key of Object.keys(value)) {
      if (known === undefined || known.has(key)) continue;
      this.fault(path === "" ? key : `${path}.${key}`, `is not known; known are ${[...known].sort().join(", ")}`);
    }
    return value as Fields;
  }

  /** A list; one value alone is a list of one. */
  items(value: unknown): readonly unknown[] {
    if (value === undefined || value === null) return [];
    return Array.isArray(value) ? value : [value];
  }

  /** Text; numbers and the like must be quoted, as YAML has changed them already. */
  text(path: string, value: unknown): string {
    if (value === undefined || value === null) return "";
    if (typeof value === "string") return value;
    this.fault(path, `must be text, not ${kindOf(value)}: quote it`);
    return "";
  }

  /** A list of names. */
  names(path: string, value: unknown): readonly string[] {
    return this.items(value).map((item, index) => this.text(`${path}[${String(index)}]`, item));
  }

  /** A whole number; undefined if it is absent or wrong. */
  integer(path: string, value: unknown): number | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value === "number" && Number.isInteger(value)) return value;
    this.fault(path, `must be a whole number, not ${kindOf(value)}`);
    return undefined;
  }

  /** A number; undefined if it is absent or wrong. */
  number(path: string, value: unknown): number | undefined {
    if (value === undefined || value === null || typeof value === "number") return value ?? undefined;
    this.fault(path, `must be a number, not ${kindOf(value)}`);
    return undefined;
  }

  /** True or false; notes a fault for anything else. */
  flag(path: string, value: unknown): boolean {
    if (typeof value === "boolean") return value;
    this.fault(path, `is ${kindOf(value)}, not true or false`);
    return false;
  }

  /** A duration; undefined if it is absent or wrong. */
  duration(path: string, value: unknown): DurationMessage | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value !== "string") {
      this.fault(path, `must be a duration with a unit, such as 30s or 3d, not ${kindOf(value)}`);
      return undefined;
    }
    try {
      return durationFromMs(Math.round(parseDuration(value)));
    } catch (error) {
      this.fault(path, error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  /** A time with its zone; undefined if it is absent or wrong. */
  time(path: string, value: unknown): Timestamp | undefined {
    const text = value instanceof Date ? value.toISOString() : value;
    if (typeof text === "string" && /(Z|[+-]\d\d:?\d\d)$/.test(text) && !Number.isNaN(Date.parse(text))) return timestampFromDate(new Date(text));
    this.fault(path, "must be a time with its zone, such as 2030-01-01T00:00:00Z");
    return undefined;
  }
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a mapping";
  return typeof value === "boolean" ? `the truth value ${String(value)}` : JSON.stringify(value);
}

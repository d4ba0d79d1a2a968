// The lines of the protocol (tests/conformance/README.md): values, errors, and what is written.
import {
  CallTimeout,
  Failure,
  parseJson,
  PayloadUndecodable,
  PerdureError,
  stringifyJson,
  WorkflowCancelled,
  WorkflowFailed,
  WorkflowTerminated,
} from "@perdure/client";

export type Line = Record<string, unknown>;

/** A request that cannot be carried out: a bug of the case or of the driver. */
export class UsageError extends Error {}

/** Reads one line, without loss. */
export function readLine(text: string): Line {
  return parseJson(text) as Line;
}

/** Writes one line at once; nothing else may come to stdout. */
export function writeLine(line: Line): void {
  process.stdout.write(`${stringifyJson(line)}\n`);
}

/** A value of a line as the library takes it. */
export function toValue(given: unknown): unknown {
  if (typeof given !== "object" || given === null || !("$binary" in given) || Object.keys(given).length !== 1) return given;
  return Buffer.from(String(given.$binary), "base64");
}

/** A value of the library's as a line has it; undefined stays, and is then left out. */
export function ofValue(value: unknown): unknown {
  return ArrayBuffer.isView(value) ? { $binary: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64") } : value;
}

export function ofFailure(failure: Failure): Line {
  const { type, text, details, nonRetryable, retryAfterMs } = failure;
  return { type, message: text, details, non_retryable: nonRetryable, retry_after_ms: retryAfterMs };
}

/** An error as a line has it. `waited`: a timeout is that of `result`. */
export function ofError(error: unknown, waited = false): Line {
  if (!(error instanceof PerdureError)) {
    return { type: "usage", reason: "", code: "", message: error instanceof Error ? (error.stack ?? error.message) : String(error), violations: [], facts: {} };
  }
  const { reason, code, text, violations, facts, retryAfterMs } = error;
  return {
    type: kindOf(error, waited),
    reason: String(reason),
    code,
    message: text,
    violations,
    facts,
    retry_after_ms: retryAfterMs,
    ...(error instanceof WorkflowFailed ? { failure: ofFailure(error.failure), step: error.step } : {}),
    ...(error instanceof PayloadUndecodable ? { cause: error.fault } : {}),
  };
}

function kindOf(error: PerdureError, waited: boolean): string {
  if (error instanceof WorkflowFailed) return "failed";
  if (error instanceof WorkflowCancelled) return "cancelled";
  if (error instanceof WorkflowTerminated) return "terminated";
  if (error instanceof PayloadUndecodable) return "undecodable";
  return waited && error instanceof CallTimeout && error.code === "" ? "timeout" : "call";
}

// ---- fields of a request

export function text(line: Line, name: string): string {
  const found = line[name];
  if (typeof found !== "string") throw new UsageError(`${name} must be text`);
  return found;
}

/** Those of the fields that are given, under their names in the library. */
export function given(line: Line, names: Readonly<Record<string, string>>): Line {
  const found = Object.entries(names).filter(([name]) => name in line);
  return Object.fromEntries(found.map(([name, own]) => [own, line[name]]));
}

export function list(line: Line, name: string): readonly Line[] {
  return (line[name] ?? []) as readonly Line[];
}

import type { Failure } from "./failure.js";
import type { ErrorReason } from "./reasons.js";

/** One field that is wrong. */
export interface Violation {
  /** Path of the field, such as `definition.steps[1].needs`. */
  readonly field: string;
  /** What is wrong with it. */
  readonly description: string;
}

/** What is known of a {@link PerdureError} beside its message. */
export interface ErrorDetails {
  /** Why: an ErrorReason, or the name of a newer one. */
  reason?: string | undefined;
  /** The canonical gRPC code, such as `NOT_FOUND`. */
  code?: string | undefined;
  /** Facts that go with the reason. */
  facts?: Readonly<Record<string, string>> | undefined;
  /** Every wrong field. */
  violations?: readonly Violation[] | undefined;
  /** How long the server asks to wait before another try, in milliseconds. */
  retryAfterMs?: number | undefined;
  /** The error behind it. */
  cause?: unknown;
}

/** A call failed. Branch on its class, or on {@link PerdureError.reason}; never on its text. */
export class PerdureError extends Error {
  override readonly name: string = "PerdureError";
  /** Why: an {@link ErrorReason}, or the name of a newer one; empty if there is none. */
  readonly reason: ErrorReason | (string & {});
  /** The canonical gRPC code, such as `NOT_FOUND`; empty if no server was asked. */
  readonly code: string;
  /** Facts that go with the reason, as named beside each ErrorReason in the proto. */
  readonly facts: Readonly<Record<string, string>>;
  /** Every wrong field, where the code is INVALID_ARGUMENT. */
  readonly violations: readonly Violation[];
  /** How long the server asks to wait before another try, in milliseconds; undefined: nothing was said. */
  readonly retryAfterMs: number | undefined;
  /** The message without reason and violations, for people; never to be parsed. */
  readonly text: string;

  /**
   * @param text - For people.
   * @param details - What else is known.
   */
  constructor(text: string, details: ErrorDetails = {}) {
    super(told(text, details), details.cause === undefined ? undefined : { cause: details.cause });
    this.text = text;
    this.reason = details.reason ?? "";
    this.code = details.code ?? "";
    this.facts = details.facts ?? {};
    this.violations = details.violations ?? [];
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** A value or field is wrong; `violations` names each. */
export class InvalidRequest extends PerdureError {
  override readonly name: string = "InvalidRequest";
}

/** A value cannot travel: not JSON, NaN or infinite, too deep, or too large. */
export class PayloadRejected extends InvalidRequest {
  override readonly name: string = "PayloadRejected";
}

/** Why a value could not be decoded. */
export type DecodingFault = "key_missing" | "key_wrong" | "tampered" | "malformed" | "encoding_unknown";

/** A value is encoded, and this program cannot decode it. */
export class PayloadUndecodable extends PayloadRejected {
  override readonly name: string = "PayloadUndecodable";
  /** What is wrong. */
  readonly fault: DecodingFault;

  /**
   * @param text - For people.
   * @param fault - What is wrong.
   */
  constructor(text: string, fault: DecodingFault) {
    super(text);
    this.fault = fault;
  }
}

/** A definition has faults, or asks for something that the server cannot do. */
export class DefinitionRejected extends InvalidRequest {
  override readonly name: string = "DefinitionRejected";
}

/** The business key, request id or signal id was used before for something else. */
export class AlreadyExists extends PerdureError {
  override readonly name: string = "AlreadyExists";
}

/** There is no such workflow, round, definition, step, payload or namespace. */
export class NotFound extends PerdureError {
  override readonly name: string = "NotFound";
}

/** The claim is not this worker's any more: stop, and drop the result. */
export class ClaimLost extends PerdureError {
  override readonly name: string = "ClaimLost";

  /** EXPIRED, TIMED_OUT, CANCELLED, SUPERSEDED, CLOSED or UNKNOWN. */
  get lossCause(): string {
    return this.facts["cause"] ?? "UNKNOWN";
  }
}

/** The workflow, step, session or definition is in no state that allows it. */
export class NotAllowed extends PerdureError {
  override readonly name: string = "NotAllowed";
}

/** A fence or etag is not current: read again, then decide. */
export class Conflict extends PerdureError {
  override readonly name: string = "Conflict";
}

/** Too much at once, or a quota is used up; try later. */
export class Overloaded extends PerdureError {
  override readonly name: string = "Overloaded";
}

/** The server cannot be reached, is stopping, or has no store; was retried until the call's timeout. */
export class Unavailable extends PerdureError {
  override readonly name: string = "Unavailable";
}

/** No answer within the timeout; the effect is unknown, the same request may be repeated. */
export class CallTimeout extends PerdureError {
  override readonly name: string = "CallTimeout";
}

/** No or wrong credentials, or the caller's roles do not allow it. */
export class AccessDenied extends PerdureError {
  override readonly name: string = "AccessDenied";
}

/** The server has no rules for this call. */
export class NotImplementedYet extends PerdureError {
  override readonly name: string = "NotImplementedYet";
}

/** A bug of the server's, or damaged data; `facts.incident_id` is in its log. */
export class ServerFault extends PerdureError {
  override readonly name: string = "ServerFault";
}

/** The workflow has ended, but not COMPLETED; the reason is its end state. */
export class WorkflowNotCompleted extends PerdureError {
  override readonly name: string = "WorkflowNotCompleted";
}

/** The workflow FAILED. */
export class WorkflowFailed extends WorkflowNotCompleted {
  override readonly name: string = "WorkflowFailed";
  /** Why, in the author's words. */
  readonly failure: Failure;
  /** The step that failed it; empty after a workflow timeout. */
  readonly step: string;

  /**
   * @param text - For people.
   * @param failure - Why.
   * @param step - The step that failed it.
   */
  constructor(text: string, failure: Failure, step: string) {
    super(text, { reason: "FAILED", cause: failure });
    this.failure = failure;
    this.step = step;
  }
}

/** The workflow was CANCELLED; the text holds the words of whoever asked for it. */
export class WorkflowCancelled extends WorkflowNotCompleted {
  override readonly name: string = "WorkflowCancelled";
}

/** The workflow was TERMINATED by a person. */
export class WorkflowTerminated extends WorkflowNotCompleted {
  override readonly name: string = "WorkflowTerminated";
}

/**
 * The reason of any error: an {@link ErrorReason} or a newer name; empty for what is no {@link PerdureError}.
 *
 * @param error - Whatever was caught.
 */
export function reasonOf(error: unknown): ErrorReason | (string & {}) {
  return error instanceof PerdureError ? error.reason : "";
}

function told(text: string, details: ErrorDetails): string {
  const name = details.reason === undefined || details.reason === "" ? (details.code ?? "") : details.reason;
  const faults = (details.violations ?? []).map((violation) => `\n  ${violation.field}: ${violation.description}`).join("");
  return `${text}${name === "" ? "" : ` [${name}]`}${faults}`;
}

import { status as Codes, type ServiceError } from "@grpc/grpc-js";
import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack, durationMs } from "@bufbuild/protobuf/wkt";

import * as errors from "./errors.js";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "./gen/google/rpc/error_details_pb.js";
import { type Status, StatusSchema } from "./gen/google/rpc/status_pb.js";
import { ErrorReason } from "./reasons.js";

const DOMAIN = "perdure";
const STATUS_DETAILS = "grpc-status-details-bin";

type ErrorClass = new (text: string, details?: errors.ErrorDetails) => errors.PerdureError;

const BY_REASON: Readonly<Partial<Record<string, ErrorClass>>> = {
  [ErrorReason.PAYLOAD_TOO_LARGE]: errors.PayloadRejected,
  [ErrorReason.PAYLOAD_INVALID]: errors.PayloadRejected,
  [ErrorReason.DEFINITION_INVALID]: errors.DefinitionRejected,
  [ErrorReason.DEFINITION_CYCLE]: errors.DefinitionRejected,
  [ErrorReason.NOT_SUPPORTED_YET]: errors.DefinitionRejected,
  [ErrorReason.CLAIM_LOST]: errors.ClaimLost,
  [ErrorReason.DEFINITION_NOT_FOUND]: errors.NotFound,
};

const BY_CODE: Readonly<Partial<Record<string, ErrorClass>>> = {
  INVALID_ARGUMENT: errors.InvalidRequest,
  OUT_OF_RANGE: errors.InvalidRequest,
  ALREADY_EXISTS: errors.AlreadyExists,
  NOT_FOUND: errors.NotFound,
  FAILED_PRECONDITION: errors.NotAllowed,
  ABORTED: errors.Conflict,
  RESOURCE_EXHAUSTED: errors.Overloaded,
  UNAVAILABLE: errors.Unavailable,
  DEADLINE_EXCEEDED: errors.CallTimeout,
  CANCELLED: errors.CallTimeout,
  UNAUTHENTICATED: errors.AccessDenied,
  PERMISSION_DENIED: errors.AccessDenied,
  UNIMPLEMENTED: errors.NotImplementedYet,
};

/** What is said of CANCELLED where this program has cancelled nothing. */
const CUT = "the call was cut by the server or on the way there";

/**
 * The typed error for what a gRPC call gave. `isOurs`: if it is CANCELLED, this program has cancelled it.
 * @internal
 */
export function errorOfCall(failure: unknown, isOurs = false): errors.PerdureError {
  if (failure instanceof errors.PerdureError) return failure;
  if (!isServiceError(failure)) {
    // gRPC itself throws so when its channel was closed under a call.
    return new errors.Unavailable(`the call could not be made: ${failure instanceof Error ? failure.message : String(failure)}`);
  }
  const found = failure.metadata.get(STATUS_DETAILS)[0];
  const status = found instanceof Buffer ? parsed(found) : undefined;
  // A server with too many new calls says so, and a proxy that gives up: no less passing than a broken connection.
  if (codeName(failure.code) === "CANCELLED" && !isOurs) return typed("UNAVAILABLE", `${CUT}: ${failure.details}`, status);
  return typed(codeName(failure.code), failure.details, status);
}

/**
 * The typed error for a status inside a message; undefined for an absent one and for OK.
 * @internal
 */
export function errorOfStatus(status: Status | undefined): errors.PerdureError | undefined {
  if (status === undefined || status.code === 0) return undefined;
  return typed(codeName(status.code), status.message, status);
}

/**
 * The error of a claim that the stream reported lost, or that this worker gave up.
 * @internal
 */
export function claimLost(cause: string): errors.ClaimLost {
  return new errors.ClaimLost(`the claim is lost (${cause})`, { reason: ErrorReason.CLAIM_LOST, facts: { cause } });
}

function isServiceError(failure: unknown): failure is ServiceError {
  return failure instanceof Error && "code" in failure && typeof failure.code === "number" && "metadata" in failure;
}

function codeName(code: number): string {
  return Codes[code] ?? "UNKNOWN";
}

function parsed(encoded: Uint8Array): Status | undefined {
  try {
    return fromBinary(StatusSchema, encoded);
  } catch {
    return undefined; // a proxy's own bytes: code and message still say enough
  }
}

function typed(code: string, text: string, status: Status | undefined): errors.PerdureError {
  const details: errors.ErrorDetails = { code };
  const violations: errors.Violation[] = [];
  for (const detail of status?.details ?? []) {
    const info = anyUnpack(detail, ErrorInfoSchema);
    if (info?.domain === DOMAIN) {
      details.reason = info.reason;
      details.facts = info.metadata;
    }
    for (const { field, description } of anyUnpack(detail, BadRequestSchema)?.fieldViolations ?? []) violations.push({ field, description });
    const retry = anyUnpack(detail, RetryInfoSchema);
    if (retry?.retryDelay !== undefined) details.retryAfterMs = durationMs(retry.retryDelay);
  }
  details.violations = violations;
  const kind = BY_REASON[details.reason ?? ""] ?? BY_CODE[code] ?? errors.ServerFault;
  return new kind(text === "" ? code : text, details);
}

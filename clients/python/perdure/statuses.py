"""From the wire's statuses to the typed errors: one table, by reason first, then by code."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Protocol, cast

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from perdure import errors
from perdure.errors import PerdureError, Violation
from perdure.reasons import ErrorReason as Reason

DOMAIN = "perdure"
STATUS_DETAILS = "grpc-status-details-bin"
TOO_LARGE = "message larger than max"
"""What gRPC itself says of a message above its bound. No later try makes it smaller, as one may help against other RESOURCE_EXHAUSTED."""

CUT = "the call was cut by the server or on the way there"
"""What is said of CANCELLED where this program has cancelled nothing."""

SEND_FAILED = "Internal error from Core"
"""What grpc.aio itself says, as INTERNAL, if a stream ends under a message that is being sent. The server's own status is lost then."""

BY_REASON: Mapping[str, type[PerdureError]] = {
    Reason.PAYLOAD_TOO_LARGE: errors.PayloadRejected,
    Reason.PAYLOAD_INVALID: errors.PayloadRejected,
    Reason.DEFINITION_INVALID: errors.DefinitionRejected,
    Reason.DEFINITION_CYCLE: errors.DefinitionRejected,
    Reason.NOT_SUPPORTED_YET: errors.DefinitionRejected,
    Reason.CLAIM_LOST: errors.ClaimLost,
    Reason.DEFINITION_NOT_FOUND: errors.NotFound,
}

BY_CODE: Mapping[str, type[PerdureError]] = {
    "INVALID_ARGUMENT": errors.InvalidRequest,
    "OUT_OF_RANGE": errors.InvalidRequest,
    "ALREADY_EXISTS": errors.AlreadyExists,
    "NOT_FOUND": errors.NotFound,
    "FAILED_PRECONDITION": errors.NotAllowed,
    "ABORTED": errors.Conflict,
    "RESOURCE_EXHAUSTED": errors.Overloaded,
    "UNAVAILABLE": errors.Unavailable,
    "DEADLINE_EXCEEDED": errors.CallTimeout,
    "CANCELLED": errors.CallTimeout,
    "UNAUTHENTICATED": errors.AccessDenied,
    "PERMISSION_DENIED": errors.AccessDenied,
    "UNIMPLEMENTED": errors.NotImplementedYet,
    "INTERNAL": errors.ServerFault,
    "DATA_LOSS": errors.ServerFault,
    "UNKNOWN": errors.ServerFault,
}

CODE_NAMES: Mapping[int, str] = {code.value[0]: code.name for code in grpc.StatusCode}


class RpcFailure(Protocol):
    """What grpc.aio raises, as far as we look at it."""

    def code(self) -> grpc.StatusCode:
        """The canonical code."""
        raise NotImplementedError

    def details(self) -> str | None:
        """The message."""

    def trailing_metadata(self) -> object:
        """Pairs of key and value, or None."""


class StatusMessage(Protocol):
    """A google.rpc.Status, of whatever generated class."""

    code: int
    message: str

    def SerializeToString(self) -> bytes:  # noqa: N802 -- protobuf names it so
        """The message in bytes."""
        raise NotImplementedError


def error_of_call(failure: RpcFailure, *, is_ours: bool = False) -> PerdureError:
    """The typed error for what a call raised. `is_ours`: if it is CANCELLED, this program has cancelled it."""
    code = failure.code().name
    message = failure.details() or code
    if code == "CANCELLED" and not is_ours:
        # A server with too many new calls says so, and a proxy that gives up: no less passing than a broken connection.
        code, message = "UNAVAILABLE", f"{CUT}: {message}"
    elif code == "INTERNAL" and message == SEND_FAILED:
        code, message = "UNAVAILABLE", f"{CUT}, while a message was being sent"
    metadata = cast("Iterable[tuple[str, str | bytes]] | None", failure.trailing_metadata())
    for key, value in metadata or ():
        if key == STATUS_DETAILS and isinstance(value, bytes):
            return _error(code, message, _details(value))
    return _error(code, message, status_pb2.Status())


def error_of_status(status: StatusMessage) -> PerdureError | None:
    """The typed error for a status inside a message; None for OK."""
    if status.code == 0:
        return None
    return _error(CODE_NAMES.get(status.code, "UNKNOWN"), status.message, _details(status.SerializeToString()))


def claim_lost(cause: str) -> errors.ClaimLost:
    """The error of a claim that the stream reported lost, or that this worker gave up."""
    return errors.ClaimLost(f"the claim is lost ({cause})", reason=Reason.CLAIM_LOST, metadata={"cause": cause})


def _details(encoded: bytes) -> status_pb2.Status:
    try:
        return status_pb2.Status.FromString(encoded)
    except DecodeError:
        return status_pb2.Status()  # a proxy's own bytes: the code and message still say enough


def _error(code: str, message: str, status: status_pb2.Status) -> PerdureError:
    reason = ""
    metadata: dict[str, str] = {}
    violations: list[Violation] = []
    retry_after: timedelta | None = None
    for detail in status.details:
        info, request, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
        if detail.Unpack(info) and info.domain == DOMAIN:
            reason, metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(request):
            violations += [Violation(violation.field, violation.description) for violation in request.field_violations]
        elif detail.Unpack(retry):
            retry_after = retry.retry_delay.ToTimedelta()
    if not reason and code == "RESOURCE_EXHAUSTED" and TOO_LARGE in message:
        reason = Reason.PAYLOAD_TOO_LARGE
    error = BY_REASON.get(reason) or BY_CODE.get(code, errors.ServerFault)
    known = Reason(reason) if reason in Reason.__members__ else reason
    return error(message, reason=known, code=code, metadata=metadata, violations=tuple(violations), retry_after=retry_after)

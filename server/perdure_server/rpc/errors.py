"""The one table of errors: every reason of the wire with its gRPC code, and every error class with its reason.

Handlers raise; only the guard and the encoders of per-item statuses come here. What is not in the table is a bug of ours: the client
gets INTERNAL with an id, the log gets the rest.
"""

import logging
import os
from collections.abc import Mapping
from typing import Final

from google.protobuf.any_pb2 import Any
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, ResourceInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc import StatusCode

from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.ports.errors import CorruptDocument, DocumentTooLarge, StoreUnavailable
from perdure_server.rpc import limits

DOMAIN: Final = "perdure"
DETAILS_KEY: Final = "grpc-status-details-bin"
LOGGER = logging.getLogger(__name__)


class CallRefused(Exception):
    """A refusal that only the wire knows: `reason` is a name of ErrorReason without its prefix."""

    def __init__(self, reason: str, message: str, **facts: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.facts: Mapping[str, str] = facts


def protocol_violation(message: str) -> CallRefused:
    """A stream's messages came in an order that is not allowed."""
    return CallRefused("PROTOCOL_VIOLATION", message)


def not_implemented(method: str) -> CallRefused:
    """This server has no rules for the call `method` ("Service/Rpc")."""
    return CallRefused("NOT_IMPLEMENTED", "This server does not implement this call.", method=method)


CODES: Final[Mapping[str, StatusCode]] = {
    "INVALID_ARGUMENT": StatusCode.INVALID_ARGUMENT,
    "PAYLOAD_TOO_LARGE": StatusCode.INVALID_ARGUMENT,
    "PAYLOAD_INVALID": StatusCode.INVALID_ARGUMENT,
    "DEFINITION_INVALID": StatusCode.INVALID_ARGUMENT,
    "DEFINITION_CYCLE": StatusCode.INVALID_ARGUMENT,
    "PAGE_TOKEN_INVALID": StatusCode.INVALID_ARGUMENT,
    "RESUME_TOKEN_INVALID": StatusCode.INVALID_ARGUMENT,
    "WAKE_TOKEN_INVALID": StatusCode.INVALID_ARGUMENT,
    "UPDATE_MASK_INVALID": StatusCode.INVALID_ARGUMENT,
    "FILTER_NOT_SUPPORTED": StatusCode.INVALID_ARGUMENT,
    "SCHEDULE_INVALID": StatusCode.INVALID_ARGUMENT,
    "BRANCH_INVALID": StatusCode.INVALID_ARGUMENT,
    "EXPORT_INVALID": StatusCode.INVALID_ARGUMENT,
    "START_INPUT_MISMATCH": StatusCode.ALREADY_EXISTS,
    "WORKFLOW_ALREADY_EXISTS": StatusCode.ALREADY_EXISTS,
    "REQUEST_ID_REUSED": StatusCode.ALREADY_EXISTS,
    "SIGNAL_ID_REUSED": StatusCode.ALREADY_EXISTS,
    "WORKFLOW_NOT_FOUND": StatusCode.NOT_FOUND,
    "DEFINITION_NOT_FOUND": StatusCode.NOT_FOUND,  # FAILED_PRECONDITION where a `command` puts it right, see _code
    "STEP_NOT_FOUND": StatusCode.NOT_FOUND,
    "RESOURCE_NOT_FOUND": StatusCode.NOT_FOUND,
    "BATCH_NOT_FOUND": StatusCode.NOT_FOUND,
    "SCHEDULE_NOT_FOUND": StatusCode.NOT_FOUND,
    "NAMESPACE_NOT_FOUND": StatusCode.NOT_FOUND,
    "PAYLOAD_NOT_FOUND": StatusCode.NOT_FOUND,
    "CLAIM_LOST": StatusCode.FAILED_PRECONDITION,
    "CLAIM_ALREADY_SETTLED": StatusCode.FAILED_PRECONDITION,
    "SESSION_LOST": StatusCode.FAILED_PRECONDITION,
    "SESSION_SUPERSEDED": StatusCode.FAILED_PRECONDITION,
    "DEFINITION_MISMATCH": StatusCode.FAILED_PRECONDITION,
    "OUTCOME_NOT_ALLOWED": StatusCode.FAILED_PRECONDITION,
    "WORKFLOW_CLOSED": StatusCode.FAILED_PRECONDITION,
    "WORKFLOW_NOT_CLOSED": StatusCode.FAILED_PRECONDITION,
    "WORKFLOW_FAILING": StatusCode.FAILED_PRECONDITION,
    "WORKFLOW_CANCELLING": StatusCode.FAILED_PRECONDITION,
    "WORKFLOW_PAUSED": StatusCode.FAILED_PRECONDITION,
    "WORKFLOW_NOT_PAUSED": StatusCode.FAILED_PRECONDITION,
    "WORKFLOW_STATE_INVALID": StatusCode.FAILED_PRECONDITION,
    "STEP_STATE_INVALID": StatusCode.FAILED_PRECONDITION,
    "ROUND_ARCHIVED": StatusCode.FAILED_PRECONDITION,
    "SIGNAL_INBOX_FULL": StatusCode.FAILED_PRECONDITION,
    "DOCUMENT_FULL": StatusCode.FAILED_PRECONDITION,
    "DEFINITION_IN_USE": StatusCode.FAILED_PRECONDITION,
    "DEFINITION_PAUSED": StatusCode.FAILED_PRECONDITION,
    "RESOURCE_IN_USE": StatusCode.FAILED_PRECONDITION,
    "MIGRATION_LOSES_STATE": StatusCode.FAILED_PRECONDITION,
    "BATCH_CLOSED": StatusCode.FAILED_PRECONDITION,
    "REVISION_CONFLICT": StatusCode.ABORTED,
    "FENCED": StatusCode.ABORTED,
    "OVERLOADED": StatusCode.RESOURCE_EXHAUSTED,
    "QUOTA_EXCEEDED": StatusCode.RESOURCE_EXHAUSTED,
    "WATCHER_TOO_SLOW": StatusCode.RESOURCE_EXHAUSTED,
    "STORE_UNAVAILABLE": StatusCode.UNAVAILABLE,
    "DRAINING": StatusCode.UNAVAILABLE,
    "NOT_READY": StatusCode.UNAVAILABLE,
    "DEADLINE_EXCEEDED": StatusCode.DEADLINE_EXCEEDED,
    "CALL_CANCELLED": StatusCode.CANCELLED,
    "UNAUTHENTICATED": StatusCode.UNAUTHENTICATED,
    "PERMISSION_DENIED": StatusCode.PERMISSION_DENIED,
    "NOT_IMPLEMENTED": StatusCode.UNIMPLEMENTED,
    "NOT_SUPPORTED_YET": StatusCode.INVALID_ARGUMENT,
    "UNKNOWN_MESSAGE": StatusCode.INVALID_ARGUMENT,
    "PROTOCOL_VIOLATION": StatusCode.INVALID_ARGUMENT,
    "INTERNAL": StatusCode.INTERNAL,
    "DOCUMENT_QUARANTINED": StatusCode.DATA_LOSS,
}

# Errors of the ports: reason, and the whole text that a client may see. Anything else is INTERNAL.
_PORT_ERRORS: Final[Mapping[type[Exception], tuple[str, str]]] = {
    StoreUnavailable: ("STORE_UNAVAILABLE", "The store cannot be reached; the same request may be repeated."),
    DocumentTooLarge: ("DOCUMENT_FULL", "The workflow's document has no room for it."),
    CorruptDocument: ("DOCUMENT_QUARANTINED", "A stored document does not decode and is set aside."),
}

_RETRY_DELAYS: Final[Mapping[str, int]] = {
    "STORE_UNAVAILABLE": limits.RETRY_STORE,
    "DRAINING": limits.RETRY_ELSEWHERE,
    "NOT_READY": limits.RETRY_ELSEWHERE,
    "WATCHER_TOO_SLOW": limits.RETRY_ELSEWHERE,
    "OVERLOADED": limits.RETRY_OVERLOADED,
    "QUOTA_EXCEEDED": limits.RETRY_OVERLOADED,
}

_RESOURCES: Final[Mapping[str, str]] = {
    "START_INPUT_MISMATCH": "perdure.v1.Workflow",
    "WORKFLOW_ALREADY_EXISTS": "perdure.v1.Workflow",
    "REQUEST_ID_REUSED": "perdure.v1.Workflow",
    "SIGNAL_ID_REUSED": "perdure.v1.Workflow",
    "WORKFLOW_NOT_FOUND": "perdure.v1.Workflow",
    "DEFINITION_NOT_FOUND": "perdure.v1.Definition",
    "STEP_NOT_FOUND": "perdure.v1.StepView",
    "RESOURCE_NOT_FOUND": "perdure.v1.Resource",
    "BATCH_NOT_FOUND": "perdure.v1.Batch",
    "SCHEDULE_NOT_FOUND": "perdure.v1.Schedule",
    "NAMESPACE_NOT_FOUND": "perdure.v1.Namespace",
    "PAYLOAD_NOT_FOUND": "perdure.v1.Payload",
}


def to_status(error: BaseException, resource: str = "") -> Status:
    """The status that a client gets for `error`. `resource` names what the request was about, for ResourceInfo. Logs what is INTERNAL."""
    if isinstance(error, Rejection):
        return _status(error.reason.name, error.message, error.facts, resource, error.retry_after)
    if isinstance(error, CallRefused):
        return _status(error.reason, error.message, error.facts, resource)
    if isinstance(error, FieldViolation):
        return _bad_request(error)
    return _port_error(error, resource)


def trailer(status: Status) -> tuple[tuple[str, bytes], ...]:
    """The trailing metadata that carries a status with its details."""
    return ((DETAILS_KEY, status.SerializeToString()),)


def grpc_code(status: Status) -> StatusCode:
    """The gRPC code of a status made here."""
    return _BY_NUMBER[status.code]


_BY_NUMBER: Final = {code.value[0]: code for code in StatusCode}


def _port_error(error: BaseException, resource: str) -> Status:
    for kind, (reason, text) in _PORT_ERRORS.items():
        if isinstance(error, kind):
            facts = {}
            if reason != "STORE_UNAVAILABLE":
                facts["incident_id"] = _log(error)
            return _status(reason, text, facts, resource)
    text = "A bug in the server; its log has more under this incident_id."
    return _status(Reason.INTERNAL.name, text, {"incident_id": _log(error)}, resource)


def _log(error: BaseException) -> str:
    incident_id = os.urandom(8).hex()
    LOGGER.error("Unexpected error, incident %s", incident_id, exc_info=error, extra={"incident_id": incident_id})
    return incident_id


def _status(reason: str, message: str, facts: Mapping[str, str], resource: str, retry_after: int = 0) -> Status:
    code = _code(reason, facts)
    status = Status(code=code.value[0], message=_shortened(message))
    _pack(status, ErrorInfo(reason=reason, domain=DOMAIN, metadata={name: _shortened(value) for name, value in facts.items()}))
    if code in {StatusCode.RESOURCE_EXHAUSTED, StatusCode.UNAVAILABLE}:
        delay = RetryInfo()
        delay.retry_delay.FromMilliseconds(retry_after or _RETRY_DELAYS[reason])
        _pack(status, delay)
    if code in {StatusCode.NOT_FOUND, StatusCode.ALREADY_EXISTS}:
        _pack(status, ResourceInfo(resource_type=_RESOURCES[reason], resource_name=_shortened(resource), description=_shortened(message)))
    return status


def _code(reason: str, facts: Mapping[str, str]) -> StatusCode:
    # A start of a type without an active definition is a precondition that a command fulfils; a definition asked for by name is not found.
    if reason == Reason.DEFINITION_NOT_FOUND.name and "command" in facts:
        return StatusCode.FAILED_PRECONDITION
    return CODES[reason]


def _bad_request(error: FieldViolation) -> Status:
    field, text = error.violations[0]
    more = f" (and {len(error.violations) - 1} more)" if len(error.violations) > 1 else ""
    status = _status(error.reason.name, f"{_shortened(field)} {_shortened(text)}{more}", getattr(error, "facts", {}), "")
    details = BadRequest()
    left = limits.ERROR_DETAILS - status.ByteSize()
    for number, (field, text) in enumerate(error.violations):
        violation = BadRequest.FieldViolation(field=_shortened(field), description=_shortened(text), reason=error.reason.name)
        left -= violation.ByteSize()
        if left < 0 and number:
            details.field_violations.add(description=f"{len(error.violations) - number} more faults are not listed")
            break
        details.field_violations.append(violation)
    _pack(status, details)
    return status


def _pack(status: Status, detail: ErrorInfo | RetryInfo | ResourceInfo | BadRequest) -> None:
    packed = Any()
    packed.Pack(detail)
    status.details.append(packed)


def _shortened(text: str) -> str:
    return text if len(text) <= limits.ERROR_MESSAGE // 4 else text[: limits.ERROR_MESSAGE // 4 - 3] + "..."

"""Lines of JSON: values, errors and failures as the protocol has them."""

import base64
import sys
import threading
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from perdure import (
    CallTimeout,
    Failure,
    Payload,
    PayloadUndecodable,
    PerdureError,
    WorkflowCancelled,
    WorkflowFailed,
    WorkflowTerminated,
)
from perdure.codec import undecodable
from perdure.payloads import decode
from perdure.v1 import payload_pb2

Line = dict[str, Any]

BINARY: Final = "$binary"
NULL: Final = Payload(json="null")
ABSENT: Final = object()
"""No value at all, as opposed to None, which is JSON's null."""

_writing = threading.Lock()
_encoder: Final = msgspec.json.Encoder()


class Unusable(Exception):
    """A request that cannot be carried out, whatever the library does."""


def write(line: Mapping[str, object]) -> None:
    """Writes one line, from any thread."""
    encoded = _encoder.encode(line)
    with _writing:
        sys.stdout.buffer.write(encoded + b"\n")
        sys.stdout.buffer.flush()


def parse(line: bytes) -> Line:
    """One request."""
    found: Line = msgspec.json.decode(line, type=dict[str, Any])
    return found


def given(fields: Line, name: str) -> object:
    """The value in a field, for the library: None where there is none, a Payload for null."""
    if name not in fields:
        return None
    return value_of(fields[name])


def value_of(value: object) -> object:
    """A value for the library."""
    if value is None:
        return NULL
    if isinstance(value, dict) and value.keys() == {BINARY}:
        return base64.b64decode(value[BINARY])
    return value


def shown(payload: payload_pb2.Payload | Payload | None) -> object:
    """A value for a line; ABSENT if there is none. Raises PayloadUndecodable."""
    message = payload.to_message() if isinstance(payload, Payload) else payload
    if message is None or message.WhichOneof("data") is None:
        return ABSENT
    if message.encoding:
        raise undecodable(message)
    value = decode(message)
    return {BINARY: base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def present(**fields: object) -> Line:
    """The fields that there are: neither None nor ABSENT. For a value that may be null use `put`."""
    return {name: value for name, value in fields.items() if value is not None and value is not ABSENT}


def put(line: Line, name: str, payload: payload_pb2.Payload | Payload | None) -> None:
    """Puts a value under its name, if there is one."""
    value = shown(payload)
    if value is not ABSENT:
        line[name] = value


def failure_line(failure: Failure) -> Line:
    """A failure."""
    line: Line = {"type": failure.type, "message": failure.message, "non_retryable": failure.non_retryable}
    if failure.details is not None:
        details = failure.details
        line["details"] = {BINARY: base64.b64encode(details).decode()} if isinstance(details, bytes) else details
    return line | present(retry_after_ms=milliseconds(failure.retry_after))


def error_line(error: BaseException) -> Line:
    """An error, of the library's or of the request's own."""
    if not isinstance(error, PerdureError):
        return _error("usage", f"{type(error).__name__}: {error}")
    reason = str(error.reason)
    if isinstance(error, WorkflowFailed):
        return _error("failed", error.message, reason) | {"failure": failure_line(error.failure), "step": error.step}
    if isinstance(error, WorkflowCancelled | WorkflowTerminated):
        return _error("cancelled" if isinstance(error, WorkflowCancelled) else "terminated", error.message, reason)
    if isinstance(error, PayloadUndecodable):
        return _error("undecodable", error.message, reason) | {"cause": error.cause}
    if isinstance(error, CallTimeout) and not error.code:
        return _error("timeout", error.message, reason)
    violations = [{"field": found.field, "description": found.description} for found in error.violations]
    line = _error("call", error.message, reason) | {"code": error.code, "violations": violations, "facts": dict(error.metadata)}
    return line | present(retry_after_ms=milliseconds(error.retry_after))


def milliseconds(span: timedelta | None) -> int | None:
    """A duration for a line."""
    return None if span is None else round(span.total_seconds() * 1000)


def duration(fields: Line, name: str) -> timedelta | None:
    """The duration in a field of milliseconds."""
    return timedelta(milliseconds=fields[name]) if name in fields else None


def moment(fields: Line, name: str) -> datetime | None:
    """The time in a field."""
    return datetime.fromisoformat(fields[name]) if name in fields else None


def _error(kind: str, message: str, reason: str = "") -> Line:
    return {"type": kind, "reason": reason, "code": "", "message": message, "violations": [], "facts": {}}

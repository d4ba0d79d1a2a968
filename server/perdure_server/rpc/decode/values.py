"""Small values: payloads, failures, waits, times, names.

Each function notes what is wrong in `faults`, under the path of the field, and returns something harmless in its stead; the caller
raises all faults together. Durations and times are rounded up to the next millisecond, so that none ends before it was asked to.
"""

import re
from collections.abc import Mapping
from typing import Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from perdure.v1 import payload_pb2, wait_pb2, workflow_pb2
from perdure_server.engine.values import Ref
from perdure_server.kernel import limits
from perdure_server.kernel.canonical import check_json
from perdure_server.kernel.policy_validation import LABEL_NAME, QUEUE_NAME, wait_violations
from perdure_server.kernel.rejection import FieldViolation, Reason
from perdure_server.kernel.validation import TYPE_NAME
from perdure_server.kernel.values import Condition, Failure, Payload, Wait
from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.rpc.faults import Faults

DEFAULT_NAMESPACE: Final = "default"
NANOS_PER_MS: Final = 1_000_000
_NANOS_PER_SECOND: Final = 1_000_000_000


def payload(message: payload_pb2.Payload, field: str, faults: Faults, limit: int = limits.PAYLOAD) -> Payload | None:
    """A payload; None if it carries no data. `limit` in bytes."""
    kind = message.WhichOneof("data")
    if kind is None:
        return None
    if kind == "ref":
        faults.add(field, "is a ref, which only the server may send", Reason.PAYLOAD_INVALID, kind="ref")
        return None
    content_type, encoding, digest = message.content_type, message.encoding, message.digest
    if len(content_type) > limits.ID_LENGTH or len(encoding) > limits.ID_LENGTH or len(digest) > limits.ID_LENGTH:
        faults.add(field, f"has a content_type, encoding or digest of more than {limits.ID_LENGTH} characters")
    metadata = _metadata(message.metadata, field, faults) if message.metadata else {}
    if kind == "json":
        text = message.json
        if _json_fits(text, field, encoding, limit, faults):
            return Payload(json=text, content_type=content_type, encoding=encoding, digest=digest, metadata=metadata)
        return None
    content = message.binary
    if len(content) > limit:
        _too_large(field, len(content), limit, faults)
    return Payload(binary=content, content_type=content_type, encoding=encoding, digest=digest, metadata=metadata)


def failure(message: payload_pb2.Failure, field: str, faults: Faults) -> Failure:
    """Why an attempt failed."""
    if not message.type or len(message.type.encode()) > limits.FAILURE_TYPE_LENGTH:
        faults.add(f"{field}.type", f"must have 1 to {limits.FAILURE_TYPE_LENGTH} bytes, such as `asr.quota`")
    if len(message.message.encode()) > limits.FAILURE_MESSAGE:
        faults.add(f"{field}.message", f"is longer than {limits.FAILURE_MESSAGE} bytes")
    return Failure(
        type=message.type,
        message=message.message,
        details=payload(message.details, f"{field}.details", faults) if message.HasField("details") else None,
        non_retryable=message.non_retryable,
        retry_after=duration(message.retry_after, f"{field}.retry_after", faults) if message.HasField("retry_after") else None,
    )


def wait(message: wait_pb2.Wait, field: str, faults: Faults) -> Wait:
    """What a worker's `waiting` asks for."""
    for index, item in enumerate(message.any_of):
        if item.choose:
            faults.add(f"{field}.any_of[{index}].choose", "belongs into a definition: a worker chooses when it completes")
    found = conditions(message, field, faults)
    wait_violations(field, found, faults.add)
    return found


def conditions(message: wait_pb2.Wait, field: str, faults: Faults) -> Wait:
    """The conditions of a wait; only what the wire alone can show to be wrong is noted."""
    return Wait(tuple(_condition(item, f"{field}.any_of[{index}]", faults) for index, item in enumerate(message.any_of)))


def _condition(message: wait_pb2.WaitCondition, field: str, faults: Faults) -> Condition:
    kind, choose = message.WhichOneof("kind") or "", tuple(message.choose)
    if kind == "signal":
        signal = message.signal
        if not signal.signal_name:
            faults.add(f"{field}.signal.signal_name", "is empty")
        name_or_signal = message.name or signal.signal_name or "signal"
        return Condition(name=name_or_signal, signal=signal.signal_name, count=signal.count or 1, choose=choose)
    if kind == "after":
        return Condition(name=message.name or kind, after=duration(message.after, f"{field}.after", faults), choose=choose)
    if kind == "at_time":
        return Condition(name=message.name or kind, at=time(message.at_time, f"{field}.at_time", faults), choose=choose)
    return Condition(name=message.name or "unset", choose=choose)


def duration(message: Duration, field: str, faults: Faults) -> int:
    """A duration in ms, rounded up: from 0 to limits.DURATION."""
    seconds, nanos = message.seconds, message.nanos
    if not -_NANOS_PER_SECOND < nanos < _NANOS_PER_SECOND or (seconds > 0 > nanos) or (seconds < 0 < nanos):
        faults.add(field, "is no valid Duration: nanos and seconds must have the same sign, nanos less than one second")
    elif seconds < 0 or nanos < 0:
        faults.add(field, "must not be negative")
    elif seconds > limits.DURATION // limits.SECOND:
        faults.add(field, "must be at most 100 years")
    else:
        return seconds * limits.SECOND + -(-nanos // NANOS_PER_MS)
    return 0


def time(message: Timestamp, field: str, faults: Faults) -> int:
    """A time in ms since the epoch, rounded up: from 1970 to the year 9999."""
    seconds, nanos = message.seconds, message.nanos
    milliseconds = seconds * limits.SECOND + -(-nanos // NANOS_PER_MS)
    if not 0 <= nanos < _NANOS_PER_SECOND or seconds < 0 or milliseconds > limits.TIME:
        faults.add(field, "must be a valid time between the years 1970 and 9999")
        return 0
    return milliseconds


def namespace(text: str, field: str, faults: Faults) -> str:
    """A namespace; "" is `default`."""
    if not text:
        return DEFAULT_NAMESPACE
    name(text, field, QUEUE_NAME, faults)
    return text


def name(text: str, field: str, pattern: re.Pattern[str], faults: Faults) -> None:
    """Note a name that does not match."""
    if not pattern.match(text):
        faults.add(field, f"must match {pattern.pattern[:-2]}")


def ref(message: workflow_pb2.WorkflowRef, field: str, faults: Faults) -> Ref:
    """The name of a workflow, with what is expected of it."""
    round_no = message.round if message.HasField("round") else None
    if round_no is not None and round_no < 1:
        faults.add(f"{field}.round", "must be at least 1")
    fence = message.expected_fence if message.HasField("expected_fence") else None
    return Ref(key(message, field, faults), round_no, fence)


def key(message: workflow_pb2.WorkflowRef, field: str, faults: Faults) -> WorkflowKey:
    """The identity in a workflow's name."""
    business_key = message.business_key
    if not business_key or len(business_key.encode()) > limits.KEY_LENGTH:
        faults.add(f"{field}.business_key", f"must have 1 to {limits.KEY_LENGTH} bytes")
    name(message.workflow_type, f"{field}.workflow_type", TYPE_NAME, faults)
    return WorkflowKey(namespace(message.namespace, f"{field}.namespace", faults), message.workflow_type, business_key)


def labels(messages: Mapping[str, str], field: str, faults: Faults, most: int = limits.LABELS) -> dict[str, str]:
    """Labels by name."""
    if len(messages) > most:
        faults.add(field, f"has more than {most} entries")
    for label, value in messages.items():
        if not LABEL_NAME.match(label):
            faults.add(f"{field}[{label[: limits.LABEL_KEY_LENGTH]!r}]", f"has a name that does not match {LABEL_NAME.pattern[:-2]}")
        if len(value.encode()) > limits.LABEL_VALUE_LENGTH:
            faults.add(f"{field}[{label[: limits.LABEL_KEY_LENGTH]!r}]", f"has a value of more than {limits.LABEL_VALUE_LENGTH} bytes")
    return dict(messages)


def identifier(text: str, field: str, faults: Faults, required: bool = False) -> str:
    """A caller's own id."""
    if len(text.encode()) > limits.ID_LENGTH or (required and not text):
        faults.add(field, f"must have {1 if required else 0} to {limits.ID_LENGTH} bytes")
    return text


def _metadata(metadata: Mapping[str, bytes], field: str, faults: Faults) -> dict[str, bytes]:
    size = sum(len(key.encode()) + len(value) for key, value in metadata.items())
    if size > limits.PAYLOAD_METADATA:
        faults.add(f"{field}.metadata", f"has more than {limits.PAYLOAD_METADATA} bytes")
    return dict(metadata)


def _json_fits(text: str, field: str, encoding: str, limit: int, faults: Faults) -> bool:
    if len(text) * 4 > limit:  # UTF-8 has at most four bytes per character, so most texts need no count
        size = len(text.encode())
        if size > limit:
            _too_large(field, size, limit, faults)
            return False
    if encoding:
        faults.add(field, "must be binary, because `encoding` is set", Reason.PAYLOAD_INVALID, encoding=encoding)
        return False
    try:
        check_json(field, text)
    except FieldViolation as error:
        faults.merge(error)
        return False
    return True


def _too_large(field: str, size: int, limit: int, faults: Faults) -> None:
    text = f"has {size} bytes, more than the {limit} that are allowed"
    faults.add(field, text, Reason.PAYLOAD_TOO_LARGE, limit_bytes=str(limit), size_bytes=str(size))

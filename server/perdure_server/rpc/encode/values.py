"""Small values: payloads, failures, waits, times. Each function fills a message in place, which is cheaper than making one to be copied."""

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from perdure.v1 import payload_pb2, wait_pb2, workflow_pb2
from perdure_server.kernel.child_state import Children, Parent
from perdure_server.kernel.limits import SECOND
from perdure_server.kernel.values import Failure, Payload, Wait, Wake
from perdure_server.kernel.workflow import OpenCondition, WorkflowKey

_NANOS_PER_MS = 1_000_000


def payload(target: payload_pb2.Payload, value: Payload) -> None:
    """A payload as it was sent, or its ref."""
    if value.json is not None:
        target.json = value.json
    elif value.ref is not None:
        target.ref.payload_id = value.ref.payload_id
        target.ref.size_bytes = value.ref.size
    else:
        target.binary = value.binary or b""
    if value.content_type:
        target.content_type = value.content_type
    if value.encoding:
        target.encoding = value.encoding
    if value.digest:
        target.digest = value.digest
    if value.metadata:
        target.metadata.update(value.metadata)


def failure(target: payload_pb2.Failure, value: Failure, with_payloads: bool = True) -> None:
    """Why something failed."""
    target.type = value.type
    target.message = value.message
    target.non_retryable = value.non_retryable
    if value.details is not None and with_payloads:
        payload(target.details, value.details)
    if value.retry_after is not None:
        duration(target.retry_after, value.retry_after)


def wake(target: wait_pb2.Wake, value: Wake, with_payloads: bool = True) -> None:
    """What ended a wait."""
    target.condition = value.condition
    if value.signal_id:
        target.signal_id = value.signal_id
        target.signal_name = value.signal_name
    if value.payload is not None and with_payloads:
        payload(target.payload, value.payload)
    if value.time:
        time(target.wake_time, value.time)


def open_wait(target: wait_pb2.Wait, conditions: tuple[OpenCondition, ...]) -> None:
    """What a step waits for now; durations have become times."""
    for value in conditions:
        condition = target.any_of.add(name=value.name)
        if value.signal:
            condition.signal.signal_name = value.signal
            condition.signal.count = value.count
        elif value.due is not None:
            time(condition.at_time, value.due)


def wait(target: wait_pb2.Wait, value: Wait) -> None:
    """A wait as a definition has it."""
    for item in value.any_of:
        condition = target.any_of.add(name=item.name, choose=item.choose)
        if item.signal:
            condition.signal.signal_name = item.signal
            condition.signal.count = item.count
        elif item.after is not None:
            duration(condition.after, item.after)
        elif item.at is not None:
            time(condition.at_time, item.at)


def ref(target: workflow_pb2.WorkflowRef, key: WorkflowKey, round_no: int) -> None:
    """A workflow's name, with its round."""
    target.namespace = key.namespace
    target.workflow_type = key.workflow_type
    target.business_key = key.business_key
    target.round = round_no


def time(target: Timestamp, milliseconds: int) -> None:
    """A time in ms since the epoch."""
    target.seconds, rest = divmod(milliseconds, SECOND)
    target.nanos = rest * _NANOS_PER_MS


def duration(target: Duration, milliseconds: int) -> None:
    """A duration in ms, not negative."""
    target.seconds, rest = divmod(milliseconds, SECOND)
    target.nanos = rest * _NANOS_PER_MS


def map_progress(target: workflow_pb2.MapProgress, source: Children) -> None:
    """Where a step's children stand."""
    target.total_count = source.total
    target.total_known = source.known
    target.open_count = len(source.open)
    target.completed_count = source.completed
    target.failed_count = source.failed
    target.cancelled_count = source.cancelled


def parent(target: workflow_pb2.ParentRef, namespace: str, source: Parent) -> None:
    """Who started a child."""
    ref(target.workflow, WorkflowKey(namespace, source.workflow_type, source.business_key), source.round)
    target.step = source.step
    target.index = source.index
    target.generation = source.generation

"""What a start may be given, and how it goes into the request."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias
from uuid import uuid4

from perdure import payloads
from perdure.definition import Definition
from perdure.v1 import workflow_service_pb2

OnOpen: TypeAlias = Literal["use_existing", "reject", "supersede"]
OnClosed: TypeAlias = Literal["use_existing", "new_round", "new_round_if_failed", "reject"]


@dataclass(frozen=True, slots=True)
class StartSignal:
    """A signal that rides along with a start, in the same write."""

    name: str
    payload: object = None
    signal_id: str = ""
    """Makes it count once; empty: a new one."""


def output_type(workflow: Definition | str) -> Any:
    """The type of its output, as far as this program knows it."""
    return Any if isinstance(workflow, str) else workflow.output_type()


def signals_of(signals: Iterable[StartSignal]) -> list[workflow_service_pb2.StartSignal]:
    """The wire's form."""
    return [
        workflow_service_pb2.StartSignal(
            signal_name=signal.name, payload=payloads.encode(signal.payload), signal_id=signal.signal_id or uuid4().hex
        )
        for signal in signals
    ]


def set_policies(request: workflow_service_pb2.StartWorkflowRequest, on_open: OnOpen | None, on_closed: OnClosed | None) -> None:
    """What if there is a round of the key."""
    kinds = workflow_service_pb2.StartWorkflowRequest
    if on_open is not None:
        request.on_open = kinds.OnOpen.Value(f"ON_OPEN_{on_open.upper()}")
    if on_closed is not None:
        request.on_closed = kinds.OnClosed.Value(f"ON_CLOSED_{on_closed.upper()}")


def set_times(
    request: workflow_service_pb2.StartWorkflowRequest,
    start_at: datetime | None,
    workflow_timeout: timedelta | None,
    retention: timedelta | None,
) -> None:
    """When it begins, how long it may take and is kept. Raises ValueError for a time without a zone."""
    if start_at is not None:
        if start_at.tzinfo is None:
            raise ValueError("`start_at` needs a time zone, such as datetime.now(UTC) + ...")
        request.start_at.FromDatetime(start_at)
    if workflow_timeout is not None:
        request.workflow_timeout.FromTimedelta(workflow_timeout)
    if retention is not None:
        request.retention.FromTimedelta(retention)

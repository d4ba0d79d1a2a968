"""What a start may be given, and how it goes into the request."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeAlias
from uuid import uuid4

from perdure import payloads
from perdure.definition import Definition
from perdure.known_types import KnownTypes
from perdure.times import put_spans, put_times
from perdure.v1 import workflow_service_pb2
from perdure.view import WorkflowRef

OnOpen: TypeAlias = Literal["use_existing", "reject", "supersede"]
OnClosed: TypeAlias = Literal["use_existing", "new_round", "new_round_if_failed", "reject"]


@dataclass(frozen=True, slots=True)
class StartSignal:
    """A signal that rides along with a start, in the same write. A start that meets an open workflow sends it there."""

    name: str
    payload: object = None
    signal_id: str = ""
    """Makes it count once; empty: a new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One piece of work for `client.start_many`; the fields are those of `client.start`."""

    workflow: Definition | str
    """Its definition, or the name of its type."""
    key: str
    """The caller's own name of the business object."""
    input: object = None
    labels: Mapping[str, str] | None = None
    request_id: str = ""
    """Empty: a new one."""
    on_open: OnOpen | None = None
    """None: `use_existing`."""
    on_closed: OnClosed | None = None
    """None: `use_existing`."""
    start_at: datetime | None = None
    """The first step waits until then; it must know its time zone."""
    signals: Iterable[StartSignal] = ()
    priority: int | None = None
    """0 to 9, higher sooner; None: 5."""
    queue: str = ""
    step_queues: Mapping[str, str] | None = None
    fairness_key: str = ""
    fairness_weight: float | None = None
    workflow_timeout: timedelta | None = None
    retention: timedelta | None = None
    definition_fingerprint: str = ""
    """Empty: the active one."""
    expected_fence: int | None = None
    validate_only: bool = False

    def to_message(self, namespace: str) -> workflow_service_pb2.StartWorkflowRequest:
        """The wire's form. Raises ValueError for a time without a zone, PayloadRejected, InvalidRequest for a value of another type."""
        kinds = workflow_service_pb2.StartWorkflowRequest
        known = KnownTypes(self.workflow)
        value = payloads.encode(self.input)
        known.check_input(value)
        request = kinds(
            workflow=WorkflowRef(self.workflow_type, self.key, namespace, expected_fence=self.expected_fence).to_message(),
            input=value,
            request_id=self.request_id or uuid4().hex,
            labels=self.labels,
            priority=self.priority,
            queue=self.queue,
            step_queues=self.step_queues,
            fairness_key=self.fairness_key,
            fairness_weight=self.fairness_weight,
            definition_fingerprint=self.definition_fingerprint,
            validate_only=self.validate_only,
            signals=_signals(self.signals, known),
        )
        if self.on_open is not None:
            request.on_open = kinds.OnOpen.Value(f"ON_OPEN_{self.on_open.upper()}")
        if self.on_closed is not None:
            request.on_closed = kinds.OnClosed.Value(f"ON_CLOSED_{self.on_closed.upper()}")
        put_times(request, {"start_at": self.start_at})
        put_spans(request, {"workflow_timeout": self.workflow_timeout, "retention": self.retention})
        return request

    @property
    def workflow_type(self) -> str:
        """Name of its type."""
        return self.workflow if isinstance(self.workflow, str) else self.workflow.workflow_type


def _signals(signals: Iterable[StartSignal], known: KnownTypes) -> list[workflow_service_pb2.StartSignal]:
    found: list[workflow_service_pb2.StartSignal] = []
    for place, signal in enumerate(signals):
        carried = payloads.encode(signal.payload)
        known.check_signal(signal.name, carried, f"signals[{place}].payload")
        signal_id = signal.signal_id or uuid4().hex
        found.append(workflow_service_pb2.StartSignal(signal_name=signal.name, payload=carried, signal_id=signal_id))
    return found

"""What the engine tells about itself; never blocks, never raises."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

from msgspec import Struct

from perdure_server.kernel.values import Failure, Trace
from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.ports.instruments import Instrument

Labels = tuple[str, ...]
"""Values of an instrument's labels, in its order. An empty one is left out."""

Point = tuple[Instrument, Labels, float]

_SAMPLED: Final = 1


class AttemptSpan(Struct, frozen=True, omit_defaults=True):
    """One finished attempt of one step: everything that its span says. Times in ms."""

    key: WorkflowKey
    run_id: str
    fence: int
    trace: Trace
    span_id: str
    step: str
    attempt: int
    claim_no: int
    granted: int
    ended: int
    outcome: str  # completed, failed, waiting, released, cancelled, lost, timed_out
    worker_id: str = ""
    failure: Failure | None = None


class Moment(Struct, frozen=True):
    """Something that happened at an exact time (ms) within a span."""

    name: str
    time: int
    attributes: Mapping[str, str] = {}


class StaySpan(Struct, frozen=True, omit_defaults=True):
    """A time that a step, or with `step` "" the workflow, spent without a claim. Times in ms.

    `kind`: queued, waiting, backing off, delayed, held, children, paused. `cause` is the event that ended it, `follows` the span of the
    claim (`claim_no`) that it ended in.
    """

    key: WorkflowKey
    run_id: str
    fence: int
    trace: Trace
    span_id: str
    kind: str
    began: int
    ended: int
    step: str = ""
    cause: str = ""
    claim_no: int = 0
    follows: str = ""
    moments: tuple[Moment, ...] = ()


class WorkflowSpan(Struct, frozen=True, omit_defaults=True):
    """A workflow that began (`ended` None: the root is exported at once, so that a long trace is readable from day one) or ended.

    `replays` counts those of this run; `cancel_time` is when somebody asked to cancel it.
    """

    key: WorkflowKey
    run_id: str
    fence: int
    trace: Trace
    started: int
    ended: int | None = None
    state: str = ""
    failure: Failure | None = None
    cancel_time: int | None = None
    replays: int = 0


def is_sampled(trace: Trace) -> bool:
    """Whether the spans of this trace are wanted. The decision was made where it began; a part of a trace is worse than none."""
    return bool(trace.flags & _SAMPLED)


def derived_span_id(*parts: object) -> str:
    """A span id that every server derives alike from what is stored, so that a span told twice is one span."""
    return hashlib.sha256(" ".join(map(str, parts)).encode()).hexdigest()[:16]


def children_span_id(run_id: str, step: str, generation: int) -> str:
    """The span of a step that starts workflows of its own: known before it ends, so that they can name it as their parent."""
    return derived_span_id("children", run_id, step, generation)


class Meter(Protocol):
    """Takes points. A label that has had too many values is counted as `other`."""

    def count(self, instrument: Instrument, labels: Labels = (), amount: int = 1) -> None:
        """Add to a counter."""

    def record(self, instrument: Instrument, value: float, labels: Labels = ()) -> None:
        """Add a point to a histogram; durations in ms, fractions too."""


class Telemetry(Meter, Protocol):
    """Spans and points. Bounded queues; what does not fit is dropped and counted."""

    enabled: bool
    """False = spans are not wanted, so that nobody builds them."""

    measured: bool
    """False = nobody reads the metrics, so that nobody asks the store for them. Points are taken in any case: they cost next to nothing."""

    def attempt_ended(self, span: AttemptSpan) -> None:
        """Export the attempt's span with its stored start."""

    def workflow_started(self, span: WorkflowSpan) -> None:
        """Export the root."""

    def stay_ended(self, span: StaySpan) -> None:
        """Export a time without a claim."""

    def workflow_replayed(self, span: WorkflowSpan, earlier_fence: int) -> None:
        """Export the mark of a replay, linked to the end before it, which had this fence."""

    def workflow_ended(self, span: WorkflowSpan) -> None:
        """Export the end."""

    def observe(self, look: Callable[[], Iterable[Point]]) -> None:
        """Call `look` whenever the metrics are read, for gauges, and for counters that others keep. It must not wait."""


class Silence:
    """A Meter for parts that nobody measures."""

    def count(self, instrument: Instrument, labels: Labels = (), amount: int = 1) -> None:
        """Nothing."""

    def record(self, instrument: Instrument, value: float, labels: Labels = ()) -> None:
        """Nothing."""


SILENCE: Final = Silence()

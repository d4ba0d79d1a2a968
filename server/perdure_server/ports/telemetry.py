"""What the engine tells about itself; never blocks, never raises."""

from collections.abc import Callable, Iterable
from typing import Final, Protocol

from msgspec import Struct

from perdure_server.kernel.values import Failure, Trace
from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.ports.instruments import Instrument

Labels = tuple[str, ...]
"""Values of an instrument's labels, in its order. An empty one is left out."""

Point = tuple[Instrument, Labels, float]


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


class WorkflowSpan(Struct, frozen=True, omit_defaults=True):
    """A workflow that began (`ended` None: the root is exported at once, so that a long trace is readable from day one) or ended."""

    key: WorkflowKey
    run_id: str
    fence: int
    trace: Trace
    started: int
    ended: int | None = None
    state: str = ""
    failure: Failure | None = None


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

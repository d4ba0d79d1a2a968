"""What the engine tells about itself; never blocks, never raises."""

from typing import Protocol

from msgspec import Struct

from perdure_server.kernel.values import Failure, Trace
from perdure_server.kernel.workflow import WorkflowKey


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


class Telemetry(Protocol):
    """Spans and counters. Bounded queues; what does not fit is dropped and counted."""

    enabled: bool
    """False = spans are not wanted, so that nobody builds them."""

    def attempt_ended(self, span: AttemptSpan) -> None:
        """Export the attempt's span with its stored start."""

    def workflow_started(self, span: WorkflowSpan) -> None:
        """Export the root."""

    def workflow_ended(self, span: WorkflowSpan) -> None:
        """Export the end."""

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        """Add to a counter. Labels are of bounded cardinality: never a key, never an id."""

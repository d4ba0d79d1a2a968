"""Past claims of a workflow's steps."""

from dataclasses import dataclass, field
from datetime import datetime

from perdure.failure import Failure
from perdure.v1 import workflow_pb2
from perdure.view import enum_name, failure_of, time_of


@dataclass(frozen=True, slots=True)
class Attempt:
    """One claim of a step, past or present; the last 10 of a step are kept."""

    step: str
    claim_no: int
    """Number of the grant, over all generations."""
    attempt: int
    """Charged executions up to and including this one."""
    worker_id: str
    """Who has it; empty where the server does not know any more."""
    start_time: datetime | None
    end_time: datetime | None
    """None: it still runs."""
    outcome: str
    """COMPLETED, FAILED, WAITING, RELEASED, LOST, TIMED_OUT, ...; empty: it still runs."""
    failure: Failure | None
    charged: bool
    """Whether it counts as an attempt; released, waiting and undelivered ones do not."""
    trace_id: str
    """Of its span, 32 hex digits; empty: not traced."""
    message: workflow_pb2.Attempt = field(repr=False)
    """All that the server told."""


def attempt_of(message: workflow_pb2.Attempt) -> Attempt:
    """The value of a message."""
    return Attempt(
        message.step,
        message.claim_no,
        message.attempt,
        message.worker_id,
        time_of(message.start_time),
        time_of(message.end_time),
        enum_name(workflow_pb2.Attempt.Outcome, message.outcome, "OUTCOME_"),
        failure_of(message.failure) if message.HasField("failure") else None,
        message.charged,
        message.trace_id,
        message,
    )

"""What a decision asks the engine to do after it is stored. All of these are hints: losing one costs time only."""

from msgspec import Struct

from perdure_server.kernel.values import Failure, LossCause, Wake
from perdure_server.kernel.workflow import Claim, Duty


class StepReady(Struct, frozen=True):
    """Announce this step, or grant it in the same write."""

    step: str


class StepRequeued(Struct, frozen=True):
    """Announce this step, which has waited in `queue` (a queue id), anew."""

    step: str
    queue: str


class CancelRequested(Struct, frozen=True):
    """Tell the holder of this claim to stop."""

    step: str
    claim: Claim


class ClaimLost(Struct, frozen=True):
    """Tell the holder that its token is no longer current."""

    step: str
    claim: Claim
    cause: LossCause


class PermitsFreed(Struct, frozen=True):
    """A claim that held permits is gone: give them back. Lost, the audit of the holders finds them."""

    claim: Claim


class AttemptEnded(Struct, frozen=True):
    """A claim is settled: export its span. `outcome`: completed, failed, waiting, released, cancelled, lost, timed_out, undelivered."""

    step: str
    claim: Claim
    claim_no: int
    attempt: int
    outcome: str
    failure: Failure | None = None


class WaitWon(Struct, frozen=True):
    """A durable wait is over: tell the trace what ended it."""

    step: str
    wakes: tuple[Wake, ...]


class TimerSet(Struct, frozen=True):
    """A step falls due at this time (ms)."""

    due: int


class DutyTaken(Struct, frozen=True):
    """Perform this duty now; if that hint is lost, the sweep does from its `due` on."""

    duty: Duty


class ChildrenOpened(Struct, frozen=True):
    """Create the children that this step intends; if that hint is lost, its duty to tend them does."""

    step: str


class WorkflowStarted(Struct, frozen=True):
    """Export the root span."""


class WorkflowEnded(Struct, frozen=True):
    """Export the end; wake those who wait for the result."""


Effect = (
    StepReady
    | StepRequeued
    | CancelRequested
    | ClaimLost
    | AttemptEnded
    | PermitsFreed
    | TimerSet
    | WaitWon
    | DutyTaken
    | ChildrenOpened
    | WorkflowStarted
    | WorkflowEnded
)

"""What becomes of a step whose claim ended without an output: retry, back-off, or failure."""

from msgspec import Struct

from perdure_server.kernel import limits
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.progress import fail_step, settle_down
from perdure_server.kernel.readiness import make_ready
from perdure_server.kernel.transitions import StepEvent
from perdure_server.kernel.values import Failure
from perdure_server.kernel.workflow import AttemptError, Settled, Step, StepState

WORKER_LOST = "WORKER_LOST"
_IDLE_BACKOFF_FIRST = limits.SECOND
_IDLE_BACKOFF_CAP = limits.MINUTE
_MIDDLE = 0.5  # of the jitter band: a loss brings no dice

Memory = tuple[Settled, ...]


class FailedAttempt(Struct, frozen=True):
    """How an attempt failed; `memory` is what the step remembers of its tokens, `dice` in [0, 1) places the retry."""

    event: StepEvent
    failure: Failure
    memory: Memory
    dice: float


def attempt_failed(draft: Draft, name: str, attempt: FailedAttempt) -> None:
    """A charged attempt ended in failure: try again by policy, or fail the step."""
    step = draft.step(name)
    event, failure, memory = attempt.event, attempt.failure, attempt.memory
    fields: dict[str, object] = {"claim": None, "settled": memory, **_errors(draft, step, failure)}
    if step.state is StepState.CANCELLING:
        draft.move(name, event, StepState.CANCELLED, failure=failure, **fields)
        settle_down(draft)
        return
    retry = draft.plan(name).retry
    final = failure.non_retryable or failure.type in retry.non_retryable_types
    if (final and not draft.definition.is_required(name)) or not attempts_left(draft, name):
        fail_step(draft, name, event, failure, **fields)
        return
    fields |= {"failure": failure, "idle_returns": 0}
    delay = retry.delay(step.attempt, attempt.dice) if failure.retry_after is None else min(failure.retry_after, limits.DURATION)
    if delay <= 0:
        make_ready(draft, name, event, **fields)
    else:
        draft.move(name, event, StepState.BACKOFF, due=draft.now + delay, **fields)


def attempts_left(draft: Draft, name: str) -> bool:
    """Whether one more attempt may be charged; a required hook is tried for ever."""
    most = None if draft.definition.is_required(name) else draft.plan(name).retry.max_attempts
    return most is None or draft.step(name).attempt < most


def claim_lost_while_running(draft: Draft, name: str, memory: Memory) -> None:
    """An acknowledged claim is lost: it stays charged. READY again if attempts are left and not too many were lost.

    A required hook has no such bound: beyond it, it backs off.
    """
    step = draft.step(name)
    failure = Failure(WORKER_LOST, "The worker that held this step is gone.")
    fields = {"claim": None, "settled": memory, "lost_claims": step.lost_claims + 1, **_errors(draft, step, failure)}
    if step.state is StepState.CANCELLING:
        draft.move(name, StepEvent.LOST, StepState.CANCELLED, **fields)
        settle_down(draft)
        return
    fields |= {"idle_returns": 0}
    if _survives_loss(draft, name):
        make_ready(draft, name, StepEvent.LOST, failure=failure, **fields)
    elif draft.definition.is_required(name):
        delay = draft.plan(name).retry.delay(step.attempt, _MIDDLE)
        draft.move(name, StepEvent.LOST, StepState.BACKOFF, due=draft.now + delay, failure=failure, **fields)
    else:
        fail_step(draft, name, StepEvent.LOST, failure, **fields)


def claim_returned(draft: Draft, name: str, event: StepEvent, memory: Memory, progressed: bool) -> None:
    """A claim came back unused (not delivered, or released): its attempt is refunded.

    Many in a row without progress back off, and after limits.UNDELIVERED_AS_LOST of them the last stays charged and counts as lost.
    """
    step = draft.step(name)
    row = 0 if progressed else step.idle_returns + 1
    if row >= limits.UNDELIVERED_AS_LOST and step.state is not StepState.CANCELLING:
        _returned_too_often(draft, name, event, memory)
        return
    fields = {"claim": None, "settled": memory, "attempt": step.attempt - 1}
    if event is StepEvent.RELEASED:
        fields["releases"] = step.releases + 1
    else:
        fields["undelivered"] = step.undelivered + 1
    pause = row - limits.UNDELIVERED_BEFORE_BACKOFF
    if step.state is StepState.CANCELLING:
        draft.move(name, event, StepState.CANCELLED, **fields)
        settle_down(draft)
    elif pause <= 0:
        make_ready(draft, name, event, idle_returns=row, **fields)
    else:
        draft.move(name, event, StepState.BACKOFF, due=draft.now + idle_pause(pause), failure=None, idle_returns=row, **fields)


def idle_pause(row: int) -> int:
    """How long (ms) a step rests after the `row`-th return in a row that brought nothing."""
    doubled: int = _IDLE_BACKOFF_FIRST << max(0, row - 1)
    return min(doubled, _IDLE_BACKOFF_CAP)


def _returned_too_often(draft: Draft, name: str, event: StepEvent, memory: Memory) -> None:
    step = draft.step(name)
    failure = Failure(WORKER_LOST, f"Claims of this step came back unused {limits.UNDELIVERED_AS_LOST} times in a row.")
    fields = {"claim": None, "settled": memory, "lost_claims": step.lost_claims + 1, **_errors(draft, step, failure)}
    if draft.definition.is_required(name) or _survives_loss(draft, name):
        draft.move(name, event, StepState.BACKOFF, due=draft.now + _IDLE_BACKOFF_CAP, failure=failure, idle_returns=0, **fields)
    else:
        fail_step(draft, name, event, failure, **fields, idle_returns=0)


def _survives_loss(draft: Draft, name: str) -> bool:
    most = draft.plan(name).retry.max_attempts
    left = most is None or draft.step(name).attempt < most
    return left and draft.step(name).lost_claims + 1 < draft.definition.max_lost_claims


def _errors(draft: Draft, step: Step, failure: Failure) -> dict[str, object]:
    worker_id = step.claim.worker_id if step.claim is not None else ""
    error = AttemptError(step.attempt, step.claim_no, draft.now, failure, worker_id)
    return {"failures": step.failures + 1, "errors": (*step.errors[-(limits.ATTEMPT_ERRORS - 1) :], error)}

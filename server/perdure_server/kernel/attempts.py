"""What becomes of a step whose claim ended without an output: retry, back-off, or failure."""

from perdure_server.kernel import limits
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.progress import fail_step, make_ready, settle_down
from perdure_server.kernel.transitions import StepEvent
from perdure_server.kernel.values import Failure
from perdure_server.kernel.workflow import AttemptError, Settled, StepState

WORKER_LOST = "WORKER_LOST"
_IDLE_BACKOFF_FIRST = limits.SECOND
_IDLE_BACKOFF_CAP = limits.MINUTE


def attempt_failed(draft: Draft, name: str, event: StepEvent, failure: Failure, dice: float, memory: tuple[Settled, ...]) -> None:
    """A charged attempt ended in failure: try again by policy, or fail the step."""
    step = draft.step(name)
    errors = (*step.errors[-(limits.ATTEMPT_ERRORS - 1) :], AttemptError(step.attempt, step.claim_no, draft.now, failure))
    if step.state is StepState.CANCELLING:
        draft.move(name, event, StepState.CANCELLED, failure=failure, claim=None, settled=memory, errors=errors)
        settle_down(draft)
        return
    retry = draft.plan(name).retry
    final = failure.non_retryable or failure.type in retry.non_retryable_types
    if final or not attempts_left(draft, name):
        fail_step(draft, name, event, failure, claim=None, settled=memory, errors=errors)
        return
    delay = failure.retry_after if failure.retry_after is not None else retry.delay(step.attempt, dice)
    if delay <= 0:
        make_ready(draft, name, event, claim=None, settled=memory, errors=errors, failure=failure, idle_returns=0)
    else:
        fields = {"claim": None, "settled": memory, "errors": errors, "idle_returns": 0, "due": draft.now + delay}
        draft.move(name, event, StepState.BACKOFF, failure=failure, **fields)


def attempts_left(draft: Draft, name: str) -> bool:
    """Whether one more attempt may be charged."""
    most = draft.plan(name).retry.max_attempts
    return most is None or draft.step(name).attempt < most


def claim_lost_while_running(draft: Draft, name: str, memory: tuple[Settled, ...]) -> None:
    """An acknowledged claim is lost: it stays charged. READY again if attempts are left and not too many were lost."""
    step = draft.step(name)
    lost = step.lost_claims + 1
    failure = Failure(WORKER_LOST, "The worker that held this step is gone.")
    if step.state is StepState.CANCELLING:
        draft.move(name, StepEvent.LOST, StepState.CANCELLED, claim=None, settled=memory, lost_claims=lost)
        settle_down(draft)
    elif attempts_left(draft, name) and lost < draft.definition.max_lost_claims:
        make_ready(draft, name, StepEvent.LOST, claim=None, settled=memory, lost_claims=lost)
    else:
        errors = (*step.errors[-(limits.ATTEMPT_ERRORS - 1) :], AttemptError(step.attempt, step.claim_no, draft.now, failure))
        fail_step(draft, name, StepEvent.LOST, failure, claim=None, settled=memory, lost_claims=lost, errors=errors)


def claim_returned(draft: Draft, name: str, event: StepEvent, memory: tuple[Settled, ...], progressed: bool) -> None:
    """A claim came back unused (not delivered, or released): its attempt is refunded.

    Many in a row without progress back off, and after limits.UNDELIVERED_AS_LOST of them the last stays charged and counts as lost.
    """
    step = draft.step(name)
    row = 0 if progressed else step.idle_returns + 1
    if step.state is StepState.CANCELLING:
        draft.move(name, event, StepState.CANCELLED, claim=None, settled=memory)
        settle_down(draft)
    elif row >= limits.UNDELIVERED_AS_LOST:
        _returned_too_often(draft, name, event, memory)
    else:
        fields = {"claim": None, "settled": memory, "attempt": step.attempt - 1, "idle_returns": row}
        pause = row - limits.UNDELIVERED_BEFORE_BACKOFF
        if pause <= 0:
            make_ready(draft, name, event, **fields)
        else:
            delay = min(_IDLE_BACKOFF_FIRST * 2 ** (pause - 1), _IDLE_BACKOFF_CAP)
            draft.move(name, event, StepState.BACKOFF, due=draft.now + delay, failure=None, **fields)


def _returned_too_often(draft: Draft, name: str, event: StepEvent, memory: tuple[Settled, ...]) -> None:
    step = draft.step(name)
    lost = step.lost_claims + 1
    if attempts_left(draft, name) and lost < draft.definition.max_lost_claims:
        fields = {"claim": None, "settled": memory, "idle_returns": 0, "lost_claims": lost}
        draft.move(name, event, StepState.BACKOFF, due=draft.now + _IDLE_BACKOFF_CAP, failure=None, **fields)
    else:
        failure = Failure(WORKER_LOST, f"Claims of this step came back unused {limits.UNDELIVERED_AS_LOST} times in a row.")
        fail_step(draft, name, event, failure, claim=None, settled=memory, lost_claims=lost)

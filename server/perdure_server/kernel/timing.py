"""Everything that time does to an instance, in the order in which it fell due."""

from perdure_server.kernel.attempts import attempt_failed
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.effects import ClaimLost
from perdure_server.kernel.progress import fire, open_step, settle_down, stop_all
from perdure_server.kernel.transitions import StepEvent, WorkflowEvent
from perdure_server.kernel.values import Failure, LossCause
from perdure_server.kernel.workflow import CLAIMED, Settled, Step, StepState, WorkflowState

ATTEMPT_TIMEOUT = "ATTEMPT_TIMEOUT"
SILENCE_TIMEOUT = "SILENCE_TIMEOUT"
WORKFLOW_TIMEOUT = "WORKFLOW_TIMEOUT"


def fire_due(draft: Draft, dice: float = 0.5) -> None:
    """Do all that is due at the draft's `now`, earliest first; what one thing opens may be due as well."""
    if draft.workflow.is_ended:
        return
    while (due := _earliest(draft)) is not None and due[0] <= draft.now:
        _, name = due
        if name:
            _fire_step(draft, name, dice)
        elif draft.state is WorkflowState.RUNNING:
            _time_out_workflow(draft)
        else:
            _end_grace(draft)


def next_due(state: WorkflowState, deadline: int | None, grace: int | None) -> int | None:
    """The workflow's own next due time."""
    if state is WorkflowState.RUNNING:
        return deadline
    return grace if state in (WorkflowState.CANCELLING, WorkflowState.FAILING) else None


def step_due(step: Step) -> int | None:
    """When time itself moves this step (attempt deadline, back-off, wait)."""
    if step.state in CLAIMED:
        return step.claim.deadline if step.claim is not None else None
    return step.due if step.state in (StepState.BACKOFF, StepState.WAITING) else None


def time_out_attempt(draft: Draft, name: str, failure_type: str, dice: float) -> None:
    """Fence the claim first; then retry or fail. A timeout says "no result in time", not "no effect"."""
    step = draft.step(name)
    assert step.claim is not None, "only claimed steps have attempt deadlines"
    draft.effects.append(ClaimLost(name, step.claim, LossCause.EXPIRED))
    failure = Failure(failure_type, "There was no result in time; the attempt may have had effects.")
    memory = draft.settle(name, "timed_out", Settled(step.claim.nonce, cause=LossCause.EXPIRED), failure)
    attempt_failed(draft, name, StepEvent.TIMED_OUT, failure, dice, memory)


def _earliest(draft: Draft) -> tuple[int, str] | None:
    workflow = draft.workflow
    found: list[tuple[int, str]] = []
    if not draft.get("end_time", workflow.end_time):
        own = next_due(draft.state, draft.get("deadline", workflow.deadline), draft.get("grace_deadline", workflow.grace_deadline))
        if own is not None and draft.judging:
            found.append((own, ""))
    for name, step in draft.active():
        due = step_due(step)
        if due is not None and (draft.judging or step.state not in CLAIMED):
            found.append((due, name))
    return min(found, default=None)


def _fire_step(draft: Draft, name: str, dice: float) -> None:
    step = draft.step(name)
    if step.state is StepState.WAITING:
        fire(draft, name)
    elif step.state is StepState.BACKOFF:
        open_step(draft, name, StepEvent.DUE)
    else:
        time_out_attempt(draft, name, ATTEMPT_TIMEOUT, dice)


def _time_out_workflow(draft: Draft) -> None:
    draft.set(failure=Failure(WORKFLOW_TIMEOUT, "The workflow did not end in time."))
    draft.turn(WorkflowEvent.TIMED_OUT, WorkflowState.FAILING)
    stop_all(draft)
    settle_down(draft)


def _end_grace(draft: Draft) -> None:
    draft.set(grace_deadline=None)
    for name, step in draft.active():
        if step.state is StepState.CANCELLING:
            assert step.claim is not None, "CANCELLING means claimed"
            draft.effects.append(ClaimLost(name, step.claim, LossCause.CANCELLED))
            memory = draft.settle(name, "cancelled", Settled(step.claim.nonce, cause=LossCause.CANCELLED))
            draft.move(name, StepEvent.GRACE_OVER, StepState.CANCELLED, claim=None, settled=memory)
    settle_down(draft)

"""Everything that time does to an instance, in the order in which it fell due."""

from collections.abc import Iterator

from perdure_server.kernel.attempts import FailedAttempt, attempt_failed
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.effects import ClaimLost
from perdure_server.kernel.progress import fail_step, fire, open_step, settle_down, stop_all
from perdure_server.kernel.transitions import StepEvent, WorkflowEvent
from perdure_server.kernel.values import Failure, LossCause
from perdure_server.kernel.workflow import STEP_ENDS, Settled, Step, StepState, Workflow, WorkflowState

ATTEMPT_TIMEOUT = "ATTEMPT_TIMEOUT"
SILENCE_TIMEOUT = "SILENCE_TIMEOUT"
STEP_TIMEOUT = "STEP_TIMEOUT"
QUEUE_TIMEOUT = "QUEUE_TIMEOUT"
WORKFLOW_TIMEOUT = "WORKFLOW_TIMEOUT"


def fire_due(draft: Draft, dice: float = 0.5) -> None:
    """Do all that is due at the draft's `now`, earliest first, the workflow's own time before its steps'.

    Nothing that is opened here is due at once, but for a grace of zero.
    """
    if draft.workflow.inert:
        return
    while due := sorted(_due_steps(draft)):
        for time, name in due:
            _fire_own(draft, time)
            if _moves_at(draft, draft.step(name)) == time:  # not ended by what came before
                _fire_step(draft, name, dice)
    _fire_own(draft, draft.now)


def next_due(state: WorkflowState, deadline: int | None, grace: int | None) -> int | None:
    """The workflow's own next due time."""
    if state is WorkflowState.RUNNING:
        return deadline
    return grace if state in (WorkflowState.CANCELLING, WorkflowState.FAILING) else None


def step_due(step: Step, is_paused: bool = False) -> int | None:
    """When time itself moves this step: attempt deadline, back-off, wait, queue or step timeout. In a pause only the first goes on."""
    own = step.claim.deadline if step.claim is not None else None if is_paused else step.due
    if is_paused or step.step_deadline is None or step.state is StepState.CANCELLING:
        return own
    return step.step_deadline if own is None else min(own, step.step_deadline)


def earliest_due(workflow: Workflow) -> int | None:
    """When time next moves this instance, by its own rules: acknowledgement windows, leases and silence are not in it, nor are duties."""
    if workflow.inert:
        return None
    paused = workflow.paused is not None
    times = [due for step in workflow.steps.values() if step.state not in STEP_ENDS and (due := step_due(step, paused)) is not None]
    own = None if paused else next_due(workflow.state, workflow.deadline, workflow.grace_deadline)
    return min(times if own is None else [*times, own], default=None)


def is_due(workflow: Workflow, now: int) -> bool:
    """Whether something has fallen due, duties included."""
    due = earliest_due(workflow)
    return (due is not None and due <= now) or any(duty.due <= now for duty in workflow.duties)


def time_out_attempt(draft: Draft, name: str, failure_type: str, dice: float) -> None:
    """Fence the claim first; then retry or fail. A timeout says "no result in time", not "no effect"."""
    claim = draft.claim(name)
    draft.effects.append(ClaimLost(name, claim, LossCause.TIMED_OUT))
    failure = Failure(failure_type, "There was no result in time; the attempt may have had effects.")
    memory = draft.settle(name, "timed_out", Settled(claim.nonce, cause=LossCause.TIMED_OUT), failure)
    attempt_failed(draft, name, FailedAttempt(StepEvent.TIMED_OUT, failure, memory, dice))


def _due_steps(draft: Draft) -> Iterator[tuple[int, str]]:
    for name, step in draft.active():
        due = _moves_at(draft, step)
        if due is not None and due <= draft.now:
            yield due, name


def _moves_at(draft: Draft, step: Step) -> int | None:
    if draft.judging:
        return step_due(step, draft.paused is not None)
    # The store was away: what a worker could not do meanwhile is not held against it.
    return step.due if step.state in (StepState.WAITING, StepState.BACKOFF) and draft.paused is None else None


def _fire_own(draft: Draft, until: int) -> None:
    while (due := _own_due(draft)) is not None and due <= until:
        if draft.state is WorkflowState.RUNNING:
            _time_out_workflow(draft)
        else:
            _end_grace(draft)


def _own_due(draft: Draft) -> int | None:
    workflow = draft.workflow
    if not draft.judging or draft.paused is not None:
        return None
    return next_due(draft.state, draft.get("deadline", workflow.deadline), draft.get("grace_deadline", workflow.grace_deadline))


def _fire_step(draft: Draft, name: str, dice: float) -> None:
    step = draft.step(name)
    own = step.claim.deadline if step.claim is not None else step.due
    last = step.step_deadline if draft.judging and draft.paused is None and step.state is not StepState.CANCELLING else None
    if last is not None and (own is None or last < own):
        _time_out_step(draft, name)
    elif step.state is StepState.READY:
        failure = Failure(QUEUE_TIMEOUT, "No worker took the step in time.")
        fail_step(draft, name, StepEvent.EXHAUSTED, failure)
    elif step.state is StepState.WAITING:
        fire(draft, name)
    elif step.state is StepState.BACKOFF:
        open_step(draft, name, StepEvent.DUE)
    else:
        time_out_attempt(draft, name, ATTEMPT_TIMEOUT, dice)


def _time_out_step(draft: Draft, name: str) -> None:
    step = draft.step(name)
    failure = Failure(STEP_TIMEOUT, "The step did not end in time, all its attempts together.")
    fields: dict[str, object] = {}
    if step.claim is not None:
        draft.effects.append(ClaimLost(name, step.claim, LossCause.TIMED_OUT))
        settled = Settled(step.claim.nonce, cause=LossCause.TIMED_OUT)
        fields |= {"claim": None, "settled": draft.settle(name, "timed_out", settled, failure)}
    fail_step(draft, name, StepEvent.EXHAUSTED, failure, **fields)


def _time_out_workflow(draft: Draft) -> None:
    draft.set(failure=Failure(WORKFLOW_TIMEOUT, "The workflow did not end in time."))
    draft.turn(WorkflowEvent.TIMED_OUT, WorkflowState.FAILING)
    stop_all(draft)
    settle_down(draft)


def _end_grace(draft: Draft) -> None:
    draft.set(grace_deadline=None)
    for name, step in draft.active():
        if step.state is StepState.CANCELLING:
            claim = draft.claim(name)
            draft.effects.append(ClaimLost(name, claim, LossCause.CANCELLED))
            memory = draft.settle(name, "cancelled", Settled(claim.nonce, cause=LossCause.CANCELLED))
            draft.move(name, StepEvent.GRACE_OVER, StepState.CANCELLED, claim=None, settled=memory)
    settle_down(draft)

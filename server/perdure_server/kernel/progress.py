"""How one thing leads to the next: unlocking, opening and winning waits, completing, failing, ending."""

from perdure_server.kernel.definition import StepKind
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.effects import CancelRequested, StepReady, WorkflowEnded
from perdure_server.kernel.transitions import StepEvent, WorkflowEvent
from perdure_server.kernel.values import Failure, Payload, Wait, Wake
from perdure_server.kernel.wait_result import wait_result
from perdure_server.kernel.waits import consume, first_to_hold, open_conditions
from perdure_server.kernel.workflow import CLAIMED, STEP_ENDS, OpenCondition, StepState, WorkflowState


def open_step(draft: Draft, name: str, event: StepEvent) -> None:
    """Bring an unblocked or delayed step to life: READY, or WAITING for a wait step."""
    wait = draft.plan(name).wait
    if wait is not None:
        open_wait(draft, name, event, wait)
    else:
        make_ready(draft, name, event)


def make_ready(draft: Draft, name: str, event: StepEvent, **fields: object) -> None:
    """READY, and to be announced."""
    draft.move(name, event, StepState.READY, due=None, **fields)
    draft.effects.append(StepReady(name))


def open_wait(draft: Draft, name: str, event: StepEvent, wait: Wait, **fields: object) -> None:
    """Store what the step waits for; a signal that is already in the inbox wins at once."""
    conditions = open_conditions(wait, draft.now)
    due = min((condition.due for condition in conditions if condition.due is not None), default=None)
    waits = draft.step(name).waits + 1
    draft.move(name, event, StepState.WAITING, wait=conditions, due=due, wakes=(), waits=waits, **fields)
    try_signals(draft, name)


def try_signals(draft: Draft, name: str) -> bool:
    """Let the oldest stored signals win the step's wait, if they are enough. True = won.

    Of several conditions that hold, the one that came true first wins, just as if the wait had been open when the signals came.
    """
    inbox = draft.get("inbox", draft.workflow.inbox)
    if not inbox:
        return False
    chosen = first_to_hold(inbox, draft.step(name).wait)
    if chosen is None:
        return False
    condition, found = chosen
    draft.set(inbox=consume(inbox, found))
    wakes = tuple(Wake(condition.name, signal.signal_id, signal.payload, signal.name, signal.time) for signal in found)
    _win(draft, name, condition, wakes)
    return True


def fire(draft: Draft, name: str) -> None:
    """The earliest timed condition of a WAITING step is due."""
    timed = [condition for condition in draft.step(name).wait if condition.due is not None]
    winner = min(timed, key=lambda condition: condition.due or 0)
    _win(draft, name, winner, (Wake(winner.name, time=draft.now),))


def _win(draft: Draft, name: str, condition: OpenCondition, wakes: tuple[Wake, ...]) -> None:
    if draft.plan(name).kind is StepKind.WAIT:
        complete_step(draft, name, StepEvent.WON, wait_result(condition, wakes), wait=(), due=None)
    else:
        make_ready(draft, name, StepEvent.WON, wait=(), wakes=wakes)


def complete_step(draft: Draft, name: str, event: StepEvent, output: Payload | None, **fields: object) -> None:
    """Store the output and unlock what depends on it."""
    draft.move(name, event, StepState.COMPLETED, output=output, checkpoint=None, wakes=(), **fields)
    draft.completed.append(name)
    if len(draft.completed) > 1:
        return  # the outer call goes on with it: a chain of waits that all win at once must not nest
    while draft.completed:
        if draft.state is WorkflowState.RUNNING:
            _unlock(draft, draft.completed[0])
        draft.completed.pop(0)
    settle_down(draft)


def _unlock(draft: Draft, name: str) -> None:
    for dependant in draft.definition.dependants[name]:
        if draft.step(dependant).state is not StepState.BLOCKED:
            continue
        if all(draft.step(needed).state is StepState.COMPLETED for needed in draft.plan(dependant).depends_on):
            open_step(draft, dependant, StepEvent.UNBLOCK)


def fail_step(draft: Draft, name: str, event: StepEvent, failure: Failure, **fields: object) -> None:
    """The step has failed for good; so has the workflow."""
    draft.move(name, event, StepState.FAILED, failure=failure, wakes=(), **fields)
    if draft.state is WorkflowState.RUNNING:
        draft.set(failure=failure, failed_step=name)
        draft.turn(WorkflowEvent.STEP_FAILED, WorkflowState.FAILING)
        stop_all(draft)
    settle_down(draft)


def stop_all(draft: Draft) -> None:
    """No new steps: what is not claimed ends in this write, what is claimed is told to stop and waited for up to the grace."""
    for plan in draft.definition.steps:
        step = draft.step(plan.name)
        if step.state is StepState.RUNNING:
            draft.move(plan.name, StepEvent.CANCEL, StepState.CANCELLING)
            draft.effects.append(CancelRequested(plan.name, draft.claim(plan.name)))
        elif step.state not in STEP_ENDS and step.state not in CLAIMED:
            draft.move(plan.name, StepEvent.CANCEL, StepState.CANCELLED, due=None, wait=())
    draft.set(deadline=None, grace_deadline=draft.now + draft.definition.cancel_grace)


def settle_down(draft: Draft) -> None:
    """End the workflow if nothing is left to happen."""
    if draft.state is WorkflowState.RUNNING and draft.remaining == 0:
        _end(draft, WorkflowEvent.LAST_STEP_ENDED, WorkflowState.COMPLETED)
    elif draft.state in (WorkflowState.CANCELLING, WorkflowState.FAILING) and not any(step.state in CLAIMED for _, step in draft.active()):
        end = WorkflowState.CANCELLED if draft.state is WorkflowState.CANCELLING else WorkflowState.FAILED
        _end(draft, WorkflowEvent.QUIET, end)


def _end(draft: Draft, event: WorkflowEvent, state: WorkflowState) -> None:
    output = draft.step(draft.definition.final_step).output if state is WorkflowState.COMPLETED else None
    draft.set(output=output, end_time=draft.now, deadline=None, grace_deadline=None, expire_time=draft.now + draft.workflow.retention)
    draft.turn(event, state)
    draft.effects.append(WorkflowEnded())

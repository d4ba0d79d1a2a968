"""How one thing leads to the next: unlocking, opening and winning waits, completing, failing, ending."""

from collections.abc import Sequence

from msgspec.structs import replace

from perdure_server.kernel import hooks, limits
from perdure_server.kernel.child_state import ChildEnd
from perdure_server.kernel.children import (
    CHILD_FAILED,
    begin_children,
    child_plan,
    children_of,
    count_source,
    is_met,
    open_more,
    parent_link,
)
from perdure_server.kernel.definition import Exhaustion, StepKind
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.duties import take_duty
from perdure_server.kernel.effects import CancelRequested, WaitWon, WorkflowEnded
from perdure_server.kernel.map_result import map_result
from perdure_server.kernel.readiness import make_ready, stopped_clock
from perdure_server.kernel.reopening import not_taken, reopened
from perdure_server.kernel.transitions import StepEvent, WorkflowEvent
from perdure_server.kernel.values import Failure, Payload, Wait, Wake
from perdure_server.kernel.wait_result import wait_result
from perdure_server.kernel.waits import consume, first_to_hold, open_conditions
from perdure_server.kernel.workflow import CLAIMED, STEP_ENDS, DutyKind, OpenCondition, StepState, WorkflowState

_JOINS = frozenset({StepState.WAITING, StepState.READY, StepState.BACKOFF})
_MIDDLE = 0.5  # of the jitter band: children bring no dice


def open_step(draft: Draft, name: str, event: StepEvent) -> None:
    """Bring an unblocked or delayed step to life: READY, or WAITING for a wait step or for children."""
    wait = draft.plan(name).wait
    if draft.plan(name).child is not None:
        begin_children(draft, name, event)
        if not child_plan(draft, name).paged:
            expand(draft, name, count_source(draft, name))
    elif wait is not None:
        open_wait(draft, name, event, wait)
    else:
        make_ready(draft, name, event)


def expand(draft: Draft, name: str, found: int | Failure | None) -> None:
    """How many children the step has is known now, or why it can have none; None = it is not known yet."""
    if isinstance(found, int) and found > limits.MAP_CHILDREN:
        found = too_many_children(found)
    if isinstance(found, Failure):
        _fail_join(draft, name, found)
    elif found is not None:
        draft.amend(name, children=replace(children_of(draft, name), total=found, known=True))
        join(draft, name)


def too_many_children(count: int) -> Failure:
    """The failure of a step that would start more children than it may."""
    text = f"The step would start {count} children; at most {limits.MAP_CHILDREN} are allowed."
    return Failure("MAP_TOO_LARGE", text, non_retryable=True)


def join(draft: Draft, name: str, ends: Sequence[ChildEnd] = ()) -> None:
    """What the counted ends mean: the step is done, it fails, or more children are opened. A step that is claimed is judged when it is not.

    `ends` are those just counted: of a child step, the one that brings its output.
    """
    step = draft.step(name)
    children = step.children
    if children is None or children.over or step.state not in _JOINS:
        return
    plan = draft.plan(name)
    met = is_met(child_plan(draft, name), children)
    if met is None:
        open_more(draft, name)
        return
    result = map_result(draft.workflow, parent_link(draft.workflow, name, step.generation, plan.kind), child_plan(draft, name), children)
    if not met:
        counts = f"{children.failed} of {children.total} children failed, {children.cancelled} were cancelled"
        _fail_join(draft, name, Failure(CHILD_FAILED, f"{counts}.", details=result))
        return
    output = next((end.output for end in ends), None) if plan.kind is StepKind.CHILD else result
    complete_step(draft, name, StepEvent.JOINED, output, failure=None)


def _fail_join(draft: Draft, name: str, failure: Failure) -> None:
    # A paging step is not begun anew by itself: its worker was asked already.
    plan, children = draft.plan(name), children_of(draft, name)
    left = draft.close_children(name) or children
    draft.amend(name, children=replace(left, over=True))
    retry = plan.retry
    final = failure.non_retryable or failure.type in retry.non_retryable_types or child_plan(draft, name).paged
    if final or (retry.max_attempts is not None and children.tries >= retry.max_attempts):
        fail_step(draft, name, StepEvent.CHILD_FAILED, failure)
    else:
        due = draft.now + max(1, retry.delay(children.tries, _MIDDLE))
        draft.move(name, StepEvent.CHILD_FAILED, StepState.BACKOFF, due=due, failure=failure)


def open_wait(draft: Draft, name: str, event: StepEvent, wait: Wait, **fields: object) -> None:
    """Store what the step waits for; a signal that is already in the inbox wins at once."""
    conditions = open_conditions(wait, draft.now)
    due = min((condition.due for condition in conditions if condition.due is not None), default=None)
    waits = draft.step(name).waits + 1
    clock = stopped_clock(draft, name)
    draft.move(name, event, StepState.WAITING, wait=conditions, due=due, wakes=(), waits=waits, **(clock | fields))
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
    draft.effects.append(WaitWon(name, wakes))
    if draft.plan(name).kind is StepKind.WAIT:
        chosen = _chosen_by(draft, name, condition.name)
        complete_step(draft, name, StepEvent.WON, wait_result(condition, wakes), wait=(), due=None, chosen=chosen)
    else:
        make_ready(draft, name, StepEvent.WON, wait=(), wakes=wakes)


def complete_step(draft: Draft, name: str, event: StepEvent, output: Payload | None, **fields: object) -> None:
    """Store the output and unlock what depends on it."""
    draft.move(name, event, StepState.COMPLETED, output=output, checkpoint=None, wakes=(), **fields)
    if name in draft.definition.hook_steps:
        hooks.ended(draft, name)
        settle_down(draft)
        return
    spread(draft, name)


def spread(draft: Draft, name: str) -> None:
    """A step has ended in a way that the plan goes on from: skip the branches that it did not take, unlock or skip what depends on it."""
    is_nested = bool(draft.completed)
    draft.completed.append(name)
    if is_nested:
        return  # the outer call goes on with it: a chain of waits that all win at once must not nest
    _spread_all(draft)
    settle_down(draft)


def go_on(draft: Draft, standing: list[str]) -> None:
    """The plan has changed under the workflow: open what may be open now, after the steps that have ended."""
    for name in draft.definition.roots:
        if draft.step(name).state is StepState.BLOCKED:
            open_step(draft, name, StepEvent.UNBLOCK)
    draft.completed += standing
    _spread_all(draft)
    settle_down(draft)


def _spread_all(draft: Draft) -> None:
    while draft.completed:
        if draft.state is WorkflowState.RUNNING:
            _skip_branches(draft, draft.completed[0])
            for dependant in draft.definition.dependants[draft.completed[0]]:
                _open_or_skip(draft, dependant)
        draft.completed.pop(0)


def _open_or_skip(draft: Draft, name: str) -> None:
    if draft.step(name).state is not StepState.BLOCKED:
        return
    needed = draft.plan(name).depends_on
    if not all(draft.step(dependency).state in STEP_ENDS for dependency in needed):
        return
    stopping = next((dependency for dependency in needed if _stops_dependants(draft, dependency)), None)
    if stopping is not None:
        _skip(draft, name, stopping, spreads=True)
    elif needed and all(draft.step(dependency).state is StepState.SKIPPED for dependency in needed):
        _skip(draft, name, needed[0], spreads=False)
    else:
        open_step(draft, name, StepEvent.UNBLOCK)


def _stops_dependants(draft: Draft, name: str) -> bool:
    step = draft.step(name)
    if step.state is StepState.FAILED:
        return draft.plan(name).on_exhausted is not Exhaustion.CONTINUE
    return step.state is StepState.SKIPPED and step.skip_spreads


def _skip(draft: Draft, name: str, by: str, spreads: bool) -> None:
    draft.move(name, StepEvent.SKIP, StepState.SKIPPED, skipped_by=by, skip_spreads=spreads)
    draft.completed.append(name)


def _skip_branches(draft: Draft, name: str) -> None:
    if not draft.plan(name).branches:
        return
    for step in not_taken(draft.plan(name), draft.step(name).chosen):
        if draft.step(step).state is StepState.BLOCKED:
            _skip(draft, step, name, spreads=False)


def _chosen_by(draft: Draft, name: str, condition: str) -> tuple[str, ...]:
    wait = draft.plan(name).wait
    found = [known.choose for known in wait.any_of if known.name == condition] if wait is not None else []
    return found[0] if found else ()


def fail_step(draft: Draft, name: str, event: StepEvent, failure: Failure, **fields: object) -> None:
    """The step's attempts are used up: what then happens is its policy's to say. A hook is noted and passed."""
    holds = draft.plan(name).on_exhausted is Exhaustion.HOLD and name not in draft.definition.hook_steps
    if holds and draft.state is WorkflowState.RUNNING:
        draft.move(name, event, StepState.HELD, failure=failure, **fields)
    else:
        fail_unheld(draft, name, event, failure, **fields)


def fail_unheld(draft: Draft, name: str, event: StepEvent, failure: Failure, **fields: object) -> None:
    """The same, but nobody is asked: HOLD fails the workflow."""
    policy = draft.plan(name).on_exhausted
    is_hook = name in draft.definition.hook_steps
    draft.move(name, event, StepState.FAILED, failure=failure, wakes=(), **fields)
    if is_hook:
        hooks.ended(draft, name)
        settle_down(draft)
    elif policy in (Exhaustion.SKIP_DEPENDANTS, Exhaustion.CONTINUE) and draft.state is WorkflowState.RUNNING:
        spread(draft, name)
    else:
        fail_workflow(draft, name, failure)


def fail_workflow(draft: Draft, name: str, failure: Failure) -> None:
    """A step that has failed takes the workflow with it."""
    if draft.state in (WorkflowState.RUNNING, WorkflowState.PREPARING_REPLAY):
        draft.set(failure=failure, failed_step=name)
        draft.turn(WorkflowEvent.STEP_FAILED, WorkflowState.FAILING)
        stop_all(draft)
    settle_down(draft)


def stop_all(draft: Draft) -> None:
    """No new steps: what is not claimed ends in this write, what is claimed is told to stop and waited for up to the grace."""
    for plan in draft.definition.steps:
        step = draft.step(plan.name)
        if step.state is StepState.BLOCKED and plan.name in draft.definition.hook_steps:
            continue
        if step.state is StepState.RUNNING:
            draft.move(plan.name, StepEvent.CANCEL, StepState.CANCELLING)
            draft.effects.append(CancelRequested(plan.name, draft.claim(plan.name)))
        elif step.state not in STEP_ENDS and step.state not in CLAIMED:
            draft.move(plan.name, StepEvent.CANCEL, StepState.CANCELLED)
    draft.set(paused=None, deadline=None, grace_deadline=draft.now + draft.definition.cancel_grace)


def settle_down(draft: Draft) -> None:
    """End the workflow if nothing is left to happen."""
    if draft.state is WorkflowState.RUNNING and draft.remaining == 0:
        if not hooks.advance(draft):
            _end(draft, WorkflowEvent.LAST_STEP_ENDED, WorkflowState.COMPLETED)
    elif draft.state is WorkflowState.PREPARING_REPLAY:
        if not hooks.advance(draft):
            reopen_steps(draft)
    elif draft.state in (WorkflowState.CANCELLING, WorkflowState.FAILING) and not any(step.state in CLAIMED for _, step in draft.active()):
        if hooks.advance(draft):
            draft.set(grace_deadline=None)
            return
        end = WorkflowState.CANCELLED if draft.state is WorkflowState.CANCELLING else WorkflowState.FAILED
        _end(draft, WorkflowEvent.QUIET, end)


def _end(draft: Draft, event: WorkflowEvent, state: WorkflowState) -> None:
    output = draft.step(draft.definition.final_step).output if state is WorkflowState.COMPLETED else None
    draft.set(output=output)
    close(draft, event, state)


def close(draft: Draft, event: WorkflowEvent, state: WorkflowState) -> None:
    """Store an end: nothing is open any more but the time of retention."""
    draft.set(
        paused=None,
        reopen=(),
        end_time=draft.now,
        deadline=None,
        grace_deadline=None,
        expire_time=min(draft.now + draft.workflow.retention, limits.TIME),
    )
    draft.turn(event, state)
    draft.effects.append(WorkflowEnded())
    if draft.workflow.parent is not None:
        take_duty(draft, DutyKind.TELL_PARENT)


def reopen_steps(draft: Draft) -> None:
    """The replay is prepared: all that did not complete begins anew, and what the replay named, with all that depends on it."""
    found = reopened(draft, draft.get("reopen", draft.workflow.reopen))
    again = [name for name in draft.definition.ordinary if name in found]
    timeout = draft.workflow.timeout if draft.workflow.timeout is not None else draft.definition.workflow_timeout
    draft.set(reopen=(), deadline=min(draft.now + timeout, limits.TIME) if timeout is not None else None)
    draft.turn(WorkflowEvent.PREPARED, WorkflowState.RUNNING)
    for name in again:
        step = draft.step(name)
        # Children that were started are left behind with their generation.
        rises = step.state in (StepState.COMPLETED, StepState.COMPENSATED) or step.children is not None
        draft.move(name, StepEvent.REOPEN, StepState.BLOCKED, **hooks.renewed(step, rises=rises))
    standing = [name for name in draft.definition.ordinary if name not in found]
    for name in standing:
        _skip_branches(draft, name)
    draft.completed += standing
    for name in draft.definition.roots:
        if draft.step(name).state is StepState.BLOCKED:
            open_step(draft, name, StepEvent.UNBLOCK)
    _spread_all(draft)
    settle_down(draft)

"""The one table, walked: every row happens by a command, and nothing that is not in it can happen."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from perdure_server.kernel import draft as draft_module
from perdure_server.kernel import limits
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.outcomes import Cancelled
from perdure_server.kernel.transitions import (
    STEP_TRANSITIONS,
    WORKFLOW_TRANSITIONS,
    IllegalTransition,
    StepEvent,
    WorkflowEvent,
    check_step,
    check_workflow,
)
from perdure_server.kernel.values import RetryPolicy
from perdure_server.kernel.workflow import ENDED, STEP_ENDS, StepState, WorkflowState
from tests.kernel.harness import T0, Run, activity, after, on_signal, plan, signal, waiting

S, E = StepState, StepEvent
W, V = WorkflowState, WorkflowEvent
StepRow = tuple[StepState, StepEvent, StepState]
WorkflowRow = tuple[WorkflowState, WorkflowEvent, WorkflowState]
Row = StepRow | WorkflowRow

ONCE = RetryPolicy(max_attempts=1)
SOON = RetryPolicy(initial_interval=1, jitter=1.0)  # with the lowest dice: at once
GO = on_signal("go")


# ------------------------------------------------------------------------------------------------- how each row comes to happen


def running(retry: RetryPolicy | None = None, acknowledged: bool = True, cancelled: bool = False) -> Run:
    """A run whose step `a` is RUNNING, or CANCELLING; `z` keeps the workflow open."""
    run = Run(plan(activity("a", retry=retry or RetryPolicy()), "z: a"))
    run.grant("a", acknowledged=acknowledged)
    if cancelled:
        run.cancel()
    return run


def often(how: Callable[[Run], object], times: int, retry: RetryPolicy | None = None) -> None:
    """Bring `a` back unused that often in a row."""
    run = Run(plan(activity("a", retry=retry or RetryPolicy())))
    for _ in range(times):
        run.grant("a", acknowledged=False)
        how(run)
        run.pass_time(limits.MINUTE)


def undeliver(run: Run) -> None:
    """`a` was not delivered."""
    run.undelivered("a")


def release(run: Run) -> None:
    """`a` was given back."""
    run.release("a")


def backing_off() -> Run:
    """A run whose step `a` is in BACKOFF."""
    run = running()
    run.fail("a")
    return run


STEP_SCENARIOS: dict[StepRow, Callable[[], object]] = {
    (S.BLOCKED, E.UNBLOCK, S.READY): lambda: Run(plan("a")),
    (S.BLOCKED, E.UNBLOCK, S.WAITING): lambda: Run(plan(waiting("w", GO))),
    (S.BLOCKED, E.DELAY, S.BACKOFF): lambda: Run(plan("a"), start_at=T0 + 1),
    (S.BLOCKED, E.CANCEL, S.CANCELLED): lambda: Run(plan("a", "b: a")).cancel(),
    (S.READY, E.GRANT, S.RUNNING): running,
    (S.READY, E.CANCEL, S.CANCELLED): lambda: Run(plan("a")).cancel(),
    (S.RUNNING, E.UNDELIVERED, S.READY): lambda: undeliver(running(acknowledged=False)),
    (S.RUNNING, E.UNDELIVERED, S.BACKOFF): lambda: often(undeliver, 4),
    (S.RUNNING, E.UNDELIVERED, S.FAILED): lambda: often(undeliver, 20, ONCE),
    (S.RUNNING, E.RELEASED, S.READY): lambda: release(running()),
    (S.RUNNING, E.RELEASED, S.BACKOFF): lambda: often(release, 4),
    (S.RUNNING, E.RELEASED, S.FAILED): lambda: often(release, 20, ONCE),
    (S.RUNNING, E.LOST, S.READY): lambda: running().lose("a"),
    (S.RUNNING, E.LOST, S.FAILED): lambda: running(ONCE).lose("a"),
    (S.RUNNING, E.TIMED_OUT, S.READY): lambda: running(SOON).silence("a", dice=0.0),
    (S.RUNNING, E.TIMED_OUT, S.BACKOFF): lambda: running().pass_time(limits.ATTEMPT_TIMEOUT),
    (S.RUNNING, E.TIMED_OUT, S.FAILED): lambda: running(ONCE).pass_time(limits.ATTEMPT_TIMEOUT),
    (S.RUNNING, E.FAILED, S.READY): lambda: running().fail("a", retry_after=0),
    (S.RUNNING, E.FAILED, S.BACKOFF): lambda: running().fail("a"),
    (S.RUNNING, E.FAILED, S.FAILED): lambda: running(ONCE).fail("a"),
    (S.RUNNING, E.COMPLETED, S.COMPLETED): lambda: running().complete("a"),
    (S.RUNNING, E.WAITING, S.WAITING): lambda: running().wait("a", GO),
    (S.RUNNING, E.CANCEL, S.CANCELLING): lambda: running(cancelled=True),
    (S.RUNNING, E.CONFIRMED, S.READY): lambda: running(SOON).report("a", Cancelled(), dice=0.0),
    (S.RUNNING, E.CONFIRMED, S.BACKOFF): lambda: running().confirm("a"),
    (S.RUNNING, E.CONFIRMED, S.FAILED): lambda: running(ONCE).confirm("a"),
    (S.WAITING, E.WON, S.COMPLETED): lambda: Run(plan(waiting("w", GO)), signals=(signal("go"),)),
    (S.WAITING, E.WON, S.READY): lambda: wait_and_win(running()),
    (S.WAITING, E.CANCEL, S.CANCELLED): lambda: Run(plan(waiting("w", GO))).cancel(),
    (S.BACKOFF, E.DUE, S.READY): lambda: backing_off().pass_time(limits.MINUTE),
    (S.BACKOFF, E.DUE, S.WAITING): lambda: Run(plan(waiting("w", GO)), start_at=T0 + 1).pass_time(1),
    (S.BACKOFF, E.CANCEL, S.CANCELLED): lambda: backing_off().cancel(),
    (S.CANCELLING, E.COMPLETED, S.COMPLETED): lambda: running(cancelled=True).complete("a"),
    (S.CANCELLING, E.UNDELIVERED, S.CANCELLED): lambda: undeliver(running(acknowledged=False, cancelled=True)),
    (S.CANCELLING, E.RELEASED, S.CANCELLED): lambda: release(running(cancelled=True)),
    (S.CANCELLING, E.LOST, S.CANCELLED): lambda: running(cancelled=True).lose("a"),
    (S.CANCELLING, E.TIMED_OUT, S.CANCELLED): lambda: running(cancelled=True).silence("a"),
    (S.CANCELLING, E.FAILED, S.CANCELLED): lambda: running(cancelled=True).fail("a"),
    (S.CANCELLING, E.WAITING, S.CANCELLED): lambda: running(cancelled=True).wait("a", GO),
    (S.CANCELLING, E.CONFIRMED, S.CANCELLED): lambda: running(cancelled=True).confirm("a"),
    (S.CANCELLING, E.GRACE_OVER, S.CANCELLED): lambda: running(cancelled=True).pass_time(limits.CANCEL_GRACE),
}


def wait_and_win(run: Run) -> None:
    """`a` waits, and its time comes."""
    run.wait("a", after(50))
    run.pass_time(50)


WORKFLOW_SCENARIOS: dict[WorkflowRow, Callable[[], object]] = {
    (W.RUNNING, V.CANCEL, W.CANCELLING): lambda: running(cancelled=True),
    (W.RUNNING, V.STEP_FAILED, W.FAILING): lambda: running(ONCE).fail("a"),
    (W.RUNNING, V.TIMED_OUT, W.FAILING): lambda: Run(plan("a", workflow_timeout=1)).pass_time(1),
    (W.RUNNING, V.LAST_STEP_ENDED, W.COMPLETED): lambda: Run(plan("a")).run_through("a"),
    (W.CANCELLING, V.QUIET, W.CANCELLED): lambda: running(cancelled=True).confirm("a"),
    (W.FAILING, V.QUIET, W.FAILED): lambda: running(ONCE).fail("a"),
}


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[Row]]:
    """Every transition that the rules ask for meanwhile."""
    seen: set[Row] = set()

    def step(state: StepState, event: StepEvent, target: StepState) -> None:
        check_step(state, event, target)
        seen.add((state, event, target))

    def workflow(state: WorkflowState, event: WorkflowEvent, target: WorkflowState) -> None:
        check_workflow(state, event, target)
        seen.add((state, event, target))

    with monkeypatch.context() as patch:
        patch.setattr(draft_module, "check_step", step)
        patch.setattr(draft_module, "check_workflow", workflow)
        yield seen


def name(row: Row) -> str:
    """A row as the id of its test."""
    return "-".join(part.name for part in row)


STEP_ROWS = [(state, event, target) for (state, event), targets in STEP_TRANSITIONS.items() for target in sorted(targets)]
WORKFLOW_ROWS = [(state, event, target) for (state, event), targets in WORKFLOW_TRANSITIONS.items() for target in sorted(targets)]


@pytest.mark.parametrize("row", STEP_ROWS, ids=name)
def test_every_row_of_the_steps_table_happens(row: StepRow, monkeypatch: pytest.MonkeyPatch) -> None:
    with recorded(monkeypatch) as seen:
        STEP_SCENARIOS[row]()
    assert row in seen


@pytest.mark.parametrize("row", WORKFLOW_ROWS, ids=name)
def test_every_row_of_the_workflows_table_happens(row: WorkflowRow, monkeypatch: pytest.MonkeyPatch) -> None:
    with recorded(monkeypatch) as seen:
        WORKFLOW_SCENARIOS[row]()
    assert row in seen


def test_there_is_no_scenario_for_what_is_no_row() -> None:
    assert set(STEP_SCENARIOS) == set(STEP_ROWS)
    assert set(WORKFLOW_SCENARIOS) == set(WORKFLOW_ROWS)


# -------------------------------------------------------------------------------------------------------- what is not in the table


@pytest.mark.parametrize("event", StepEvent, ids=lambda event: event.name)
@pytest.mark.parametrize("state", StepState, ids=lambda state: state.name)
def test_a_pair_allows_its_targets_and_no_other(state: StepState, event: StepEvent) -> None:
    allowed = STEP_TRANSITIONS.get((state, event), frozenset())
    for target in StepState:
        if target in allowed:
            check_step(state, event, target)
        else:
            with pytest.raises(IllegalTransition, match=f"{state.name} --{event.name}--> {target.name}"):
                check_step(state, event, target)


@pytest.mark.parametrize("event", WorkflowEvent, ids=lambda event: event.name)
@pytest.mark.parametrize("state", WorkflowState, ids=lambda state: state.name)
def test_a_pair_of_the_workflow_allows_its_targets_and_no_other(state: WorkflowState, event: WorkflowEvent) -> None:
    allowed = WORKFLOW_TRANSITIONS.get((state, event), frozenset())
    for target in WorkflowState:
        if target in allowed:
            check_workflow(state, event, target)
        else:
            with pytest.raises(IllegalTransition, match=f"{state.name} --{event.name}--> {target.name}"):
                check_workflow(state, event, target)


def test_nothing_leads_out_of_an_end() -> None:
    assert not {state for state, _ in STEP_TRANSITIONS} & STEP_ENDS
    assert not {state for state, _ in WORKFLOW_TRANSITIONS} & ENDED


def test_every_state_that_can_be_entered_can_be_left_or_is_an_end() -> None:
    entered = {target for targets in STEP_TRANSITIONS.values() for target in targets}
    assert entered - STEP_ENDS <= {state for state, _ in STEP_TRANSITIONS}
    later = {S.HELD, S.SKIPPED, S.COMPENSATED}
    assert set(StepState) - entered - {S.BLOCKED} == later, "their rules come with the next issue"


def test_every_step_that_has_not_ended_can_be_cancelled() -> None:
    active = {state for state, _ in STEP_TRANSITIONS} - {S.CANCELLING}
    assert {state for state in active if (state, E.CANCEL) in STEP_TRANSITIONS} == active


def test_a_draft_refuses_what_the_table_does_not_have_and_changes_nothing() -> None:
    run = Run(plan("a", "b: a"))
    draft = Draft(run.definition, run.workflow, run.now)
    with pytest.raises(IllegalTransition):
        draft.move("a", StepEvent.COMPLETED, StepState.COMPLETED)
    with pytest.raises(IllegalTransition):
        draft.turn(WorkflowEvent.QUIET, WorkflowState.CANCELLED)
    with pytest.raises(IllegalTransition):
        draft.claim("a")
    assert draft.finish() is run.workflow

"""The one table, walked: every row happens by a command, and nothing that is not in it can happen."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from perdure_server.kernel import draft as draft_module
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.transitions import (
    STEP_TRANSITIONS,
    WORKFLOW_TRANSITIONS,
    IllegalTransition,
    StepEvent,
    WorkflowEvent,
    check_step,
    check_workflow,
)
from perdure_server.kernel.workflow import ENDED, STEP_ENDS, StepState, WorkflowState
from tests.kernel.harness import Run, plan
from tests.kernel.scenarios import STEP_SCENARIOS, WORKFLOW_SCENARIOS

S, E = StepState, StepEvent
W, V = WorkflowState, WorkflowEvent
StepRow = tuple[StepState, StepEvent, StepState]
WorkflowRow = tuple[WorkflowState, WorkflowEvent, WorkflowState]
Row = StepRow | WorkflowRow


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


def test_only_a_replay_a_hooks_turn_and_a_compensation_lead_out_of_an_end() -> None:
    assert {event for state, event in STEP_TRANSITIONS if state in STEP_ENDS} == {E.REOPEN, E.HOOK, E.COMPENSATED}
    assert {event for state, event in WORKFLOW_TRANSITIONS if state in ENDED} == {V.REPLAY}


def test_every_state_is_entered_and_left() -> None:
    assert {target for targets in STEP_TRANSITIONS.values() for target in targets} == set(StepState)
    assert {state for state, _ in STEP_TRANSITIONS} == set(StepState)
    assert {target for targets in WORKFLOW_TRANSITIONS.values() for target in targets} == set(WorkflowState)
    assert {state for state, _ in WORKFLOW_TRANSITIONS} == set(WorkflowState)


def test_every_step_that_has_not_ended_can_be_cancelled_and_terminated() -> None:
    active = set(StepState) - STEP_ENDS
    assert {state for state in active if (state, E.CANCEL) in STEP_TRANSITIONS} == active - {S.CANCELLING}
    assert {state for state, event in STEP_TRANSITIONS if event is E.TERMINATE} == active
    assert {state for state, event in WORKFLOW_TRANSITIONS if event is V.TERMINATE} == set(WorkflowState) - ENDED


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

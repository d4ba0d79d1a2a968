"""Registration names every fault of hooks and branches at once."""

from typing import Any

import pytest

from perdure_server.kernel.definition import Branch, Definition, Hook, Hooks, StepDefinition
from perdure_server.kernel.rejection import FieldViolation, Reason
from perdure_server.kernel.validation import validate
from perdure_server.kernel.values import Condition
from tests.kernel.harness import KEY, RENEWAL, activity, on_signal, plan, waiting


def faults(*steps: StepDefinition, **fields: Any) -> dict[str, str]:
    """The violations of a definition by field path."""
    with pytest.raises(FieldViolation) as caught:
        validate(Definition(KEY.namespace, KEY.workflow_type, steps, **fields), RENEWAL)
    assert caught.value.reason is Reason.DEFINITION_INVALID
    return dict(caught.value.violations)


def test_a_hook_must_exist_and_be_in_no_dependency() -> None:
    steps = (activity("a"), activity("h: a"), activity("b: h"))
    assert faults(*steps, hooks=Hooks(on_success=Hook("h"), cancel_finalizer=Hook("x"))) == {
        "definition.hooks.cancel_finalizer.step": "names no step: 'x'",
        "definition.steps[1].depends_on": "'h' is a hook: it is in no dependency",
    }


def test_a_hook_step_has_one_use_but_may_undo_many_steps() -> None:
    steps = (activity("a", compensate_with="h"), activity("h", needs=()))
    found = faults(*steps, hooks=Hooks(failure_finalizer=Hook("h")))
    assert set(found) == {"definition.steps[0].compensate_with", "definition.hooks.failure_finalizer.step"}
    plan(activity("a", compensate_with="h"), activity("b", compensate_with="h"), activity("h", needs=()))


def test_a_hook_is_a_plain_activity_and_gives_no_output() -> None:
    steps = (activity("a", compensate_with="w"), waiting("w", on_signal("go"), needs=()))
    assert set(faults(*steps, output_step="w")) == {"definition.steps[1]", "definition.output_step"}


def test_a_definition_has_a_step_of_its_own() -> None:
    assert set(faults(activity("h", needs=()), hooks=Hooks(on_success=Hook("h")))) == {"definition.steps"}


def test_a_compensation_may_need_what_it_undoes() -> None:
    plan(activity("a", compensate_with="undo"), activity("undo", needs=("a", "input")))


def test_a_branch_has_a_name_and_targets_that_depend_on_who_chooses() -> None:
    branches = (Branch("", ("b",)), Branch("up", ()), Branch("down", ("c", "x")), Branch("down", ("b",)))
    found = faults(activity("a", branches=branches), activity("b: a"), activity("c"))
    assert set(found) == {
        "definition.steps[0].branches",
        "definition.steps[0].branches[0].name",
        "definition.steps[0].branches[1].steps",
        "definition.steps[0].branches[2].steps",
    }


def test_a_condition_chooses_among_the_branches_of_its_step() -> None:
    step = waiting("w", Condition("go", signal="go", choose=("up",)), branches=(Branch("down", ("b",)),))
    assert faults(step, activity("b: w")) == {"definition.steps[0].wait": "condition 'go' chooses an unknown branch: 'up'"}

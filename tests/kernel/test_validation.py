"""Registration names every fault at once, each with its field path."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.definition import INPUT, Branch, ChildPlan, Definition, Join, Permit, StepDefinition, StepKind
from perdure_server.kernel.graph import find_cycle
from perdure_server.kernel.rejection import FieldViolation, Reason
from perdure_server.kernel.validation import validate
from perdure_server.kernel.values import Condition, RetryPolicy, Wait
from tests.kernel.families import childing, mapping
from tests.kernel.harness import RENEWAL, activity, after, at, chain, on_signal, plan, waiting

NAN, INFINITE = math.nan, math.inf


def faults(*steps: StepDefinition, **fields: Any) -> tuple[Reason, dict[str, str]]:
    """What is wrong with a definition, by field."""
    definition = Definition(**({"namespace": "default", "workflow_type": "note", "steps": steps} | fields))
    with pytest.raises(FieldViolation) as caught:
        validate(definition, RENEWAL)
    found = dict(caught.value.violations)
    assert len(found) == len(caught.value.violations), "one field is named twice"
    return caught.value.reason, found


def only_fault(*steps: StepDefinition, **fields: Any) -> tuple[str, str]:
    """The one thing that is wrong."""
    reason, found = faults(*steps, **fields)
    assert reason is Reason.DEFINITION_INVALID
    assert len(found) == 1, found
    return next(iter(found.items()))


def test_a_plain_chain_and_a_full_definition_are_valid() -> None:
    plan("a", "b: a", "c: b")
    plan(
        activity("read", retry=RetryPolicy(max_attempts=None), silence_timeout=3 * RENEWAL, priority=0, queue="gpu.1"),
        waiting("choice: read", on_signal("go", 3), after(0, "soon"), at(0, "past")),
        activity("end: choice", needs=("choice", "input"), version="2"),
        version="7",
        output_step="read",
        workflow_timeout=limits.DURATION,
        cancel_grace=0,
        retention=0,
        max_lost_claims=1,
    )


def test_every_fault_is_named_at_once() -> None:
    reason, found = faults(
        activity("Bad Name"),
        activity("a: nobody", attempt_timeout=0),
        activity("a: b", needs=("c",)),
        activity("b: a"),
        waiting("w"),
        workflow_type="",
        output_step="none",
    )
    assert reason is Reason.DEFINITION_CYCLE
    assert sorted(found) == [
        "definition.output_step",
        "definition.steps",
        "definition.steps[0].name",
        "definition.steps[1].attempt_timeout",
        "definition.steps[1].depends_on[0]",
        "definition.steps[2].name",
        "definition.steps[2].needs[0]",
        "definition.steps[4].wait.any_of",
        "definition.workflow_type",
    ]


# ------------------------------------------------------------------------------------------------------------------- the graph


def test_a_cycle_is_refused_with_its_path() -> None:
    reason, found = faults(activity("a"), activity("b: a d"), activity("c: b"), activity("d: c"))
    assert (reason, found) == (Reason.DEFINITION_CYCLE, {"definition.steps": "has a cycle: b -> d -> c -> b"})


def test_a_step_that_depends_on_itself_is_a_cycle() -> None:
    assert faults(activity("a: a"))[1] == {"definition.steps": "has a cycle: a -> a"}


def test_every_cycle_is_named_and_what_hangs_on_one_is_unreachable() -> None:
    steps = [activity("a: b"), activity("b: a"), activity("c: d"), activity("d: c"), activity("e: a"), activity("f: e"), activity("g")]
    with pytest.raises(FieldViolation) as caught:
        validate(Definition("default", "note", tuple(steps)), RENEWAL)
    assert caught.value.violations == [
        ("definition.steps", "has a cycle: a -> b -> a"),
        ("definition.steps", "has a cycle: c -> d -> c"),
        ("definition.steps[4]", "'e' is unreachable: it depends on a cycle"),
        ("definition.steps[5]", "'f' is unreachable: it depends on a cycle"),
    ]


def test_a_cycle_behind_a_cycle_is_named_too() -> None:
    assert [text for _, text in _violations(activity("a: a"), activity("b: a c"), activity("c: b"))] == [
        "has a cycle: a -> a",
        "has a cycle: b -> c -> b",
    ]


def _violations(*steps: StepDefinition) -> list[tuple[str, str]]:
    with pytest.raises(FieldViolation) as caught:
        validate(Definition("default", "note", steps), RENEWAL)
    return caught.value.violations


def test_find_cycle_gives_a_path_that_ends_where_it_began() -> None:
    assert find_cycle(Definition("default", "note", (activity("a: b"), activity("b: c"), activity("c: a")))) == ["a", "b", "c", "a"]
    assert find_cycle(plan("a", "b: a")) == []


def test_the_longest_chain_and_the_longest_cycle_do_not_meet_the_recursion_limit() -> None:
    chain(limits.STEPS)
    ring = (activity(f"s0: s{limits.STEPS - 1}"), *(activity(f"s{i}: s{i - 1}") for i in range(1, limits.STEPS)))
    assert len(find_cycle(Definition("default", "note", ring))) == limits.STEPS + 1


# ------------------------------------------------------------------------------------------------------------- names and kinds


@pytest.mark.parametrize("name", ["a", "a_1", "a" * limits.NAME_LENGTH])
def test_step_names_are_identifiers(name: str) -> None:
    plan(name)


@pytest.mark.parametrize("name", ["", "A", "1a", "_a", "a-b", "a.b", "a b", "ä", "a\n", "a" * (limits.NAME_LENGTH + 1), "input"])
def test_other_step_names_are_refused(name: str) -> None:
    assert only_fault(StepDefinition(name))[0] == "definition.steps[0].name"


@pytest.mark.parametrize("text", ["", " a", "9", "a/b", "a\n", "x" * (limits.TYPE_LENGTH + 1)])
def test_workflow_types_that_are_refused(text: str) -> None:
    assert only_fault(activity("a"), workflow_type=text)[0] == "definition.workflow_type"


@pytest.mark.parametrize("text", ["", "a b", "-a", "a/b", "x" * 129])
def test_queues_that_are_refused(text: str) -> None:
    assert only_fault(activity("a", queue=text))[0] == "definition.steps[0].queue"


def test_versions_are_bounded() -> None:
    long = "v" * (limits.ID_LENGTH + 1)
    assert sorted(faults(activity("a", version=long), version=long)[1]) == ["definition.steps[0].version", "definition.version"]


def test_a_definition_has_steps_but_not_too_many() -> None:
    assert only_fault() == ("definition.steps", "is empty: a definition has at least one step")
    many = tuple(activity(f"s{i}") for i in range(limits.STEPS + 1))
    assert only_fault(*many) == ("definition.steps", f"has more than {limits.STEPS} steps")


def test_dependencies_are_bounded_in_all() -> None:
    width = 150
    upper = tuple(activity(f"u{i}") for i in range(width))
    lower = tuple(replace(activity(f"l{i}"), depends_on=tuple(step.name for step in upper), needs=()) for i in range(width))
    assert "dependencies in all" in only_fault(*upper, *lower)[1]


def test_names_and_descriptions_are_bounded_in_all_so_that_a_definition_can_be_told() -> None:
    many = tuple(activity(f"s{i}", description="d" * 4_000) for i in range(limits.STEPS))
    field, text = only_fault(*many)
    assert (field, f"more than {limits.DEFINITION}" in text) == ("definition.steps", True)
    validate(plan(*many[:500]), RENEWAL)


@pytest.mark.parametrize(
    ("field", "step"),
    [
        ("retry.non_retryable_types", activity("a", retry=RetryPolicy(non_retryable_types=("t",) * 101))),
        ("retry.non_retryable_types[1]", activity("a", retry=RetryPolicy(non_retryable_types=("t", "t" * 129)))),
        ("retry.non_retryable_types[0]", activity("a", retry=RetryPolicy(non_retryable_types=("",)))),
        ("permits", activity("a", permits=tuple(Permit(f"r{i}") for i in range(33)))),
        ("max_in_flight", activity("a", max_in_flight=-1)),
    ],
)
def test_what_a_policy_lists_and_counts_is_bounded(field: str, step: StepDefinition) -> None:
    assert only_fault(step)[0] == f"definition.steps[0].{field}"


def test_a_dependency_or_an_input_named_twice() -> None:
    assert only_fault(activity("a"), activity("b: a a", needs=("a",)))[0] == "definition.steps[1].depends_on"
    assert only_fault(activity("a"), activity("b: a", needs=("a", "input", "a")))[0] == "definition.steps[1].needs"


def test_an_input_must_come_from_a_dependency_or_be_the_input() -> None:
    field, text = only_fault(activity("a"), activity("b"), activity("c: a", needs=("a", "b")))
    assert (field, text) == ("definition.steps[2].needs[1]", "'b' must be 'input' or one of depends_on")


@pytest.mark.parametrize("kind", [StepKind.MAP, StepKind.CHILD])
def test_a_map_or_child_step_says_which_children_it_has(kind: StepKind) -> None:
    field, text = only_fault(activity("a", kind=kind))
    assert (field, text) == (f"definition.steps[0].{kind.name.lower()}", "is missing: the step says which children it has")


@pytest.mark.parametrize(
    ("field", "step"),
    [
        ("map", activity("a", child=ChildPlan("child", INPUT))),
        ("map.child_workflow_type", mapping("a", child=ChildPlan("9", INPUT))),
        ("map", mapping("a", child=ChildPlan("child"))),
        ("map", mapping("a", child=ChildPlan("child", INPUT, paged=True))),
        ("map.items_from", mapping("a", child=ChildPlan("child", "b"))),
        ("map.items_from", mapping("a", needs=())),
        ("map.required_count", mapping("a", joined=Join.N_OF_M)),
        ("child.input_from", childing("a", source="b")),
        ("branches", childing("a", branches=(Branch("left", ("z",)),))),
        ("permits", mapping("a", permits=(Permit("gpu"),))),
        ("max_in_flight", mapping("a", max_in_flight=0)),
        ("max_in_flight", mapping("a", max_in_flight=1_001)),
    ],
)
def test_c47_faults_of_map_and_child_steps(field: str, step: StepDefinition) -> None:
    with pytest.raises(FieldViolation) as caught:
        plan(step, "z: a")
    assert f"definition.steps[0].{field}" in [found for found, _ in caught.value.violations]


def test_a_wait_step_holds_no_permits() -> None:
    assert only_fault(activity("a", kind=StepKind.WAIT, wait=Wait((after(1),)), permits=(Permit("gpu"),)))[0].endswith("permits")


def test_a_wait_belongs_to_a_wait_step_and_to_no_other() -> None:
    assert only_fault(activity("a", kind=StepKind.WAIT))[0] == "definition.steps[0].wait"
    assert only_fault(activity("a", wait=Wait((after(1),))))[0] == "definition.steps[0].wait"


# -------------------------------------------------------------------------------------------------------------------- waits


@pytest.mark.parametrize(
    ("field", "condition"),
    [
        ("", Condition("nothing")),
        ("", Condition("both", signal="go", after=1)),
        ("", Condition("both", after=1, at=1)),
        (".name", Condition("", after=1)),
        (".name", Condition("n" * (limits.ID_LENGTH + 1), after=1)),
        (".signal.signal_name", Condition("n", signal="s" * (limits.ID_LENGTH + 1))),
        (".signal.count", Condition("n", signal="s", count=-1)),
        (".signal.count", Condition("n", signal="s", count=limits.SIGNAL_COUNT + 1)),
        (".after", Condition("n", after=-1)),
        (".after", Condition("n", after=limits.DURATION + 1)),
        (".after", Condition("n", after=2**63 - 1)),
        (".at_time", Condition("n", at=-1)),
        (".at_time", Condition("n", at=limits.TIME + 1)),
    ],
)
def test_c14_c15_conditions_that_are_refused(field: str, condition: Condition) -> None:
    assert only_fault(waiting("w", condition))[0] == f"definition.steps[0].wait.any_of[0]{field}"


def test_conditions_have_distinct_names_and_are_bounded() -> None:
    assert only_fault(waiting("w", after(1), after(2)))[0] == "definition.steps[0].wait.any_of"
    plan(waiting("w", *(after(i, f"t{i}") for i in range(limits.WAIT_CONDITIONS))))
    many = waiting("w", *(after(i, f"t{i}") for i in range(limits.WAIT_CONDITIONS + 1)))
    assert only_fault(many) == ("definition.steps[0].wait.any_of", f"has more than {limits.WAIT_CONDITIONS} conditions")


def test_c15_a_timer_of_zero_is_allowed() -> None:
    plan(waiting("w", after(0)))


# ------------------------------------------------------------------------------------------------------------------- policies


@pytest.mark.parametrize(
    ("field", "retry"),
    [
        ("max_attempts", RetryPolicy(max_attempts=0)),
        ("max_attempts", RetryPolicy(max_attempts=-1)),
        ("coefficient", RetryPolicy(coefficient=0.5)),
        ("coefficient", RetryPolicy(coefficient=NAN)),
        ("coefficient", RetryPolicy(coefficient=INFINITE)),
        ("coefficient", RetryPolicy(coefficient=100.1)),
        ("jitter", RetryPolicy(jitter=-0.1)),
        ("jitter", RetryPolicy(jitter=1.1)),
        ("jitter", RetryPolicy(jitter=NAN)),
        ("initial_interval", RetryPolicy(initial_interval=0)),
        ("initial_interval", RetryPolicy(initial_interval=-1)),
        ("max_interval", RetryPolicy(max_interval=limits.DURATION + 1)),
        ("max_interval", RetryPolicy(initial_interval=2_000, max_interval=1_000)),
    ],
)
def test_c23_c25_retry_policies_that_are_refused(field: str, retry: RetryPolicy) -> None:
    assert only_fault(activity("a", retry=retry))[0] == f"definition.steps[0].retry.{field}"


@pytest.mark.parametrize("value", [0, -1, limits.DURATION + 1])
@pytest.mark.parametrize("name", ["attempt_timeout", "silence_timeout"])
def test_c15_step_durations_that_are_refused(name: str, value: int) -> None:
    assert only_fault(activity("a", **{name: value}))[0] == f"definition.steps[0].{name}"


@pytest.mark.parametrize(
    ("name", "value"),
    [("workflow_timeout", 0), ("workflow_timeout", -1), ("cancel_grace", -1), ("retention", -1), ("retention", limits.DURATION + 1)],
)
def test_c15_workflow_durations_that_are_refused(name: str, value: int) -> None:
    assert only_fault(activity("a"), **{name: value})[0] == f"definition.{name}"


def test_a_silence_shorter_than_three_renewals_cannot_be_judged() -> None:
    field, text = only_fault(activity("a", silence_timeout=3 * RENEWAL - 1))
    assert field == "definition.steps[0].silence_timeout"
    assert "at least 30000 ms" in text
    plan(activity("a", silence_timeout=3 * RENEWAL))


@pytest.mark.parametrize("value", [-1, limits.PRIORITY_MAX + 1])
def test_priorities_are_0_to_9(value: int) -> None:
    assert only_fault(activity("a", priority=value))[0] == "definition.steps[0].priority"


def test_max_lost_claims_is_at_least_1() -> None:
    assert only_fault(activity("a"), max_lost_claims=0)[0] == "definition.max_lost_claims"


@pytest.mark.parametrize("make", [activity, lambda name: waiting(name, after(1))])
def test_names_are_used_once(make: Callable[[str], StepDefinition]) -> None:
    assert only_fault(make("a"), activity("b"), make("a")) == ("definition.steps[2].name", "'a' is used twice")

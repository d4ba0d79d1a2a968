"""Step contracts and fingerprints: structure is in, policy and order of listing are out, and only the server computes them."""

from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from perdure_server.kernel.contracts import fingerprint, step_contract, with_contracts
from perdure_server.kernel.definition import Branch, Definition, Hook, Hooks, StepDefinition
from perdure_server.kernel.values import Condition, RetryPolicy
from tests.kernel.harness import activity, after, at, on_signal, plan, waiting

BASE = plan("read", "clean: read", waiting("choice: clean", on_signal("go", 2), after(5_000)), "end: choice", version="1")


def with_step(index: int, **fields: object) -> Definition:
    """BASE with one step changed."""
    steps = list(BASE.steps)
    steps[index] = replace(steps[index], **fields)
    return with_contracts(replace(BASE, steps=tuple(steps)))


def wait_for(*any_of: Condition) -> Definition:
    """BASE with another wait."""
    return with_step(2, wait=waiting("w", *any_of).wait)


STRUCTURE: dict[str, Callable[[], Definition]] = {
    "type": lambda: with_contracts(replace(BASE, workflow_type="other")),
    "version": lambda: with_contracts(replace(BASE, version="2")),
    "step name": lambda: plan("read", "tidy: read", waiting("choice: tidy", on_signal("go", 2), after(5_000)), "end: choice", version="1"),
    "step version": lambda: with_step(0, version="1"),
    "needs": lambda: with_step(1, needs=("read", "input")),
    "dependencies": lambda: with_step(3, depends_on=("choice", "read")),
    "output step": lambda: with_contracts(replace(BASE, output_step="clean")),
    "signal name": lambda: wait_for(on_signal("went", 2, as_name="go"), after(5_000)),
    "condition name": lambda: wait_for(on_signal("go", 2), after(5_000, "late")),
    "signal count": lambda: wait_for(on_signal("go", 3), after(5_000)),
    "one condition less": lambda: wait_for(on_signal("go", 2)),
    "one step more": lambda: plan(*BASE.steps, "more: end", version="1", output_step="end"),
}

POLICY: dict[str, Callable[[], Definition]] = {
    "namespace": lambda: with_contracts(replace(BASE, namespace="elsewhere")),
    "listing order": lambda: with_contracts(replace(BASE, steps=BASE.steps[::-1])),
    "order of dependencies": lambda: BASE,
    "order of conditions": lambda: wait_for(after(5_000), on_signal("go", 2)),
    "retry": lambda: with_step(0, retry=RetryPolicy(max_attempts=9)),
    "attempt timeout": lambda: with_step(0, attempt_timeout=1),
    "silence timeout": lambda: with_step(0, silence_timeout=60_000),
    "queue": lambda: with_step(0, queue="gpu"),
    "priority": lambda: with_step(0, priority=9),
    "length of a wait": lambda: wait_for(on_signal("go", 2), after(9_000)),
    "time instead of duration": lambda: wait_for(on_signal("go", 2), at(9_000)),
    "workflow timeout": lambda: with_contracts(replace(BASE, workflow_timeout=1)),
    "grace": lambda: with_contracts(replace(BASE, cancel_grace=1)),
    "max_lost_claims": lambda: with_contracts(replace(BASE, max_lost_claims=1)),
    "retention": lambda: with_contracts(replace(BASE, retention=1)),
    "descriptions": lambda: with_contracts(replace(with_step(0, description="reads"), description="for people")),
    "the default output step, named": lambda: with_contracts(replace(BASE, output_step="end")),
    "what a client claims them to be": lambda: with_contracts(replace(with_step(0, contract="f" * 32), fingerprint="f" * 64)),
    "policy revision": lambda: with_contracts(replace(BASE, policy_revision=7)),
}


@pytest.mark.parametrize("name", STRUCTURE)
def test_structure_is_in_the_fingerprint(name: str) -> None:
    assert STRUCTURE[name]().fingerprint != BASE.fingerprint


def test_no_two_of_the_structures_above_share_a_fingerprint() -> None:
    prints = {name: make().fingerprint for name, make in STRUCTURE.items()}
    assert len(set(prints.values())) == len(prints)


@pytest.mark.parametrize("name", POLICY)
def test_policy_is_not(name: str) -> None:
    assert POLICY[name]().fingerprint == BASE.fingerprint


def test_a_contract_is_of_name_kind_needs_and_version() -> None:
    read = activity("read")
    others = [activity("write"), activity("read", needs=()), activity("read", version="1"), waiting("read", after(1))]
    contracts = [step_contract(step) for step in (read, *others)]
    assert len(set(contracts)) == len(contracts)
    same = replace(read, queue="gpu", retry=RetryPolicy(max_attempts=9), attempt_timeout=1, depends_on=())
    assert step_contract(same) == step_contract(read)


def test_a_step_added_elsewhere_does_not_strand_a_worker_that_serves_one_step() -> None:
    more = plan(*BASE.steps, "more: end", version="1")
    assert more.by_name["read"].contract == BASE.by_name["read"].contract
    assert more.fingerprint != BASE.fingerprint


def test_the_forms() -> None:
    assert [len(step.contract) for step in BASE.steps] == [32] * 4
    assert (len(BASE.fingerprint), BASE.fingerprint == fingerprint(BASE)) == (64, True)
    int(BASE.fingerprint, 16)


def test_stored_fingerprints_never_change() -> None:
    # Instances in stores hold these: another encoding would strand every one of them.
    assert BASE.fingerprint == "5d7e2c22fb6c99f50d5e1de8d99fe3f6bb1cc1058840b4f7a89dcc4d2ce8d212"
    assert BASE.by_name["choice"].contract == "8f29168448ba0383df43e0a21f5ca612"


def test_the_output_is_the_named_steps_else_that_of_the_only_step_without_dependants() -> None:
    assert plan("a", "b: a").final_step == "b"
    assert plan("b: a", "a").final_step == "b", "the order of listing must not decide"
    assert plan("a", "b: a", output_step="a").final_step == "a"
    assert plan("a", "b").final_step == "", "two ends: no output unless one is named"


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "ab", "b", "ba", "c"]), st.text("ab", max_size=2)), min_size=1, max_size=4, unique_by=lambda p: p[0]
    )
)
def test_the_encoding_is_unambiguous(parts: list[tuple[str, str]]) -> None:
    steps = tuple(StepDefinition(name, version=version) for name, version in parts)
    variants = [steps, *(tuple(chosen) for size in range(1, len(steps)) for chosen in combinations(steps, size))]
    prints = {fingerprint(Definition("default", "t", chosen)) for chosen in variants}
    assert len(prints) == len(variants)


def test_fingerprints_of_plans_without_hooks_and_branches_are_those_of_the_first_release() -> None:
    """Stored instances and workers hold these: whoever must change this test breaks every running workflow."""
    definition = plan("a", "b: a", waiting("w: b", on_signal("go", 2), after(5)), version="1", output_step="b")
    assert definition.fingerprint == "6ead202630133b4d1bdf710a19e66f87d60448379663bce439fc1ca3adf8c87b"
    assert definition.by_name["a"].contract == "55d49122c634be2f850dec61230570bc"


def branching(choose: tuple[str, ...] = ("left",), undo: str = "", left: str = "b", **hooks: Hook) -> str:
    """The fingerprint of a plan with a choice, a compensation and hooks."""
    branches = (Branch("right", ("c",)), Branch("left", (left,)))
    wait = waiting("w", Condition("go", signal="go", choose=choose), branches=branches)
    extra = [activity(name, needs=()) for name in sorted({*([undo] if undo else []), *(hook.step for hook in hooks.values())})]
    return plan(wait, activity("b: w", compensate_with=undo), "c: w", *extra, hooks=Hooks(**hooks)).fingerprint


def test_hooks_branches_compensations_and_choices_are_structure() -> None:
    found = [
        branching(),
        branching(choose=("right",)),
        branching(choose=()),
        branching(left="c"),
        branching(undo="h"),
        branching(on_success=Hook("h")),
        branching(failure_finalizer=Hook("h")),
        branching(cancel_finalizer=Hook("h")),
        branching(prepare_replay=Hook("h")),
    ]
    assert len(set(found)) == len(found)


def test_whether_a_hook_is_required_is_policy() -> None:
    assert branching(on_success=Hook("h")) == branching(on_success=Hook("h", required=False))

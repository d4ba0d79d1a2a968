"""Branches and joins: a join passes once, after the last of what it depends on."""

import random
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure_server.kernel import limits
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.kernel.harness import Run, activity, after, chain, on_signal, plan, waiting

S, W = StepState, WorkflowState


@pytest.mark.parametrize("order", list(permutations("abc")))
def test_c46_a_join_passes_after_the_last_whatever_the_order(order: tuple[str, ...]) -> None:
    run = Run(plan("a", "b", "c", "end: a b c"))
    for name in "abc":
        run.grant(name)
    for name in order[:-1]:
        run.complete(name)
        assert run.state("end") is S.BLOCKED
        assert run.announced() == []
    run.complete(order[-1])
    assert (run.state("end"), run.announced()) == (S.READY, ["end"])


def test_c46_a_join_is_opened_once_even_if_two_branches_end_in_one_write() -> None:
    run = Run(plan(waiting("v", after(1_000)), waiting("w", after(1_000)), "end: v w"))
    run.pass_time(1_000)
    assert (run.state("end"), run.announced()) == (S.READY, ["end"])
    assert run.events_of("end") == ["UNBLOCK>READY"]


def test_c46_a_join_is_opened_once_even_if_its_branches_are_won_as_soon_as_they_open() -> None:
    run = Run(
        plan("a", waiting("v: a", on_signal("go")), waiting("w: a", on_signal("go")), waiting("end: v w", on_signal("go")), "z: end v")
    )
    for _ in range(3):
        run.signal("go")
    run.run_through("a")
    assert (run.states()["end"], run.announced()) == ("COMPLETED", ["z"])
    assert run.events_of("end") == ["UNBLOCK>WAITING", "WON>COMPLETED"]


def test_c46_a_join_does_not_pass_when_a_branch_backs_off_waits_or_fails() -> None:
    run = Run(plan("a", "b", "c", "end: a b c"))
    for name in "abc":
        run.grant(name)
    run.complete("a")
    run.wait("b", on_signal("go"))
    run.fail("c")
    assert run.state("end") is S.BLOCKED
    run.pass_time(2_000)
    run.run_through("c")
    run.signal("go")
    assert run.state("end") is S.BLOCKED
    run.run_through("b")
    assert run.state("end") is S.READY


def test_branches_run_side_by_side_and_a_diamond_joins() -> None:
    run = Run(plan("read", "clean: read", "vectorise: clean", "summary: clean", "index: vectorise summary"))
    run.run_through("read", "clean")
    assert run.states() == {"read": "COMPLETED", "clean": "COMPLETED", "vectorise": "READY", "summary": "READY", "index": "BLOCKED"}
    run.run_through("summary", "vectorise", "index")
    assert run.is_() is W.COMPLETED


def test_a_step_may_depend_on_an_ancestor_twice_over() -> None:
    run = Run(plan("a", "b: a", "c: a b"))
    run.run_through("a")
    assert run.states() == {"a": "COMPLETED", "b": "READY", "c": "BLOCKED"}
    run.run_through("b", "c")
    assert run.is_() is W.COMPLETED


def test_the_listing_order_does_not_matter() -> None:
    run = Run(plan("c: b", "b: a", "a"))
    run.run_through("a", "b", "c")
    assert run.is_() is W.COMPLETED


def test_c46_wide_fan_out_and_fan_in() -> None:
    width = 200
    branches = [f"b{number}" for number in range(width)]
    run = Run(plan("a", *(f"{name}: a" for name in branches), f"end: {' '.join(branches)}"))
    run.run_through("a")
    assert len(run.announced()) == width
    order = random.Random(7).sample(branches, width)
    for name in order[:-1]:
        run.grant(name)
        run.complete(name)
        assert "end" not in run.announced()
    run.run_through(order[-1])
    assert (run.announced(), run.workflow.remaining) == (["end"], 1)
    run.run_through("end")
    assert run.is_() is W.COMPLETED


def test_a_long_chain_of_activities() -> None:
    run = Run(chain(150))
    run.run_through(*(f"s{number}" for number in range(150)))
    assert (run.is_(), run.workflow.revision) == (W.COMPLETED, 301)


def test_two_thousand_steps_end_in_one_cancel_without_deep_recursion() -> None:
    run = Run(chain(limits.STEPS))
    run.cancel()
    assert (run.is_(), set(run.states().values()), len(run.workflow.events)) == (W.CANCELLED, {"CANCELLED"}, limits.EVENT_RING)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 12))
def test_random_graphs_run_to_their_end_in_any_order(source: random.Random, size: int) -> None:
    names = [f"s{number}" for number in range(size)]
    steps = [activity(f"{name}: {' '.join(source.sample(names[:number], source.randint(0, number)))}") for number, name in enumerate(names)]
    source.shuffle(steps)
    run = Run(plan(*steps))
    done: set[str] = set()
    while run.is_() is W.RUNNING:
        ready = [name for name in names if run.state(name) is S.READY]
        expected = {step.name for step in steps if step.name not in done and set(step.depends_on) <= done}
        assert set(ready) == expected
        name = source.choice(ready)
        run.run_through(name)
        done.add(name)
    assert done == set(names)

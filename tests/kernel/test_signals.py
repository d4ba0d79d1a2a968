"""Signals: stored before they are acknowledged, counted once, consumed once, oldest first of their name."""

import json

import pytest

from perdure_server.kernel import limits
from perdure_server.kernel.effects import StepReady, WaitWon
from perdure_server.kernel.rejection import Reason
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.kernel.harness import T0, Run, activity, after, on_signal, payload, plan, refused, waiting

S, W = StepState, WorkflowState


def consumed(run: Run, name: str) -> list[str]:
    """The ids of the signals that ended a wait step."""
    output = run.step(name).output
    assert output is not None
    assert output.json is not None
    return [wake["signalId"] for wake in json.loads(output.json)["wakes"]]


def test_a_signal_wakes_what_waits_for_it() -> None:
    run = Run(plan("a"))
    run.grant("a")
    run.wait("a", on_signal("done"), after(30_000))
    assert run.signal("done", "s1", {"ok": True})
    wake = run.step("a").wakes[0]
    assert (run.state("a"), wake.condition, wake.signal_id, wake.payload) == (S.READY, "done", "s1", payload({"ok": True}))
    assert run.effects == [WaitWon("a", run.step("a").wakes), StepReady("a")]
    assert run.workflow.inbox == ()


@pytest.mark.parametrize("steps_before", [0, 1, 3])
def test_c07_a_signal_before_its_wait_is_kept_and_consumed(steps_before: int) -> None:
    names = [f"s{number}" for number in range(steps_before)]
    steps = [f"{name}: {before}" if before else name for name, before in zip(names, ["", *names], strict=False)]
    run = Run(plan("first", *steps, waiting(f"w: first {' '.join(names[-1:])}", on_signal("go"), after(5_000))))
    assert run.signal("go", "s1")
    assert [kept.signal_id for kept in run.workflow.inbox] == ["s1"]
    run.run_through("first", *names)
    assert (run.is_(), consumed(run, "w"), run.workflow.inbox) == (W.COMPLETED, ["s1"], ())


def test_c08_a_repeat_is_recognised_and_the_second_wait_stays_open() -> None:
    run = Run(plan(waiting("v", on_signal("go")), waiting("w: v", on_signal("go"))))
    assert run.signal("go", "s1") is True
    before = run.workflow
    for _ in range(5):
        assert run.signal("go", "s1") is False
    assert run.workflow is before
    assert run.states() == {"v": "COMPLETED", "w": "WAITING"}
    run.signal("go", "s2")
    assert (run.is_(), consumed(run, "v"), consumed(run, "w")) == (W.COMPLETED, ["s1"], ["s2"])


def test_c08_a_repeat_with_another_name_is_still_the_same_signal() -> None:
    run = Run(plan(waiting("w", on_signal("go"))))
    run.signal("other", "s1")
    assert run.signal("go", "s1") is False
    assert run.state("w") is S.WAITING


def test_c08_256_ids_are_remembered_and_more_while_they_wait_in_the_inbox() -> None:
    run = Run(plan("a", waiting("w: a", on_signal("never"))))
    for number in range(limits.SIGNAL_IDS + 10):
        run.signal("noise", f"s{number}")
    assert len(run.workflow.signal_ids) == limits.SIGNAL_IDS
    assert run.workflow.signals_received == limits.SIGNAL_IDS + 10
    assert run.signal("noise", "s0") is False, "beyond the 256, but still in the inbox"
    assert run.signal("noise", "s265") is False


def test_signals_are_consumed_oldest_first_of_their_name() -> None:
    run = Run(plan("a", waiting("v: a", on_signal("go")), waiting("w: v", on_signal("go", 2))))
    for name, signal_id in (("go", "s1"), ("other", "x1"), ("go", "s2"), ("go", "s3"), ("go", "s4")):
        run.signal(name, signal_id)
    run.run_through("a")
    assert (consumed(run, "v"), consumed(run, "w")) == (["s1"], ["s2", "s3"])
    assert [kept.signal_id for kept in run.workflow.inbox] == ["x1", "s4"], "what nobody consumed stays listed"


def test_a_count_waits_for_that_many() -> None:
    run = Run(plan(waiting("w", on_signal("vote", 3))))
    for number in (1, 2):
        run.signal("vote", f"v{number}")
        assert run.state("w") is S.WAITING
    run.signal("vote", "v3")
    assert consumed(run, "w") == ["v1", "v2", "v3"]


def test_of_several_waits_the_one_that_opened_first_is_served_first() -> None:
    run = Run(plan("a", waiting("z", on_signal("go")), waiting("b: a", on_signal("go"))))
    run.now += 1_000
    run.run_through("a")
    run.signal("go", "s1")
    assert run.states() == {"a": "COMPLETED", "z": "COMPLETED", "b": "WAITING"}
    run.signal("go", "s2")
    assert (consumed(run, "z"), consumed(run, "b")) == (["s1"], ["s2"])


def test_what_began_to_wait_first_is_served_first_wherever_it_stands_in_the_plan() -> None:
    run = Run(plan("a", waiting("z", on_signal("go"))))
    run.grant("a")
    run.now += 1
    run.wait("a", on_signal("go"))
    run.signal("go", "s1")
    assert run.states() == {"a": "WAITING", "z": "COMPLETED"}


def test_a_wait_that_needs_more_does_not_block_one_that_needs_less() -> None:
    run = Run(plan(waiting("many", on_signal("go", 2)), waiting("one", on_signal("go"))))
    run.signal("go", "s1")
    assert run.states() == {"many": "WAITING", "one": "COMPLETED"}


def test_a_signal_does_not_touch_a_step_that_runs() -> None:
    run = Run(plan("a"))
    run.grant("a")
    before = run.step("a")
    run.signal("go")
    assert run.step("a") is before
    assert len(run.workflow.inbox) == 1


# --------------------------------------------------------------------------------------------------------- a signal and a timeout


@pytest.mark.parametrize("offset", range(-3, 4))
@pytest.mark.parametrize("kind", ["wait step", "worker"])
def test_c12_what_was_due_before_the_signal_fires_first(offset: int, kind: str) -> None:
    due = 5_000
    if kind == "wait step":
        run = Run(plan(waiting("w", on_signal("go"), after(due)), "b: w"))
    else:
        run = Run(plan("w", "b: w"))
        run.grant("w")
        run.wait("w", on_signal("go"), after(due))
    run.now += due + offset
    assert run.signal("go", "s1") is True
    if kind == "worker":
        winner = run.step("w").wakes[0].condition
    else:
        output = run.step("w").output
        assert output is not None
        assert output.json is not None
        winner = json.loads(output.json)["condition"]
    kept = [left.signal_id for left in run.workflow.inbox]
    assert (winner, kept) == (("go", []) if offset < 0 else ("timer", ["s1"])), "one branch, and the answer tells the truth"
    before = run.workflow
    run.tick()
    assert run.workflow is before


def test_c12_the_wait_that_a_due_timer_opens_may_take_the_signal() -> None:
    run = Run(plan(waiting("v", on_signal("go"), after(5_000)), waiting("w: v", on_signal("go"), after(5_000))))
    run.now += 6_000
    run.signal("go", "s1")
    assert (run.is_(), consumed(run, "w")) == (W.COMPLETED, ["s1"])


# ------------------------------------------------------------------------------------------------------------------- too late, full


def test_c10_a_signal_to_an_ended_workflow_is_refused_but_a_repeat_is_not() -> None:
    run = Run(plan("a"))
    run.signal("go", "s1")
    run.run_through("a")
    before = run.workflow
    assert refused(Reason.WORKFLOW_CLOSED, lambda: run.signal("go", "s2")) == {"state": "COMPLETED"}
    assert run.signal("go", "s1") is False, "its answer may have been lost"
    assert run.workflow is before
    assert [kept.signal_id for kept in run.workflow.inbox] == ["s1"], "an unconsumed one stays listed"


def test_c10_a_signal_that_a_due_end_overtakes_is_refused() -> None:
    run = Run(plan(waiting("w", after(1_000))))
    run.now += 1_000
    assert refused(Reason.WORKFLOW_CLOSED, lambda: run.signal("go", "s1")) == {"state": "COMPLETED"}
    assert run.is_() is W.RUNNING, "the sweep stores that end"
    run.tick()
    assert run.is_() is W.COMPLETED
    run = Run(plan("a", workflow_timeout=1_000))
    run.now += 1_000
    assert refused(Reason.WORKFLOW_CLOSED, lambda: run.signal("go")) == {"state": "FAILED"}


@pytest.mark.parametrize("stopping", ["cancelling", "failing"])
def test_c10_a_stopping_workflow_still_stores_signals_and_wakes_nothing(stopping: str) -> None:
    run = Run(plan("a", waiting("w", on_signal("go")), "b"))
    run.grant("a")
    if stopping == "cancelling":
        run.cancel()
    else:
        run.grant("b")
        run.fail("b", non_retryable=True)
    assert run.signal("go", "s1") is True
    assert ([kept.signal_id for kept in run.workflow.inbox], run.state("w")) == (["s1"], S.CANCELLED)


def test_a_full_inbox_refuses_clearly() -> None:
    run = Run(plan("a", waiting("w: a", on_signal("go"))))
    for number in range(limits.INBOX_SIGNALS):
        run.signal("noise", f"s{number}")
    before = run.workflow
    assert refused(Reason.SIGNAL_INBOX_FULL, lambda: run.signal("go")) == {"limit": "1000"}
    assert run.signal("noise", "s0") is False, "a repeat of a stored one is no new one"
    assert run.workflow is before


def test_signals_wake_a_step_that_waits_many_times() -> None:
    run = Run(plan(activity("loop")))
    for number in range(30):
        run.signal("item", f"s{number}", number)
    seen = []
    for _ in range(30):
        run.grant("loop")
        run.wait("loop", on_signal("item"))
        seen += [wake.signal_id for wake in run.step("loop").wakes]
        assert run.state("loop") is S.READY
    assert seen == [f"s{number}" for number in range(30)]
    assert (run.step("loop").attempt, run.now) == (0, T0)

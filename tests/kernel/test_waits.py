"""Durable waits: nobody is held while they last, one thing wins, and years are fine."""

import json
from itertools import permutations

import pytest

from perdure_server.kernel import limits
from perdure_server.kernel.effects import TimerSet
from perdure_server.kernel.values import Condition, Wake
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.kernel.harness import T0, Run, activity, after, at, chain, on_signal, payload, plan, signal, waiting

S, W = StepState, WorkflowState
YEAR = 365 * limits.DAY


def won(run: Run, name: str = "w") -> str:
    """Which condition a wait step says has won."""
    output = run.step(name).output
    assert output is not None
    assert output.json is not None
    condition: str = json.loads(output.json)["condition"]
    return condition


# ---------------------------------------------------------------------------------------------------------------- by the worker


def test_a_worker_waits_holding_nothing_and_is_woken() -> None:
    run = Run(plan("a"))
    nonce = run.grant("a")
    run.checkpoint("a", 1, {"task": 7})
    run.wait("a", on_signal("done"), after(30_000))
    step = run.step("a")
    assert (step.state, step.claim, step.attempt, step.waits) == (S.WAITING, None, 0, 1)
    assert step.checkpoint == payload({"task": 7}), "kept"
    assert (run.workflow.sessions, run.workflow.ready, run.workflow.wake_time) == ((), (), T0 + 30_000)
    assert TimerSet(T0 + 30_000) in run.effects
    run.pass_time(30_000)
    step = run.step("a")
    assert (step.state, step.wakes, step.wait) == (S.READY, (Wake("timer", time=run.now),), ())
    assert run.announced() == ["a"]
    second = run.grant("a")
    assert second != nonce
    assert (run.step("a").claim_no, run.step("a").attempt) == (2, 1)
    assert run.step("a").wakes, "the wakes stay until the step completes or waits again"
    run.complete("a")
    assert run.step("a").wakes == ()


def test_waits_cost_no_attempt_have_no_limit_and_do_not_grow_the_document() -> None:
    run = Run(plan(activity("a")))
    for number in range(200):
        run.grant("a")
        run.wait("a", after(60_000), checkpoint=payload(number))
        run.pass_time(60_000)
    step = run.step("a")
    assert (step.waits, step.claim_no, step.attempt, step.checkpoint) == (200, 200, 0, payload(199))
    assert len(step.settled) == limits.SETTLED_TOKENS
    run.run_through("a")
    assert run.is_() is W.COMPLETED


def test_a_wait_keeps_replaces_or_clears_the_checkpoint() -> None:
    run = Run(plan("a"))
    for fields, expected in (
        ({"checkpoint": payload(1)}, payload(1)),
        ({}, payload(1)),
        ({"checkpoint": payload(2)}, payload(2)),
        ({"keep_checkpoint": False}, None),
    ):
        run.grant("a")
        run.wait("a", after(50), **fields)
        assert run.step("a").checkpoint == expected
        run.pass_time(50)


def test_waiting_again_forgets_what_woke_it_last() -> None:
    run = Run(plan("a"))
    run.grant("a")
    run.wait("a", on_signal("go"))
    run.signal("go", "s1", "first")
    assert [(wake.signal_id, wake.payload) for wake in run.step("a").wakes] == [("s1", payload("first"))]
    run.grant("a")
    run.wait("a", on_signal("go"))
    assert run.step("a").wakes == ()


def test_what_woke_a_step_stays_until_it_completes() -> None:
    run = Run(plan("a", "b"))
    run.grant("a")
    run.wait("a", on_signal("go"))
    run.signal("go", "s1", "first")
    for move in ("fail", "lose", "release", "undelivered"):
        run.grant("a", acknowledged=move != "undelivered")
        getattr(run, move)("a")
        run.pass_time(limits.MINUTE)
        assert [(wake.signal_id, wake.payload) for wake in run.step("a").wakes] == [("s1", payload("first"))], move
    run.grant("a")
    run.complete("a")
    assert run.step("a").wakes == ()


def test_c20_a_wait_longer_than_every_lease_is_one_claim() -> None:
    run = Run(plan("a"))
    run.grant("a")
    run.wait("a", after(limits.HOUR))
    for _ in range(60):
        run.pass_time(limits.MINUTE - 1)
        run.lose_session()
        assert run.state("a") is S.WAITING
    run.pass_time(60)
    assert (run.state("a"), run.step("a").claim_no) == (S.READY, 1)


# ----------------------------------------------------------------------------------------------------------------- by a wait step


def test_a_wait_step_needs_no_worker_and_its_output_says_what_won() -> None:
    run = Run(plan("a", waiting("w: a", on_signal("go"), after(5_000, "late")), "b: w"))
    run.run_through("a")
    assert run.states() == {"a": "COMPLETED", "w": "WAITING", "b": "BLOCKED"}
    assert run.workflow.ready == ()
    run.pass_time(5_000)
    assert (run.states(), won(run)) == ({"a": "COMPLETED", "w": "COMPLETED", "b": "READY"}, "late")
    assert run.step("w").claim_no == 0


def test_the_first_of_several_times_wins() -> None:
    run = Run(plan(waiting("w", after(9_000, "nine"), at(T0 + 3_000, "three"), after(5_000, "five"))))
    assert run.step("w").due == T0 + 3_000
    run.pass_time(20_000)
    assert won(run) == "three", "though all were due"


def test_of_equal_times_the_first_listed_wins() -> None:
    run = Run(plan(waiting("w", after(5_000, "b"), after(5_000, "a"))))
    run.pass_time(5_000)
    assert won(run) == "b"


def test_c12_the_loser_is_disarmed() -> None:
    run = Run(plan(waiting("w", on_signal("go"), after(5_000)), "b: w"))
    run.signal("go")
    assert run.step("w").wait == ()
    before = run.workflow
    run.pass_time(5_000)
    assert run.workflow is before, "the timer that lost does nothing"
    run.run_through("b")
    assert (run.is_(), run.workflow.wake_time) == (W.COMPLETED, None)


# ------------------------------------------------------------------------------------------------------------------ far and past

FAR = [int(24.8 * limits.DAY), int(24.9 * limits.DAY), int(49.7 * limits.DAY), 50 * limits.DAY, YEAR, 100 * YEAR, limits.DURATION]


@pytest.mark.parametrize("duration", FAR)
def test_c14_long_waits_fire_at_their_time_and_not_before(duration: int) -> None:
    run = Run(plan(waiting("w", after(duration))))
    assert run.workflow.wake_time == T0 + duration
    run.pass_time(duration - 1)
    assert run.state("w") is S.WAITING
    run.pass_time(1)
    assert run.is_() is W.COMPLETED


def test_c14_a_time_beyond_the_last_year_is_the_end_of_time() -> None:
    run = Run(plan(waiting("w", after(limits.DURATION))), now=limits.TIME - 5)
    assert run.step("w").due == limits.TIME + limits.MIN_WAKE_DELAY - 5


@pytest.mark.parametrize("condition", [after(0), after(1), after(49), at(0), at(T0 - YEAR), at(T0 - 1), at(T0), at(T0 + 49)])
def test_c15_a_time_in_the_past_fires_at_once_but_never_sooner_than_50_ms(condition: Condition) -> None:
    run = Run(plan(waiting("w", condition)))
    run.tick()
    assert (run.state("w"), run.step("w").due) == (S.WAITING, T0 + limits.MIN_WAKE_DELAY)
    run.pass_time(limits.MIN_WAKE_DELAY - 1)
    assert run.state("w") is S.WAITING
    run.pass_time(1)
    assert run.state("w") is S.COMPLETED


def test_c15_a_worker_that_always_waits_for_the_past_is_no_hot_loop() -> None:
    run = Run(plan("a"))
    for _ in range(20):
        run.grant("a")
        run.wait("a", at(0))
        run.tick()
        assert run.state("a") is S.WAITING
        run.pass_time(50)
    assert run.now == T0 + 20 * 50


def test_c13_what_fell_due_while_nobody_looked_fires_once() -> None:
    run = Run(plan(waiting("v", after(60_000)), waiting("w: v", after(60_000)), "a: w"))
    run.pass_time(2 * limits.HOUR)
    assert run.states() == {"v": "COMPLETED", "w": "WAITING", "a": "BLOCKED"}
    assert run.step("w").due == run.now + 60_000, "counted from when it opened"
    run.pass_time(60_000)
    assert run.state("a") is S.READY


# ------------------------------------------------------------------------------------------------------------ signals in the inbox


def test_c07_signals_that_are_already_there_win_at_once() -> None:
    run = Run(plan("a", waiting("w: a", on_signal("go"), after(5_000))))
    run.signal("go", "s1", 42)
    run.run_through("a")
    assert (run.is_(), won(run), run.workflow.inbox) == (W.COMPLETED, "go", ())


ORDERS = list(permutations(["x1", "x2", "y1", "z1"]))


@pytest.mark.parametrize("listing", ["xyz", "zyx"])
@pytest.mark.parametrize("order", ORDERS)
def test_c07_a_wait_ends_the_same_way_whether_it_opened_before_or_after_the_signals(order: tuple[str, ...], listing: str) -> None:
    conditions = [on_signal(name, 2 if name == "x" else 1) for name in listing]
    outcomes = []
    for opens_first in (True, False):
        run = Run(plan("a", waiting("w: a", *conditions), "b: w"))
        if opens_first:
            run.run_through("a")
        for name in order:
            run.signal(name[0], name)
        if not opens_first:
            run.run_through("a")
        output = run.step("w").output
        assert output is not None
        outcomes.append((output.json, [kept.signal_id for kept in run.workflow.inbox]))
    assert outcomes[0] == outcomes[1]


def test_a_chain_of_two_thousand_waits_that_all_win_at_once() -> None:
    definition = chain(limits.STEPS, lambda text: waiting(text, on_signal("go")))
    run = Run(definition, signals=tuple(signal("go") for _ in range(limits.STEPS)))
    assert (run.is_(), len(run.workflow.events), run.workflow.inbox) == (W.COMPLETED, limits.EVENT_RING, ())
    assert run.workflow.event_seq == 1 + limits.STEPS * 2 + 1


def test_a_result_and_a_timer_may_set_off_such_a_chain() -> None:
    length = 500
    chained = [waiting(f"w{i}: {f'w{i - 1}' if i else 'a t'}", on_signal("go")) for i in range(length)]
    run = Run(plan("a", waiting("t", after(1_000)), *chained), signals=tuple(signal("go") for _ in range(length - 1)))
    run.run_through("a")
    assert run.workflow.remaining == length + 1
    run.pass_time(1_000)
    assert run.workflow.remaining == 1
    run.signal("go")
    assert run.is_() is W.COMPLETED


def test_a_thousand_waits_due_at_once() -> None:
    run = Run(plan(*(waiting(f"w{number}", after(1_000 - number % 7)) for number in range(1_000)), "end: w0 w999"))
    run.pass_time(1_000)
    assert run.states()["end"] == "READY"
    assert run.workflow.remaining == 1

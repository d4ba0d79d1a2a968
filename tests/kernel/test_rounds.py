"""Rounds: when a start opens one, what it carries over, and what becomes of the round before."""

import hashlib
from functools import partial
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition, Hook, Hooks
from perdure_server.kernel.duties import duty_done, duty_failed
from perdure_server.kernel.effects import ClaimLost, Effect, StepReady
from perdure_server.kernel.rejection import Reason
from perdure_server.kernel.rounds import activate, next_round, opens_round
from perdure_server.kernel.start import OnClosed, OnOpen, meet
from perdure_server.kernel.values import LossCause, RetryPolicy
from perdure_server.kernel.workflow import DutyKind, StepState, Workflow, WorkflowState
from tests.kernel.harness import KEY, T0, Run, activity, on_signal, payload, plan, refused, signal, start, waiting
from tests.kernel.invariants import check_instance

W, S = WorkflowState, StepState
ONCE = RetryPolicy(max_attempts=1)


def tidy_plan(**fields: object) -> Definition:
    steps = (activity("a", retry=ONCE), "b: a", activity("tidy", needs=()), activity("settle", needs=()))
    return plan(*steps, hooks=Hooks(cancel_finalizer=Hook("tidy"), failure_finalizer=Hook("settle")), **fields)


class Again(NamedTuple):
    """The next round, all effects together, and the round before it."""

    workflow: Workflow
    effects: tuple[Effect, ...]
    archived: Workflow


def again(run: Run, **fields: object) -> Again:
    """The next round of a run, as the engine makes it."""
    command = start(on_open=OnOpen.SUPERSEDE, on_closed=OnClosed.NEW_ROUND, **fields)
    assert opens_round(run.workflow, command)
    opened = next_round((run.definition, run.definition), run.workflow, command, run.now)
    check_instance(run.definition, opened.workflow)
    assert opened.archived is not None
    check_instance(run.definition, opened.archived)
    return Again(opened.workflow, (*opened.lost, *opened.effects), opened.archived)


def as_run(run: Run, workflow: Workflow) -> Run:
    """A bench for another instance of the same definition."""
    other = Run(run.definition, now=run.now)
    other.workflow = workflow
    return other


# ------------------------------------------------------------------------------------------------------------------------ whether


@pytest.mark.parametrize(
    ("end", "policy", "opens"),
    [
        ("complete", OnClosed.USE_EXISTING, False),
        ("complete", OnClosed.NEW_ROUND, True),
        ("complete", OnClosed.NEW_ROUND_IF_FAILED, False),
        ("complete", OnClosed.REJECT, False),
        ("fail", OnClosed.NEW_ROUND, True),
        ("fail", OnClosed.NEW_ROUND_IF_FAILED, True),
        ("cancel", OnClosed.NEW_ROUND_IF_FAILED, True),
        ("terminate", OnClosed.NEW_ROUND_IF_FAILED, True),
    ],
)
def test_on_closed_says_whether_an_ended_key_has_another_round(end: str, policy: OnClosed, opens: bool) -> None:
    run = Run(plan(activity("a", retry=ONCE)))
    if end in {"complete", "fail"}:
        run.grant("a")
    getattr(run, end)(*(["a"] if end in {"complete", "fail"} else []))
    assert opens_round(run.workflow, start(on_closed=policy)) is opens


@pytest.mark.parametrize("policy", OnOpen)
def test_on_open_says_whether_an_open_round_is_superseded(policy: OnOpen) -> None:
    run = Run(plan("a"))
    assert opens_round(run.workflow, start(on_open=policy, on_closed=OnClosed.NEW_ROUND)) is (policy is OnOpen.SUPERSEDE)


def test_a_repeat_never_opens_a_round() -> None:
    run = Run(plan("a"), request_id="r1", input=1)
    command = start(on_open=OnOpen.SUPERSEDE, on_closed=OnClosed.NEW_ROUND, request_id="r1", input=1)
    assert not opens_round(run.workflow, command)
    assert meet(run.workflow, command) is False
    same = replace(command, run_id=run.workflow.run_id, request_id="")
    assert not opens_round(run.workflow, same)
    assert meet(run.workflow, same) is True


# ------------------------------------------------------------------------------------------------------------------- the new round


def test_a_new_round_is_the_same_key_under_a_higher_fence_and_another_run() -> None:
    run = Run(plan("a"), request_id="r1", input="old", labels={"x": "1"})
    run.run_through("a")
    opened = again(run, request_id="r2", input="new", signals=())
    new, old = opened.workflow, run.workflow
    assert (new.key, new.workflow_id, new.round) == (KEY, old.workflow_id, 2)
    assert new.run_id != old.run_id
    assert new.fence == max(old.fence + 1, run.now) > old.fence
    assert (new.revision, new.state, new.input, new.labels) == (old.revision + 1, W.RUNNING, payload("new"), {})
    assert (new.events[0].seq, new.event_seq, new.output, new.end_time, new.expire_time) == (1, 2, None, None, None)
    assert new.ready != ()


def test_the_fence_rises_though_the_clock_stands_or_is_behind() -> None:
    run = Run(plan("a"))
    for _ in range(3):
        run.now -= 10
        opened = again(run)
        assert opened.workflow.fence > run.workflow.fence
        assert opened.workflow.update_time >= run.workflow.update_time
        run = as_run(run, opened.workflow)


def test_a_start_at_and_signals_ride_along() -> None:
    run = Run(plan(waiting("w", on_signal("go"))))
    opened = again(run, start_at=run.now + 5_000)
    assert opened.workflow.steps["w"].state is S.BACKOFF
    ridden = again(run, signals=(signal("go"),))
    assert ridden.workflow.state is W.COMPLETED
    assert ridden.workflow.wake_time == ridden.workflow.duties[0].due, "ended, and its duty is not forgotten"


def test_request_ids_are_carried_with_the_input_of_their_own_round() -> None:
    run = Run(plan("a"), request_id="r1", input="one")
    run = as_run(run, again(run, request_id="r2", input="two").workflow)
    run = as_run(run, again(run, request_id="r3", input="three").workflow)
    assert run.workflow.request_ids == ("r1", "r2", "r3")
    for number, value in (("r1", "one"), ("r2", "two"), ("r3", "three")):
        repeat = start(request_id=number, input=value, on_open=OnOpen.SUPERSEDE)
        assert not opens_round(run.workflow, repeat)
        assert meet(run.workflow, repeat) is False
        other = start(request_id=number, input="other", on_open=OnOpen.SUPERSEDE)
        assert refused(Reason.START_INPUT_MISMATCH, partial(meet, run.workflow, other))["conflict"] == "request_id"
        assert meet(run.workflow, replace(repeat, on_open=OnOpen.REJECT)) is False


def test_sixteen_request_ids_are_remembered_over_rounds() -> None:
    run = Run(plan("a"), request_id="r0")
    for number in range(1, 20):
        run = as_run(run, again(run, request_id=f"r{number}").workflow)
    assert run.workflow.request_ids == tuple(f"r{number}" for number in range(4, 20))
    assert len(run.workflow.past_requests) == limits.REQUEST_IDS - 1
    assert opens_round(run.workflow, start(request_id="r3", on_open=OnOpen.SUPERSEDE)), "forgotten"
    nameless = again(run).workflow
    assert nameless.request_ids == tuple(f"r{number}" for number in range(5, 20))


# --------------------------------------------------------------------------------------------------------------- the archived round


def test_an_ended_round_is_archived_as_it_was() -> None:
    run = Run(tidy_plan(), input=5)
    run.run_through("a", "b")
    archived = again(run).archived
    digest = hashlib.sha256(b"round" + KEY.workflow_id + (1).to_bytes(8, "big")).digest()[:16]
    assert archived.workflow_id == digest != run.workflow.workflow_id
    kept = replace(archived, archived=False, inert=False, revision=run.workflow.revision, expire_time=run.workflow.expire_time)
    assert kept == run.workflow
    active = activated(run, archived)
    assert (active.is_(), active.workflow.inert, active.workflow.steps) == (W.COMPLETED, False, run.workflow.steps)
    assert (archived.expire_time, active.workflow.expire_time) == (None, run.workflow.expire_time), "retention begins when it is active"
    refused(Reason.ROUND_ARCHIVED, lambda: active.replay("a"))


def activated(run: Run, archived: Workflow) -> Run:
    """The archived round, after the duty was done. Once."""
    other = as_run(run, archived)
    assert other.do(activate) is True
    effects = other.effects
    assert other.do(activate) is False
    other.effects = effects
    return other


def test_a_superseded_round_is_fenced_at_once_and_goes_on_with_its_cancel_finalizer_after_activation() -> None:
    run = Run(tidy_plan())
    token = run.grant("a")
    opened = again(run)
    assert [(effect.claim.nonce, effect.cause) for effect in opened.effects if isinstance(effect, ClaimLost)] == [
        (token, LossCause.SUPERSEDED)
    ]
    old = opened.archived
    assert (old.state, old.inert, old.steps["a"].state, old.steps["b"].state) == (W.CANCELLING, True, S.CANCELLED, S.CANCELLED)
    assert (old.wake_time, old.ready, old.sessions) == (None, (), ())
    assert "tidy" not in old.steps
    other = activated(run, old)
    assert [effect for effect in other.effects if isinstance(effect, StepReady)] == [StepReady("tidy")]
    assert refused(Reason.CLAIM_LOST, lambda: other.complete("a", 1, token))["cause"] == "SUPERSEDED"
    other.run_through("tidy")
    assert (other.is_(), other.workflow.fence, other.workflow.run_id) == (W.CANCELLED, run.workflow.fence, run.workflow.run_id)


def test_an_inert_round_does_nothing_whatever_comes() -> None:
    run = Run(tidy_plan(cancel_grace=0))
    run.grant("a")
    other = as_run(run, again(run).archived)
    other.pass_time(limits.DURATION)
    assert other.workflow.inert
    refused(Reason.STEP_STATE_INVALID, lambda: other.grant("tidy"))


def test_a_superseded_round_without_a_finalizer_ends_when_it_is_activated() -> None:
    run = Run(plan("a"))
    run.pause()
    other = activated(run, again(run).archived)
    assert (other.is_(), other.workflow.paused, other.workflow.expire_time) == (W.CANCELLED, None, other.now + limits.RETENTION)


@pytest.mark.parametrize("claimed", [True, False])
def test_a_round_that_is_failing_goes_on_failing(claimed: bool) -> None:
    run = Run(tidy_plan())
    run.grant("a")
    run.fail("a")
    token = run.grant("settle") if claimed else ""
    opened = again(run)
    assert (opened.archived.state, opened.archived.steps["settle"].state) == (W.FAILING, S.READY)
    other = activated(run, opened.archived)
    assert other.announced() == ["settle"]
    if claimed:
        refused(Reason.CLAIM_LOST, lambda: other.complete("settle", None, token))
    other.run_through("settle")
    assert other.is_() is W.FAILED


def test_both_are_alive_and_told_apart() -> None:
    run = Run(tidy_plan())
    run.grant("a")
    opened = again(run)
    new, old = as_run(run, opened.workflow), activated(run, opened.archived)
    new.run_through("a", "b")
    old.run_through("tidy")
    assert (new.is_(), old.is_()) == (W.COMPLETED, W.CANCELLED)
    assert new.workflow.fence > old.workflow.fence
    assert new.workflow.workflow_id != old.workflow.workflow_id


# ----------------------------------------------------------------------------------------------------------------------------- duties


def test_the_duty_wakes_the_sweep_until_it_is_done() -> None:
    run = Run(plan("a"))
    new = as_run(run, again(run).workflow)
    (duty,) = new.workflow.duties
    assert (duty.kind, duty.round, duty.due, new.workflow.wake_time) == (DutyKind.ACTIVATE_ROUND, 1, T0 + limits.SECOND, T0 + limits.SECOND)
    pauses = []
    for _ in range(9):
        new.now = max(new.now, new.workflow.duties[0].due)
        new.do(lambda draft: duty_failed(draft, draft.workflow.duties[0]))
        pauses.append(new.workflow.duties[0].due - new.now)
        assert new.workflow.wake_time is not None
        assert new.workflow.wake_time <= new.workflow.duties[0].due
    assert pauses == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]
    assert new.do(lambda draft: duty_done(draft, duty)) is True
    assert new.do(lambda draft: duty_done(draft, duty)) is False
    assert new.workflow.duties == ()


def test_a_duty_is_done_in_an_ended_workflow_too_and_goes_on_with_the_next_round() -> None:
    run = Run(plan("a"))
    new = as_run(run, again(run).workflow)
    new.run_through("a")
    assert new.workflow.wake_time == new.workflow.duties[0].due
    third = as_run(new, again(new).workflow)
    assert [duty.round for duty in third.workflow.duties] == [1, 2]
    new.do(lambda draft: duty_done(draft, draft.workflow.duties[0]))
    assert new.workflow == replace(new.workflow, wake_time=None, state=W.COMPLETED)

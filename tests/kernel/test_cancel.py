"""Cancel: a request that starts nothing new and always comes to an end."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from perdure_server.kernel import limits
from perdure_server.kernel.claims import silence
from perdure_server.kernel.effects import AttemptEnded, CancelRequested, ClaimLost, WorkflowEnded
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import LossCause, RetryPolicy
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.kernel.harness import T0, Run, activity, after, on_signal, payload, plan, refused, waiting

S, W = StepState, WorkflowState
Act = Callable[[Run], object]


def test_cancel_while_running_starts_nothing_new_and_tells_the_holder() -> None:
    run = Run(plan("a", "b: a", "c"))
    run.grant("a")
    claim = run.claim("a")
    assert run.cancel("by hand", "r1") is True
    assert (run.is_(), run.states()) == (W.CANCELLING, {"a": "CANCELLING", "b": "CANCELLED", "c": "CANCELLED"})
    assert run.effects == [CancelRequested("a", claim)]
    assert run.claim("a") is claim, "the claim is kept until it ends"
    workflow = run.workflow
    assert (workflow.cancel_reason, workflow.cancel_request_id, workflow.grace_deadline) == ("by hand", "r1", T0 + limits.CANCEL_GRACE)
    assert workflow.ready == ()


def everything() -> Run:
    """A step in every state that can be cancelled."""
    run = Run(
        plan("running", "ready", waiting("wait_step", on_signal("go")), "worker_waits", "backing_off", "done", "blocked: running ready"),
    )
    for name in ("running", "worker_waits", "backing_off", "done"):
        run.grant(name)
    run.wait("worker_waits", after(60_000))
    run.fail("backing_off")
    run.complete("done", "kept")
    return run


def test_what_is_not_claimed_ends_in_the_same_write() -> None:
    run = everything()
    run.cancel()
    states = run.states()
    assert states.pop("running") == "CANCELLING"
    assert states.pop("done") == "COMPLETED"
    assert set(states.values()) == {"CANCELLED"}
    assert run.workflow.remaining == 1


def test_c41_cancel_ends_at_once_when_nothing_is_claimed() -> None:
    for run in (
        Run(plan("a", "b: a")),
        Run(plan("a"), start_at=T0 + limits.DAY),
        Run(plan(waiting("w", on_signal("never")))),
    ):
        assert run.cancel() is True
        assert (run.is_(), run.count(WorkflowEnded), run.workflow.wake_time) == (W.CANCELLED, 1, None)
        assert run.workflow.end_time == T0


def test_c41_cancel_before_an_acknowledgement_ends_with_the_verdict_on_it() -> None:
    run = Run(plan("a"))
    run.grant("a", acknowledged=False)
    run.cancel()
    assert run.workflow.wake_time == T0 + limits.ACKNOWLEDGE_WITHIN
    run.undelivered("a")
    assert (run.is_(), run.state("a"), run.step("a").attempt) == (W.CANCELLED, S.CANCELLED, 0)


ENDS: dict[str, Act] = {
    "confirmed": lambda run: run.confirm("a"),
    "completed": lambda run: run.complete("a", "kept"),
    "failed": lambda run: run.fail("a"),
    "failed for good": lambda run: run.fail("a", non_retryable=True),
    "waiting": lambda run: run.wait("a", on_signal("never")),
    "released": lambda run: run.release("a"),
    "lost": lambda run: run.lose("a"),
    "session over": lambda run: run.lose_session(),
    "silent": lambda run: run.silence("a"),
    "attempt over": lambda run: run.pass_time(2_000),
    "grace over": lambda run: run.pass_time(60_000),
}


@pytest.mark.parametrize("how", ENDS)
def test_c41_however_the_last_claim_ends_the_workflow_is_cancelled(how: str) -> None:
    run = Run(plan(activity("a", attempt_timeout=2_000 if how == "attempt over" else 600_000), "b: a", cancel_grace=60_000))
    run.grant("a")
    run.cancel()
    ENDS[how](run)
    completed = how == "completed"
    assert (run.is_(), run.state("a")) == (W.CANCELLED, S.COMPLETED if completed else S.CANCELLED)
    assert run.step("a").output == (payload("kept") if completed else None)
    assert run.state("b") is S.CANCELLED
    assert (run.workflow.output, run.workflow.failure, run.step("a").due) == (None, None, None)
    assert run.announced() == []


def test_each_running_step_is_waited_for() -> None:
    run = Run(plan("a", "b", "c"))
    for name in "abc":
        run.grant(name)
    run.cancel()
    run.confirm("a")
    run.complete("b")
    assert run.is_() is W.CANCELLING
    run.fail("c", "clean-up.failed")
    assert (run.is_(), run.states()) == (W.CANCELLED, {"a": "CANCELLED", "b": "COMPLETED", "c": "CANCELLED"})
    failure = run.step("c").failure
    assert failure is not None
    assert failure.type == "clean-up.failed", "noted"


def test_the_grace_fences_what_did_not_confirm() -> None:
    run = Run(plan("a", "b", cancel_grace=5_000))
    token, _ = run.grant("a"), run.grant("b")
    claim = run.claim("a")
    run.cancel()
    run.confirm("b")
    run.pass_time(4_999)
    assert run.is_() is W.CANCELLING
    run.pass_time(1)
    assert run.is_() is W.CANCELLED
    assert run.effects == [
        ClaimLost("a", claim, LossCause.CANCELLED),
        AttemptEnded("a", claim, 1, 1, "cancelled"),
        WorkflowEnded(),
    ]
    assert refused(Reason.CLAIM_LOST, lambda: run.complete("a", nonce=token)) == {"cause": "CANCELLED"}
    assert run.confirm("b", nonce=run.step("b").settled[-1].nonce) is False, "a repeat"


def test_a_cancelling_activity_may_still_checkpoint() -> None:
    run = Run(plan("a"))
    run.grant("a")
    run.cancel()
    assert run.checkpoint("a", 1, "cleaned half")
    run.confirm("a")
    assert run.step("a").checkpoint == payload("cleaned half"), "kept for who settles it"


def test_a_cancelling_workflow_has_no_timeout() -> None:
    run = Run(plan("a", workflow_timeout=1_000, cancel_grace=60_000))
    run.grant("a")
    run.cancel()
    run.pass_time(2_000)
    assert run.is_() is W.CANCELLING
    run.confirm("a")
    assert run.is_() is W.CANCELLED


# ------------------------------------------------------------------------------------------------------------------- the table


def stopping(state: WorkflowState) -> Run:
    """A workflow in that state, with one claim of `a` where it can have one."""
    run = Run(plan("a", activity("b", retry=RetryPolicy(max_attempts=1)), "c: a", workflow_timeout=limits.HOUR))
    if state is W.COMPLETED:
        run.run_through("a", "b", "c")
        return run
    run.grant("a")
    run.grant("b")
    if state in {W.CANCELLING, W.CANCELLED}:
        run.cancel(request_id="first")
        run.confirm("b")
    if state in {W.FAILING, W.FAILED}:
        run.fail("b")
    if state in {W.CANCELLED, W.FAILED}:
        run.confirm("a")
    assert run.is_() is state
    return run


def test_c40_cancel_in_every_state() -> None:
    assert stopping(W.RUNNING).cancel() is True
    assert stopping(W.CANCELLING).cancel() is False, "a duplicate"
    assert refused(Reason.WORKFLOW_FAILING, stopping(W.FAILING).cancel) == {"state": "FAILING"}
    for end in (W.COMPLETED, W.FAILED, W.CANCELLED):
        assert refused(Reason.WORKFLOW_CLOSED, stopping(end).cancel) == {"state": end.name}


def test_the_same_cancel_request_is_answered_the_same_after_the_end() -> None:
    run = stopping(W.CANCELLED)
    before = run.workflow
    assert run.cancel(request_id="first") is False
    refused(Reason.WORKFLOW_CLOSED, lambda: run.cancel(request_id="second"))
    assert run.workflow is before


def test_a_second_cancel_changes_nothing() -> None:
    run = stopping(W.CANCELLING)
    before = run.workflow
    assert run.cancel("other reason", "second") is False
    assert run.workflow is before


@pytest.mark.parametrize(
    ("state", "after_complete", "after_failure"),
    [(W.CANCELLING, W.CANCELLED, W.CANCELLED), (W.FAILING, W.FAILED, W.FAILED)],
)
def test_c40_results_while_stopping(state: WorkflowState, after_complete: WorkflowState, after_failure: WorkflowState) -> None:
    run = stopping(state)
    run.complete("a", "kept")
    assert (run.is_(), run.step("a").output, run.state("c")) == (after_complete, payload("kept"), S.CANCELLED)
    run = stopping(state)
    run.fail("a", "too.late")
    assert (run.is_(), run.state("a")) == (after_failure, S.CANCELLED)
    failure = run.workflow.failure
    assert (failure.type if failure else None) == ("boom" if state is W.FAILING else None), "only noted on the step"


@pytest.mark.parametrize("state", [W.CANCELLING, W.FAILING])
def test_c40_the_workflow_timeout_is_disarmed_while_stopping(state: WorkflowState) -> None:
    run = stopping(state)
    assert run.workflow.deadline is None


# ------------------------------------------------------------------------------------------------------- races, in either order

TOKEN = "c0ffee" + "0" * 22
ACTS: dict[str, Act] = {
    "cancel": lambda run: run.cancel(),
    "complete": lambda run: run.complete("a", "output", nonce=TOKEN),
    "fail": lambda run: run.fail("a", nonce=TOKEN, non_retryable=True),
    "attempt timeout": lambda run: run.do(lambda draft: silence(draft, "a", TOKEN, 0.5)),
    "workflow timeout": lambda run: run.pass_time(1_000),
    "signal": lambda run: run.signal("go"),
}
FIRST_DECIDES = {
    "complete": W.COMPLETED,
    "fail": W.FAILED,
    "cancel": W.CANCELLED,
    "workflow timeout": W.FAILED,
    "attempt timeout": W.FAILED,
    "signal": None,
}


@pytest.mark.parametrize("second", ACTS)
@pytest.mark.parametrize("first", ACTS)
def test_c40_two_racing_commands_have_one_end_decided_by_the_first(first: str, second: str) -> None:
    run = Run(plan(activity("a", retry=RetryPolicy(max_attempts=1)), workflow_timeout=1_000, cancel_grace=5_000))
    run.grant("a", nonce=TOKEN)
    if first != second:
        for name in (first, second):
            with suppress(Rejection):  # the second may come too late
                ACTS[name](run)
        run.pass_time(60_000)
        expected = FIRST_DECIDES[first] or FIRST_DECIDES[second]
        assert run.is_() is expected


def test_c40_a_cancel_that_comes_after_a_due_end_is_refused() -> None:
    run = Run(plan(waiting("w", after(1_000))))
    run.now += 1_000
    assert refused(Reason.WORKFLOW_CLOSED, run.cancel) == {"state": "COMPLETED"}
    run = Run(plan("a", workflow_timeout=1_000))
    run.grant("a")
    run.now += 1_000
    refused(Reason.WORKFLOW_FAILING, run.cancel)


def test_cancel_does_what_was_due_first() -> None:
    run = Run(plan(waiting("w", after(1_000)), "a: w", "b"))
    run.now += 1_000
    run.cancel()
    assert (run.is_(), run.states()) == (W.CANCELLED, {"w": "COMPLETED", "a": "CANCELLED", "b": "CANCELLED"})

"""Attempt, silence and workflow timeouts: the claim is fenced first, and nothing is unlocked."""

from perdure_server.kernel import limits
from perdure_server.kernel.claims import silence
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.effects import AttemptEnded, CancelRequested, ClaimLost
from perdure_server.kernel.rejection import Reason
from perdure_server.kernel.timing import fire_due
from perdure_server.kernel.values import LossCause, RetryPolicy
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.kernel.harness import T0, Run, activity, after, on_signal, plan, refused, waiting

S, W = StepState, WorkflowState
ONCE = RetryPolicy(max_attempts=1)


def test_an_attempt_timeout_fences_the_claim_and_then_retries() -> None:
    run = Run(plan(activity("a", attempt_timeout=5_000), "b: a"))
    nonce = run.grant("a")
    claim = run.claim("a")
    run.pass_time(4_999)
    assert run.state("a") is S.RUNNING
    run.pass_time(1, dice=0.5)
    step = run.step("a")
    assert (step.state, step.claim, step.attempt, step.due) == (S.BACKOFF, None, 1, run.now + 1_000)
    assert step.failure is not None
    assert step.failure.type == "ATTEMPT_TIMEOUT"
    lost, ended = run.effects[:2]
    assert lost == ClaimLost("a", claim, LossCause.TIMED_OUT)
    assert isinstance(ended, AttemptEnded)
    assert (ended.outcome, ended.failure) == ("timed_out", step.failure)
    assert refused(Reason.CLAIM_LOST, lambda: run.complete("a", nonce=nonce)) == {"cause": "TIMED_OUT"}
    assert run.state("b") is S.BLOCKED


def test_a_step_that_times_out_for_good_unlocks_nothing() -> None:
    run = Run(plan(activity("a", attempt_timeout=5_000, retry=ONCE), "b: a", "c: b"))
    run.grant("a")
    run.pass_time(5_000)
    assert (run.is_(), run.states()) == (W.FAILED, {"a": "FAILED", "b": "CANCELLED", "c": "CANCELLED"})
    assert run.announced() == []
    assert (run.workflow.failed_step, run.workflow.output) == ("a", None)


def test_silence_fences_the_claim_whatever_the_session_says() -> None:
    run = Run(plan(activity("a", silence_timeout=30_000)))
    nonce = run.grant("a")
    run.silence("a", dice=0.0)
    step = run.step("a")
    assert (step.state, step.attempt, step.due) == (S.BACKOFF, 1, T0 + 800)
    assert step.failure is not None
    assert step.failure.type == "SILENCE_TIMEOUT"
    assert refused(Reason.CLAIM_LOST, lambda: run.complete("a", nonce=nonce)) == {"cause": "TIMED_OUT"}
    run.pass_time(800)
    run.grant("a")
    refused(Reason.CLAIM_LOST, lambda: run.do(lambda draft: silence(draft, "a", nonce, 0.5)))


def test_waiting_for_a_worker_a_retry_or_a_signal_has_no_attempt_timeout() -> None:
    run = Run(plan(activity("a", attempt_timeout=1_000), activity("b", attempt_timeout=1_000), activity("c", attempt_timeout=1_000)))
    run.grant("b")
    run.fail("b", retry_after=limits.HOUR)
    run.grant("c")
    run.wait("c", after(limits.HOUR))
    run.pass_time(limits.HOUR - 1)
    assert run.states() == {"a": "READY", "b": "BACKOFF", "c": "WAITING"}


# ------------------------------------------------------------------------------------------------------------- workflow timeout


def test_a_workflow_timeout_fails_the_workflow_at_once_if_nothing_runs() -> None:
    run = Run(plan("a", waiting("w", on_signal("go")), "b: a w", workflow_timeout=60_000))
    run.pass_time(59_999)
    assert run.is_() is W.RUNNING
    run.pass_time(1)
    assert (run.is_(), run.states()) == (W.FAILED, {"a": "CANCELLED", "w": "CANCELLED", "b": "CANCELLED"})
    failure = run.workflow.failure
    assert failure is not None
    assert (failure.type, run.workflow.failed_step) == ("WORKFLOW_TIMEOUT", "")


def test_a_workflow_timeout_gives_running_steps_the_grace_and_keeps_their_outputs() -> None:
    run = Run(plan("a", "b", "c: a b", workflow_timeout=60_000, cancel_grace=5_000))
    run.grant("a")
    run.grant("b")
    run.pass_time(60_000)
    assert (run.is_(), run.states()) == (W.FAILING, {"a": "CANCELLING", "b": "CANCELLING", "c": "CANCELLED"})
    assert (run.workflow.deadline, run.workflow.grace_deadline) == (None, T0 + 65_000)
    assert [effect.step for effect in run.effects if isinstance(effect, CancelRequested)] == ["a", "b"]
    run.complete("a", "kept")
    assert (run.is_(), run.state("a")) == (W.FAILING, S.COMPLETED)
    run.pass_time(5_000)
    assert (run.is_(), run.states()) == (W.FAILED, {"a": "COMPLETED", "b": "CANCELLED", "c": "CANCELLED"})
    assert run.workflow.output is None


def test_a_workflow_that_ended_in_time_has_no_timeout() -> None:
    run = Run(plan("a", workflow_timeout=60_000))
    run.run_through("a")
    before = run.workflow
    run.pass_time(60_000)
    assert run.workflow is before


def test_a_late_result_may_still_complete_a_workflow_whose_timeout_nobody_stored() -> None:
    run = Run(plan("a", workflow_timeout=60_000))
    run.grant("a")
    run.now += 2 * limits.HOUR
    run.complete("a")
    assert run.is_() is W.COMPLETED


# ----------------------------------------------------------------------------------------------------------------------- order


def test_what_fell_due_is_done_in_the_order_in_which_it_did() -> None:
    run = Run(plan("x: w v a", waiting("v", after(4_000)), activity("a", attempt_timeout=3_000, retry=ONCE), waiting("w", after(2_000))))
    run.grant("a")
    run.pass_time(limits.HOUR)
    assert run.states() == {"w": "COMPLETED", "a": "FAILED", "v": "CANCELLED", "x": "CANCELLED"}, "v fell due after a had failed"


def test_the_workflows_own_time_comes_before_its_steps_at_the_same_moment() -> None:
    run = Run(plan(waiting("w", after(5_000)), workflow_timeout=5_000))
    run.pass_time(5_000)
    assert (run.is_(), run.state("w")) == (W.FAILED, S.CANCELLED)


def test_a_step_that_ends_the_workflow_before_its_timeout_wins() -> None:
    run = Run(plan(waiting("w", after(4_999)), workflow_timeout=5_000))
    run.pass_time(limits.HOUR)
    assert run.is_() is W.COMPLETED


def test_a_grace_of_zero_is_over_at_once() -> None:
    run = Run(plan("a", workflow_timeout=5_000, cancel_grace=0))
    run.grant("a")
    run.pass_time(5_000)
    assert (run.is_(), run.state("a")) == (W.FAILED, S.CANCELLED)


def test_c21_without_judging_only_waits_and_retries_come_due() -> None:
    run = Run(plan("a", waiting("w", after(1_000)), "b", activity("r"), "x: a w b r", workflow_timeout=5_000))
    run.grant("a")
    run.grant("r")
    run.fail("r")
    run.now += limits.HOUR
    draft = Draft(run.definition, run.workflow, run.now, judging=False)
    fire_due(draft)
    after_outage = draft.finish()
    assert after_outage.state is W.RUNNING
    assert {name: step.state.name for name, step in after_outage.steps.items()} == {
        "a": "RUNNING",
        "w": "COMPLETED",
        "b": "READY",
        "r": "READY",
    }
    run.tick()
    assert (run.is_(), run.state("a")) == (W.FAILED, S.CANCELLED), "judged again: the timeout, and an attempt that is long over"


def test_nothing_due_changes_nothing() -> None:
    run = Run(plan("a", waiting("w", after(1_000))))
    before = run.workflow
    for _ in range(5):
        run.pass_time(100)
    assert run.workflow is before


def test_time_never_goes_back_in_an_instance() -> None:
    run = Run(plan("a", "b: a"))
    run.now += 10_000
    run.grant("a")
    run.now -= 9_000  # another server, whose estimate is behind
    run.complete("a")
    assert run.workflow.update_time == T0 + 10_000
    run.grant("b")
    assert run.claim("b").granted == T0 + 10_000

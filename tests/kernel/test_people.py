"""What people do: pause, resume, terminate; and that a repeat of a request is one."""

import pytest

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Hook, Hooks
from perdure_server.kernel.effects import ClaimLost
from perdure_server.kernel.rejection import Reason
from perdure_server.kernel.values import LossCause, RetryPolicy
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.kernel.harness import T0, Run, activity, after, on_signal, plan, refused, waiting

W = WorkflowState
S = StepState
ONCE = RetryPolicy(max_attempts=1)


def test_a_paused_workflow_grants_nothing_takes_results_and_moves_its_timeouts() -> None:
    run = Run(plan("a", activity("b: a", queue_timeout=limits.MINUTE), workflow_timeout=limits.HOUR))
    run.grant("a")
    assert run.pause()
    assert not run.pause(), "it is paused already"
    run.complete("a")
    assert run.workflow.ready == ("S//default/note",)
    refused(Reason.STEP_STATE_INVALID, lambda: run.grant("b"))
    deadline = run.workflow.deadline
    run.pass_time(2 * limits.HOUR)
    assert (run.state("b"), run.is_()) == (S.READY, W.RUNNING), "nothing times out while paused"
    assert run.resume()
    assert run.announced() == ["b"]
    assert deadline is not None
    assert run.workflow.deadline == deadline + 2 * limits.HOUR
    run.run_through("b")
    assert run.is_() is W.COMPLETED


def test_what_comes_due_waits_for_the_resume_and_user_timers_do_not_move() -> None:
    run = Run(plan(waiting("w", after(limits.MINUTE)), waiting("v", after(2 * limits.HOUR))))
    due = run.step("v").due
    run.pause()
    run.pass_time(limits.HOUR)
    assert run.state("w") is S.WAITING
    run.resume()
    assert (run.state("w"), run.step("v").due) == (S.COMPLETED, due)


def test_back_off_and_start_at_wait_for_the_resume() -> None:
    run = Run(plan("a"))
    run.grant("a")
    run.fail("a")
    run.pause()
    run.pass_time(limits.HOUR)
    assert run.state("a") is S.BACKOFF
    run.resume()
    assert (run.state("a"), run.announced()) == (S.READY, ["a"])
    later = Run(plan("a"), start_at=T0 + limits.MINUTE)
    later.pause()
    later.pass_time(limits.HOUR)
    assert later.state("a") is S.BACKOFF
    later.resume()
    assert later.state("a") is S.READY


def test_leases_and_attempt_timeouts_go_on_in_a_pause() -> None:
    run = Run(plan(activity("a", attempt_timeout=limits.MINUTE), "b"))
    run.grant("a", "worker-1")
    run.grant("b", "worker-2")
    run.pause()
    assert run.workflow.wake_time is not None
    run.pass_time(limits.MINUTE)
    assert run.state("a") is S.BACKOFF
    run.lose_session("worker-2")
    assert (run.state("b"), run.workflow.ready) == (S.READY, ("S//default/note",))


def test_a_signal_is_taken_in_a_pause_and_what_it_wakes_is_not_granted() -> None:
    run = Run(plan("a"))
    run.grant("a")
    run.wait("a", on_signal("go"))
    run.pause()
    assert run.signal("go")
    assert (run.state("a"), run.workflow.ready) == (S.READY, ("S//default/note",))
    run.resume()
    run.run_through("a")
    assert run.is_() is W.COMPLETED


@pytest.mark.parametrize("how", ["before", "in"])
def test_queue_timeout_moves_by_the_pause_whether_it_began_before_or_in_it(how: str) -> None:
    run = Run(plan(activity("a", attempt_timeout=limits.DAY), activity("b: a", queue_timeout=limits.MINUTE)))
    run.grant("a")
    if how == "before":
        run.complete("a")
        run.pass_time(20 * limits.SECOND)
    run.pause()
    run.pass_time(limits.HOUR)
    if how == "in":
        run.complete("a")
        run.pass_time(limits.HOUR)
    run.resume()
    assert run.step("b").due == run.now + (40 if how == "before" else 60) * limits.SECOND


def test_step_timeout_stands_still_in_a_pause_and_never_ends_a_running_attempt_then() -> None:
    run = Run(plan(activity("a", step_timeout=10 * limits.SECOND, attempt_timeout=limits.DAY)))
    run.grant("a")
    run.pass_time(4 * limits.SECOND)
    run.pause()
    run.pass_time(limits.HOUR)
    assert run.state("a") is S.RUNNING
    run.wait("a", after(limits.MINUTE))
    run.pass_time(limits.HOUR)
    run.resume()
    assert run.state("a") is S.READY
    assert run.step("a").step_deadline == run.now + 6 * limits.SECOND


def test_a_last_failure_in_a_pause_ends_the_pause_with_the_running() -> None:
    run = Run(plan(activity("a", retry=ONCE), activity("tidy", needs=()), hooks=Hooks(failure_finalizer=Hook("tidy"))))
    run.grant("a")
    run.pause()
    run.fail("a")
    assert (run.is_(), run.workflow.paused) == (W.FAILING, None)
    run.run_through("tidy")
    assert run.is_() is W.FAILED


def test_only_a_running_workflow_can_be_paused_and_only_an_open_one_resumed() -> None:
    run = Run(plan("a"))
    before = run.workflow
    assert not run.resume()
    assert run.workflow is before, "it is not paused: nothing to do"
    run.grant("a")
    run.pause()
    run.cancel()
    assert (run.is_(), run.workflow.paused) == (W.CANCELLING, None)
    refused(Reason.WORKFLOW_STATE_INVALID, run.pause)
    run.confirm("a")
    refused(Reason.WORKFLOW_CLOSED, run.pause)
    refused(Reason.WORKFLOW_CLOSED, run.resume)


def test_a_pause_that_comes_too_late_says_that_the_workflow_has_ended() -> None:
    run = Run(plan("a", workflow_timeout=limits.SECOND))
    run.now += limits.SECOND
    refused(Reason.WORKFLOW_CLOSED, run.pause)


def test_a_repeat_of_a_verb_by_its_request_id_changes_nothing() -> None:
    run = Run(plan("a"))
    assert run.pause("r1")
    assert run.resume("r1"), "an id is of one verb"
    before = run.workflow
    assert not run.pause("r1")
    assert not run.resume("r1")
    assert run.workflow is before
    assert run.workflow.paused is None
    assert run.terminate("enough", "r1")
    assert not run.terminate("enough", "r1")
    refused(Reason.WORKFLOW_CLOSED, lambda: run.terminate("enough", "r2"))


def test_request_ids_are_bounded() -> None:
    run = Run(plan("a"))
    for number in range(limits.REQUEST_IDS):
        run.pause(f"r{number}")
        run.resume(f"r{number}")
    assert len(run.workflow.actions) == limits.REQUEST_IDS


def test_terminate_fences_at_once_without_hooks() -> None:
    tidy = Hooks(cancel_finalizer=Hook("tidy"))
    definition = plan("a", "b: a", waiting("w", on_signal("go")), activity("tidy", needs=()), hooks=tidy)
    run = Run(definition)
    token = run.grant("a")
    run.terminate("enough")
    assert run.states() == {"a": "CANCELLED", "b": "CANCELLED", "w": "CANCELLED", "tidy": "BLOCKED"}
    assert run.is_() is W.TERMINATED
    assert [effect.cause for effect in run.effects if isinstance(effect, ClaimLost)] == [LossCause.CLOSED]
    assert refused(Reason.CLAIM_LOST, lambda: run.complete("a", 1, token))["cause"] == "CLOSED"
    refused(Reason.WORKFLOW_CLOSED, run.terminate)


def paused_run() -> Run:
    run = Run(plan("a"))
    run.pause()
    return run


def cancelling_run() -> Run:
    run = Run(plan("a"))
    run.grant("a")
    run.cancel()
    return run


def failing_run() -> Run:
    run = Run(plan(activity("a", retry=ONCE, compensate_with="undo"), activity("undo", needs=())))
    run.grant("a")
    run.fail("a")
    run.grant("undo")
    return run


def preparing_run() -> Run:
    run = Run(plan(activity("a", retry=ONCE), activity("ready", needs=()), hooks=Hooks(prepare_replay=Hook("ready"))))
    run.grant("a")
    run.fail("a")
    run.replay()
    return run


@pytest.mark.parametrize("make", [paused_run, cancelling_run, failing_run, preparing_run])
def test_terminate_ends_every_open_state(make: object) -> None:
    assert callable(make)
    run: Run = make()
    assert run.terminate("enough")
    assert (run.is_(), run.workflow.sessions, run.workflow.cancel_reason) == (W.TERMINATED, (), "enough")


def test_cancel_in_every_state_by_the_table() -> None:
    running = Run(plan("a"))
    assert running.cancel()
    cancelling = cancelling_run()
    assert not cancelling.cancel(), "OK, duplicate"
    refused(Reason.WORKFLOW_FAILING, failing_run().cancel)
    preparing = preparing_run()
    assert preparing.cancel()
    assert preparing.is_() is W.CANCELLED
    for run in (running, preparing):
        refused(Reason.WORKFLOW_CLOSED, run.cancel)


def test_step_timeout_counts_all_attempts_and_not_the_waits() -> None:
    run = Run(plan(activity("a", step_timeout=10 * limits.SECOND, attempt_timeout=limits.HOUR)))
    run.grant("a")
    run.pass_time(4 * limits.SECOND)
    run.wait("a", after(limits.HOUR))
    run.pass_time(limits.HOUR)
    assert run.state("a") is S.READY
    run.grant("a")
    run.pass_time(5 * limits.SECOND)
    assert run.state("a") is S.RUNNING
    token = run.claim("a").nonce
    run.pass_time(2 * limits.SECOND)
    assert (run.state("a"), run.is_()) == (S.FAILED, W.FAILED)
    assert run.step("a").failure is not None
    assert refused(Reason.CLAIM_LOST, lambda: run.complete("a", 1, token))["cause"] == "TIMED_OUT"


def test_step_timeout_counts_waits_if_asked() -> None:
    run = Run(plan(activity("a", step_timeout=10 * limits.SECOND, step_timeout_includes_waits=True)))
    run.grant("a")
    run.wait("a", after(limits.HOUR))
    run.pass_time(10 * limits.SECOND)
    assert run.is_() is W.FAILED


def test_of_a_wait_and_its_step_timeout_the_earlier_counts_after_any_downtime() -> None:
    timed = {"step_timeout": 10 * limits.SECOND, "step_timeout_includes_waits": True}
    run = Run(plan(waiting("w", after(5 * limits.SECOND), **timed)))
    run.pass_time(limits.DAY)
    assert run.is_() is W.COMPLETED
    late = Run(plan(waiting("w", after(15 * limits.SECOND), **timed)))
    late.pass_time(limits.DAY)
    assert late.is_() is W.FAILED


def test_queue_timeout_is_for_steps_that_no_worker_takes() -> None:
    run = Run(plan(activity("a", queue_timeout=limits.MINUTE), "b: a"))
    assert run.workflow.wake_time == T0 + limits.MINUTE
    taken = Run(run.definition)
    taken.grant("a")
    assert taken.step("a").due is None, "it is in no queue any more"
    taken.complete("a")
    assert taken.workflow.steps["a"].due is None
    run.pass_time(limits.MINUTE)
    assert (run.state("a"), run.is_()) == (S.FAILED, W.FAILED)

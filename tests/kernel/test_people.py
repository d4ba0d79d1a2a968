"""What people do: pause and resume, terminate, replay, resolve a held step; and choosing branches."""

from perdure_server.kernel import limits, people
from perdure_server.kernel.definition import Branch, Exhaustion, Hook, Hooks
from perdure_server.kernel.outcomes import Completed, Failed
from perdure_server.kernel.rejection import Reason
from perdure_server.kernel.values import Condition, Failure, RetryPolicy
from perdure_server.kernel.workflow import Paused, StepState, WorkflowState
from tests.kernel.harness import Run, activity, after, payload, plan, refused, signal, waiting
from tests.kernel.test_hooks import finish, hook

W = WorkflowState
S = StepState
ONCE = RetryPolicy(max_attempts=1)


def pause(run: Run, request_id: str = "") -> bool:
    return run.do(lambda draft: people.pause(draft, Paused(0, "kim", "look"), request_id))


def resume(run: Run, request_id: str = "") -> bool:
    return run.do(lambda draft: people.resume(draft, request_id))


def replay(run: Run, *reopen: str, request_id: str = "") -> bool:
    return run.do(lambda draft: people.replay(draft, reopen, request_id))


def test_a_paused_workflow_grants_nothing_takes_results_and_moves_its_timeouts() -> None:
    run = Run(plan("a", activity("b: a", queue_timeout=limits.MINUTE), workflow_timeout=limits.HOUR))
    run.grant("a")
    assert pause(run)
    assert not pause(run), "it is paused already"
    run.complete("a")
    assert run.workflow.ready == ()
    refused(Reason.STEP_STATE_INVALID, lambda: run.grant("b"))
    deadline = run.workflow.deadline
    run.pass_time(2 * limits.HOUR)
    run.advance()
    assert (run.state("b"), run.is_()) == (S.READY, W.RUNNING), "nothing times out while paused"
    assert resume(run)
    assert run.announced() == ["b"]
    assert deadline is not None
    assert run.workflow.deadline == deadline + 2 * limits.HOUR
    finish(run, "b")
    assert run.is_() is W.COMPLETED


def test_what_comes_due_waits_for_the_resume_and_user_timers_do_not_move() -> None:
    run = Run(plan(waiting("w", after(limits.MINUTE))))
    pause(run)
    run.pass_time(limits.HOUR)
    run.advance()
    assert run.state("w") is S.WAITING
    resume(run)
    assert run.is_() is W.COMPLETED


def test_a_repeat_of_a_verb_by_its_request_id_changes_nothing() -> None:
    run = Run(plan("a"))
    assert pause(run, "r1")
    assert resume(run, "r2")
    assert not pause(run, "r1")
    assert run.workflow.paused is None


def test_terminate_fences_at_once_without_hooks() -> None:
    run = Run(plan("a", hook("tidy"), hooks=Hooks(cancel_finalizer=Hook("tidy"))))
    token = run.grant("a")
    run.do(lambda draft: people.terminate(draft, "enough", ""))
    assert (run.is_(), run.state("a"), run.states()["tidy"]) == (W.TERMINATED, S.CANCELLED, "BLOCKED")
    assert refused(Reason.CLAIM_LOST, lambda: run.complete("a", 1, token))["cause"] == "CLOSED"
    refused(Reason.WORKFLOW_CLOSED, lambda: run.do(lambda draft: people.terminate(draft, "again", "")))


def test_a_replay_raises_the_fence_and_keeps_what_is_completed() -> None:
    run = Run(plan("a", activity("b: a", retry=ONCE), "c: b"))
    finish(run, "a")
    run.grant("b")
    run.fail("b")
    assert run.is_() is W.FAILED
    fence, claim_no = run.workflow.fence, run.step("b").claim_no
    run.tally["b"]["released"] += 1  # the formula counts attempts of one generation
    assert replay(run, request_id="r1")
    assert not replay(run, request_id="r1")
    assert run.is_() is W.RUNNING
    assert run.workflow.fence > fence
    assert (run.state("a"), run.state("b"), run.step("b").generation, run.step("b").attempt) == (S.COMPLETED, S.READY, 1, 0)
    finish(run, "b")
    assert run.step("b").claim_no == claim_no + 1
    finish(run, "c")
    assert run.is_() is W.COMPLETED


def test_a_replay_is_prepared_first_and_does_compensated_steps_again() -> None:
    prepared = plan(
        activity("a", compensate_with="undo"), activity("b: a", retry=ONCE), hook("undo"), hook("ready"), hooks=Hooks(prepare_replay=Hook("ready"))
    )
    run = Run(prepared)
    finish(run, "a")
    run.grant("b")
    run.fail("b")
    finish(run, "undo")
    assert (run.is_(), run.state("a")) == (W.FAILED, S.COMPENSATED)
    replay(run)
    assert run.is_() is W.PREPARING_REPLAY
    finish(run, "ready")
    assert (run.is_(), run.state("a"), run.step("a").generation, run.state("b")) == (W.RUNNING, S.READY, 1, S.BLOCKED)


def test_reopen_steps_reopens_completed_ones_with_all_that_depends_on_them() -> None:
    run = Run(plan("a", "b: a", "c: b", "d"))
    for name in ("a", "d", "b", "c"):
        finish(run, name)
    refused(Reason.WORKFLOW_STATE_INVALID, lambda: replay(run))
    run.tally["b"]["released"] += 1
    replay(run, "b")
    assert run.states() == {"a": "COMPLETED", "b": "READY", "c": "BLOCKED", "d": "COMPLETED"}
    refused(Reason.WORKFLOW_NOT_CLOSED, lambda: replay(run, "b"))


def held() -> Run:
    run = Run(plan(activity("a", retry=ONCE, on_exhausted=Exhaustion.HOLD), "b: a"))
    run.grant("a")
    run.fail("a")
    assert (run.state("a"), run.is_()) == (S.HELD, W.RUNNING)
    return run


def resolve(run: Run, resolution: Completed | Failed | None, retry: bool = False) -> bool:
    return run.do(lambda draft: people.resolve(draft, "a", resolution, "", retry=retry))


def test_a_held_step_waits_for_a_person_who_may_complete_it() -> None:
    run = held()
    resolve(run, Completed(payload(7)))
    assert (run.state("a"), run.step("a").output, run.state("b")) == (S.COMPLETED, payload(7), S.READY)


def test_a_held_step_may_be_failed_retried_or_passed_over() -> None:
    failed = held()
    resolve(failed, Failed(Failure("no")))
    assert failed.is_() is W.FAILED
    again = held()
    resolve(again, None, retry=True)
    assert (again.state("a"), again.step("a").attempt) == (S.READY, 0)
    passed = held()
    resolve(passed, None)
    assert (passed.state("a"), passed.state("b"), passed.is_()) == (S.SKIPPED, S.SKIPPED, W.COMPLETED)
    refused(Reason.STEP_STATE_INVALID, lambda: resolve(passed, None))


def test_a_held_step_ends_with_a_cancel() -> None:
    run = held()
    run.cancel()
    assert (run.state("a"), run.is_()) == (S.CANCELLED, W.CANCELLED)


def choosing() -> Run:
    branches = (Branch("left", ("b",)), Branch("right", ("c",)))
    return Run(plan(activity("a", branches=branches), "b: a", "c: a", "d: b, c"))


def test_the_branches_that_are_not_chosen_are_skipped_and_a_join_goes_on() -> None:
    run = choosing()
    run.grant("a")
    run.report("a", Completed(choose=("left",)))
    assert (run.state("b"), run.state("c"), run.state("d")) == (S.READY, S.SKIPPED, S.BLOCKED)
    finish(run, "b")
    assert run.state("d") is S.READY


def test_choosing_nothing_skips_all_branches_and_what_only_they_lead_to() -> None:
    run = choosing()
    run.grant("a")
    run.complete("a")
    assert (run.state("b"), run.state("c"), run.state("d"), run.is_()) == (S.SKIPPED, S.SKIPPED, S.SKIPPED, W.COMPLETED)


def test_a_condition_of_a_wait_chooses() -> None:
    yes, no = Condition("yes", signal="yes", choose=("left",)), Condition("no", signal="no", choose=("right",))
    branches = (Branch("left", ("b",)), Branch("right", ("c",)))
    run = Run(plan(waiting("w", yes, no, branches=branches), "b: w", "c: w"))
    run.signal(signal("no"))
    assert (run.state("b"), run.state("c")) == (S.SKIPPED, S.READY)


def test_step_timeout_counts_all_attempts_and_not_the_waits() -> None:
    run = Run(plan(activity("a", step_timeout=10 * limits.SECOND, attempt_timeout=limits.HOUR)))
    run.grant("a")
    run.pass_time(4 * limits.SECOND)
    run.wait("a", after(limits.HOUR))
    run.pass_time(limits.HOUR)
    run.advance()
    assert run.state("a") is S.READY
    run.grant("a")
    run.pass_time(5 * limits.SECOND)
    run.advance()
    assert run.state("a") is S.RUNNING
    run.pass_time(2 * limits.SECOND)
    run.advance()
    assert (run.state("a"), run.is_()) == (S.FAILED, W.FAILED)


def test_queue_timeout_is_for_steps_that_no_worker_takes() -> None:
    run = Run(plan(activity("a", queue_timeout=limits.MINUTE)))
    run.pass_time(limits.MINUTE)
    run.advance()
    assert (run.state("a"), run.is_()) == (S.FAILED, W.FAILED)

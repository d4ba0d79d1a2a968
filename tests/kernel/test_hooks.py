"""Hooks: on_success, compensations in order, finalizers that run until they succeed, before an end is stored."""

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Exhaustion, Hook, Hooks
from perdure_server.kernel.values import RetryPolicy
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.kernel.harness import Run, activity, plan

W = WorkflowState
S = StepState
ONCE = RetryPolicy(max_attempts=1)


def hook(name: str, **fields: object) -> object:
    return activity(name, needs=(), **fields)


def saga() -> Run:
    """reserve -> charge -> send; the first two can be undone; a finalizer follows."""
    return Run(
        plan(
            activity("reserve", compensate_with="release"),
            activity("charge: reserve", compensate_with="refund"),
            activity("send: charge", retry=ONCE),
            hook("release"),
            hook("refund"),
            hook("settle"),
            hooks=Hooks(failure_finalizer=Hook("settle")),
        )
    )


def finish(run: Run, name: str) -> None:
    run.grant(name)
    run.complete(name)


def test_compensations_run_in_reverse_order_then_the_finalizer_then_failed_is_stored() -> None:
    run = saga()
    finish(run, "reserve")
    finish(run, "charge")
    run.grant("send")
    run.fail("send")
    assert run.is_() is W.FAILING
    assert run.states()["refund"] == "READY"
    assert run.states()["release"] == "BLOCKED"
    assert run.step("refund").compensates == "charge"
    finish(run, "refund")
    assert run.state("charge") is S.COMPENSATED
    assert run.states()["release"] == "READY"
    finish(run, "release")
    assert run.state("reserve") is S.COMPENSATED
    assert run.is_() is W.FAILING, "the finalizer comes first"
    finish(run, "settle")
    assert run.is_() is W.FAILED
    assert run.workflow.failed_step == "send"


def test_a_step_in_doubt_is_undone_before_completed_ones() -> None:
    run = Run(plan(activity("a", compensate_with="undo_a"), activity("b: a", compensate_with="undo_b", retry=ONCE), hook("undo_a"), hook("undo_b")))
    finish(run, "a")
    run.grant("b")
    run.fail("b")
    assert run.states()["undo_b"] == "READY"
    finish(run, "undo_b")
    finish(run, "undo_a")
    assert (run.state("a"), run.state("b"), run.is_()) == (S.COMPENSATED, S.COMPENSATED, W.FAILED)


def test_a_required_finalizer_is_tried_until_it_succeeds_and_nothing_else_ends_the_workflow() -> None:
    run = Run(plan(activity("a", retry=ONCE), hook("settle", retry=ONCE), hooks=Hooks(failure_finalizer=Hook("settle"))))
    run.grant("a")
    run.fail("a")
    for _ in range(40):
        run.grant("settle")
        run.fail("settle", non_retryable=True)
        assert run.is_() is W.FAILING
        assert run.state("settle") is S.BACKOFF
        run.pass_time(2 * limits.MINUTE)
    finish(run, "settle")
    assert run.is_() is W.FAILED


def test_a_lost_worker_never_ends_a_required_hook() -> None:
    run = Run(plan(activity("a", retry=ONCE), hook("settle", retry=ONCE), hooks=Hooks(failure_finalizer=Hook("settle"))))
    run.grant("a")
    run.fail("a")
    for _ in range(3 * limits.MAX_LOST_CLAIMS):
        run.grant("settle")
        run.lose("settle")
    finish(run, "settle")
    assert run.is_() is W.FAILED


def test_a_hook_that_is_not_required_is_tried_by_its_policy_and_then_passed() -> None:
    run = Run(plan(activity("a", retry=ONCE), hook("settle", retry=ONCE), hooks=Hooks(failure_finalizer=Hook("settle", required=False))))
    run.grant("a")
    run.fail("a")
    run.grant("settle")
    run.fail("settle")
    assert run.is_() is W.FAILED
    assert run.state("settle") is S.FAILED


def test_on_success_runs_before_completed_is_stored() -> None:
    run = Run(plan("a", hook("tell"), hooks=Hooks(on_success=Hook("tell"))))
    finish(run, "a")
    assert run.is_() is W.RUNNING
    finish(run, "tell")
    assert run.is_() is W.COMPLETED


def test_the_cancel_finalizer_runs_before_cancelled_is_stored_and_knows_no_compensation() -> None:
    run = Run(plan(activity("a", compensate_with="undo"), "b: a", hook("undo"), hook("tidy"), hooks=Hooks(cancel_finalizer=Hook("tidy"))))
    finish(run, "a")
    run.cancel()
    assert run.is_() is W.CANCELLING
    assert run.states()["tidy"] == "READY"
    finish(run, "tidy")
    assert (run.is_(), run.state("a"), run.states()["undo"]) == (W.CANCELLED, S.COMPLETED, "BLOCKED")


def test_c43_a_finalizer_has_its_own_time_after_a_workflow_timeout() -> None:
    run = Run(plan("a", hook("settle"), hooks=Hooks(failure_finalizer=Hook("settle")), workflow_timeout=limits.SECOND))
    run.pass_time(limits.SECOND)
    run.advance()
    assert run.is_() is W.FAILING
    run.grant("settle")
    run.pass_time(5 * limits.SECOND)
    run.advance()
    run.complete("settle")
    assert run.is_() is W.FAILED


def test_skip_dependants_skips_all_that_depends_and_the_rest_goes_on() -> None:
    run = Run(plan(activity("a", retry=ONCE, on_exhausted=Exhaustion.SKIP_DEPENDANTS), "b: a", "c: b", "d"))
    run.grant("a")
    run.fail("a")
    assert (run.state("b"), run.state("c"), run.is_()) == (S.SKIPPED, S.SKIPPED, W.RUNNING)
    finish(run, "d")
    assert run.is_() is W.COMPLETED


def test_continue_lets_dependants_see_the_failure() -> None:
    run = Run(plan(activity("a", retry=ONCE, on_exhausted=Exhaustion.CONTINUE), "b: a"))
    run.grant("a")
    run.fail("a")
    assert run.state("b") is S.READY
    finish(run, "b")
    assert run.is_() is W.COMPLETED

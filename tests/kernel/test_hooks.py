"""Hooks: on_success, compensations in order, finalizers that run until they succeed, before an end is stored."""

import pytest

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Exhaustion, Hook, Hooks, StepDefinition
from perdure_server.kernel.rejection import Reason
from perdure_server.kernel.resolving import PassedOver
from perdure_server.kernel.values import RetryPolicy
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.kernel.harness import Run, activity, after, payload, plan, refused

W = WorkflowState
S = StepState
ONCE = RetryPolicy(max_attempts=1)


def hook(name: str, **fields: object) -> StepDefinition:
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
    run = Run(
        plan(
            activity("a", compensate_with="undo_a"), activity("b: a", compensate_with="undo_b", retry=ONCE), hook("undo_a"), hook("undo_b")
        )
    )
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
        if run.state("settle") is S.BACKOFF:
            run.pass_time(2 * limits.MINUTE)
        run.grant("settle")
        run.lose("settle")
    assert run.state("settle") is S.BACKOFF, "without a bound, but not in a hot loop"
    run.pass_time(2 * limits.MINUTE)
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
    assert run.is_() is W.FAILING
    run.grant("settle")
    run.pass_time(5 * limits.SECOND)
    assert run.workflow.deadline is None
    run.complete("settle")
    assert run.is_() is W.FAILED


def test_c43_a_finalizer_outlives_the_grace_and_has_no_queue_or_step_timeout_if_it_is_required() -> None:
    timed = {"queue_timeout": limits.SECOND, "step_timeout": limits.SECOND, "attempt_timeout": limits.HOUR}
    run = Run(plan(activity("a", retry=ONCE), hook("settle", **timed), hooks=Hooks(failure_finalizer=Hook("settle"))))
    run.grant("a")
    run.fail("a")
    run.pass_time(limits.HOUR)
    assert run.state("settle") is S.READY
    run.grant("settle")
    run.pass_time(limits.CANCEL_GRACE)
    run.pass_time(limits.MINUTE)
    assert run.state("settle") is S.RUNNING
    run.complete("settle")
    assert run.is_() is W.FAILED


@pytest.mark.parametrize("how", ["queue", "step"])
def test_a_hook_that_is_not_required_has_its_timeouts(how: str) -> None:
    timed = {f"{how}_timeout": limits.SECOND}
    run = Run(plan(activity("a", retry=ONCE), hook("settle", **timed), hooks=Hooks(failure_finalizer=Hook("settle", required=False))))
    run.grant("a")
    run.fail("a")
    run.pass_time(limits.SECOND)
    assert (run.is_(), run.state("settle")) == (W.FAILED, S.FAILED)


@pytest.mark.parametrize("cause", ["failure", "attempts", "step timeout", "workflow timeout", "cancel", "queue timeout"])
def test_c43_however_it_ends_the_finalizer_runs_once_to_its_end(cause: str) -> None:
    tidy = Hooks(failure_finalizer=Hook("settle"), cancel_finalizer=Hook("tidy"))
    queue = limits.MINUTE if cause == "queue timeout" else None
    work = activity("a", step_timeout=limits.HOUR, queue_timeout=queue)
    run = Run(plan(work, hook("settle"), hook("tidy"), hooks=tidy, workflow_timeout=2 * limits.HOUR))
    if cause != "queue timeout":
        run.grant("a")
    match cause:
        case "failure":
            run.fail("a", non_retryable=True)
        case "attempts":
            for _ in range(2):
                run.lose("a")
                run.grant("a")
            run.lose("a")
        case "step timeout":
            run.wait("a", after(1))
            run.pass_time(1_000)
            run.pass_time(limits.HOUR)
        case "workflow timeout":
            run.wait("a", after(limits.DAY))
            run.pass_time(2 * limits.HOUR)
        case "queue timeout":
            run.pass_time(limits.MINUTE)
        case _:
            run.cancel()
            run.confirm("a")
    name = "tidy" if cause == "cancel" else "settle"
    run.grant(name)
    run.fail(name)
    run.pass_time(5 * limits.HOUR)
    finish(run, name)
    assert run.is_() is (W.CANCELLED if cause == "cancel" else W.FAILED)
    assert run.step(name).claim_no == 2


def test_c44_running_steps_are_waited_for_and_what_they_complete_is_undone_too() -> None:
    run = Run(plan(activity("a", compensate_with="undo"), activity("b", retry=ONCE), hook("undo")))
    run.grant("a")
    run.grant("b")
    run.fail("b")
    assert (run.is_(), run.state("a"), run.states()["undo"]) == (W.FAILING, S.CANCELLING, "BLOCKED")
    run.complete("a", 7)
    assert (run.state("a"), run.step("a").output) == (S.COMPLETED, payload(7))
    finish(run, "undo")
    assert (run.state("a"), run.is_(), run.step("a").output) == (S.COMPENSATED, W.FAILED, payload(7))


def test_a_step_that_is_fenced_after_its_grace_is_in_doubt_and_undone_first() -> None:
    steps = (activity("a", compensate_with="undo"), activity("b", compensate_with="undo"), activity("c", retry=ONCE), hook("undo"))
    run = Run(plan(*steps))
    finish(run, "b")
    run.grant("a")
    run.checkpoint("a", 1, "half")
    run.grant("c")
    run.fail("c")
    run.pass_time(limits.CANCEL_GRACE)
    assert (run.state("a"), run.step("undo").compensates, run.step("a").checkpoint) == (S.CANCELLED, "a", payload("half"))
    finish(run, "undo")
    assert (run.step("undo").compensates, run.step("undo").generation) == ("b", 1), "each has an idempotency key of its own"
    finish(run, "undo")
    assert run.is_() is W.FAILED


def test_what_never_began_is_not_undone() -> None:
    run = Run(
        plan(activity("a", retry=ONCE), activity("b: a", compensate_with="undo"), activity("c", compensate_with="undo"), hook("undo"))
    )
    run.grant("a")
    run.fail("a")
    assert (run.is_(), run.states()["undo"]) == (W.FAILED, "BLOCKED")


def test_a_step_that_began_and_was_passed_over_is_undone() -> None:
    held = activity("a", retry=ONCE, on_exhausted=Exhaustion.HOLD, compensate_with="undo")
    run = Run(plan(held, activity("b", retry=ONCE), hook("undo")))
    run.grant("a")
    run.fail("a")
    run.resolve("a", PassedOver())
    run.grant("b")
    run.fail("b")
    finish(run, "undo")
    assert (run.state("a"), run.is_()) == (S.COMPENSATED, W.FAILED)


def test_a_compensation_that_a_person_passes_leaves_its_step_as_it_was() -> None:
    run = saga()
    finish(run, "reserve")
    finish(run, "charge")
    run.grant("send")
    run.fail("send")
    run.resolve("refund", PassedOver())
    assert (run.state("charge"), run.step("release").compensates) == (S.COMPLETED, "reserve")
    finish(run, "release")
    finish(run, "settle")
    assert run.is_() is W.FAILED


def test_a_hook_may_wait_and_be_released() -> None:
    run = Run(plan(activity("a", retry=ONCE), hook("settle"), hooks=Hooks(failure_finalizer=Hook("settle"))))
    run.grant("a")
    run.fail("a")
    run.grant("settle")
    run.wait("settle", after(limits.MINUTE))
    run.pass_time(limits.MINUTE)
    run.grant("settle")
    run.release("settle")
    finish(run, "settle")
    assert run.is_() is W.FAILED


def test_on_success_is_within_the_workflows_time_and_a_cancel_stops_it() -> None:
    definition = plan("a", hook("tell"), hooks=Hooks(on_success=Hook("tell")), workflow_timeout=limits.HOUR)
    late = Run(definition)
    finish(late, "a")
    late.pass_time(limits.HOUR)
    assert (late.is_(), late.state("tell")) == (W.FAILED, S.CANCELLED)
    stopped = Run(definition)
    finish(stopped, "a")
    stopped.grant("tell")
    stopped.cancel()
    assert stopped.state("tell") is S.CANCELLING
    stopped.complete("tell")
    assert (stopped.is_(), stopped.state("tell")) == (W.CANCELLED, S.COMPLETED)


def test_a_hook_alone_cannot_be_granted_before_its_turn() -> None:
    run = saga()
    refused(Reason.STEP_STATE_INVALID, lambda: run.grant("settle"))
    finish(run, "reserve")
    run.grant("charge")
    run.fail("charge", non_retryable=True)
    refused(Reason.STEP_STATE_INVALID, lambda: run.grant("settle"))
    assert run.states()["refund"] == "READY"

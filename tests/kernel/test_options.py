"""UpdateStepOptions: the policy of one step in one workflow."""

from typing import Any

from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Exhaustion, Permit, StepDefinition, StepOptions
from perdure_server.kernel.effects import StepRequeued
from perdure_server.kernel.options import as_run, merged, update_options
from perdure_server.kernel.permits import throttle
from perdure_server.kernel.rejection import Reason
from perdure_server.kernel.values import Paused, RetryPolicy
from perdure_server.kernel.workflow import StepState
from tests.kernel.harness import T0, Run, activity, after, on_signal, plan, refused, waiting

MINUTE = limits.MINUTE


def options(**fields: Any) -> StepOptions:
    return StepOptions(tuple(sorted(fields)), StepDefinition("a", **fields))


def update(run: Run, name: str = "a", request_id: str = "", **fields: Any) -> bool:
    return run.do(lambda draft: update_options(draft, name, options(**fields), request_id))


def test_an_ended_workflow_keeps_the_policy_revision_that_it_ended_by() -> None:
    run = Run(plan("a"))
    run.terminate()
    run.definition = replace(run.definition, policy_revision=2)
    run.do(lambda draft: draft.set(actions=("other:r",)))
    assert run.workflow.policy_revision == 1
    run.replay()
    assert run.workflow.policy_revision == 2


def test_a_repeat_is_one_and_later_changes_add_up() -> None:
    run = Run(plan("a", "b: a"))
    assert update(run, request_id="r1", priority=9)
    assert not update(run, request_id="r1", priority=2)
    assert update(run, request_id="r2", attempt_timeout=5_000)
    assert update(run, attempt_timeout=6_000)
    own = as_run(plan("a", "b: a"), run.workflow).by_name["a"]
    assert (own.priority, own.attempt_timeout) == (9, 6_000)
    assert run.workflow.step_options["a"].fields == ("attempt_timeout", "priority")
    assert run.workflow.fingerprint == plan("a", "b: a").fingerprint == as_run(plan("a", "b: a"), run.workflow).fingerprint


def test_refusals() -> None:
    run = Run(plan("a"))
    refused(Reason.STEP_NOT_FOUND, lambda: update(run, "nothing", priority=1))
    run.grant("a")
    run.complete("a")
    refused(Reason.WORKFLOW_CLOSED, lambda: update(run, priority=1))


def test_c25_fewer_attempts_count_from_the_next_failure_on() -> None:
    run = Run(plan("a"))
    run.grant("a")
    update(run, retry=RetryPolicy(max_attempts=1))
    run.fail("a")
    assert run.state("a") is StepState.FAILED


def test_more_attempts_for_a_step_that_would_have_none_left() -> None:
    run = Run(plan(activity("a", retry=RetryPolicy(max_attempts=1))))
    run.grant("a")
    update(run, retry=RetryPolicy(max_attempts=2), on_exhausted=Exhaustion.HOLD)
    run.fail("a")
    assert run.state("a") is StepState.BACKOFF
    run.pass_time(MINUTE)
    run.grant("a")
    run.fail("a")
    assert run.state("a") is StepState.HELD


def test_a_running_attempt_gets_the_new_time_at_once() -> None:
    run = Run(plan("a"))
    run.grant("a")
    update(run, attempt_timeout=60 * MINUTE)
    assert run.claim("a").deadline == T0 + 60 * MINUTE
    assert run.workflow.wake_time is not None
    run.pass_time(30 * MINUTE)
    assert run.state("a") is StepState.RUNNING
    update(run, attempt_timeout=MINUTE)
    run.pass_time(0)
    assert run.state("a") is not StepState.RUNNING, "it is over already"


def test_queue_time_counts_from_when_the_step_became_ready() -> None:
    run = Run(plan("a"))
    run.pass_time(MINUTE)
    update(run, queue_timeout=5 * MINUTE)
    assert run.step("a").due == T0 + 6 * MINUTE, "it was not measured before"
    run.pass_time(MINUTE)
    update(run, queue_timeout=7 * MINUTE)
    assert run.step("a").due == T0 + 8 * MINUTE
    update(run, queue_timeout=None)
    assert run.step("a").due is None


def test_step_time_goes_on_from_where_it_is() -> None:
    run = Run(plan(activity("a", step_timeout=10 * MINUTE)))
    run.grant("a")
    run.pass_time(MINUTE)
    update(run, step_timeout=20 * MINUTE)
    assert run.step("a").step_deadline == T0 + 20 * MINUTE
    run.wait("a", on_signal("go"))
    assert run.step("a").step_left == 19 * MINUTE
    update(run, step_timeout=15 * MINUTE)
    assert (run.step("a").step_left, run.step("a").step_deadline) == (14 * MINUTE, None)
    update(run, step_timeout=None)
    assert run.step("a").step_left is None


def test_a_new_step_time_begins_now_but_not_in_a_wait() -> None:
    run = Run(plan("a", waiting("w", after(60 * MINUTE))))
    run.pass_time(MINUTE)
    update(run, step_timeout=MINUTE)
    assert run.step("a").step_deadline == T0 + 2 * MINUTE
    run.do(lambda draft: update_options(draft, "w", StepOptions(("step_timeout",), StepDefinition("w", step_timeout=1)), ""))
    assert run.step("w").step_deadline is None


def test_a_ready_step_moves_to_its_new_queue_and_place() -> None:
    run = Run(plan("a", "b: a"), step_queues={"a": "slow"}, queue="other")
    (before,) = run.workflow.ready
    assert update(run, queue="gpu", priority=8)
    (now,) = run.workflow.ready
    assert ("/slow/" in before, "/gpu/" in now) == (True, True)
    assert run.effects[-1] == StepRequeued("a", before)
    run.grant("a")
    update(run, priority=3)
    assert not run.count(StepRequeued), "it waits for no slot"


def test_what_has_ended_or_is_blocked_keeps_its_times() -> None:
    run = Run(plan("a", "b: a"))
    update(run, "b", step_timeout=5, queue_timeout=5, attempt_timeout=5)
    assert "b" not in run.workflow.steps
    run.grant("a")
    run.complete("a")
    assert (run.step("b").due, run.step("b").step_deadline) == (T0 + 5, T0 + 5)
    update(run, "a", step_timeout=5)
    assert run.step("a").step_deadline is None


def test_the_newer_change_wins() -> None:
    both = merged(options(priority=1, queue="a"), options(priority=2, step_timeout=None))
    assert both.fields == ("priority", "queue", "step_timeout")
    assert (both.values.priority, both.values.queue) == (2, "a")


def test_nothing_is_granted_while_the_definition_is_paused() -> None:
    run = Run(replace(plan("a"), paused=Paused(T0)))
    refused(Reason.STEP_STATE_INVALID, lambda: run.grant("a"))
    run.definition = plan("a")
    run.grant("a")


def test_queue_time_of_a_step_that_waits_for_permits_stays_stopped() -> None:
    run = Run(plan(activity("a", permits=(Permit("llm"),), queue_timeout=MINUTE)))
    run.pass_time(10_000)
    run.do(lambda draft: throttle(draft, "a", "llm", "", 0))
    assert (run.step("a").due, run.step("a").queue_left) == (None, 50_000)
    update(run, queue_timeout=2 * MINUTE)
    assert (run.step("a").due, run.step("a").queue_left) == (None, 110_000)
    update(run, queue_timeout=None)
    assert (run.step("a").due, run.step("a").queue_left) == (None, None)
    update(run, queue_timeout=5_000)
    assert (run.step("a").due, run.step("a").queue_left) == (None, 5_000)

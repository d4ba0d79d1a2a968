"""Permits of one workflow: what a claim brings, when it gives them back, and how a step waits for them."""

from collections.abc import Callable

import pytest

from perdure_server.kernel import permits
from perdure_server.kernel.definition import Hook, Hooks, Permit, StepDefinition
from perdure_server.kernel.effects import PermitsFreed
from perdure_server.kernel.permits import PermitsLacking
from perdure_server.kernel.rejection import Rejection
from perdure_server.kernel.seal import next_wake
from perdure_server.kernel.values import RetryPolicy
from perdure_server.kernel.workflow import HeldPermit, StepState, Throttle, WorkflowState
from tests.kernel.harness import T0, Run, activity, after, plan

LLM = (HeldPermit("llm", 1),)


def limited(text: str = "a", **fields: object) -> StepDefinition:
    """A step that needs a permit of `llm`."""
    return activity(text, **({"permits": (Permit("llm"),), "retry": RetryPolicy(max_attempts=5, jitter=0.0)} | fields))


def running(*more: str, **fields: object) -> Run:
    """`a` runs with its permit."""
    run = Run(plan(limited(), *more, **fields))
    run.grant("a")
    return run


def throttle(run: Run, name: str = "a", resource: str = "llm", key: str = "", since: int = 0) -> bool:
    return run.do(lambda draft: permits.throttle(draft, name, resource, key, since))


class TestGrant:
    def test_a_claim_keeps_what_it_holds(self) -> None:
        run = Run(plan(limited()))
        held = (HeldPermit("llm", 1, "acme", 3), HeldPermit("calls", 2, kept=False))
        run = Run(plan(limited(permits=(Permit("llm"), Permit("calls", 2)))))
        run.grant("a", permits=held)
        assert run.claim("a").permits == held[:1], "what a rate counted is not given back"

    @pytest.mark.parametrize(
        "brought",
        [(), (HeldPermit("llm", 2),), (HeldPermit("other", 1),), (*LLM, HeldPermit("other", 1))],
        ids=["none", "other units", "another resource", "too many"],
    )
    def test_other_permits_than_needed_are_refused(self, brought: tuple[HeldPermit, ...]) -> None:
        run = Run(plan(limited()))
        with pytest.raises(PermitsLacking):
            run.grant("a", permits=brought)
        assert run.state("a") is StepState.READY
        assert run.step("a").attempt == 0

    def test_units_may_come_from_several_stripes(self) -> None:
        run = Run(plan(limited(permits=(Permit("llm", 3),))))
        run.grant("a", permits=(HeldPermit("llm", 2, stripe=0), HeldPermit("llm", 1, stripe=4)))
        assert run.state("a") is StepState.RUNNING

    def test_permits_of_another_revision_or_run_are_refused(self) -> None:
        run = Run(plan(limited(), "b"))
        run_id, revision = run.workflow.run_id, run.workflow.revision
        run.grant("b")
        for other in ((run_id, revision), (f"{1:024x}", revision + 1)):
            with pytest.raises(PermitsLacking):
                run.grant("a", permits_for=other)
        run.grant("a", permits_for=(run_id, revision + 1))

    def test_a_step_without_permits_takes_none(self) -> None:
        run = Run(plan("a"))
        with pytest.raises(Rejection):
            run.grant("a", permits=LLM)

    def test_a_short_wait_is_counted_at_the_grant(self) -> None:
        run = Run(plan(limited()))
        run.grant("a", waited=120)
        assert (run.step("a").permit_waits, run.step("a").permit_wait_time) == (1, 120)


class TestFreed:
    @pytest.mark.parametrize(
        ("cause", "end"),
        {
            "completed": (lambda run: run.complete("a"), StepState.COMPLETED),
            "failed, back-off": (lambda run: run.fail("a"), StepState.BACKOFF),
            "failed for good": (lambda run: run.fail("a", non_retryable=True), StepState.FAILED),
            "waiting": (lambda run: run.wait("a", after(1_000)), StepState.WAITING),
            "released": (lambda run: run.release("a"), StepState.READY),
            "cancelled unasked": (lambda run: run.confirm("a"), StepState.BACKOFF),
            "undelivered": (lambda run: run.undelivered("a"), StepState.READY),
            "lost": (lambda run: run.lose("a"), StepState.READY),
            "session over": (lambda run: run.lose_session(), StepState.READY),
            "silent": (lambda run: run.silence("a"), StepState.BACKOFF),
            "attempt timed out": (lambda run: run.pass_time(600_000), StepState.BACKOFF),
            "step timed out": (lambda run: run.pass_time(700_000), StepState.FAILED),
            "terminated": (lambda run: run.terminate(), StepState.CANCELLED),
        }.values(),
        ids=lambda value: "" if callable(value) else value.name,
    )
    def test_whatever_ends_the_claim(self, cause: Callable[[Run], object], end: StepState) -> None:
        run = Run(plan(limited(step_timeout=650_000)), now=T0)
        nonce = run.grant("a", acknowledged=cause.__code__.co_names[0] != "undelivered")
        claim = run.claim("a")
        cause(run)
        assert run.state("a") is end
        assert [effect for effect in run.effects if isinstance(effect, PermitsFreed)] == [PermitsFreed(claim)]
        assert claim.nonce == nonce

    def test_a_claim_that_is_asked_to_stop_keeps_them_until_it_has(self) -> None:
        run = running()
        run.cancel()
        assert run.state("a") is StepState.CANCELLING
        assert run.count(PermitsFreed) == 0
        run.confirm("a")
        assert run.count(PermitsFreed) == 1

    def test_grace_over(self) -> None:
        run = running()
        run.cancel()
        run.pass_time(30_000)
        assert run.count(PermitsFreed) == 1

    def test_workflow_timeout_after_the_grace(self) -> None:
        run = running(workflow_timeout=5_000)
        run.pass_time(5_000)
        assert run.count(PermitsFreed) == 0
        run.pass_time(30_000)
        assert run.count(PermitsFreed) == 1
        assert run.is_() is WorkflowState.FAILED

    def test_other_changes_free_nothing(self) -> None:
        run = running("b")
        run.checkpoint("a", 1, "x")
        run.run_through("b")
        run.pause()
        run.resume()
        assert run.count(PermitsFreed) == 0

    def test_a_step_without_permits_frees_nothing(self) -> None:
        run = Run(plan("a"))
        run.run_through("a")
        assert run.count(PermitsFreed) == 0

    def test_a_hook_may_need_permits_too(self) -> None:
        run = Run(plan("a", limited("settle", needs=()), hooks=Hooks(failure_finalizer=Hook("settle"))))
        run.grant("a")
        run.fail("a", non_retryable=True)
        run.grant("settle")
        run.complete("settle")
        assert run.count(PermitsFreed) == 1
        assert run.is_() is WorkflowState.FAILED


class TestThrottled:
    def test_it_stays_ready_out_of_its_queue(self) -> None:
        run = Run(plan(limited()))
        queue = run.workflow.ready
        run.now += 700
        assert throttle(run, since=T0 + 100)
        assert run.state("a") is StepState.READY
        assert run.step("a").throttled == Throttle("llm", T0 + 100)
        assert run.workflow.ready == ("P//default/llm",)
        assert not throttle(run, since=T0 + 100), "nothing new"
        assert throttle(run, resource="gpu", key="acme")
        assert run.step("a").throttled == Throttle("gpu", T0 + 100, "acme"), "it still waits since then"
        assert run.workflow.ready == ("P//default/gpu/acme",)
        assert run.step("a").permit_waits == 1
        assert run.do(lambda draft: permits.relax(draft, "a"))
        assert run.workflow.ready == queue
        assert run.step("a").permit_wait_time == 600
        assert not run.do(lambda draft: permits.relax(draft, "a"))

    def test_waiting_costs_no_attempt_and_its_time_is_kept(self) -> None:
        run = Run(plan(limited()))
        throttle(run)
        run.now += 5_000
        run.grant("a")
        step = run.step("a")
        assert (step.attempt, step.claim_no, step.throttled) == (1, 1, None)
        assert (step.permit_waits, step.permit_wait_time) == (1, 5_000)
        run.release("a")
        throttle(run)
        run.now += 1_000
        run.grant("a")
        assert (run.step("a").permit_waits, run.step("a").permit_wait_time) == (2, 6_000)

    def test_queue_time_stops_meanwhile(self) -> None:
        run = Run(plan(limited(queue_timeout=10_000)))
        run.now += 4_000
        throttle(run)
        assert next_wake(run.workflow) is None
        run.pass_time(60_000)
        assert run.state("a") is StepState.READY
        run.do(lambda draft: permits.relax(draft, "a"))
        run.pass_time(5_999)
        assert run.state("a") is StepState.READY
        run.pass_time(1)
        assert run.state("a") is StepState.FAILED

    def test_queue_time_begins_anew_with_the_next_claim(self) -> None:
        run = Run(plan(limited(queue_timeout=10_000)))
        throttle(run)
        run.now += 60_000
        run.grant("a")
        run.release("a")
        assert run.step("a").due == run.now + 10_000
        assert run.step("a").queue_left is None

    def test_cancel_and_terminate_end_it(self) -> None:
        for end in (Run.cancel, Run.terminate):
            run = Run(plan(limited()))
            throttle(run)
            end(run)
            assert run.workflow.is_ended
            assert run.step("a").throttled is None
            assert run.workflow.ready == ()

    def test_only_a_ready_step_is_throttled(self) -> None:
        run = running("b: a")
        assert not throttle(run)
        assert not throttle(run, "b")

    def test_a_paused_one_stands_in_no_line(self) -> None:
        run = Run(plan(limited()))
        throttle(run)
        run.pause()
        assert run.workflow.ready == ("S//default/note",), "only among the paused"
        run.resume()
        assert list(run.workflow.ready) == ["P//default/llm"]
        assert run.announced() == ["a"]

    def test_two_steps_in_one_line_are_found_once(self) -> None:
        run = Run(plan(limited(), limited("b")))
        throttle(run)
        throttle(run, "b")
        assert run.workflow.ready == ("P//default/llm",)

"""Complete: every outcome, once, however late and however often it is sent."""

import pytest

from perdure_server.kernel import limits
from perdure_server.kernel.claims import Ticket, grant
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.effects import AttemptEnded, StepReady, WorkflowEnded
from perdure_server.kernel.outcomes import Cancelled, Completed, Failed, Outcome, Released, Report, Waiting, remember_next, report
from perdure_server.kernel.rejection import FieldViolation, Reason
from perdure_server.kernel.values import Condition, Failure, Wait
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.kernel.harness import T0, Run, after, on_signal, payload, plan, refused, waiting

S, W = StepState, WorkflowState


def test_a_then_b_then_c_in_order() -> None:
    run = Run(plan("a", "b: a", "c: b"))
    assert (run.state("a"), run.state("b"), run.state("c")) == (S.READY, S.BLOCKED, S.BLOCKED)
    run.grant("a")
    claim = run.claim("a")
    run.complete("a", 1)
    assert run.effects == [AttemptEnded("a", claim, 1, 1, "completed"), StepReady("b")], "unlocked in the same write"
    run.run_through("b")
    assert run.states() == {"a": "COMPLETED", "b": "COMPLETED", "c": "READY"}
    run.grant("c")
    run.complete("c", "end")
    assert (run.is_(), run.workflow.output, run.workflow.remaining) == (W.COMPLETED, payload("end"), 0)
    assert run.count(WorkflowEnded) == 1
    assert (run.workflow.end_time, run.workflow.expire_time) == (T0, T0 + limits.RETENTION)
    assert run.step("a").output == payload(1)


def test_fails_twice_then_succeeds() -> None:
    run = Run(plan("a"))
    for number in (1, 2):
        run.grant("a")
        run.fail("a", f"boom.{number}")
        assert run.state("a") is S.BACKOFF
        run.pass_time(3_000)
    run.grant("a")
    assert run.step("a").attempt == 3
    run.complete("a")
    step = run.step("a")
    assert (run.is_(), step.state, step.attempt, step.failure) == (W.COMPLETED, S.COMPLETED, 3, None)
    assert [(error.attempt, error.claim_no, error.failure.type) for error in step.errors] == [(1, 1, "boom.1"), (2, 2, "boom.2")]


def test_the_workflows_output_is_that_of_the_output_step() -> None:
    named = Run(plan("a", "b: a", output_step="a"))
    named.run_through("a", "b")
    assert named.workflow.output == payload("a")
    without = Run(plan("a", "b"))
    without.run_through("a", "b")
    assert (without.is_(), without.workflow.output) == (W.COMPLETED, None)


def test_no_output_is_an_output_too() -> None:
    run = Run(plan("a"))
    run.grant("a")
    run.complete("a")
    assert (run.is_(), run.workflow.output, run.step("a").output) == (W.COMPLETED, None, None)


# ------------------------------------------------------------------------------------------------------------- twice and different

OUTCOMES: list[Outcome] = [
    Completed(payload(1)),
    Failed(Failure("boom")),
    Waiting(Wait((after(60_000),))),
    Released(),
    Released(payload("checkpoint")),
    Cancelled(),
]


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_c34_the_same_result_twice_has_one_effect(outcome: Outcome) -> None:
    run = Run(plan("a", "b: a"))
    nonce = run.grant("a")
    assert run.report("a", outcome, nonce) is True
    before = run.workflow
    for _ in range(3):
        assert run.report("a", outcome, nonce) is False
        assert (run.workflow, run.effects) == (before, [])
    run.now += limits.DAY
    assert run.report("a", outcome, nonce) is False


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_c34_another_outcome_of_the_same_token_is_refused(outcome: Outcome) -> None:
    run = Run(plan("a", "b: a"))
    nonce = run.grant("a")
    run.report("a", outcome, nonce)
    before = run.workflow
    refused(Reason.CLAIM_ALREADY_SETTLED, lambda: run.complete("a", "something else", nonce=nonce))
    assert run.workflow is before, "the first stands"


@pytest.mark.parametrize("end", ["completed", "cancelled", "failed"])
def test_c34_a_repeat_after_the_end_is_still_recognised(end: str) -> None:
    run = Run(plan("a", "b: a"))
    nonce = run.grant("a")
    run.complete("a", 1)
    if end == "completed":
        run.run_through("b")
    elif end == "cancelled":
        run.cancel()
    else:
        run.grant("b")
        run.fail("b", non_retryable=True)
    assert run.workflow.is_ended
    assert run.complete("a", 1, nonce=nonce) is False
    refused(Reason.CLAIM_ALREADY_SETTLED, lambda: run.complete("a", 2, nonce=nonce))
    assert refused(Reason.CLAIM_LOST, lambda: run.complete("a", 1, nonce="f" * 28)) == {"cause": "CLOSED"}


def test_a_result_counts_however_late_until_its_loss_is_stored() -> None:
    run = Run(plan("a"))
    run.grant("a")
    run.now += 10 * limits.ATTEMPT_TIMEOUT
    run.complete("a", "hours late")
    assert run.is_() is W.COMPLETED


def test_a_token_of_another_step_is_no_token_of_this_one() -> None:
    run = Run(plan("a", "b"))
    nonce = run.grant("a")
    run.grant("b")
    refused(Reason.CLAIM_LOST, lambda: run.complete("b", 1, nonce=nonce))


def test_claims_granted_with_a_result_are_remembered_for_a_repeat() -> None:
    run = Run(plan("a", "b: a", "c: a"))
    nonce = run.grant("a")

    def complete_and_grant(draft: Draft) -> None:
        report(draft, Report("a", nonce, Completed(), b"digest"))
        grant(draft, "b", Ticket("0" * 28, "0" * 16, "worker-1"))
        remember_next(draft, "a", nonce, (("b", 1),))

    run.do(complete_and_grant)
    assert run.states() == {"a": "COMPLETED", "b": "RUNNING", "c": "READY"}
    assert run.step("a").settled[-1].next_claims == (("b", 1),)
    assert run.workflow.revision == 3, "start, first claim, and this: N steps cost N + 1 writes"


# ------------------------------------------------------------------------------------------------------------------ other outcomes


def test_a_cancellation_that_nobody_asked_for_is_a_failed_attempt() -> None:
    run = Run(plan("a"))
    run.grant("a")
    run.confirm("a")
    step = run.step("a")
    assert (step.state, step.attempt) == (S.BACKOFF, 1)
    assert step.failure is not None
    assert step.failure.type == "CANCELLED_BY_WORKER"


@pytest.mark.parametrize("conditions", [(), (Condition("nothing"),), (after(1), after(2)), (after(-1),), (on_signal("x", -1),)])
def test_c44_a_wait_that_could_never_end_is_refused_and_the_claim_stays(conditions: tuple[Condition, ...]) -> None:
    run = Run(plan("a"))
    run.grant("a")
    before = run.workflow
    with pytest.raises(FieldViolation) as caught:
        run.wait("a", *conditions)
    assert caught.value.violations[0][0].startswith("waiting.wait.any_of")
    assert run.workflow is before
    run.complete("a")
    assert run.is_() is W.COMPLETED


def test_the_last_frame_of_a_claim_is_named_with_its_end() -> None:
    run = Run(plan("a", "b: a"))
    run.grant("a")
    run.report("a", Completed(), last_frame_seq=17)
    ends = [(event.step, event.claim_no, event.last_frame_seq) for event in run.workflow.events if event.reason == "COMPLETED"]
    assert ends == [("a", 1, 17)]
    assert run.step("a").last_frame_seq == 17


def test_frames_are_counted_anew_in_the_next_claim() -> None:
    run = Run(plan("a"))
    run.grant("a")
    run.report("a", Released(), last_frame_seq=5)
    run.grant("a")
    assert run.step("a").last_frame_seq is None


def test_unchanged_steps_are_the_same_objects() -> None:
    run = Run(plan("a", "b", "c: a", waiting("w", on_signal("go"))))
    before = run.workflow
    run.run_through("a")
    after_ = run.workflow
    assert [name for name in before.steps if before.steps[name] is after_.steps[name]] == ["b", "w"]
    assert after_.input is before.input
    assert after_.key is before.key


def test_c39_nothing_changes_a_closed_workflow() -> None:
    run = Run(plan("a", "b: a"))
    token = run.grant("a")
    run.complete("a")
    run.run_through("b")
    before = run.workflow
    run.pass_time(limits.DAY)
    run.lose_session()
    refused(Reason.CLAIM_LOST, lambda: run.checkpoint("a", 9, "x", nonce=token))
    refused(Reason.CLAIM_LOST, lambda: run.acknowledge("a", nonce=token))
    refused(Reason.STEP_STATE_INVALID, lambda: run.grant("a"))
    refused(Reason.WORKFLOW_CLOSED, run.cancel)
    refused(Reason.WORKFLOW_CLOSED, lambda: run.signal("go"))
    assert run.workflow is before


def test_the_last_tokens_of_a_step_are_remembered_not_only_the_last() -> None:
    run = Run(plan("a"))
    first = run.grant("a")
    run.release("a", checkpoint=payload(1))
    for _ in range(limits.SETTLED_TOKENS - 1):
        run.grant("a")
        run.release("a", checkpoint=payload(1))
    assert run.release("a", nonce=first, checkpoint=payload(1)) is False, "a repeat"
    run.grant("a")
    run.release("a", checkpoint=payload(1))
    refused(Reason.CLAIM_LOST, lambda: run.release("a", nonce=first, checkpoint=payload(1)))

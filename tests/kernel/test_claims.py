"""Claims: granted once, acknowledged, checkpointed, un-granted, lost; what is charged and what is refunded."""

from functools import partial

import pytest

from perdure_server.kernel import limits
from perdure_server.kernel.effects import AttemptEnded, ClaimLost, StepReady
from perdure_server.kernel.rejection import Reason
from perdure_server.kernel.values import LossCause, RetryPolicy
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.kernel.harness import T0, Run, activity, after, on_signal, payload, plan, refused, waiting

S, W = StepState, WorkflowState
ONCE = RetryPolicy(max_attempts=1)


def test_a_grant_charges_an_attempt_and_sets_the_deadline() -> None:
    run = Run(plan(activity("a", attempt_timeout=7_000)))
    nonce = run.grant("a", session="worker-9", acknowledged=False)
    step, claim = run.step("a"), run.claim("a")
    assert (step.state, step.claim_no, step.attempt, step.started) == (S.RUNNING, 1, 1, T0)
    assert (claim.nonce, claim.session_id, claim.granted, claim.deadline) == (nonce, "worker-9", T0, T0 + 7_000)
    assert (claim.connection_no, claim.acknowledged) == (1, False)
    assert run.workflow.sessions == ("worker-9",)


def test_the_same_ticket_again_changes_nothing() -> None:
    run = Run(plan("a"))
    nonce = run.grant("a")
    before = run.workflow
    assert run.grant("a", nonce=nonce) == nonce
    assert run.workflow is before


def test_a_ticket_whose_claim_is_settled_grants_nothing_any_more() -> None:
    run = Run(plan("a"))
    nonce = run.grant("a", acknowledged=False)
    run.undelivered("a")
    assert run.state("a") is S.READY
    refused(Reason.STEP_STATE_INVALID, lambda: run.grant("a", nonce=nonce))


def test_only_a_ready_step_of_a_running_workflow_is_granted() -> None:
    run = Run(plan("a", waiting("w", on_signal("go")), "b: a w"))
    for name in ("b", "w", "nobody"):
        assert refused(Reason.STEP_STATE_INVALID, partial(run.grant, name))["step"] == name
    run.grant("a")
    assert refused(Reason.STEP_STATE_INVALID, lambda: run.grant("a")) == {"step": "a", "state": "RUNNING"}
    run.cancel()
    refused(Reason.STEP_STATE_INVALID, lambda: run.grant("a"))


def test_acknowledging_is_stored_once() -> None:
    run = Run(plan("a"))
    run.grant("a", acknowledged=False)
    run.acknowledge("a")
    before, claim = run.workflow, run.claim("a")
    assert claim.acknowledged
    run.acknowledge("a")
    assert run.workflow is before


# ----------------------------------------------------------------------------------------------------------------- checkpoints


def test_checkpoints_are_ordered_within_a_claim_and_over_claims() -> None:
    run = Run(plan("a"))
    run.grant("a")
    assert run.checkpoint("a", 1, "one")
    assert run.checkpoint("a", 3, "three")
    before = run.workflow
    for number in (0, 1, 2, 3):
        assert run.checkpoint("a", number, "late") is False
    assert run.workflow is before
    run.fail("a")
    run.pass_time(2_000)
    run.grant("a")
    assert run.step("a").checkpoint is not None, "a checkpoint outlives the attempt"
    assert run.checkpoint("a", 1, "second claim"), "a later claim's first is above an earlier claim's third"
    step = run.step("a")
    assert (step.checkpoint_claim_no, step.checkpoint_no) == (2, 1)


def test_a_checkpoint_of_nothing_clears_it_and_completing_removes_it() -> None:
    run = Run(plan("a", "b: a"))
    run.grant("a")
    run.checkpoint("a", 1, "one")
    run.checkpoint("a", 2, None)
    assert run.step("a").checkpoint is None
    run.checkpoint("a", 3, "three")
    run.complete("a")
    assert run.step("a").checkpoint is None


# ----------------------------------------------------------------------------------------------------------------- stale tokens


def test_an_old_token_can_do_nothing_and_is_told_why() -> None:
    run = Run(plan("a"))
    old = run.grant("a")
    run.lose("a")
    run.grant("a", session="worker-2")
    before = run.workflow
    attempts = (
        lambda: run.complete("a", "late", nonce=old),
        lambda: run.fail("a", nonce=old),
        lambda: run.checkpoint("a", 9, "late", nonce=old),
        lambda: run.acknowledge("a", nonce=old),
        lambda: run.lose("a", nonce=old),
        lambda: run.undelivered("a", nonce=old),
    )
    for attempt in attempts:
        assert refused(Reason.CLAIM_LOST, attempt) == {"cause": "EXPIRED"}
    assert run.workflow is before


def test_the_causes_of_a_lost_claim() -> None:
    def cause(run: Run, nonce: str) -> str:
        return refused(Reason.CLAIM_LOST, lambda: run.complete("a", nonce=nonce))["cause"]

    run = Run(plan("a", "b", cancel_grace=1_000))
    assert cause(run, "f" * 28) == "UNKNOWN"
    assert refused(Reason.CLAIM_LOST, lambda: run.complete("nobody", nonce="f" * 28)) == {"cause": "UNKNOWN"}
    assert refused(Reason.CLAIM_LOST, lambda: run.checkpoint("nobody", 1, 1, nonce="f" * 28)) == {"cause": "UNKNOWN"}
    first = run.grant("a")
    run.pass_time(limits.ATTEMPT_TIMEOUT)
    assert cause(run, first) == "TIMED_OUT"
    run.pass_time(2_000)
    second = run.grant("a")
    run.cancel()
    run.pass_time(1_000)
    assert run.is_() is W.CANCELLED
    assert cause(run, second) == "CANCELLED"
    assert cause(run, first) == "TIMED_OUT"
    assert cause(run, "f" * 28) == "CLOSED"


def test_only_the_last_four_tokens_are_remembered() -> None:
    run = Run(plan(activity("a", retry=RetryPolicy(max_attempts=None)), max_lost_claims=99))
    tokens = []
    for _ in range(6):
        tokens.append(run.grant("a"))
        run.lose("a")
    causes = [refused(Reason.CLAIM_LOST, partial(run.complete, "a", nonce=token))["cause"] for token in tokens]
    assert causes == ["UNKNOWN", "UNKNOWN", "EXPIRED", "EXPIRED", "EXPIRED", "EXPIRED"]


# ------------------------------------------------------------------------------------------------------ undelivered and released


def test_c32_an_undelivered_claim_is_refunded_and_offered_again_at_once() -> None:
    run = Run(plan(activity("a", retry=ONCE)))
    nonce = run.grant("a", acknowledged=False)
    claim = run.claim("a")
    run.undelivered("a")
    step = run.step("a")
    assert (step.state, step.attempt, step.claim_no, step.lost_claims) == (S.READY, 0, 1, 0)
    assert run.effects == [ClaimLost("a", claim, LossCause.EXPIRED), AttemptEnded("a", claim, 1, 1, "undelivered"), StepReady("a")]
    assert refused(Reason.CLAIM_LOST, lambda: run.complete("a", nonce=nonce)) == {"cause": "EXPIRED"}
    run.run_through("a")
    assert run.is_() is W.COMPLETED


def test_what_was_acknowledged_is_not_ungranted_but_lost() -> None:
    run = Run(plan("a"))
    run.grant("a", acknowledged=True)
    run.undelivered("a")
    step = run.step("a")
    assert (step.state, step.attempt, step.lost_claims) == (S.READY, 1, 1), "it may have run: no refund"


@pytest.mark.parametrize("how", ["undelivered", "release"])
def test_unused_claims_in_a_row_back_off(how: str) -> None:
    run = Run(plan(activity("a", retry=ONCE)))
    delays = []
    for _ in range(limits.UNDELIVERED_AS_LOST - 1):
        run.grant("a", acknowledged=False)
        getattr(run, how)("a")
        assert run.step("a").attempt == 0
        due = run.step("a").due
        delays.append(None if due is None else due - run.now)
        run.pass_time(0 if due is None else due - run.now)
    assert delays == [None, None, None, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, *[60_000] * 10]


@pytest.mark.parametrize("how", ["undelivered", "release"])
def test_twenty_unused_claims_in_a_row_count_as_one_lost(how: str) -> None:
    run = Run(plan(activity("a", retry=RetryPolicy(max_attempts=2)), max_lost_claims=5))
    for _ in range(limits.UNDELIVERED_AS_LOST):
        run.grant("a", acknowledged=False)
        getattr(run, how)("a")
        run.pass_time(limits.MINUTE)
    step = run.step("a")
    assert (step.state, step.attempt, step.lost_claims, step.idle_returns) == (S.READY, 1, 1, 0)
    assert [error.failure.type for error in step.errors] == ["WORKER_LOST"]
    for _ in range(limits.UNDELIVERED_AS_LOST):
        run.grant("a", acknowledged=False)
        getattr(run, how)("a")
        run.pass_time(limits.MINUTE)
    assert (run.state("a"), run.is_(), run.step("a").attempt) == (S.FAILED, W.FAILED, 2)
    assert run.step("a").failure is not None
    assert run.workflow.failure is run.step("a").failure


def test_twenty_unused_claims_fail_a_step_that_may_lose_none() -> None:
    run = Run(plan(activity("a"), max_lost_claims=1))
    for _ in range(limits.UNDELIVERED_AS_LOST):
        run.grant("a", acknowledged=False)
        run.undelivered("a")
        run.pass_time(limits.MINUTE)
    assert (run.is_(), run.step("a").lost_claims) == (W.FAILED, 1)


@pytest.mark.parametrize("progress", ["in the release", "before it", "a result"])
def test_progress_ends_the_row(progress: str) -> None:
    run = Run(plan("a"))
    for _ in range(3):
        run.grant("a")
        run.release("a")
    assert run.step("a").idle_returns == 3
    run.grant("a")
    if progress == "in the release":
        run.release("a", checkpoint=None, keep_checkpoint=False)
        assert run.step("a").idle_returns == 4, "clearing the checkpoint is no progress"
        run.pass_time(1_000)
        run.grant("a")
        run.release("a", checkpoint=payload("here"))
    elif progress == "before it":
        run.checkpoint("a", 1, "here")
        run.release("a")
    else:
        run.fail("a")
    assert run.step("a").idle_returns == 0


def test_a_release_keeps_replaces_or_clears_the_checkpoint() -> None:
    run = Run(plan("a"))
    run.grant("a")
    run.checkpoint("a", 5, "five")
    run.release("a")
    assert run.step("a").checkpoint == payload("five")
    run.grant("a")
    run.release("a", checkpoint=payload("six"))
    step = run.step("a")
    assert (step.checkpoint, step.checkpoint_claim_no, step.checkpoint_no) == (payload("six"), 2, 1)
    run.grant("a")
    run.release("a", checkpoint=None, keep_checkpoint=False)
    assert run.step("a").checkpoint is None


# ------------------------------------------------------------------------------------------------------------------------ lost


def test_a_lost_claim_stays_charged_and_is_ready_at_once() -> None:
    run = Run(plan("a"))
    run.grant("a")
    claim = run.claim("a")
    run.lose("a")
    step = run.step("a")
    assert (step.state, step.attempt, step.lost_claims) == (S.READY, 1, 1)
    assert [error.failure.type for error in step.errors] == ["WORKER_LOST"]
    assert run.effects == [ClaimLost("a", claim, LossCause.EXPIRED), AttemptEnded("a", claim, 1, 1, "lost"), StepReady("a")]


@pytest.mark.parametrize(("max_attempts", "max_lost", "executions"), [(3, 5, 3), (10, 5, 5), (None, 5, 5), (1, 5, 1), (None, 1, 1)])
def test_c27_losses_end_by_attempts_or_by_max_lost_claims(max_attempts: int | None, max_lost: int, executions: int) -> None:
    run = Run(plan(activity("a", retry=RetryPolicy(max_attempts=max_attempts)), max_lost_claims=max_lost))
    while run.is_() is W.RUNNING:
        run.grant("a")
        run.lose("a")
    assert run.step("a").claim_no == executions
    assert (run.is_(), run.workflow.failed_step) == (W.FAILED, "a")
    assert run.workflow.failure is not None
    assert run.workflow.failure.type == "WORKER_LOST"


def test_a_dead_session_loses_what_it_had_and_ungrants_what_it_never_saw() -> None:
    run = Run(plan("a", "b", "c", "d", "e"))
    run.grant("a", "dead", acknowledged=True)
    run.grant("b", "dead", acknowledged=False)
    held = run.grant("c", "dead", acknowledged=False)
    run.grant("d", "alive", acknowledged=True)
    run.lose_session("dead", frozenset({held}))
    assert run.states() == {"a": "READY", "b": "READY", "c": "READY", "d": "RUNNING", "e": "READY"}
    charged = {name: run.step(name).attempt for name in "abc"}
    assert charged == {"a": 1, "b": 0, "c": 1}
    assert run.workflow.sessions == ("alive",)
    before = run.workflow
    run.lose_session("dead", frozenset({held}))
    assert run.workflow is before, "a repeat changes nothing"


def test_a_dead_session_whose_first_loss_fails_the_workflow() -> None:
    run = Run(plan(activity("a", retry=ONCE), "b", "c"))
    for name in "abc":
        run.grant(name, "dead")
    run.lose_session("dead")
    assert run.states() == {"a": "FAILED", "b": "CANCELLED", "c": "CANCELLED"}
    assert (run.is_(), run.workflow.failed_step) == (W.FAILED, "a")


def test_a_complete_counts_after_the_session_died_while_its_token_is_current() -> None:
    run = Run(plan("a"))
    run.grant("a", "dying")
    run.now += limits.DAY
    run.complete("a", "late but first")
    assert run.is_() is W.COMPLETED


# ------------------------------------------------------------------------------------------------------------------ the formula


def test_executions_are_at_most_attempts_plus_releases_plus_waits_plus_undelivered() -> None:
    run = Run(plan(activity("a", retry=RetryPolicy(max_attempts=3)), max_lost_claims=9))
    script = ["release", "fail", "wait", "undelivered", "lose", "release", "wait", "fail"]
    for move in script:
        if run.state("a") is S.BACKOFF:
            run.pass_time(limits.MINUTE)
        run.grant("a", acknowledged=move != "undelivered")
        if move == "wait":
            run.wait("a", after(50))
            run.pass_time(50)
        else:
            getattr(run, move)("a")
    step = run.step("a")
    assert (run.is_(), step.claim_no, step.attempt, step.waits) == (W.FAILED, 8, 3, 2)  # 3 + 2 releases + 2 waits + 1 undelivered

"""Retry and back-off: when, how often, and that nothing but an attempt costs an attempt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure_server.kernel import limits
from perdure_server.kernel.values import RetryPolicy
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.kernel.harness import Run, activity, on_signal, plan, waiting

S, W = StepState, WorkflowState
NO_JITTER = RetryPolicy(max_attempts=None, jitter=0.0)


# --------------------------------------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize("coefficient", [2.0, 10.0])
@pytest.mark.parametrize("attempt", [34, 35, 64, 65, 1_024, 1_025, 100_000, 2**31, 2**63])
def test_c23_high_attempts_stay_at_the_cap(coefficient: float, attempt: int) -> None:
    assert RetryPolicy(coefficient=coefficient, jitter=0.0).delay(attempt, 0.5) == 60_000


@pytest.mark.parametrize(
    ("policy", "delays"),
    [
        (RetryPolicy(jitter=0.0), [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]),
        (RetryPolicy(coefficient=1.0, jitter=0.0), [1_000, 1_000, 1_000]),
        (RetryPolicy(coefficient=10.0, jitter=0.0), [1_000, 10_000, 60_000]),
        (RetryPolicy(coefficient=1.5, initial_interval=1, max_interval=4, jitter=0.0), [1, 2, 2, 3, 4]),
        (RetryPolicy(initial_interval=60_000, jitter=0.0), [60_000, 60_000]),
        (RetryPolicy(initial_interval=1, max_interval=1, jitter=0.0), [1, 1]),
    ],
)
def test_the_intervals(policy: RetryPolicy, delays: list[int]) -> None:
    assert [policy.delay(attempt, 0.5) for attempt in range(1, len(delays) + 1)] == delays


@pytest.mark.parametrize(("dice", "delay"), [(0.0, 800), (0.25, 900), (0.5, 1_000), (0.999_999, 1_200)])
def test_jitter_moves_the_interval_by_its_share(dice: float, delay: int) -> None:
    assert RetryPolicy().delay(1, dice) == delay


POLICIES = st.builds(
    RetryPolicy,
    initial_interval=st.integers(1, 10_000),
    coefficient=st.floats(1.0, 100.0),
    max_interval=st.integers(10_000, limits.DURATION),
    jitter=st.floats(0.0, 1.0),
)


@given(POLICIES, st.integers(1, 2**63), st.floats(0.0, 1.0, exclude_max=True))
def test_c23_every_allowed_policy_gives_a_sane_delay(policy: RetryPolicy, attempt: int, dice: float) -> None:
    delay = policy.delay(attempt, dice)
    assert 0 <= delay <= policy.max_interval * (1 + policy.jitter) + 1
    if policy.jitter == 0.0:
        assert policy.initial_interval <= delay <= policy.max_interval


@given(POLICIES, st.integers(1, 1_000))
def test_delays_never_fall_with_the_attempt(policy: RetryPolicy, attempt: int) -> None:
    assert policy.delay(attempt, 0.5) <= policy.delay(attempt + 1, 0.5) + 1  # rounding


def test_c23_a_coefficient_just_above_one_is_no_long_loop() -> None:
    assert RetryPolicy(coefficient=1.0 + 2**-52, jitter=0.0).delay(2**40, 0.5) == 1_000


# ------------------------------------------------------------------------------------------------------------------- off by one


def fail_by_error(run: Run) -> None:
    """The worker reports it."""
    run.fail("a")


def fail_by_timeout(run: Run) -> None:
    """The attempt takes too long."""
    run.pass_time(limits.ATTEMPT_TIMEOUT)


def fail_by_silence(run: Run) -> None:
    """The activity shows no life."""
    run.silence("a")


def fail_by_loss(run: Run) -> None:
    """The worker forgot the claim."""
    run.lose("a")


def fail_by_crash(run: Run) -> None:
    """The worker's session ends."""
    run.lose_session("worker-1")


KINDS = [fail_by_error, fail_by_timeout, fail_by_silence, fail_by_loss, fail_by_crash]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_c25_calls_are_exactly_max_attempts_in_every_kind_of_failure(kind: object, limit: int) -> None:
    assert callable(kind)
    run = Run(plan(activity("a", retry=RetryPolicy(max_attempts=limit)), "b: a"))
    calls = 0
    while run.is_() is W.RUNNING:
        if run.state("a") is S.BACKOFF:
            run.pass_time(limits.MINUTE)
        run.grant("a")
        calls += 1
        kind(run)
        assert (run.is_() is W.RUNNING) == (calls < limit), "failing is entered exactly after the last one"
    assert calls == limit
    assert (run.is_(), run.states(), run.step("a").due) == (W.FAILED, {"a": "FAILED", "b": "CANCELLED"}, None)
    assert len(run.step("a").errors) == limit


def test_c25_the_kinds_mixed() -> None:
    run = Run(plan(activity("a", retry=RetryPolicy(max_attempts=5))))
    for kind in KINDS:
        if run.state("a") is S.BACKOFF:
            run.pass_time(limits.MINUTE)
        run.grant("a")
        kind(run)
    assert (run.is_(), run.step("a").claim_no, run.step("a").attempt, run.step("a").lost_claims) == (W.FAILED, 5, 5, 2)
    types = [error.failure.type for error in run.step("a").errors]
    assert types == ["boom", "ATTEMPT_TIMEOUT", "SILENCE_TIMEOUT", "WORKER_LOST", "WORKER_LOST"]


def test_c25_without_a_limit_only_success_ends_it_and_ten_errors_are_kept() -> None:
    run = Run(plan(activity("a", retry=NO_JITTER)))
    for number in range(1, 31):
        run.grant("a")
        run.fail("a", f"boom.{number}")
        assert run.is_() is W.RUNNING
        run.pass_time(limits.MINUTE)
    assert [error.attempt for error in run.step("a").errors] == list(range(21, 31))
    run.run_through("a")
    assert run.is_() is W.COMPLETED


# ------------------------------------------------------------------------------------------------------------------- what ends it


def test_a_failure_backs_off_and_then_is_ready() -> None:
    run = Run(plan(activity("a", retry=NO_JITTER)))
    run.grant("a")
    run.fail("a")
    step = run.step("a")
    assert (step.state, step.due, step.claim) == (S.BACKOFF, run.now + 1_000, None)
    assert run.workflow.ready == ()
    run.pass_time(999)
    assert run.state("a") is S.BACKOFF
    run.pass_time(1)
    assert (run.state("a"), run.announced()) == (S.READY, ["a"])


@pytest.mark.parametrize("dice", [0.0, 0.999])
def test_the_dice_of_the_report_place_the_retry(dice: float) -> None:
    run = Run(plan("a"))
    run.grant("a")
    run.fail("a", dice=dice)
    assert run.step("a").due == run.now + RetryPolicy().delay(1, dice)


@pytest.mark.parametrize(("retry_after", "delay"), [(1, 1), (5_000, 5_000), (limits.DAY, limits.DAY), (2**62, limits.DURATION)])
def test_a_workers_retry_after_replaces_the_policy(retry_after: int, delay: int) -> None:
    run = Run(plan("a"))
    run.grant("a")
    run.fail("a", retry_after=retry_after)
    assert run.step("a").due == run.now + delay


@pytest.mark.parametrize("retry_after", [0, -1])
def test_c15_retry_after_nothing_is_at_once_and_still_charged(retry_after: int) -> None:
    run = Run(plan("a"))
    for _ in range(3):
        run.grant("a")
        run.fail("a", retry_after=retry_after)
    assert run.is_() is W.FAILED


@pytest.mark.parametrize("how", ["by the failure", "by the policy"])
def test_non_retryable_ends_it_at_once(how: str) -> None:
    run = Run(plan(activity("a", retry=RetryPolicy(non_retryable_types=("bad.input",)))))
    run.grant("a")
    if how == "by the failure":
        run.fail("a", non_retryable=True, retry_after=1_000)
    else:
        run.fail("a", "bad.input", retry_after=1_000)
    assert (run.is_(), run.state("a"), run.workflow.failed_step) == (W.FAILED, S.FAILED, "a")


def test_a_type_is_compared_exactly() -> None:
    run = Run(plan(activity("a", retry=RetryPolicy(non_retryable_types=("bad.input",)))))
    run.grant("a")
    run.fail("a", "bad.input.too")
    assert run.state("a") is S.BACKOFF


def test_the_workflow_fails_with_the_steps_failure() -> None:
    run = Run(plan(activity("a", retry=RetryPolicy(max_attempts=1)), waiting("w", on_signal("go")), "b: a"))
    run.grant("a")
    run.fail("a", "asr.quota", message="no more")
    assert run.states() == {"a": "FAILED", "w": "CANCELLED", "b": "CANCELLED"}
    failure = run.workflow.failure
    assert failure is not None
    assert (failure.type, failure.message, run.workflow.failed_step) == ("asr.quota", "no more", "a")
    ends = [(event.reason, WorkflowState(event.state).name, event.failure_type) for event in run.workflow.events if not event.step]
    assert ends == [("START", "RUNNING", ""), ("STEP_FAILED", "FAILING", "asr.quota"), ("QUIET", "FAILED", "asr.quota")]


# ------------------------------------------------------------------------------------------------------------ in flight all along


def test_c26_a_step_in_backoff_is_in_flight() -> None:
    def backing_off() -> Run:
        run = Run(plan("a", "b", "c: a b"))
        run.grant("a")
        run.grant("b")
        run.fail("a")
        return run

    run = backing_off()
    run.complete("b")
    assert (run.is_(), run.states()) == (W.RUNNING, {"a": "BACKOFF", "b": "COMPLETED", "c": "BLOCKED"})
    run = backing_off()
    run.fail("b", non_retryable=True)
    assert (run.is_(), run.states()) == (W.FAILED, {"a": "CANCELLED", "b": "FAILED", "c": "CANCELLED"})
    run = backing_off()
    run.signal("go")
    assert run.states() == {"a": "BACKOFF", "b": "RUNNING", "c": "BLOCKED"}
    run = backing_off()
    run.cancel()
    assert (run.is_(), run.states()) == (W.CANCELLING, {"a": "CANCELLED", "b": "CANCELLING", "c": "CANCELLED"})
    run = backing_off()
    run.pass_time(limits.MINUTE)
    run.grant("a")
    run.complete("a")
    assert run.is_() is W.RUNNING

"""Starting: the first start wins, a repeat meets what is there and changes nothing."""

from functools import partial

import pytest

from perdure_server.kernel import limits
from perdure_server.kernel.effects import StepReady, WorkflowEnded, WorkflowStarted
from perdure_server.kernel.rejection import Reason
from perdure_server.kernel.start import OnClosed, OnOpen, Start, meet
from perdure_server.kernel.workflow import StepState, Workflow, WorkflowState
from tests.kernel.harness import KEY, T0, Run, activity, after, on_signal, payload, plan, refused, signal, start, waiting

S, W = StepState, WorkflowState


def test_a_start_opens_the_steps_that_depend_on_nothing() -> None:
    run = Run(plan("a", "b", "c: a b"), input={"x": 1}, labels={"tenant": "acme"}, request_id="r1", priority=9, queue="gpu")
    assert run.states() == {"a": "READY", "b": "READY", "c": "BLOCKED"}
    assert run.effects == [WorkflowStarted(), StepReady("a"), StepReady("b")]
    workflow = run.workflow
    assert (workflow.state, workflow.round, workflow.revision, workflow.remaining, workflow.step_count) == (W.RUNNING, 1, 1, 3, 3)
    assert (workflow.fence, workflow.start_time, workflow.update_time) == (T0, T0, T0)
    assert (workflow.input, workflow.labels, workflow.priority, workflow.queue) == (payload({"x": 1}), {"tenant": "acme"}, 9, "gpu")
    assert workflow.request_ids == ("r1",)
    assert "c" not in workflow.steps, "BLOCKED steps are not stored"
    assert [(event.step, event.reason) for event in workflow.events] == [("", "START"), ("a", "UNBLOCK"), ("b", "UNBLOCK")]


def test_the_defaults_are_those_of_the_contract() -> None:
    assert (limits.SESSION_LEASE, limits.SESSION_LEASE // limits.RENEWALS_PER_LEASE, limits.ACKNOWLEDGE_WITHIN) == (30_000, 10_000, 5_000)
    step = activity("a")
    retry = (step.retry.max_attempts, step.retry.initial_interval, step.retry.coefficient, step.retry.max_interval, step.retry.jitter)
    assert retry == (3, 1_000, 2.0, 60_000, 0.2)
    assert (step.attempt_timeout, step.silence_timeout, step.queue) == (600_000, None, "default")
    definition = plan("a")
    assert (definition.cancel_grace, definition.max_lost_claims, definition.workflow_timeout) == (30_000, 5, None)
    assert (limits.RETENTION, limits.TOMBSTONE, limits.SWEEP_INTERVAL) == (30 * limits.DAY, 30 * limits.DAY, 1_000)
    workflow = Run(definition).workflow
    assert (workflow.priority, workflow.retention, workflow.deadline, workflow.input) == (5, 30 * limits.DAY, None, None)


def test_a_start_may_override_timeout_and_retention() -> None:
    run = Run(plan("a", workflow_timeout=1_000, retention=5), workflow_timeout=9_000, retention=7)
    assert (run.workflow.deadline, run.workflow.retention) == (T0 + 9_000, 7)


# ------------------------------------------------------------------------------------------------------------------- start_at


def test_start_at_delays_the_first_steps_and_the_workflows_deadline() -> None:
    run = Run(plan("a", waiting("w", after(5_000)), "b: a", workflow_timeout=60_000), start_at=T0 + 10_000)
    assert run.states() == {"a": "BACKOFF", "w": "BACKOFF", "b": "BLOCKED"}
    assert run.workflow.deadline == T0 + 70_000
    assert run.announced() == []
    run.pass_time(9_999)
    assert run.state("a") is S.BACKOFF
    run.pass_time(1)
    assert run.states() == {"a": "READY", "w": "WAITING", "b": "BLOCKED"}
    assert run.announced() == ["a"]
    assert run.step("w").due == T0 + 15_000, "a wait is counted from its opening"
    assert run.step("a").attempt == 0, "waiting for the start is no attempt"


@pytest.mark.parametrize("time", [0, -1, 1, T0 - 5_000, T0])
def test_c15_a_start_at_in_the_past_starts_now(time: int) -> None:
    assert Run(plan("a"), start_at=time).state("a") is S.READY


def test_c14_a_start_and_a_timeout_at_the_end_of_time() -> None:
    run = Run(plan("a", workflow_timeout=limits.DURATION), start_at=limits.TIME)
    assert (run.step("a").due, run.workflow.deadline) == (limits.TIME, limits.TIME)


# ------------------------------------------------------------------------------------------------------------- signals ride along


def test_c07_a_signal_that_rides_along_is_there_before_the_first_step() -> None:
    run = Run(plan(waiting("w", on_signal("go"))), signals=(signal("go"),))
    assert (run.is_(), run.state("w")) == (W.COMPLETED, S.COMPLETED)
    assert run.count(WorkflowEnded) == 1
    assert run.workflow.signals_received == 1


def test_c08_a_signal_that_rides_along_twice_counts_once() -> None:
    run = Run(plan(waiting("w", on_signal("go", 2))), signals=(signal("go", "s1"), signal("go", "s1"), signal("other", "s2")))
    assert [kept.signal_id for kept in run.workflow.inbox] == ["s1", "s2"]
    assert (run.workflow.signals_received, run.workflow.signal_ids) == (2, ("s1", "s2"))
    assert run.signal("go", "s1") is False


# --------------------------------------------------------------------------------------------------------------------- meeting


def open_and_closed() -> tuple[Workflow, Workflow, Workflow]:
    """One that runs, one that completed, one that was cancelled; all began with the same command."""
    running, completed, cancelled = (Run(plan("a"), input={"a": 1}, request_id="r1") for _ in range(3))
    completed.run_through("a")
    cancelled.cancel()
    return running.workflow, completed.workflow, cancelled.workflow


RUNNING, COMPLETED, CANCELLED = open_and_closed()
ALL = (RUNNING, COMPLETED, CANCELLED)


def again(
    request_id: str = "", value: object = None, on_open: OnOpen = OnOpen.USE_EXISTING, on_closed: OnClosed = OnClosed.USE_EXISTING
) -> Start:
    """Another start of the key, by default with the same input."""
    return start(request_id=request_id, input=value or {"a": 1}, on_open=on_open, on_closed=on_closed)


@pytest.mark.parametrize("existing", ALL)
@pytest.mark.parametrize("request_id", ["", "r1", "r2"])
def test_c01_a_repeat_meets_what_is_there(existing: Workflow, request_id: str) -> None:
    assert meet(existing, again(request_id)) is False


@pytest.mark.parametrize("existing", ALL)
def test_the_very_command_that_began_it_is_recognised(existing: Workflow) -> None:
    assert meet(existing, start(run_id=existing.run_id, input="anything", on_open=OnOpen.REJECT)) is True


@pytest.mark.parametrize("existing", ALL)
def test_c03_the_same_key_with_another_input_is_refused(existing: Workflow) -> None:
    facts = refused(Reason.START_INPUT_MISMATCH, lambda: meet(existing, again(value={"a": 2})))
    assert facts == {"round": "1", "conflict": "business_key"}


@pytest.mark.parametrize("existing", ALL)
def test_c03_the_same_request_id_with_another_input_is_refused(existing: Workflow) -> None:
    for command in (again("r1", {"a": 2}), again("r1", {"a": 2}, on_open=OnOpen.REJECT, on_closed=OnClosed.REJECT)):
        assert refused(Reason.START_INPUT_MISMATCH, partial(meet, existing, command))["conflict"] == "request_id"


def test_reject_refuses_all_but_its_own_request() -> None:
    for existing, command in ((RUNNING, again("r2", on_open=OnOpen.REJECT)), (COMPLETED, again("r2", on_closed=OnClosed.REJECT))):
        facts = refused(Reason.WORKFLOW_ALREADY_EXISTS, partial(meet, existing, command))
        assert facts == {"state": existing.state.name, "round": "1"}
    assert meet(RUNNING, again("r1", on_open=OnOpen.REJECT)) is False
    assert meet(COMPLETED, again("r1", on_closed=OnClosed.REJECT)) is False
    assert meet(RUNNING, again("r2", on_closed=OnClosed.REJECT)) is False, "the policy for closed ones is not asked of an open one"
    assert meet(COMPLETED, again("r2", on_open=OnOpen.REJECT)) is False


def test_options_are_not_input() -> None:
    command = start(input={"a": 1}, priority=9, labels={"x": "y"}, queue="other", start_at=T0 + 5)
    assert meet(RUNNING, command) is False


def test_the_identity_is_the_digest_of_its_length_prefixed_parts() -> None:
    keys = [("a", "b", "c"), ("ab", "", "c"), ("a", "bc", ""), ("", "ab", "c"), ("a", "b", "ć")]
    ids = [type(KEY)(*parts).workflow_id for parts in keys]
    assert len(set(ids)) == len(ids)
    assert {len(found) for found in ids} == {16}
    assert KEY.workflow_id.hex() == "0b9751505ecf30e985dd477c97d7e6f8", "stored documents are found by it"

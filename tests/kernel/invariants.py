"""What is true of every instance, and of every change of one, whatever happened: from design/2-kernel.md, not from the rules' code."""

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.seal import queue_id
from perdure_server.kernel.values import Payload
from perdure_server.kernel.workflow import CLAIMED, ENDED, STEP_ENDS, Step, StepState, Workflow, WorkflowState

S, W = StepState, WorkflowState
STOPPING = frozenset({W.CANCELLING, W.FAILING})


def check_change(definition: Definition, old: Workflow | None, new: Workflow) -> None:
    """Fail unless `new` is whole by itself, and a lawful successor of `old`."""
    check_instance(definition, new)
    if old is None:
        assert (new.revision, new.round) == (1, 1)
        assert new.fence == new.start_time
        return
    assert old.state not in ENDED, "a closed workflow never changes"
    assert new.revision == old.revision + 1
    assert new.update_time >= old.update_time
    for field in ("key", "run_id", "round", "fence", "input", "input_digest", "fingerprint", "trace", "start_time", "step_count"):
        assert getattr(new, field) == getattr(old, field), field
    assert new.event_seq >= old.event_seq
    assert new.remaining <= old.remaining
    assert not (old.steps.keys() - new.steps.keys())
    for name, before in old.steps.items():
        _check_step_change(name, before, new.steps[name])


def _check_step_change(name: str, before: Step, after: Step) -> None:
    if before.state in STEP_ENDS:
        assert after is before, f"{name} had ended and changed"
    assert before.claim_no <= after.claim_no <= before.claim_no + 1, name
    assert after.lost_claims >= before.lost_claims, name
    assert after.waits >= before.waits, name
    if before.state in CLAIMED and after.state in CLAIMED and after.claim_no == before.claim_no:
        assert before.claim is not None
        assert after.claim is not None
        assert after.claim.nonce == before.claim.nonce, f"{name}: the token changed without a grant"
    if (after.checkpoint_claim_no, after.checkpoint_no) != (before.checkpoint_claim_no, before.checkpoint_no):
        assert (after.checkpoint_claim_no, after.checkpoint_no) > (before.checkpoint_claim_no, before.checkpoint_no), name


def check_instance(definition: Definition, workflow: Workflow) -> None:
    """Fail unless the instance is whole."""
    _check_bounds(workflow)
    for name, step in workflow.steps.items():
        _check_step(definition, workflow, name, step)
    open_steps = [plan.name for plan in definition.steps if state_of(workflow, plan.name) not in STEP_ENDS]
    assert workflow.remaining == len(open_steps)
    nonces = [step.claim.nonce for step in workflow.steps.values() if step.claim is not None]
    assert len(set(nonces)) == len(nonces), "one token for two steps"
    assert workflow.inline_bytes == _inline_bytes(workflow), "payload bytes are counted wrongly"
    _check_blocked(definition, workflow)
    if workflow.state in ENDED:
        _check_ended(definition, workflow)
    else:
        assert has_waker(workflow), f"nobody will ever look at this {workflow.state.name} workflow again"
        _check_derived(definition, workflow)


def _inline_bytes(workflow: Workflow) -> int:
    payloads: list[Payload | None] = [workflow.input, *(signal.payload for signal in workflow.inbox)]
    for step in workflow.steps.values():
        payloads += [step.output, step.checkpoint, *(wake.payload for wake in step.wakes)]
        payloads += [error.failure.details for error in step.errors]
        payloads += [step.failure.details] if step.failure is not None else []
    return sum(payload.inline_size for payload in payloads if payload is not None)


def state_of(workflow: Workflow, name: str) -> StepState:
    """The state of a step; what is not stored is BLOCKED."""
    return workflow.steps[name].state if name in workflow.steps else S.BLOCKED


def _check_bounds(workflow: Workflow) -> None:
    assert len(workflow.events) <= limits.EVENT_RING
    assert len(workflow.inbox) <= limits.INBOX_SIGNALS
    assert len(workflow.signal_ids) <= limits.SIGNAL_IDS
    assert len(workflow.request_ids) <= limits.REQUEST_IDS
    sequence = [event.seq for event in workflow.events]
    assert sequence == list(range(workflow.event_seq - len(sequence) + 1, workflow.event_seq + 1))
    assert len({signal.signal_id for signal in workflow.inbox}) == len(workflow.inbox)


def _check_step(definition: Definition, workflow: Workflow, name: str, step: Step) -> None:
    where = f"{name} is {step.state.name}"
    plan = definition.by_name[name]
    assert (step.claim is not None) == (step.state in CLAIMED), where
    assert bool(step.wait) == (step.state is S.WAITING), where
    assert (step.ended is not None) == (step.state in STEP_ENDS), where
    if step.state is S.BACKOFF:
        assert step.due is not None, where
    elif step.state is S.WAITING:
        assert step.due == min((found.due for found in step.wait if found.due is not None), default=None), where
    else:
        assert step.due is None, where
    assert 0 <= step.attempt <= step.claim_no, where
    assert plan.retry.max_attempts is None or step.attempt <= plan.retry.max_attempts, where
    assert step.lost_claims <= definition.max_lost_claims, where
    assert step.idle_returns < limits.UNDELIVERED_AS_LOST, where
    assert len(step.settled) <= limits.SETTLED_TOKENS, where
    assert len(step.errors) <= limits.ATTEMPT_ERRORS, where
    assert step.checkpoint is None or step.state is not S.COMPLETED, where
    assert step.output is None or step.state is S.COMPLETED, where
    assert step.since <= workflow.update_time, where
    if step.state is S.FAILED:
        assert step.failure is not None, where


def _check_blocked(definition: Definition, workflow: Workflow) -> None:
    for plan in definition.steps:
        state = state_of(workflow, plan.name)
        satisfied = all(state_of(workflow, needed) is S.COMPLETED for needed in plan.depends_on)
        if state is S.BLOCKED:
            assert not satisfied, f"{plan.name} stays BLOCKED though all it depends on is complete"
        elif state is not S.CANCELLED:
            assert satisfied, f"{plan.name} is {state.name} before what it depends on"


def _check_ended(definition: Definition, workflow: Workflow) -> None:
    assert workflow.remaining == 0
    assert (workflow.wake_time, workflow.ready, workflow.sessions) == (None, (), ())
    assert (workflow.deadline, workflow.grace_deadline) == (None, None)
    assert workflow.end_time == workflow.update_time
    assert workflow.expire_time == workflow.end_time + workflow.retention
    states = [state_of(workflow, plan.name) for plan in definition.steps]
    if workflow.state is W.COMPLETED:
        assert set(states) == {S.COMPLETED}
    if workflow.state is W.CANCELLED:
        assert S.FAILED not in states
    if workflow.state is W.FAILED:
        assert workflow.failure is not None
    else:
        assert (workflow.failure, workflow.failed_step) == (None, "")


def has_waker(workflow: Workflow) -> bool:
    """The table "who wakes what": somebody will look at it, or somebody is asked for."""
    states = {step.state for step in workflow.steps.values()}
    if workflow.state in STOPPING:
        return S.CANCELLING in states and workflow.grace_deadline is not None
    return bool(states & {S.READY, S.RUNNING, S.BACKOFF, S.WAITING})


def next_due(workflow: Workflow) -> int | None:
    """The first time at which something must happen by itself."""
    times: list[int | None] = [workflow.deadline if workflow.state is W.RUNNING else workflow.grace_deadline]
    for step in workflow.steps.values():
        times.append(step.due)
        if step.claim is not None:
            times.append(step.claim.deadline)
            times.append(None if step.claim.acknowledged else step.claim.granted + limits.ACKNOWLEDGE_WITHIN)
    return min((time for time in times if time is not None), default=None)


def _check_derived(definition: Definition, workflow: Workflow) -> None:
    due = next_due(workflow)
    if due is not None:
        assert workflow.wake_time is not None, "something falls due and the sweep does not know"
        assert workflow.wake_time <= due, "the sweep comes too late"
    ready = {queue_id(definition, workflow, name) for name, step in workflow.steps.items() if step.state is S.READY}
    assert workflow.ready == tuple(sorted(ready))
    sessions = {step.claim.session_id for step in workflow.steps.values() if step.claim is not None}
    assert workflow.sessions == tuple(sorted(sessions))
    assert (workflow.end_time, workflow.expire_time) == (None, None)
    if workflow.state in STOPPING:
        assert not states_of(workflow) & {S.READY, S.RUNNING, S.BACKOFF, S.WAITING}, "new or unasked work in a stopping workflow"


def states_of(workflow: Workflow) -> set[StepState]:
    """The states of all stored steps."""
    return {step.state for step in workflow.steps.values()}

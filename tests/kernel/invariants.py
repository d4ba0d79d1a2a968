"""What is true of every instance, and of every change of one, whatever happened: from design/2-kernel.md, not from the rules' code."""

from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition, Exhaustion, HookKind
from perdure_server.kernel.redaction import erased
from perdure_server.kernel.seal import queue_id
from perdure_server.kernel.values import Payload
from perdure_server.kernel.workflow import CLAIMED, ENDED, STEP_ENDS, DutyKind, Step, StepState, Workflow, WorkflowState
from tests.kernel.child_invariants import check_children

S, W = StepState, WorkflowState
STOPPING = frozenset({W.CANCELLING, W.FAILING})


TURNS = {
    HookKind.ON_SUCCESS: W.RUNNING,
    HookKind.FAILURE_FINALIZER: W.FAILING,
    HookKind.COMPENSATION: W.FAILING,
    HookKind.CANCEL_FINALIZER: W.CANCELLING,
    HookKind.PREPARE_REPLAY: W.PREPARING_REPLAY,
}
LIVE = frozenset({S.READY, S.RUNNING, S.BACKOFF, S.WAITING, S.HELD})


def check_change(definition: Definition, old: Workflow | None, new: Workflow) -> None:
    """Fail unless `new` is whole by itself, and a lawful successor of `old`."""
    if new.tombstone is not None:
        assert old is not None
        _check_burial(old, new)
        return
    check_instance(definition, new)
    if old is None:
        assert new.archived or (new.revision, new.round) == (1, 1)
        assert new.archived or (new.fence >= new.start_time if _is_imported(new) else new.fence == new.start_time)
        assert new.inert is new.archived
        return
    if old.inert and new.inert and new.revision > old.revision:
        return  # a newer copy of the round that is to be archived
    if old.run_id != new.run_id:
        _check_next_round(old, new)
        return
    if any(action.startswith(("redact:", "redact.")) for action in set(new.actions) - set(old.actions)):
        if old.state in ENDED:  # else what ended it went into the same write
            _check_redaction(old, new)
        return
    if new.fingerprint != old.fingerprint:
        assert (new.run_id, new.fence, new.revision) == (old.run_id, old.fence, old.revision + 1), "a migration is no new run"
        return
    is_replay = new.replays == old.replays + 1
    assert new.revision == old.revision + 1
    assert new.update_time >= old.update_time
    for field in ("key", "run_id", "round", "input", "input_digest", "fingerprint", "trace", "start_time", "step_count", "archived"):
        assert getattr(new, field) == getattr(old, field), field
    if is_replay:
        # Commands that wait for one document go into one write: the end that is taken back may be of the same one.
        ends = {WorkflowState(event.state) for event in new.events if event.seq > old.event_seq and not event.step} & ENDED
        assert old.state in ENDED or ends
        assert new.fence > old.fence
        assert new.fence >= new.update_time
    else:
        assert (new.replays, new.fence) == (old.replays, old.fence)
        changed = [field for field in Workflow.__struct_fields__ if getattr(new, field) != getattr(old, field)]
        bookkeeping = {"revision", "update_time", "duties", "inert", "wake_time", "actions"} | ({"expire_time"} if old.inert else set())
        assert old.state not in ENDED or set(changed) <= bookkeeping, "a closed workflow changes by a replay or a duty only"
    reopens = is_replay or (old.state is W.PREPARING_REPLAY and new.state in {W.RUNNING, *ENDED})
    assert new.event_seq >= old.event_seq
    assert reopens or new.remaining <= old.remaining
    assert not (old.steps.keys() - new.steps.keys())
    for name, before in old.steps.items():
        _check_step_change(name, before, new.steps[name], may_begin_anew=reopens or name in definition.hook_steps)


def _is_imported(workflow: Workflow) -> bool:
    """It may have begun long before it came here."""
    return any(action.startswith("import.") for action in workflow.actions)


def _check_redaction(old: Workflow, new: Workflow) -> None:
    own = {"revision": 0, "update_time": 0, "actions": (), "inline_bytes": 0}
    assert replace(erased(old), **own) == replace(erased(new), **own), "a redaction changes contents only"
    assert new.revision == old.revision + 1


def _check_next_round(old: Workflow, new: Workflow) -> None:
    assert (new.key, new.round, new.revision, new.archived) == (old.key, old.round + 1, old.revision + 1, False)
    assert new.fence > old.fence
    assert new.start_time >= old.update_time or _is_imported(new)
    assert new.update_time >= old.update_time
    assert new.past_runs[-1] == old.run_id
    # Of a superseded round nobody tends the children.
    kept = tuple(duty for duty in old.duties if old.is_ended or duty.kind is not DutyKind.TEND_CHILDREN)
    assert new.duties[: len(kept)] == kept, "duties stay with the key"
    assert not old.archived


def _check_burial(old: Workflow, new: Workflow) -> None:
    for field in ("key", "run_id", "round", "fence", "state", "end_time", "input_digest", "request_ids", "past_requests", "past_runs"):
        assert getattr(new, field) == getattr(old, field), field
    assert old.state in ENDED
    assert new.revision == old.revision + 1
    assert (new.steps, new.input, new.output, new.events, new.inbox, new.labels) == ({}, None, None, (), (), {})
    assert new.expire_time is not None
    assert new.wake_time == min((duty.due for duty in new.duties), default=None)
    left = {duty.name for duty in old.duties} - {duty.name for duty in new.duties}
    assert old.tombstone is not None or not left, "what is left undone by a removal stays a duty"


def _check_step_change(name: str, before: Step, after: Step, *, may_begin_anew: bool) -> None:
    if before.state in STEP_ENDS and after is not before and after != before and after != replace(before, in_doubt=True):
        assert may_begin_anew or after.state is S.COMPENSATED, f"{name} had ended and changed"
    if before.state is S.COMPLETED and after.state in {S.COMPLETED, S.COMPENSATED} and after.generation == before.generation:
        assert (after.output, after.end_seq) == (before.output, before.end_seq), f"{name}: the output of a completed step changed"
    is_new = after.total_attempts > before.total_attempts or (before.state in STEP_ENDS and after.state not in STEP_ENDS)
    assert before.claim_no <= after.claim_no <= before.claim_no + 1, name
    assert after.total_attempts + after.attempt <= after.claim_no, name
    assert is_new or after.lost_claims >= before.lost_claims, name
    assert after.waits >= before.waits, name
    assert after.permit_waits >= before.permit_waits, name
    assert after.permit_wait_time >= before.permit_wait_time, name
    assert after.throttled is None or after.state is S.READY, f"{name} is {after.state.name} and throttled"
    assert after.generation >= before.generation, name
    if before.state in CLAIMED and after.state in CLAIMED and after.claim_no == before.claim_no:
        assert before.claim is not None
        assert after.claim is not None
        assert after.claim.nonce == before.claim.nonce, f"{name}: the token changed without a grant"
    if after.generation == before.generation and (after.checkpoint_claim_no, after.checkpoint_no) != (
        before.checkpoint_claim_no,
        before.checkpoint_no,
    ):
        assert (after.checkpoint_claim_no, after.checkpoint_no) > (before.checkpoint_claim_no, before.checkpoint_no), name


def check_instance(definition: Definition, workflow: Workflow) -> None:
    """Fail unless the instance is whole."""
    _check_bounds(workflow)
    assert max(past_times(workflow)) <= workflow.update_time, "something of its past is yet to come"
    for name, step in workflow.steps.items():
        _check_step(definition, workflow, name, step)
    open_steps = [name for name in definition.ordinary if state_of(workflow, name) not in STEP_ENDS]
    assert workflow.remaining == len(open_steps)
    nonces = [step.claim.nonce for step in workflow.steps.values() if step.claim is not None]
    assert len(set(nonces)) == len(nonces), "one token for two steps"
    assert workflow.inline_bytes == _inline_bytes(workflow), "payload bytes are counted wrongly"
    assert workflow.paused is None or workflow.state is W.RUNNING or (_is_imported(workflow) and workflow.state not in ENDED)
    check_children(definition, workflow)
    _check_order(definition, workflow)
    _check_hooks(definition, workflow)
    if workflow.state in ENDED:
        _check_ended(definition, workflow)
    else:
        assert has_waker(definition, workflow), f"nobody will ever look at this {workflow.state.name} workflow again"
        _check_derived(definition, workflow)


def _inline_bytes(workflow: Workflow) -> int:
    payloads: list[Payload | None] = [workflow.input, *(signal.payload for signal in workflow.inbox)]
    for step in workflow.steps.values():
        payloads += [step.output, step.checkpoint, *(wake.payload for wake in step.wakes)]
        payloads += [error.failure.details for error in step.errors]
        payloads += [step.failure.details] if step.failure is not None else []
        payloads += [step.children.page, step.children.page_cursor] if step.children is not None else []
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


def past_times(workflow: Workflow) -> list[int]:
    """All times at which something has happened."""
    found = [workflow.start_time, workflow.end_time or 0, workflow.cancel_time or 0]
    found += [workflow.paused.since] if workflow.paused is not None else []
    found += [event.time for event in workflow.events] + [signal.time for signal in workflow.inbox]
    for step in workflow.steps.values():
        found += [step.since, step.started or 0, step.ended or 0, 0 if step.claim is None else step.claim.granted]
        found += [error.time for error in step.errors] + [wake.time for wake in step.wakes]
    return found


def _check_step(definition: Definition, workflow: Workflow, name: str, step: Step) -> None:
    where = f"{name} is {step.state.name}"
    plan = definition.by_name[name]
    assert (step.claim is not None) == (step.state in CLAIMED), where
    if step.children is None or step.state is not S.WAITING:
        assert bool(step.wait) == (step.state is S.WAITING), where
    assert (step.ended is not None) == (step.state in STEP_ENDS), where
    if step.state is S.BACKOFF:
        assert step.due is not None, where
    elif step.state is S.WAITING:
        assert step.due == min((found.due for found in step.wait if found.due is not None), default=None), where
    elif step.state is S.READY and plan.queue_timeout is not None and not definition.is_required(name):
        assert (step.due is None) == (step.throttled is not None), where
        assert (step.queue_left is None) == (step.throttled is None), where
    else:
        assert step.due is None, where
    if plan.step_timeout is None or definition.is_required(name) or step.state in {S.BLOCKED, S.HELD, *STEP_ENDS}:
        assert (step.step_deadline, step.step_left) == (None, None), where
    assert 0 <= step.attempt <= step.claim_no, where
    if not definition.is_required(name):
        assert plan.retry.max_attempts is None or step.attempt <= plan.retry.max_attempts, where
        assert step.lost_claims <= definition.max_lost_claims, where
    assert step.idle_returns < limits.UNDELIVERED_AS_LOST, where
    assert len(step.settled) <= limits.SETTLED_TOKENS, where
    assert len(step.errors) <= limits.ATTEMPT_ERRORS, where
    assert step.checkpoint is None or step.state is not S.COMPLETED, where
    assert step.output is None or step.state in {S.COMPLETED, S.COMPENSATED}, where
    assert set(step.chosen) <= {branch.name for branch in plan.branches}, where
    if step.state in {S.FAILED, S.HELD}:
        assert step.failure is not None, where


def _check_order(definition: Definition, workflow: Workflow) -> None:
    migrated = _migrated(workflow)
    for name in definition.ordinary:
        plan, state = definition.by_name[name], state_of(workflow, name)
        needed = [state_of(workflow, other) for other in plan.depends_on]
        satisfied = all(other in STEP_ENDS for other in needed)
        if state is S.BLOCKED:
            assert workflow.state is W.RUNNING, f"{name} is BLOCKED in a {workflow.state.name} workflow"
            assert not satisfied, f"{name} stays BLOCKED though all it depends on has ended"
        elif state in LIVE or (state is S.COMPLETED and not workflow.replays):
            step = workflow.steps[name]
            # What had begun by an earlier definition goes on, whatever has come in before it.
            stays = (step.since if step.started is None else step.started) <= migrated
            assert satisfied or stays, f"{name} is {state.name} before what it depends on"
            assert not needed or set(needed) != {S.SKIPPED}, f"{name} is {state.name} though all it depends on is SKIPPED"


def _migrated(workflow: Workflow) -> int:
    """When it last got another definition, as far as its events go back; -1: never."""
    return max((event.time for event in workflow.events if event.reason == "MIGRATED"), default=-1)


def _check_hooks(definition: Definition, workflow: Workflow) -> None:
    under_way = [name for name in definition.hook_steps if state_of(workflow, name) not in {S.BLOCKED, *STEP_ENDS}]
    assert len(under_way) <= 1, "one hook at a time"
    for name in under_way:
        kind, step = definition.hook_steps[name][0], workflow.steps[name]
        assert bool(step.compensates) == (kind is HookKind.COMPENSATION), name
        if step.state is S.CANCELLING:
            assert kind in {HookKind.ON_SUCCESS, HookKind.PREPARE_REPLAY}, "nothing stops a finalizer"
            continue
        assert workflow.state is TURNS[kind], f"{name} runs in a {workflow.state.name} workflow"
        assert workflow.remaining == 0, f"{name} runs while steps do"
        if step.compensates:
            assert definition.by_name[step.compensates].compensate_with == name
            assert workflow.steps[step.compensates].state is not S.COMPENSATED


def _check_ended(definition: Definition, workflow: Workflow) -> None:
    assert workflow.remaining == 0
    duties = min((duty.due for duty in workflow.duties), default=None)
    assert (workflow.wake_time, workflow.ready, workflow.sessions) == (None if workflow.inert else duties, (), ())
    assert (workflow.deadline, workflow.grace_deadline, workflow.paused) == (None, None, None)
    assert workflow.end_time is not None
    assert workflow.expire_time == (None if workflow.inert else workflow.end_time + workflow.retention) or _is_imported(workflow)
    assert all(state_of(workflow, name) in {S.BLOCKED, *STEP_ENDS} for name in definition.hook_steps)
    hooks = definition.hooks
    ends = {W.COMPLETED: hooks.on_success, W.FAILED: hooks.failure_finalizer, W.CANCELLED: hooks.cancel_finalizer}
    hook = ends.get(workflow.state)
    assert hook is None or hook.step in workflow.passed_hooks, f"{workflow.state.name} is stored before its hook has ended"
    if workflow.state is W.COMPLETED:
        migrated = _migrated(workflow)
        for name in definition.ordinary:
            state = state_of(workflow, name)
            goes_on = definition.by_name[name].on_exhausted in {Exhaustion.SKIP_DEPENDANTS, Exhaustion.CONTINUE}
            by_earlier = state is S.FAILED and (workflow.steps[name].ended or 0) <= migrated  # whose policy it was
            assert state in {S.COMPLETED, S.SKIPPED} or by_earlier or (state is S.FAILED and goes_on), name
    if workflow.state is W.FAILED:
        assert workflow.failure is not None
        left = [name for name, step in workflow.steps.items() if definition.by_name[name].compensate_with and step.started is not None]
        assert all(workflow.steps[name].state is S.COMPENSATED or name in workflow.passed_hooks for name in left), "not undone"
    elif workflow.state is not W.TERMINATED:
        assert (workflow.failure, workflow.failed_step) == (None, "")


def has_waker(definition: Definition, workflow: Workflow) -> bool:
    """The table "who wakes what": somebody will look at it, or somebody is asked for. Each by a field."""
    if workflow.paused is not None or workflow.inert:
        return True  # a person; the activation, a duty of the round after it
    states = {step.state for step in workflow.steps.values()}
    if workflow.state in STOPPING:
        hooks = {state_of(workflow, name) for name in definition.hook_steps}
        return bool(hooks & (LIVE - {S.HELD})) or (S.CANCELLING in states and workflow.grace_deadline is not None)
    if workflow.state is W.PREPARING_REPLAY:
        return bool({state_of(workflow, name) for name in definition.hook_steps} & (LIVE - {S.HELD}))
    return bool(states & LIVE)


def next_due(workflow: Workflow, delivered: bool = False) -> int | None:
    """The first time at which something must happen by itself. `delivered` leaves out the judging of acknowledgements."""
    times: list[int | None] = [duty.due for duty in workflow.duties]
    if workflow.inert:
        return None
    is_paused = workflow.paused is not None
    if not is_paused:
        times.append(workflow.deadline if workflow.state is W.RUNNING else workflow.grace_deadline)
    for step in workflow.steps.values():
        if not is_paused:
            times.append(step.due)
            times.append(step.step_deadline if step.state is not S.CANCELLING else None)
        if step.claim is not None:
            times.append(step.claim.deadline)
            times.append(None if step.claim.acknowledged or delivered else step.claim.granted + limits.ACKNOWLEDGE_WITHIN)
    return min((time for time in times if time is not None), default=None)


def _ready_id(definition: Definition, workflow: Workflow, name: str, step: Step) -> str:
    if step.state is S.HELD:
        return f"H//{workflow.key.namespace}/{workflow.key.workflow_type}/{name}"
    if step.throttled is None:
        return queue_id(definition, workflow, name)
    key = f"/{step.throttled.key}" if step.throttled.key else ""
    return f"P//{workflow.key.namespace}/{step.throttled.resource}{key}"


def _check_derived(definition: Definition, workflow: Workflow) -> None:
    due = next_due(workflow)
    if due is not None:
        assert workflow.wake_time is not None, "something falls due and the sweep does not know"
        assert workflow.wake_time <= due, "the sweep comes too late"
    ready = {_ready_id(definition, workflow, name, step) for name, step in workflow.steps.items() if step.state in (S.READY, S.HELD)}
    if workflow.paused is not None:
        ready = {f"S//{workflow.key.namespace}/{workflow.key.workflow_type}"}
    assert workflow.ready == (() if workflow.inert else tuple(sorted(ready)))
    sessions = {step.claim.session_id for step in workflow.steps.values() if step.claim is not None}
    assert workflow.sessions == tuple(sorted(sessions))
    assert (workflow.end_time, workflow.expire_time) == (None, None)
    if workflow.state in STOPPING:
        ordinary = {state_of(workflow, name) for name in definition.ordinary}
        assert not ordinary & LIVE, "new or unasked work in a stopping workflow"

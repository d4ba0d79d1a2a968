"""What people may do to a running or ended workflow: pause, resume, terminate, replay, resolve a step.

A verb with a `request_id` that is remembered changes nothing. Every function returns False for such a repeat.
"""

from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.effects import ClaimLost, StepReady, WorkflowEnded
from perdure_server.kernel.hooks import ended as hook_ended
from perdure_server.kernel.hooks import is_required
from perdure_server.kernel.outcomes import Completed, Failed
from perdure_server.kernel.progress import complete_step, fail_workflow, reopen_steps, settle_down, spread
from perdure_server.kernel.readiness import make_ready
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.timing import fire_due
from perdure_server.kernel.transitions import StepEvent, WorkflowEvent
from perdure_server.kernel.values import LossCause
from perdure_server.kernel.workflow import CLAIMED, STEP_ENDS, Paused, Settled, StepState, WorkflowState

_ACTIONS = limits.REQUEST_IDS


def remember(draft: Draft, request_id: str) -> bool:
    """Note a request id; False = it was noted before."""
    known = draft.get("actions", draft.workflow.actions)
    if request_id and request_id in known:
        return False
    if request_id:
        draft.set(actions=(*known[-(_ACTIONS - 1) :], request_id))
    return True


def pause(draft: Draft, paused: Paused, request_id: str) -> bool:
    """No grants from now on; results, leases, attempt timeouts and signals go on. Raises Rejection WORKFLOW_STATE_INVALID, WORKFLOW_CLOSED."""
    if not remember(draft, request_id):
        return False
    fire_due(draft)
    if draft.state is not WorkflowState.RUNNING:
        raise _closed_or(draft, Reason.WORKFLOW_STATE_INVALID, "Only a running workflow can be paused.")
    if draft.workflow.paused is not None:
        return False
    draft.set(paused=replace(paused, since=draft.now))
    draft.note_workflow(draft.state, "PAUSED")
    return True


def resume(draft: Draft, request_id: str) -> bool:
    """Grants again; queue, step and workflow timeouts move by the pause, user timers do not. Raises Rejection WORKFLOW_NOT_PAUSED."""
    if not remember(draft, request_id):
        return False
    paused = draft.workflow.paused
    if paused is None:
        raise _closed_or(draft, Reason.WORKFLOW_NOT_PAUSED, "The workflow is not paused.")
    moved = draft.now - paused.since
    draft.set(paused=None)
    deadline = draft.workflow.deadline
    if deadline is not None:
        draft.set(deadline=min(deadline + moved, limits.TIME))
    for name, step in draft.active():
        fields: dict[str, object] = {}
        if step.step_deadline is not None:
            fields["step_deadline"] = min(step.step_deadline + moved, limits.TIME)
        if step.state is StepState.READY:
            draft.effects.append(StepReady(name))
            if step.due is not None:
                fields["due"] = min(step.due + moved, limits.TIME)
        if fields:
            draft.amend(name, **fields)
    draft.note_workflow(draft.state, "RESUMED")
    fire_due(draft)
    return True


def terminate(draft: Draft, reason: str, request_id: str) -> bool:
    """Fence all tokens and end at once, without hooks. Raises Rejection WORKFLOW_CLOSED."""
    if not remember(draft, request_id):
        return False
    if draft.workflow.is_ended:
        raise _closed_or(draft, Reason.WORKFLOW_CLOSED, "The workflow has ended.")
    fence_all(draft, LossCause.CLOSED)
    draft.set(
        cancel_reason=reason,
        paused=None,
        end_time=draft.now,
        deadline=None,
        grace_deadline=None,
        expire_time=draft.now + draft.workflow.retention,
    )
    draft.turn(WorkflowEvent.TERMINATE, WorkflowState.TERMINATED)
    draft.effects.append(WorkflowEnded())
    return True


def fence_all(draft: Draft, cause: LossCause) -> None:
    """Take every claim away and end every step that has not ended."""
    for plan in draft.definition.steps:
        step = draft.step(plan.name)
        if step.state in STEP_ENDS or (step.state is StepState.BLOCKED and plan.name in draft.definition.hook_steps):
            continue
        fields: dict[str, object] = {"due": None, "wait": ()}
        if step.state in CLAIMED:
            claim = draft.claim(plan.name)
            draft.effects.append(ClaimLost(plan.name, claim, cause))
            fields |= {"claim": None, "settled": draft.settle(plan.name, "lost", Settled(claim.nonce, cause=cause))}
        draft.move(plan.name, StepEvent.TERMINATE, StepState.CANCELLED, **fields)


def replay(draft: Draft, reopen: tuple[str, ...], request_id: str) -> bool:
    """Reopen an ended workflow: the fence rises, the replay is prepared, then all that did not complete begins anew.

    Raises Rejection WORKFLOW_NOT_CLOSED, and FieldViolation for steps that the definition does not have.
    """
    if not remember(draft, request_id):
        return False
    workflow = draft.workflow
    if not workflow.is_ended:
        raise Rejection(Reason.WORKFLOW_NOT_CLOSED, "Only an ended workflow can be replayed.", state=workflow.state.name)
    unknown = [name for name in reopen if name not in draft.definition.ordinary]
    if unknown:
        raise FieldViolation([("reopen_steps", f"{name!r} is no step of the definition") for name in unknown])
    nothing = not reopen and all(draft.step(name).state is StepState.COMPLETED for name in draft.definition.ordinary)
    if nothing:
        raise Rejection(Reason.WORKFLOW_STATE_INVALID, "Every step is completed: name the steps to reopen.", state=workflow.state.name)
    timeout = draft.definition.workflow_timeout
    draft.set(
        fence=max(workflow.fence + 1, draft.now),
        replays=workflow.replays + 1,
        reopen=reopen,
        passed_hooks=(),
        failure=None,
        failed_step="",
        output=None,
        end_time=None,
        expire_time=None,
        cancel_reason="",
        cancel_request_id="",
        cancel_time=None,
        deadline=min(draft.now + timeout, limits.TIME) if timeout is not None else None,
    )
    draft.turn(WorkflowEvent.REPLAY, WorkflowState.PREPARING_REPLAY)
    settle_down(draft)
    return True


def resolve(draft: Draft, name: str, resolution: Completed | Failed | None, request_id: str, *, retry: bool) -> bool:
    """A person decides about a HELD step, or passes a hook: completed, failed, tried again (`retry`), or passed over (None).

    Raises Rejection STEP_NOT_FOUND, STEP_STATE_INVALID.
    """
    if not remember(draft, request_id):
        return False
    if name not in draft.definition.by_name:
        raise Rejection(Reason.STEP_NOT_FOUND, "The definition has no such step.", step=name)
    step = draft.step(name)
    is_hook = name in draft.definition.hook_steps and step.state not in STEP_ENDS and step.state is not StepState.BLOCKED
    if step.state is not StepState.HELD and not is_hook:
        raise Rejection(
            Reason.STEP_STATE_INVALID, "Only a held step, or a hook under way, can be resolved.", step=name, state=step.state.name
        )
    fields: dict[str, object] = {"due": None, "wait": (), "notice_time": None}
    if step.claim is not None:
        draft.effects.append(ClaimLost(name, step.claim, LossCause.CANCELLED))
        fields |= {"claim": None, "settled": draft.settle(name, "lost", Settled(step.claim.nonce, cause=LossCause.CANCELLED))}
    if is_hook:
        draft.move(name, StepEvent.RESOLVED, StepState.SKIPPED if resolution is None else StepState.COMPLETED, **fields)
        hook_ended(draft, name)
        settle_down(draft)
    elif retry:
        make_ready(draft, name, StepEvent.RESOLVED, **(fields | {"attempt": 0, "total_attempts": step.total_attempts + step.attempt}))
    elif isinstance(resolution, Completed):
        complete_step(draft, name, StepEvent.RESOLVED, resolution.output, **fields)
    elif isinstance(resolution, Failed):
        draft.move(name, StepEvent.RESOLVED, StepState.FAILED, failure=resolution.failure, **fields)
        fail_workflow(draft, name, resolution.failure)
    else:
        draft.move(name, StepEvent.RESOLVED, StepState.SKIPPED, skipped_by=name, **fields)
        spread(draft, name)
    return True


def _closed_or(draft: Draft, reason: Reason, text: str) -> Rejection:
    if draft.workflow.is_ended:
        return Rejection(Reason.WORKFLOW_CLOSED, "The workflow has ended.", state=draft.workflow.state.name)
    return Rejection(reason, text, state=draft.state.name)


__all__ = ["fence_all", "is_required", "pause", "remember", "reopen_steps", "replay", "resolve", "resume", "terminate"]

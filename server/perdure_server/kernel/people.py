"""What people may do to a running or ended workflow: pause, resume, terminate, replay.

A verb with a `request_id` that is remembered changes nothing. Every function returns False for such a repeat; those that take the request's
`content` (a digest) raise Rejection REQUEST_ID_REUSED if the same id came with another.
"""

from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.effects import ClaimLost, StepReady
from perdure_server.kernel.progress import close, join, settle_down
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.reopening import reopened
from perdure_server.kernel.requests import is_known, with_request
from perdure_server.kernel.timing import fire_due
from perdure_server.kernel.transitions import StepEvent, WorkflowEvent
from perdure_server.kernel.values import LossCause
from perdure_server.kernel.workflow import CLAIMED, ENDED, STEP_ENDS, Paused, Settled, StepState, Workflow, WorkflowState


def is_repeat(workflow: Workflow, verb: str, request_id: str, content: str = "") -> bool:
    """Whether this request is remembered. Raises Rejection REQUEST_ID_REUSED."""
    return is_known(workflow.actions, verb, request_id, content)


def remember(draft: Draft, verb: str, request_id: str, content: str = "") -> None:
    """Note a request, of the last limits.REQUEST_IDS."""
    if request_id:
        draft.set(actions=with_request(draft.get("actions", draft.workflow.actions), verb, request_id, content))


def pause(draft: Draft, paused: Paused, request_id: str) -> bool:
    """No grants from now on; results, leases, attempt timeouts and signals go on. False = it is paused already.

    Raises Rejection WORKFLOW_STATE_INVALID, WORKFLOW_CLOSED.
    """
    if is_repeat(draft.workflow, "pause", request_id):
        return False
    fire_due(draft)
    if draft.state is not WorkflowState.RUNNING:
        raise _closed_or(draft, Reason.WORKFLOW_STATE_INVALID, "Only a running workflow can be paused.")
    remember(draft, "pause", request_id)
    if draft.paused is not None:
        return False
    draft.set(paused=replace(paused, since=draft.now))
    draft.note_workflow(draft.state, "PAUSED")
    return True


def resume(draft: Draft, request_id: str) -> bool:
    """Grants again; queue, step and workflow timeouts move by the pause, user timers do not. False = it is not paused.

    Raises Rejection WORKFLOW_CLOSED.
    """
    if is_repeat(draft.workflow, "resume", request_id):
        return False
    paused = draft.paused
    if paused is None and draft.workflow.is_ended:
        raise _closed_or(draft, Reason.WORKFLOW_CLOSED, "The workflow has ended.")
    if paused is None:
        return False
    remember(draft, "resume", request_id)
    draft.set(paused=None)
    _move_timeouts(draft, draft.now - paused.since)
    draft.note_workflow(draft.state, "RESUMED")
    for name, step in draft.active():
        if step.children is not None:
            join(draft, name)
    fire_due(draft)
    return True


def _move_timeouts(draft: Draft, pause: int) -> None:
    deadline = draft.workflow.deadline
    if deadline is not None:
        draft.set(deadline=min(deadline + pause, limits.TIME))
    for name, step in draft.active():
        fields: dict[str, object] = {}
        if step.step_deadline is not None:
            fields["step_deadline"] = min(step.step_deadline + pause, limits.TIME)
        if step.state is StepState.READY:
            draft.effects.append(StepReady(name))
            if step.due is not None:
                fields["due"] = min(step.due + pause, limits.TIME)
        if fields:
            draft.amend(name, **fields)


def terminate(draft: Draft, reason: str, request_id: str) -> bool:
    """Fence all tokens and end at once, without hooks. Raises Rejection WORKFLOW_CLOSED."""
    if is_repeat(draft.workflow, "terminate", request_id):
        return False
    if draft.workflow.is_ended:
        raise _closed_or(draft, Reason.WORKFLOW_CLOSED, "The workflow has ended.")
    remember(draft, "terminate", request_id)
    for name in draft.definition.by_name:
        fence(draft, name, LossCause.CLOSED)
    draft.set(cancel_reason=reason)
    close(draft, WorkflowEvent.TERMINATE, WorkflowState.TERMINATED)
    return True


def fence(draft: Draft, name: str, cause: LossCause) -> None:
    """Take a step's claim away and end it, if it has not ended. A hook that has not begun stays as it is."""
    step = draft.step(name)
    if step.state in STEP_ENDS or (step.state is StepState.BLOCKED and name in draft.definition.hook_steps):
        return
    fields = taken_claim(draft, name, cause) if step.state in CLAIMED else {}
    draft.move(name, StepEvent.TERMINATE, StepState.CANCELLED, **fields)


def taken_claim(draft: Draft, name: str, cause: LossCause) -> dict[str, object]:
    """The fields of a step whose claim is taken away; its holder is told."""
    claim = draft.claim(name)
    draft.effects.append(ClaimLost(name, claim, cause))
    return {"claim": None, "settled": draft.settle(name, "lost", Settled(claim.nonce, cause=cause))}


def replay(draft: Draft, reopen: tuple[str, ...], request_id: str, content: str = "") -> bool:
    """Reopen an ended workflow: the fence rises, the replay is prepared, then all that did not complete begins anew.

    Raises Rejection WORKFLOW_NOT_CLOSED, or WORKFLOW_STATE_INVALID if that is nothing, and FieldViolation for steps that cannot reopen.
    """
    if is_repeat(draft.workflow, "replay", request_id, content):
        return False
    workflow = draft.workflow
    if not workflow.is_ended:
        raise Rejection(Reason.WORKFLOW_NOT_CLOSED, "Only an ended workflow can be replayed.", state=workflow.state.name)
    if workflow.archived:
        raise Rejection(Reason.ROUND_ARCHIVED, "Only the current round of a key can be replayed.", round=str(workflow.round))
    unknown = [name for name in reopen if name not in draft.definition.ordinary]
    if unknown:
        raise FieldViolation([("reopen_steps", f"{name!r} is no step of the definition's order") for name in unknown])
    not_begun = [name for name in reopen if draft.step(name).state is StepState.SKIPPED and name not in reopened(draft, reopen)]
    if not_begun:
        raise FieldViolation(
            [("reopen_steps", f"{name!r} is of a branch that was not taken; name the step that chose") for name in not_begun]
        )
    if not reopened(draft, reopen):
        raise Rejection(Reason.WORKFLOW_STATE_INVALID, "Every step is completed: name the steps to reopen.", state=workflow.state.name)
    remember(draft, "replay", request_id, content)
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
        cancel_actor="",
        cancel_time=None,
    )
    draft.turn(WorkflowEvent.REPLAY, WorkflowState.PREPARING_REPLAY)
    settle_down(draft)
    return True


def _closed_or(draft: Draft, reason: Reason, text: str) -> Rejection:
    if draft.state in ENDED:
        return Rejection(Reason.WORKFLOW_CLOSED, "The workflow has ended.", state=draft.state.name)
    return Rejection(reason, text, state=draft.state.name)

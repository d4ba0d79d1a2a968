"""Cancel is a request: no new steps, the running ones are told, and the end is stored when all is quiet."""

from perdure_server.kernel.draft import Draft
from perdure_server.kernel.people import is_repeat, remember
from perdure_server.kernel.progress import settle_down, stop_all
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.timing import fire_due
from perdure_server.kernel.transitions import WorkflowEvent
from perdure_server.kernel.workflow import WorkflowState


def cancel(draft: Draft, reason: str, request_id: str, own_id: str = "", actor: str = "") -> bool:
    """True = accepted now, False = it was cancelling already, or this request_id is remembered. `own_id` stands for an absent one.

    Raises Rejection WORKFLOW_FAILING or WORKFLOW_CLOSED, by the table of design/2-kernel.
    """
    state = draft.workflow.state
    repeat = is_repeat(draft.workflow, "cancel", request_id or own_id)
    if repeat or (request_id and request_id == draft.workflow.cancel_request_id):
        return False
    if state in (WorkflowState.RUNNING, WorkflowState.PREPARING_REPLAY):
        fire_due(draft)
        state = draft.state
    if state is WorkflowState.CANCELLING:
        return False
    if state is WorkflowState.FAILING:
        raise Rejection(Reason.WORKFLOW_FAILING, "The workflow is failing; its end is already decided.", state=state.name)
    if state not in (WorkflowState.RUNNING, WorkflowState.PREPARING_REPLAY):
        raise Rejection(Reason.WORKFLOW_CLOSED, "The workflow has ended.", state=state.name)
    remember(draft, "cancel", request_id or own_id)
    draft.set(cancel_reason=reason, cancel_actor=actor, cancel_request_id=request_id, cancel_time=draft.now)
    draft.turn(WorkflowEvent.CANCEL, WorkflowState.CANCELLING)
    stop_all(draft)
    settle_down(draft)
    return True

"""A workflow that comes from a file: its claims, open children and duties are of another world, and it rests until a person resumes it."""

from perdure_server.kernel import limits
from perdure_server.kernel.children import tend_at
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.progress import settle_down
from perdure_server.kernel.transitions import StepEvent
from perdure_server.kernel.values import Paused
from perdure_server.kernel.workflow import STEP_ENDS, Step, StepState, Workflow


def open_children(workflow: Workflow) -> list[str]:
    """The steps that still count children: the file does not hold those, and a copy would start them a second time."""
    return [
        name
        for name, step in workflow.steps.items()
        if step.state not in STEP_ENDS and step.children is not None and step.children.open and not step.children.over
    ]


def rest(draft: Draft, paused: Paused) -> None:
    """Bring a workflow that had not ended to rest. Its steps are without claims by now; it ends here if nothing is left for it to do."""
    draft.set(paused=paused)
    for name, step in draft.active():
        if step.state is StepState.CANCELLING:
            draft.move(name, StepEvent.GRACE_OVER, StepState.CANCELLED)  # there is nobody to wait for
        elif step.children is not None and not step.children.over:
            tend_at(draft, name, draft.now + limits.CHILDREN_MADE_WITHIN)
    for name, step in draft.active():
        if step.state is StepState.READY:
            _begin_queue_time(draft, name, step)
    settle_down(draft)


def _begin_queue_time(draft: Draft, name: str, step: Step) -> None:
    # What was claimed had none any more; what lacked permits had stopped it.
    timeout = None if draft.definition.is_required(name) else draft.plan(name).queue_timeout
    if timeout is not None and step.due is None:
        left = timeout if step.queue_left is None else step.queue_left
        draft.amend(name, due=min(draft.plan_time + left, limits.TIME), queue_left=None)
    elif step.queue_left is not None:
        draft.amend(name, queue_left=None)

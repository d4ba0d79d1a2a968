"""UpdateStepOptions: what may be changed of one step's policy in one workflow, and what that does to a step that is under way."""

from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition, StepDefinition, StepOptions
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.effects import StepRequeued
from perdure_server.kernel.people import is_repeat, remember
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.seal import queue_id
from perdure_server.kernel.timing import fire_due
from perdure_server.kernel.workflow import CLAIMED, STEP_ENDS, StepState, Workflow


def update_options(draft: Draft, name: str, options: StepOptions, request_id: str, content: str = "") -> bool:
    """Change fields of the step's policy; timeouts that run already are moved at once. False = a repeat.

    Raises Rejection STEP_NOT_FOUND, WORKFLOW_CLOSED.
    """
    if is_repeat(draft.workflow, "options", request_id, content):
        return False
    if name not in draft.definition.by_name:
        raise Rejection(Reason.STEP_NOT_FOUND, "The definition has no such step.", step=name)
    if draft.workflow.is_ended:
        raise Rejection(Reason.WORKFLOW_CLOSED, "The workflow has ended.", state=draft.workflow.state.name)
    fire_due(draft)
    before, queued_in = draft.plan(name), queue_id(draft.definition, draft.workflow, name)
    remember(draft, "options", request_id, content)
    if "queue" in options.fields:  # what the start chose stands above the policy, so this must stand there
        draft.set(step_queues=draft.workflow.step_queues | {name: options.values.queue})
    known = draft.workflow.step_options
    draft.set(step_options=known | {name: merged(known.get(name), options)})
    draft.definition = draft.definition.with_options({name: options})
    draft.note_workflow(draft.state, "STEP_OPTIONS")
    follow_policy(draft, name, before)
    if draft.step(name).state is StepState.READY and draft.paused is None:
        draft.effects.append(StepRequeued(name, queued_in))
    return True


def merged(old: StepOptions | None, new: StepOptions) -> StepOptions:
    """Both changes, the newer one where they meet."""
    if old is None:
        return new
    return StepOptions(tuple(sorted({*old.fields, *new.fields})), new.apply(old.values))


def as_run(definition: Definition, workflow: Workflow) -> Definition:
    """The definition as this workflow runs it."""
    return definition.with_options(workflow.step_options) if workflow.step_options else definition


def follow_policy(draft: Draft, name: str, before: StepDefinition) -> None:
    """Move the timeouts of a step that is under way from those of `before` to those that it has now."""
    step, plan = draft.step(name), draft.plan(name)
    if step.state in STEP_ENDS or step.state is StepState.BLOCKED:
        return
    fields = _step_time(draft, name, before)
    if step.claim is not None and plan.attempt_timeout != before.attempt_timeout and step.state in CLAIMED:
        fields["claim"] = replace(step.claim, deadline=min(step.claim.granted + plan.attempt_timeout, limits.TIME))
    if step.state is StepState.READY and plan.queue_timeout != before.queue_timeout and not draft.definition.is_required(name):
        if step.throttled is None:
            fields["due"] = _moved(step.due, before.queue_timeout, plan.queue_timeout, draft.plan_time)
        else:  # its queue time has stopped
            fields["queue_left"] = _left(step.queue_left, before.queue_timeout, plan.queue_timeout)
    if fields:
        draft.amend(name, **fields)


def _step_time(draft: Draft, name: str, before: StepDefinition) -> dict[str, object]:
    step, plan = draft.step(name), draft.plan(name)
    if plan.step_timeout is None or draft.definition.is_required(name):
        # It may have had one as an ordinary step, or by an option of its own.
        return {} if step.step_deadline is None and step.step_left is None else {"step_deadline": None, "step_left": None}
    if plan.step_timeout == before.step_timeout:
        return {}
    if step.step_left is not None and before.step_timeout is not None:  # a wait has stopped the clock
        return {"step_left": max(0, step.step_left + plan.step_timeout - before.step_timeout)}
    if step.state is StepState.HELD or (step.state is StepState.WAITING and not plan.step_timeout_includes_waits):
        return {}
    return {"step_deadline": _moved(step.step_deadline, before.step_timeout, plan.step_timeout, draft.plan_time)}


def _left(left: int | None, before: int | None, after: int | None) -> int | None:
    """What is left of a timeout that has stopped; one that is new has not begun."""
    if after is None or left is None or before is None:
        return after
    return max(0, left + after - before)


def _moved(due: int | None, before: int | None, after: int | None, now: int) -> int | None:
    """When a timeout ends that began at `due` - `before`; one that is new begins now."""
    if after is None:
        return None
    began = due - before if due is not None and before is not None else now
    return min(began + after, limits.TIME)

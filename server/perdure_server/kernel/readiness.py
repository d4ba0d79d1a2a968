"""Making a step READY, and the clocks that run with it: queue time, and the time of all attempts together.

A required hook has neither: nothing but success, or a person, ends it.
"""

from perdure_server.kernel import limits
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.effects import StepReady
from perdure_server.kernel.transitions import StepEvent
from perdure_server.kernel.workflow import StepState


def make_ready(draft: Draft, name: str, event: StepEvent, **fields: object) -> None:
    """READY, and to be announced. Its queue time begins; so does its step time, unless it runs already."""
    timeout = None if draft.definition.is_required(name) else draft.plan(name).queue_timeout
    due = None if timeout is None else min(draft.plan_time + timeout, limits.TIME)
    draft.move(name, event, StepState.READY, due=due, **(step_clock(draft, name) | fields))
    draft.effects.append(StepReady(name))


def step_clock(draft: Draft, name: str) -> dict[str, object]:
    """The fields that let the step's own time run (on)."""
    step, timeout = draft.step(name), draft.plan(name).step_timeout
    if timeout is None or step.step_deadline is not None or draft.definition.is_required(name):
        return {}
    left = timeout if step.step_left is None else step.step_left
    return {"step_deadline": min(draft.plan_time + left, limits.TIME), "step_left": None}


def stopped_clock(draft: Draft, name: str) -> dict[str, object]:
    """The fields that stop the step's own time while it waits, unless its waits are counted."""
    step, plan = draft.step(name), draft.plan(name)
    if plan.step_timeout_includes_waits:
        return step_clock(draft, name)
    if step.step_deadline is None:
        return {}
    return {"step_deadline": None, "step_left": max(0, step.step_deadline - draft.plan_time)}

"""Permits as one workflow sees them: what a claim must bring, and a READY step that lacks them. Resources themselves: resources.py."""

from perdure_server.kernel import limits
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import HeldPermit, StepState, Throttle


class PermitsLacking(Rejection):
    """The step is READY, but the ticket's permits are not those that it needs, or were taken for another run or revision."""

    def __init__(self, step: str) -> None:
        super().__init__(Reason.STEP_STATE_INVALID, "The step needs permits that are taken for it as it is now.", step=step)


def require_permits(draft: Draft, name: str, brought: tuple[HeldPermit, ...], taken_for: tuple[str, int]) -> None:
    """Raise PermitsLacking unless the ticket brings what the step needs, taken for the very revision that this write is based on.

    So a holder whose workflow has moved beyond its revision can never become a claim, and whoever finds it may free it.
    """
    units: dict[str, int] = {}
    for permit in brought:
        units[permit.resource] = units.get(permit.resource, 0) + permit.units
    workflow = draft.workflow
    if taken_for != (workflow.run_id, workflow.revision) or units != {permit.resource: permit.units for permit in draft.plan(name).permits}:
        raise PermitsLacking(name)


def throttle(draft: Draft, name: str, resource: str, key: str, since: int) -> bool:
    """Note that a READY step lacks permits; its queue time stops. False = it is not READY, or nothing is new.

    Waiting for permits is no transition: the step stays READY, and no attempt is charged.
    """
    step = draft.step(name)
    if step.state is not StepState.READY:
        return False
    if step.throttled is None:
        left = None if step.due is None else max(0, step.due - draft.plan_time)
        throttled = Throttle(resource, min(max(since, step.since), draft.now), key)
        draft.amend(name, throttled=throttled, permit_waits=step.permit_waits + 1, queue_left=left, due=None)
        return True
    if (step.throttled.resource, step.throttled.key) == (resource, key):
        return False
    draft.amend(name, throttled=Throttle(resource, step.throttled.since, key))
    return True


def relax(draft: Draft, name: str) -> bool:
    """The permits are there, but no worker is: the step waits in its queue again, and its queue time goes on.

    False = it was not throttled.
    """
    step = draft.step(name)
    if step.throttled is None:
        return False
    waited = step.permit_wait_time + draft.now - step.throttled.since
    due = None if step.queue_left is None else min(draft.plan_time + step.queue_left, limits.TIME)
    draft.amend(name, throttled=None, queue_left=None, due=due, permit_wait_time=waited)
    return True

"""What a throttled step waits for: how much of the resource is in use, by whom, and how many wait before it."""

from collections.abc import Sequence

from msgspec import Struct

from perdure_server.engine.permits import Permits
from perdure_server.kernel import limits
from perdure_server.kernel.definition import StepDefinition
from perdure_server.kernel.resources import Holder, Stripe
from perdure_server.kernel.seal import line_id
from perdure_server.kernel.workflow import Step, Workflow
from perdure_server.ports.clock import Clock
from perdure_server.ports.resources import Resources

_STRIPES = 1_000
_HOLDERS = 10


class PermitFacts(Struct, frozen=True):
    """The resource that a step lacks. `capacity` 0 also where there is no such resource; `exists` tells them apart."""

    resource: str
    key: str
    units: int
    in_use: int
    capacity: int
    exists: bool
    ahead: int
    holders: tuple[Holder, ...]
    since: int


class PermitExplainer:
    """Reads the resource and its stripes."""

    def __init__(self, resources: Resources, permits: Permits, clock: Clock) -> None:
        self._resources = resources
        self._permits = permits
        self._clock = clock

    async def facts(self, workflow: Workflow, plan: StepDefinition, step: Step) -> PermitFacts | None:
        """None if the step is not throttled. Raises StoreUnavailable."""
        throttled = step.throttled
        if throttled is None:
            return None
        namespace, name, key = workflow.key.namespace, throttled.resource, throttled.key
        resource = await self._resources.get(namespace, name)
        stripes = await self._resources.stripes(namespace, name, key, _STRIPES)
        holders = sorted((holder for stripe in stripes for holder in stripe.holders), key=lambda holder: holder.since)
        return PermitFacts(
            resource=name,
            key=key,
            units=next((permit.units for permit in plan.permits if permit.resource == name), 1),
            in_use=sum(stripe.in_use for stripe in stripes),
            capacity=(resource.capacity or 0) if resource is not None else 0,
            exists=resource is not None,
            ahead=self._ahead(workflow, plan.name, step.since, stripes),
            holders=tuple(holders[:_HOLDERS]),
            since=throttled.since,
        )

    def _ahead(self, workflow: Workflow, name: str, since: int, stripes: Sequence[Stripe]) -> int:
        throttled = workflow.steps[name].throttled
        assert throttled is not None, "asked for throttled steps only"
        line = self._permits.known_line(line_id(workflow.key.namespace, throttled.resource, throttled.key))
        if line is not None and self._permits.knows(workflow.workflow_id, name):
            return line.ahead(since)
        now = self._clock.unshifted()
        words = [found for stripe in stripes for found in stripe.waiting]
        return sum(max(0, found.count - 1) for found in words if found.oldest < since and now - found.time <= 2 * limits.WAITING_FRESH_FOR)

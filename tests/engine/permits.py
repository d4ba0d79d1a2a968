"""Watches over permits: after every write of a workflow or a stripe, holders >= current claims, and never above what was put."""

from typing import TYPE_CHECKING, Any, cast

from perdure_server.engine.service import Engine
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Permit, StepDefinition
from perdure_server.kernel.resources import Rate, Resource, Stripe
from perdure_server.kernel.values import RetryPolicy
from perdure_server.kernel.workflow import Workflow
from perdure_server.store.memory import MemoryWorkflows
from perdure_server.store.memory_resources import MemoryResources
from tests.kernel.harness import activity

if TYPE_CHECKING:
    from tests.engine.harness import World


def limited(text: str = "a", **fields: Any) -> StepDefinition:
    """A step that needs one permit of `llm`, unless told otherwise."""
    return activity(text, **({"permits": (Permit("llm"),), "retry": RetryPolicy(max_attempts=50, jitter=0.0)} | fields))


class Permits:
    """The truth about permits in the world's store."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.allowed: dict[str, int] = {}  # per key: the capacity, or what was held when it was lowered
        self.most: dict[str, int] = {}
        self.writes = 0
        self._decoded: dict[bytes, tuple[bytes, Workflow | None]] = {}
        self._resources = cast("MemoryResources", world.store.resources)
        self._wrap()

    async def put(self, engine: Engine, name: str = "llm", capacity: int | None = None, **fields: Any) -> Resource:
        """Put a resource as people do."""
        old = self._resources._resources.get(("default", name))
        rate = fields.pop("rate", None)
        made = Resource("default", name, capacity, Rate(*rate) if rate else None, **fields)
        wanted = capacity if capacity is not None else 10**9
        self.allowed[name] = max(wanted, self.allowed.get(name, 0), self._most_held(name))
        stored = await engine.permits.resources.put(old, made)
        self.allowed[name] = max(wanted, self._most_held(name))  # lowering drains
        return stored

    def _most_held(self, name: str) -> int:
        held: dict[str, int] = {}
        for stripe in self.stripes(name):
            held[stripe.key] = held.get(stripe.key, 0) + stripe.in_use
        return max(held.values(), default=0)

    def stripes(self, name: str = "llm") -> list[Stripe]:
        """As stored."""
        return [stripe for stripe in self._resources._stripes.values() if stripe.resource == name]

    def held(self, name: str = "llm") -> int:
        """Units held."""
        return sum(stripe.in_use for stripe in self.stripes(name))

    def claims(self, name: str = "llm") -> int:
        """Units that current claims say they hold."""
        return sum(units for (resource, _), units in self._claimed().items() if resource == name)

    def workflows(self) -> list[Workflow]:
        """All of them."""
        found = cast("MemoryWorkflows", self.world.store.workflows)
        for key, stored in found._stored.items():
            known = self._decoded.get(key)
            if known is None or known[0] is not stored.raw:
                self._decoded[key] = stored.raw, found._load(key)
        return [workflow for key, (_, workflow) in self._decoded.items() if workflow is not None and key in found._stored]

    def _claimed(self) -> dict[tuple[str, str], int]:
        units: dict[tuple[str, str], int] = {}
        for workflow in self.workflows():
            for step in workflow.steps.values():
                for permit in step.claim.permits if step.claim is not None else ():
                    key = permit.resource, permit.key
                    units[key] = units.get(key, 0) + permit.units
        return units

    def check(self) -> None:
        """The invariants that hold after every single write."""
        held: dict[tuple[str, str, int], Stripe] = {
            (stripe.resource, stripe.key, stripe.number): stripe for stripe in self._resources._stripes.values()
        }
        totals: dict[tuple[str, str], int] = {}
        for workflow in self.workflows():
            for name, step in workflow.steps.items():
                for permit in step.claim.permits if step.claim is not None else ():
                    assert step.claim is not None
                    stripe = held.get((permit.resource, permit.key, permit.stripe))
                    holder = stripe.by_nonce.get(step.claim.nonce) if stripe is not None else None
                    assert holder is not None, f"{workflow.key.business_key}/{name} runs without its permit of {permit.resource}"
                    assert holder.units == permit.units
                    assert holder.run_id == workflow.run_id
                    totals[permit.resource, permit.key] = totals.get((permit.resource, permit.key), 0) + permit.units
        for (resource, key), units in totals.items():
            most = self.allowed.get(resource)
            assert most is None or units <= most, f"{units} units of {resource} {key} are in use, {most} are allowed"
            self.most[resource] = max(self.most.get(resource, 0), units)

    def quiet(self) -> None:
        """When nothing is under way, holders are exactly the claims."""
        self.check()
        for name in {stripe.resource for stripe in self._resources._stripes.values()}:
            assert self.held(name) == self.claims(name), f"{self.held(name)} units of {name} are held, {self.claims(name)} are in use"

    def _wrap(self) -> None:
        commit, store = self.world.store.workflows.commit, self._resources.commit

        async def workflow_committed(old: Workflow | None, new: Workflow) -> bool:
            stored = await commit(old, new)
            self.check()
            return stored

        async def stripe_committed(old: Stripe | None, new: Stripe) -> bool:
            stored = await store(old, new)
            self.writes += stored
            self.check()
            return stored

        self.world.store.workflows.commit = workflow_committed  # type: ignore[method-assign]  # a look at what is stored, on the way
        self._resources.commit = stripe_committed  # type: ignore[method-assign]  # the same

    async def audited(self) -> None:
        """Long enough for every holder to be judged."""
        await self.world.advance(limits.AUDITED_AFTER + 7 * limits.AUDIT_INTERVAL)

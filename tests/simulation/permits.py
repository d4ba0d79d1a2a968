"""Permits: after every change no more units are in use than there are, every claim holds its own, and in the end nothing is left over."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, cast

from perdure_server.kernel.definition import Permit
from perdure_server.kernel.resources import Rate, Resource, Stripe
from perdure_server.kernel.workflow import HeldPermit, Workflow
from perdure_server.store.memory_resources import MemoryResources
from tests.engine.virtual_loop import pause

if TYPE_CHECKING:
    from tests.simulation.world import Simulation

NAMES: Final = ("llm", "gpu")
LEFT_FOR: Final = 120  # s of virtual time within which what was left over by a crash must be free again


def needed(source: random.Random) -> tuple[Permit, ...]:
    """What a step needs: mostly nothing, sometimes one unit or two, of one resource or both."""
    if source.random() < 0.65:
        return ()
    names = source.choice((("llm",), ("llm",), ("gpu",), NAMES))
    return tuple(Permit(name, source.choice((1, 1, 2)) if name == "llm" else 1) for name in names)


class _Stripes(dict[bytes, Stripe]):
    """The stored stripes; every change is told."""

    def __init__(self, told: Callable[[], None]) -> None:
        super().__init__()
        self._told = told

    def __setitem__(self, key: bytes, stripe: Stripe) -> None:
        super().__setitem__(key, stripe)
        self._told()

    def __delitem__(self, key: bytes) -> None:
        super().__delitem__(key)
        self._told()


class Permits:
    """The resources of a seed, and the truth about them."""

    def __init__(self, simulation: "Simulation") -> None:
        source = random.Random(f"{simulation.seed} permits")
        self._oracle = simulation.oracle
        self._simulation = simulation
        self._capacity = {"llm": source.choice((2, 2, 3)), "gpu": source.choice((1, 2))}
        self._rate = Rate(3, 1_000, 3) if source.random() < 0.3 else None
        self._resources = cast("MemoryResources", simulation.store.resources)
        self._resources._stripes = _Stripes(self.check)
        self.most: Counter[str] = Counter()

    async def put(self) -> None:
        """As people do, before anything starts."""
        for name, capacity in self._capacity.items():
            assert await self._resources.put(None, Resource("default", name, capacity, self._rate))

    def check(self) -> None:
        """What holds after every change of a workflow or a stripe."""
        held = {(stripe.resource, stripe.number): stripe for stripe in self._resources._stripes.values()}
        used: Counter[str] = Counter()
        with self._oracle.judging():
            for workflow, nonce, permit in self._claimed():
                holder = held[permit.resource, permit.stripe].by_nonce.get(nonce)
                assert holder is not None, f"{workflow.key.business_key} runs without its permit of {permit.resource}"
                assert (holder.units, holder.run_id) == (permit.units, workflow.run_id)
                used[permit.resource] += permit.units
            for name, units in used.items():
                assert units <= self._capacity[name], f"{units} units of {name} are in use, there are {self._capacity[name]}"
        self.most |= used

    def _claimed(self) -> Iterator[tuple[Workflow, str, HeldPermit]]:
        """Every permit that a current claim says it holds."""
        for workflow in self._oracle.workflows():
            claims = [step.claim for step in workflow.steps.values() if step.claim is not None] if not workflow.inert else []
            for claim in claims:
                yield from ((workflow, claim.nonce, permit) for permit in claim.permits)

    async def at_the_end(self) -> None:
        """Whatever a crash left over is free within the time of an audit."""
        for _ in range(LEFT_FOR):
            if not self._held():
                return
            await pause(1.0)
        self._oracle.breach(f"permits leaked: {self._held()}")

    def _held(self) -> list[tuple[str, str]]:
        stripes = self._resources._stripes.values()
        return [(stripe.resource, holder.business_key) for stripe in stripes for holder in stripe.holders]

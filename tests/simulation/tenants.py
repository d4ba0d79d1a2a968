"""Two namespaces on one deployment: the same keys, the same names of types and queues, and nothing that one sees of the other."""

import asyncio
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from perdure_server.engine.selection import Selection
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.ports.store import WorkflowQuery
from tests.engine.virtual_loop import pause
from tests.simulation.callers import Caller
from tests.simulation.ingredients import Ingredient
from tests.simulation.plans import child_plan, random_plan
from tests.simulation.workers import Worker

if TYPE_CHECKING:
    from tests.simulation.world import Simulation

OTHER = "other"


class Tenants(Ingredient):
    """Another team, with a worker and callers of its own."""

    name: ClassVar[str] = "tenants"
    share = 0.15

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self._caller = Caller(simulation, "tenant")

    async def prepare(self) -> None:
        """Its definitions, and a worker."""
        await self._caller.register(_of_the_other(random_plan(self.source, "other")))
        await self._caller.register(_of_the_other(child_plan(self.source)))
        self.simulation.workers.append(Worker(self.simulation, self.simulation.name("worker"), 2, OTHER))

    async def live(self, until: float) -> None:
        """Callers of the same keys; and somebody who lists."""
        callers = [
            self.simulation.spawn(
                Caller(self.simulation, self.simulation.name("tenant")).live(WorkflowKey(OTHER, "note", f"k{number}"), number % 2, 3)
            )
            for number in range(self.source.choice((1, 2)))
        ]
        while self.simulation.loop.time() < until:
            await pause(1.0 + self.source.random() * 3.0)
            for namespace in (OTHER, "default"):
                await self._list(namespace)
        await asyncio.gather(*callers)

    async def _list(self, namespace: str) -> None:
        selection = Selection(WorkflowQuery(namespace))
        page = await self._caller.call(lambda engine: engine.listing.page(selection, 100, None))
        self.count("rows listed by namespace", len(page.views))
        with self.simulation.oracle.judging():
            assert {view.workflow.key.namespace for view in page.views} <= {namespace}


def _of_the_other(definition: Definition) -> Definition:
    """The same there, without permits: its resources are not ours."""
    return replace(definition, namespace=OTHER, steps=tuple(replace(step, permits=()) for step in definition.steps))

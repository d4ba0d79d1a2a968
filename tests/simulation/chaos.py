"""What goes wrong in a seed, and when."""

import random
from typing import TYPE_CHECKING

from tests.engine.virtual_loop import pause
from tests.simulation.weather import flush
from tests.simulation.workers import Worker

if TYPE_CHECKING:
    from tests.simulation.world import Simulation


class Chaos:
    """One misfortune after the other, each with its own recovery."""

    def __init__(self, simulation: "Simulation") -> None:
        self._simulation = simulation
        self._source = random.Random(f"{simulation.seed} chaos")
        self._weather = simulation.weather
        self._kinds = self._source.sample(("crash", "store", "redis", "workers", "drain"), self._source.choice((1, 2, 3)))

    def begin(self) -> None:
        """How bad this seed is all the time."""
        self._weather.failures = self._source.choice((0.0, 0.02, 0.1))
        self._weather.delays = self._source.choice((0.0, 0.05, 0.3))
        self._weather.stale = self._source.choice((0.0, 0.0, 0.1))

    async def live(self, until: float) -> None:
        """Go on until then (loop time in s)."""
        loop = self._simulation.loop
        while loop.time() < until:
            await pause(0.2 + self._source.random() * 2.5)
            kind = self._source.choice(self._kinds)
            await getattr(self, f"_{kind}")()

    async def _crash(self) -> None:
        server = self._simulation.fleet.pick(self._source)
        if server is not None:
            server.operations_left = self._source.randrange(1, 60)
        await pause(self._source.random() * 2.0)
        await self._simulation.fleet.fill()

    async def _drain(self) -> None:
        server = self._simulation.fleet.pick(self._source)
        if server is not None:
            await server.leave(1_000)
        await self._simulation.fleet.fill()

    async def _store(self) -> None:
        self._weather.store_away = True
        await pause(self._source.choice((0.1, 1.0, 4.0)))
        self._weather.store_away = False
        await self._simulation.fleet.fill()

    async def _redis(self) -> None:
        if self._simulation.redis is None:
            return
        if self._source.random() < 0.4:
            flush(self._simulation.redis)
            return
        self._weather.redis = self._source.choice(("away", "deaf", "refusing"))
        await pause(self._source.random() * 4.0)
        self._weather.redis = "well"

    async def _workers(self) -> None:
        simulation = self._simulation
        worker = self._source.choice(simulation.workers)
        chance = self._source.random()
        if chance < 0.4:
            worker.cut(seen=self._source.random() < 0.7)
        else:
            worker.die()
            simulation.workers.remove(worker)
            await pause(self._source.random() * 3.0)
            simulation.workers.append(Worker(simulation, simulation.name("worker"), worker.slots, worker.namespace))

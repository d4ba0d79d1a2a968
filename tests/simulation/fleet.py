"""Servers that die at any await and come back, and what it is to call them."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from perdure_server.coordination.local import LocalCoordination
from perdure_server.engine.clock import StoreClock
from perdure_server.engine.entropy import Entropy
from perdure_server.engine.service import Engine
from perdure_server.engine.settings import EngineSettings
from perdure_server.ports.errors import StoreUnavailable
from tests.engine.harness import Spans
from tests.engine.virtual_loop import pause
from tests.simulation.outboxes import Outboxes
from tests.simulation.weather import ServersCoordination, view_of

if TYPE_CHECKING:
    from tests.simulation.world import Simulation

T = TypeVar("T")

LEASE = 6_000
SKEW = 400  # ms that a server's clock may be off the store's; a clock that is off by more than a second does not serve


class Gone(Exception):
    """The connection broke: nobody knows what became of the call."""


class Server:
    """One process. `crash` ends it between two instructions; only what is stored outlives it."""

    def __init__(self, simulation: "Simulation", number: int) -> None:
        self.name = f"server-{number}"
        self.source = random.Random(f"{simulation.seed} {self.name}")
        self.crashed = False
        self.operations_left: int | None = None  # until it dies
        self.on_crash: list[Callable[[], None]] = []
        self._simulation = simulation
        self._calls: dict[asyncio.Task[Any], None] = {}
        self._clock_error = self.source.choice((0, 0, self.source.randrange(-SKEW, SKEW)))
        view = view_of(simulation.store, self, simulation.weather, simulation.oracle)
        self._view_time = view.time
        self.clock = StoreClock(self._measure, lambda: simulation.loop.milliseconds)
        shared = simulation.redis if simulation.redis is not None else LocalCoordination(self.clock)
        self.coordination = ServersCoordination(shared, self, simulation.weather)
        settings = EngineSettings(self.name, session_lease=LEASE)
        entropy = Entropy(self.source.randbytes)
        outboxes = [each.of_server(view._around) for each in simulation.ingredients if isinstance(each, Outboxes)]
        self.engine = Engine(view, self.coordination, Spans(), self.clock, settings=settings, entropy=entropy, outboxes=outboxes)

    async def open(self) -> None:
        """As main does: serve once the store's time is known. Raises StoreUnavailable."""
        await self.clock.sync()
        await self.engine.open()
        self.engine.supervisor.loop(self._keep_time, "clock")

    async def _keep_time(self) -> None:
        await self.clock.sleep(5_000)
        await self.clock.sync()

    async def _measure(self) -> tuple[int, int]:
        time, _ = await self._view_time()
        return time + self._clock_error, 2 * abs(self._clock_error)

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        """One call of a client over the network. Raises Gone if the server dies meanwhile."""
        if self.crashed:
            work.close()
            raise Gone(self.name)
        task = self._simulation.loop.create_task(work)
        self._calls[task] = None
        task.add_done_callback(lambda done: self._calls.pop(done, None))
        try:
            return await task
        except asyncio.CancelledError:
            if _is_cancelled():
                raise
            raise Gone(self.name) from None

    def operated(self) -> None:
        """One more operation; it may have been the last."""
        if self.operations_left is not None and not self.crashed:
            self.operations_left -= 1
            if self.operations_left <= 0:
                self.crash()

    def crash(self) -> None:
        """Here and now. Nothing that still runs of it reaches anything shared."""
        if self.crashed:
            return
        self.crashed = True
        supervisor = self.engine.supervisor
        self._simulation.oracle.failures(self.name, supervisor.failures)
        supervisor.closed = True
        for task in [*supervisor._works, *supervisor._loops.values(), *self._calls]:
            task.cancel()
        for tell in self.on_crash:
            tell()
        self.on_crash.clear()

    async def leave(self, grace: int) -> None:
        """An orderly stop, as at a rolling upgrade."""
        await self.engine.drain(grace)
        await pause(grace / 1_000)
        await self.close()
        self.crash()

    async def close(self) -> None:
        """The end of the seed: stop in order; nothing may be left running."""
        if not self.crashed:
            await self.engine.close()
            assert not self.engine.supervisor.running, f"left behind: {self.engine.supervisor.running}"


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class Fleet:
    """All servers of a seed. At least one comes back after every crash."""

    def __init__(self, simulation: "Simulation", size: int) -> None:
        self._simulation = simulation
        self._count = 0
        self.size = size
        self.servers: list[Server] = []
        self.dark = False  # none comes back

    @property
    def alive(self) -> list[Server]:
        """Those that can be called."""
        return [server for server in self.servers if not server.crashed]

    def pick(self, source: random.Random) -> Server | None:
        """Any that can be called, as a load balancer picks."""
        alive = self.alive
        return source.choice(alive) if alive else None

    def any(self, source: random.Random) -> Server:
        """The same. Raises Gone if there is none."""
        server = self.pick(source)
        if server is None:
            raise Gone("no server is there")
        return server

    async def fill(self) -> None:
        """Start servers until there are as many as there should be. A start that meets a store that is away is given up."""
        while len(self.alive) < self.size and not self.dark:
            self._count += 1
            server = Server(self._simulation, self._count)
            with suppress(StoreUnavailable, Gone):
                await server.call(server.open())
                self.servers.append(server)
                continue
            server.crash()
            return

    async def close(self) -> None:
        """Stop all."""
        for server in self.alive:
            await server.close()

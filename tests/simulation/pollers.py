"""A worker without a stream: it polls, renews each claim by a call, and completes by a call; any server answers any of them."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from perdure_server.engine.commands import outcome_digest
from perdure_server.engine.values import GrantedClaim, HeldIn, Hello, ResultIn, SettledOut
from perdure_server.kernel.rejection import FieldViolation, Rejection
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.ports.store import Subscription
from tests.engine.virtual_loop import pause
from tests.simulation.fleet import Gone
from tests.simulation.ingredients import Ingredient
from tests.simulation.workers import POOLS

if TYPE_CHECKING:
    from tests.simulation.world import Simulation

WAIT = 2_000


class Pollers(Ingredient):
    """One such worker. It goes on polling to the end, and dies now and then with what it has in hand."""

    name: ClassVar[str] = "polling workers"
    share = 0.2

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self._runs: dict[asyncio.Task[None], GrantedClaim] = {}
        self._life: asyncio.Task[None] | None = None

    async def prepare(self) -> None:
        """It begins."""
        self._life = self.simulation.spawn(self._live())

    async def live(self, until: float) -> None:
        """It dies, and another one comes."""
        while self.simulation.loop.time() < until:
            await pause(2.0 + self.source.random() * 6.0)
            if self._life is not None:
                self._life.cancel()
            for task in list(self._runs):
                task.cancel()
            self.count("polling workers died")
            await pause(self.source.random())
            self._life = self.simulation.spawn(self._live())

    @property
    def quiet(self) -> bool:
        """It holds nothing."""
        return not self._runs

    async def _live(self) -> None:
        name = self.simulation.name("poller")
        pools = tuple(Subscription(pool, "default", pool, {}, 2) for pool in POOLS)
        while True:
            hello = Hello("default", name, "simulation", (self.source.choice(pools),))
            try:
                server = self.simulation.fleet.any(self.source)
                async with asyncio.timeout(self.source.choice((1.0, 30.0, 30.0))):
                    _, claims, lease = await server.call(server.engine.poll(hello, self.source.choice((1, 2)), WAIT))
            except (Gone, StoreUnavailable, Rejection, TimeoutError):
                await pause(0.3)
                continue
            for claim in claims:
                self.count("polled claims")
                self.simulation.promises.delivered(claim, name, "default")
                task = self.simulation.spawn(self._run(claim, lease))
                self._runs[task] = claim
                task.add_done_callback(lambda done: self._runs.pop(done, None))
            await pause(self.source.choice((0.0, 0.5)))

    async def _run(self, claim: GrantedClaim, lease: int) -> None:
        script = self.simulation.script
        self.simulation.promises.begun(claim)
        effort = script.effort(claim, self.source)
        lost = await self._work(claim, effort.duration, lease)
        if lost and not effort.stubborn:
            return
        outcome = script.outcome(claim, self.source, cancelled=False)
        while True:
            try:
                server = self.simulation.fleet.any(self.source)
                item = await server.call(server.engine.complete(ResultIn(claim.token, outcome)))
            except (Gone, StoreUnavailable):
                await pause(0.3)
                continue
            except (Rejection, FieldViolation) as error:
                item = SettledOut(0, error=error)
            self.simulation.promises.answered(claim, outcome_digest(outcome), item)
            return

    async def _work(self, claim: GrantedClaim, duration: float, lease: int) -> bool:
        """Renew while it lasts. True = the claim is lost."""
        left = duration
        while left > 0:
            part = min(left, lease / 3_000)
            await pause(part)
            left -= part
            with suppress(Gone, StoreUnavailable, TimeoutError):
                server = self.simulation.fleet.any(self.source)
                async with asyncio.timeout(1.0):
                    ((_, _, _, error),) = await server.call(server.engine.renew_claims([HeldIn(claim.token, 0)], lease))
                self.count("polled claims renewed", error is None)
                if isinstance(error, Rejection):
                    return True
        return False

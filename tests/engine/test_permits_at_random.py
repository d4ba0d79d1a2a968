"""Random stories about permits: whatever happens, holders >= current claims, never above the capacity, and equal when quiet."""

import contextlib
import random
from collections.abc import Awaitable

import pytest

from perdure_server.engine.service import Engine
from perdure_server.engine.values import GrantedClaim, Ref
from perdure_server.kernel.definition import Permit
from perdure_server.kernel.outcomes import Completed, Failed, Outcome, Released, Waiting
from perdure_server.kernel.rejection import Rejection
from perdure_server.kernel.values import Condition, Failure, Wait
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.permits import Permits, limited
from tests.engine.workers import Worker

OPERATIONS = ("workflows.commit", "workflows.load", "resources.commit", "resources.stripe", "resources.get", "sessions.renew")
CASES = {
    "one": ((Permit("llm"),), 5),
    "two at once": ((Permit("llm"), Permit("gpu", 2)), 4),
    "in stripes": ((Permit("llm", 130),), 600),
    "keyed": ((Permit("llm"),), 2),
}


class Story:
    """One story: two servers, three workers, forty workflows, and everything that may go wrong."""

    def __init__(self, world: World, permits: Permits, case: str, seed: int) -> None:
        self.world = world
        self.permits = permits
        self.needs, self.capacity = CASES[case]
        self.keyed = case == "keyed"
        self.dice = random.Random(seed)
        self.servers: list[Engine] = []
        self.workers: list[Worker] = []
        self.started = 0

    def outcome(self, _claim: GrantedClaim) -> Outcome | None:
        """What an activity does at once; None: it goes on."""
        kind = self.dice.random()
        if kind < 0.35:
            return None
        if kind < 0.75:
            return Completed()
        if kind < 0.85:
            return Failed(Failure("test.again"))
        return Released() if kind < 0.93 else Waiting(Wait((Condition("pause", after=300),)))

    async def begin(self) -> None:
        """Everybody is there."""
        self.servers = [await self.world.server(), await self.world.server()]
        key = {"key_label": "tenant"} if self.keyed else {}
        await self.permits.put(self.servers[0], "llm", self.capacity, **key)
        await self.permits.put(self.servers[0], "gpu", 6)
        await self.world.define(self.servers[0], limited("a", permits=self.needs), limited("b: a"))
        for server in (*self.servers, self.servers[0]):
            self.workers.append(await self.world.worker(server, script=self.outcome, slots=6))

    async def act(self) -> None:
        """One thing happens."""
        kind = self.dice.random()
        try:
            if kind < 0.45 and self.started < 40:
                self.started += 1
                self.world.spawn(self._start(f"k{self.started}"))
            elif kind < 0.60:
                self.finish_one()
            elif kind < 0.72:
                moment = self.dice.choice((Moment.BEFORE, Moment.AFTER))
                self.world.faults.fail(self.dice.choice(OPERATIONS), moment, self.dice.randrange(1, 3))
            elif kind < 0.78:
                ref = Ref(self.world.key(f"k{self.dice.randrange(1, 41)}"))
                self.world.spawn(self._quietly(self.dice.choice(self.servers).cancel(ref, "", "")))
            elif kind < 0.81:
                await self._lose_worker()
            elif kind < 0.84:
                capacity = self.dice.choice((self.capacity // 2, self.capacity, self.capacity + 3))
                await self.permits.put(self.servers[0], "llm", capacity, **({"key_label": "tenant"} if self.keyed else {}))
            elif kind < 0.86:
                self.world.coordination.flush()
            elif kind < 0.87:
                await self._crash()
        except (StoreUnavailable, Rejection):
            pass

    def finish_one(self) -> None:
        """Some activity ends."""
        worker = self.dice.choice(self.workers)
        held = [claim for claim in worker.held.values() if not worker.is_sent(claim)]
        if held and not worker.stream.closed:
            worker.send(self.dice.choice(held), Completed())

    async def _start(self, name: str) -> None:
        labels = {"tenant": self.dice.choice("xyz")} if self.keyed else {}
        server = self.dice.choice(self.servers)
        await self._quietly(self.world.start(server, name, labels=labels))

    async def _quietly(self, work: Awaitable[object]) -> None:
        with contextlib.suppress(StoreUnavailable, Rejection):
            await work

    async def _lose_worker(self) -> None:
        worker = self.dice.choice(self.workers)
        worker.stop()  # it says nothing any more; its session ends in time
        self.workers.remove(worker)
        self.workers.append(await self.world.worker(self.dice.choice(self.servers), script=self.outcome, slots=6))

    async def _crash(self) -> None:
        lost = self.servers.pop(self.dice.randrange(2))
        await lost.supervisor.close()
        for worker in [worker for worker in self.workers if worker.engine is lost]:
            worker.stop()
            self.workers.remove(worker)
        self.servers.append(await self.world.server())
        self.workers.append(await self.world.worker(self.servers[-1], script=self.outcome, slots=6))

    async def end(self) -> None:
        """No more accidents: everything goes on to its end."""
        self.world.faults._planned.clear()
        await self.permits.put(self.servers[0], "llm", self.capacity, **({"key_label": "tenant"} if self.keyed else {}))
        for _ in range(300):
            for worker in [worker for worker in self.workers if not worker.stream.closed]:
                for claim in [claim for claim in worker.held.values() if not worker.is_sent(claim)]:
                    worker.send(claim, Completed())
            await self.world.advance(500)
            if all(workflow.is_ended for workflow in self.permits.workflows()):
                break
        open_ones = [workflow.key.business_key for workflow in self.permits.workflows() if not workflow.is_ended]
        assert not open_ones, "they never end"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", CASES)
async def test_c50_whatever_happens(world: World, case: str, seed: int) -> None:
    permits = Permits(world)
    story = Story(world, permits, case, seed)
    await story.begin()
    for _ in range(120):
        await story.act()
        await world.advance(story.dice.choice((0, 1, 5, 40, 400)))
    await story.end()
    await permits.audited()
    permits.quiet()
    assert permits.held("llm") == permits.held("gpu") == 0

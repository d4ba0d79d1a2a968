"""Kill and restart, in the middle of many running workflows: nothing lost, no stored step run again, all end."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from redis.asyncio import Redis

from tests.chaos.checker import check
from tests.chaos.conftest import Report
from tests.chaos.extent import extent
from tests.chaos.load import Load, loaded
from tests.chaos.scene import Scene
from tests.e2e.stream_worker import lapse

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(180)]

WORKFLOWS = extent(60, long=200)
LATER = extent(12, long=40)  # started while things are broken
MIDDLE = extent(45, long=150)  # activities begun when the fault comes, at least
HELD = 10  # activities at work when it comes, at least
WATCHED = 10
AT_RANDOM = extent(4, long=8)  # faults
ENDS_WITHIN = 60.0

Fault = Callable[[Load], Awaitable[None]]


async def kill_server(load: Load) -> None:
    """-9; its workers and callers have another one meanwhile."""
    await load.scene.kill(load.scene.servers[0])
    await lapse(1.0)
    await load.scene.start(load.scene.servers[0])


async def kill_both_servers(load: Load) -> None:
    """-9; nobody answers meanwhile."""
    for server in load.scene.servers:
        await load.scene.kill(server)
    await lapse(1.0)
    for server in load.scene.servers:
        await load.scene.start(server)


async def kill_workers(load: Load) -> None:
    """-9, one after the other: all that they hold is lost, and found out by the lease."""
    for worker in load.workers:
        await load.scene.kill(worker)
        await load.scene.start(worker)


async def kill_store(load: Load) -> None:
    """-9; what it had acknowledged is in its journal."""
    await load.scene.kill(load.scene.store)
    await lapse(1.0)
    await load.scene.start(load.scene.store)


async def kill_redis(load: Load) -> None:
    """-9; it keeps nothing, so it comes back empty."""
    await load.scene.kill(load.scene.redis)
    await lapse(2.0)
    await load.scene.start(load.scene.redis)


async def flush_redis(load: Load) -> None:
    """FLUSHALL, three times while the work goes on (case C76)."""
    async with Redis.from_url(load.scene.redis.url) as redis:
        for _ in range(3):
            await redis.flushall()
            await lapse(1.5)


FAULTS: dict[str, Fault] = {
    "server": kill_server,
    "both_servers": kill_both_servers,
    "worker": kill_workers,
    "store": kill_store,
    "redis": kill_redis,
    "flushall": flush_redis,
}


def at_work(counts: Counter[str]) -> int:
    """Activities that have begun, and whose worker has sent no result."""
    return counts["begun"] - counts["sent"]


@asynccontextmanager
async def running(scene: Scene, workflow_type: str, report: Report, attempts: int = 3) -> AsyncIterator[Load]:
    """In the block WORKFLOWS workflows run; at its end all have ended, and every answer is compared with the store.

    None can end before the block, since each waits for its signal.
    """
    for server in scene.servers:
        server.log.clear()
    async with loaded(scene, workflow_type, attempts) as load:
        first = [f"k{number}" for number in range(WORKFLOWS)]
        later = [f"later{number}" for number in range(LATER)]
        async with asyncio.TaskGroup() as calls:
            calls.create_task(load.start(first))
            calls.create_task(load.watch(first[:WATCHED]))
            await load.until(lambda counts: counts["started"] == WORKFLOWS and counts["begun"] >= MIDDLE and at_work(counts) >= HELD)
            report(f"hit with {WORKFLOWS} workflows running, {at_work(load.reader.counts)} activities at work")
            calls.create_task(load.signal(first[::2]))
            calls.create_task(load.start(later))
            yield load
            calls.create_task(load.signal(first[1::2] + later))
        await load.ended(ENDS_WITHIN)
        await load.close()
        verdict = await check(load)
        report(str(verdict))
        assert not verdict.breaches, "\n".join(verdict.breaches[:20])
        assert verdict.workflows == WORKFLOWS + LATER
        complaints = [line for server in scene.servers for line in server.complaints]
        assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("fault", FAULTS)
async def test_c76_nothing_is_lost_and_nothing_stored_runs_again(scene: Scene, report: Report, fault: str) -> None:
    async with running(scene, f"kill_{fault}", report) as load:
        await FAULTS[fault](load)


async def test_everything_at_random(scene: Scene, report: Report, random_source: random.Random) -> None:
    """The seed is in the head of the test run."""
    hits: list[str] = []
    async with running(scene, "random", report, attempts=50) as load:
        for _ in range(AT_RANDOM):
            hits.append(random_source.choice(sorted(FAULTS)))
            await FAULTS[hits[-1]](load)
            await lapse(random_source.uniform(0.0, 1.0))
    report(" ".join(hits))

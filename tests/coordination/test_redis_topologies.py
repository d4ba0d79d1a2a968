"""Redis Cluster, Sentinel, Redis 6: the same contract, other roads."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.crc import key_slot

from perdure_server.coordination.endpoint import parse_endpoint
from perdure_server.coordination.redis import RedisCoordination
from perdure_server.ports.coordination import Coordination
from perdure_server.ports.errors import CoordinationUnavailable
from tests.conftest import Eventually, RunningServer
from tests.coordination.contract import CoordinationContract, opened
from tests.coordination.samples import PATIENT, drain, item, numbers
from tests.coordination.servers import RedisCluster, WatchedRedis

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisCluster]:
    cluster = RedisCluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.kill()


class TestOnCluster(CoordinationContract):
    """C80: the contract on three primaries; no command or script may span slots."""

    @pytest.fixture
    async def coordination(self, cluster: RedisCluster, database_name: str, eventually: Eventually) -> AsyncIterator[Coordination]:
        await eventually(cluster.is_ready, within=20)
        async with opened(RedisCoordination(cluster.url, prefix=database_name, timeout=PATIENT)) as coordination:
            yield coordination


async def works(coordination: Coordination, queue: str) -> bool:
    with contextlib.suppress(CoordinationUnavailable):
        await coordination.announce([item(1, queue=queue)])
        return numbers(await coordination.take([queue], 1, 1_000)) == [1]
    return False


async def test_c80_a_slot_that_moves_under_load(cluster: RedisCluster, database_name: str, eventually: Eventually) -> None:
    await eventually(cluster.is_ready, within=20)
    slot = key_slot(b"{q:q}")
    taken: list[int] = []
    moved = asyncio.Event()

    async def work() -> None:
        number = 0
        while not moved.is_set() or number % 10:
            with contextlib.suppress(CoordinationUnavailable):
                await coordination.announce([item(number, fairness_key="k"), item(number, queue="elsewhere")])
                number += 1
            with contextlib.suppress(CoordinationUnavailable):
                taken.extend(numbers(await coordination.take(["q"], 3, 20)))
        taken.extend(await drain(coordination))
        assert sorted(taken) == list(range(number))
        assert number > 20

    async with opened(RedisCoordination(cluster.url, prefix=database_name, timeout=PATIENT)) as coordination, asyncio.TaskGroup() as group:
        group.create_task(work())
        for _ in range(4):
            await asyncio.to_thread(cluster.move, slot)
            await coordination.take(["nothing"], 1, 100)
        moved.set()


async def test_c80_a_node_killed_and_restarted(cluster: RedisCluster, database_name: str, eventually: Eventually) -> None:
    await eventually(cluster.is_ready, within=20)
    async with opened(RedisCoordination(cluster.url, prefix=database_name, timeout=1_000)) as coordination:
        dead, _ = cluster.owner_of(key_slot(b"{q:q}"))
        alive = next(f"q{number}" for number in range(100) if cluster.owner_of(key_slot(f"{{q:q{number}}}".encode()))[0] is not dead)
        assert await works(coordination, "q")
        dead.kill()
        async with asyncio.timeout(5):
            assert not await works(coordination, "q")
        assert await eventually(lambda: works(coordination, alive), within=10)
        await asyncio.to_thread(dead.start)
        assert await eventually(lambda: works(coordination, "q"), within=10)


class TestWithoutBlockedPops(CoordinationContract):
    """Redis 6.2 has no BZMPOP: takers poll."""

    @pytest.fixture
    async def coordination(
        self, redis_process: RunningServer, database_name: str, monkeypatch: pytest.MonkeyPatch
    ) -> AsyncIterator[Coordination]:
        monkeypatch.setattr("perdure_server.coordination.endpoint.ServerInfo.pops_block", False)
        async with opened(RedisCoordination(redis_process.url, prefix=database_name, timeout=PATIENT)) as coordination:
            yield coordination


async def test_c78_sentinel_fails_over(tmp_path: Path, eventually: Eventually) -> None:
    servers = WatchedRedis(tmp_path)

    try:
        await asyncio.to_thread(servers.start)
        await eventually(servers.knows_replica, within=20)
        coordination = RedisCoordination(servers.url, timeout=500)
        async with opened(coordination):
            assert await works(coordination, "q")
            servers.master.kill()
            assert not await works(coordination, "q")
            assert await eventually(lambda: works(coordination, "q"), within=25)
            assert coordination.description()["mode"] == "sentinel"
    finally:
        servers.kill()


@pytest.mark.parametrize(
    "url",
    ["", "http://h", "redis", "redis+other://h", "mongodb://secret:word@h", "redis://secret:word@h:port/0", "redis+cluster://h:99999999"],
)
def test_a_bad_url_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        parse_endpoint(url, 1_000)
    assert "word" not in str(refused.value)


@pytest.mark.parametrize("prefix", ["", "a b", "{a}", "x" * 65])
def test_a_bad_prefix_is_refused(prefix: str) -> None:
    with pytest.raises(ValueError, match="prefix"):
        RedisCoordination("redis://localhost", prefix=prefix)

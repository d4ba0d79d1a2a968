"""Coordination through a real Redis or Valkey."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from perdure_server.coordination.keys import Keys
from perdure_server.coordination.redis import RedisCoordination
from perdure_server.ports.coordination import RE_READ, Coordination, WakeUp
from perdure_server.ports.errors import CoordinationUnavailable
from tests.conftest import RunningServer
from tests.coordination.contract import CoordinationContract, opened
from tests.coordination.samples import NOW, PATIENT, frame, item, numbers


@pytest.fixture
async def coordination(redis_process: RunningServer, database_name: str) -> AsyncIterator[Coordination]:
    async with opened(RedisCoordination(redis_process.url, prefix=database_name, timeout=PATIENT)) as coordination:
        yield coordination


@pytest.fixture
async def other_server(redis_process: RunningServer, database_name: str) -> AsyncIterator[Coordination]:
    async with opened(RedisCoordination(redis_process.url, prefix=database_name, timeout=PATIENT)) as coordination:
        yield coordination


@pytest.fixture
async def admin(redis_process: RunningServer) -> AsyncIterator[Redis]:
    async with Redis.from_url(redis_process.url) as admin:
        yield admin


class TestRedisCoordination(CoordinationContract):
    """The contract, on Redis."""


async def test_two_servers_share_the_work_and_hear_each_other(coordination: Coordination, other_server: Coordination) -> None:
    here, there = coordination.subscribe(), other_server.subscribe()
    assert [await anext(here), await anext(there)] == [RE_READ, RE_READ]
    await coordination.publish([WakeUp("w", b"k", 7)])
    assert [await anext(here), await anext(there)] == [WakeUp("w", b"k", 7)] * 2
    taken: dict[str, list[int]] = {"here": [], "there": []}

    async def take(name: str, server: Coordination) -> None:
        while items := await server.take(["q"], 1, 500):
            taken[name] += numbers(items)

    async with asyncio.TaskGroup() as group:
        group.create_task(take("here", coordination))
        group.create_task(take("there", other_server))
        for number in range(100):
            await other_server.announce([item(number)])
            await coordination.backlog(["q"])
    assert sorted(taken["here"] + taken["there"]) == list(range(100))
    assert min(len(taken["here"]), len(taken["there"])) >= 10
    await coordination.set_timers({b"w": NOW})
    fired = await asyncio.gather(coordination.due_timers(NOW, 5), other_server.due_timers(NOW, 5))
    assert sorted(fired, key=len) == [[], [b"w"]]


async def test_what_others_wrote_under_our_names_stops_nothing(coordination: Coordination, admin: Redis, database_name: str) -> None:
    keys = Keys(database_name)
    subscription = coordination.subscribe()
    assert await anext(subscription) == RE_READ
    await admin.publish(keys.wakeups, b"junk")
    assert await anext(subscription) == RE_READ
    await admin.zadd(keys.ready("q"), {b"\xff\xffjunk": 1.5})
    await coordination.announce([item(1)])
    assert numbers([*await coordination.take(["q"], 1, 0), *await coordination.take(["q"], 1, 0)]) == [1]
    await coordination.append_frames("run", [frame(1)])
    await admin.xadd(keys.frames("run"), {"f": b"junk"})
    await coordination.append_frames("run", [frame(2)])
    assert [each.seq for each in (await coordination.read_frames("run", "", 10)).frames] == [1, 2]
    await admin.set(keys.ready("wrong"), "a string")
    with pytest.raises(CoordinationUnavailable):
        await coordination.announce([item(1, queue="wrong")])
    assert coordination.description()["health"] == "ok"


async def test_a_refused_password_is_named(redis_process: RunningServer) -> None:
    url = redis_process.url.replace("redis://", "redis://nobody:secret@")
    async with opened(RedisCoordination(url, timeout=PATIENT)) as coordination:
        assert coordination.description()["health"] == "AuthenticationError"
        with pytest.raises(CoordinationUnavailable) as refused:
            await coordination.backlog(["q"])
        assert "secret" not in str(refused.value)

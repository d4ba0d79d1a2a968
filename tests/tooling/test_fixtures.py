"""The fixtures of the root conftest do what they promise."""

import asyncio
from pathlib import Path
from typing import Any

import pymongo
import pytest
import redis

from tests import processes
from tests.conftest import Eventually, RunningServer
from tests.processes import RedisProcess, ServerDidNotStartError, ServerProcess, StoreProcess

JOURNALLED = pymongo.WriteConcern(w="majority", j=True)


def connect(url: str) -> pymongo.MongoClient[dict[str, Any]]:
    return pymongo.MongoClient(url)


async def test_eventually_returns_the_value_and_wakes_early(eventually: Eventually) -> None:
    wake = asyncio.Event()
    found: list[int] = []
    loop = asyncio.get_running_loop()
    loop.call_later(0.02, found.append, 7)
    loop.call_later(0.02, wake.set)
    assert await eventually(lambda: found, wake=wake) == [7]


async def test_eventually_fails_with_what_it_waited_for(eventually: Eventually) -> None:
    with pytest.raises(pytest.fail.Exception, match="three claims"):
        await eventually(lambda: 0, within=0.03, what="three claims")


def test_store_answers(store_process: RunningServer, database_name: str) -> None:
    with connect(store_process.url) as client:
        assert client[database_name].get_collection("c", write_concern=JOURNALLED).insert_one({"_id": 1}).acknowledged


def test_redis_answers(redis_process: RunningServer) -> None:
    with redis.Redis.from_url(redis_process.url) as client:
        assert client.ping()


def test_store_killed_keeps_what_was_journalled(tmp_path: Path) -> None:
    store = StoreProcess(tmp_path)
    store.start()
    try:
        port = store.port
        with connect(store.url) as client:
            client.db.get_collection("c", write_concern=JOURNALLED).insert_one({"_id": 1})
        store.kill()
        assert not store.running
        store.start()
        assert store.port == port
        with connect(store.url) as client:
            assert client.db.c.count_documents({}) == 1
    finally:
        store.kill()


def test_redis_stops_politely(tmp_path: Path) -> None:
    binary = processes.redis_binary()
    if binary is None:
        processes.missing_server("no Redis binary")
    server = RedisProcess(binary, tmp_path)
    server.start()
    server.stop()
    assert not server.running


def test_a_server_that_ends_shows_its_log(tmp_path: Path) -> None:
    with pytest.raises(ServerDidNotStartError, match="no such option"):
        ServerProcess(lambda _: ["sh", "-c", "echo no such option; exit 2"], "ready", tmp_path).start()

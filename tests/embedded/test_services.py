"""Embedded services with real processes: what they say, keep, refuse and bring back."""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pymongo import AsyncMongoClient

from perdure_server.embedded import (
    DataDirectoryInUseError,
    EmbeddedEvent,
    EmbeddedOptions,
    EmbeddedServices,
    Happening,
    RedisKind,
    Service,
    StoreKind,
    embedded_services,
)
from perdure_server.embedded.bson_wire import command
from perdure_server.embedded.probes import probe_redis
from tests.conftest import Eventually
from tests.embedded.proc import running_with
from tests.processes import environment, is_alive, missing_server, redis_binary, store_available

if not (store_available() and redis_binary()):
    missing_server("the embedded servers are not installed")


@pytest.fixture
def events() -> list[EmbeddedEvent]:
    return []


@pytest.fixture
def options(tmp_path: Path, events: list[EmbeddedEvent]) -> EmbeddedOptions:
    return EmbeddedOptions(tmp_path / "data", environment(), on_event=events.append)


async def on_store(services: EmbeddedServices, work: Callable[[Any], Any]) -> Any:
    client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(services.store.url)
    try:
        return await work(client)
    finally:
        await client.close()


def happened(events: list[EmbeddedEvent], service: Service) -> list[Happening]:
    return [event.happening for event in events if event.service is service]


async def test_both_run_say_what_they_are_and_end_in_order(options: EmbeddedOptions, events: list[EmbeddedEvent]) -> None:
    async with embedded_services(options) as services:
        store, redis = services.store, services.redis
        assert redis is not None
        assert store.kind in set(StoreKind)
        assert redis.kind in set(RedisKind)
        assert store.version[0].isdigit()
        assert redis.version[0].isdigit()
        assert "disk" in store.durability_text
        assert is_alive(store.pid)
        assert is_alive(redis.pid)
        assert store.pid in running_with(str(options.data_directory))
    assert not running_with(str(options.data_directory))
    assert happened(events, Service.STORE) == [Happening.CHOSEN, Happening.STARTED, Happening.READY, Happening.STOPPED]
    assert [event.service for event in events if event.happening is Happening.STOPPED] == [Service.REDIS, Service.STORE]
    assert all("exit code 0" in event.text for event in events if event.happening is Happening.STOPPED)


async def test_data_and_ports_survive_a_restart(options: EmbeddedOptions) -> None:
    async with embedded_services(options) as first:
        await on_store(first, lambda client: client.kept.things.insert_one({"_id": 1}))
        urls = (first.store.url, first.redis and first.redis.url)
    async with embedded_services(options) as second:
        assert await on_store(second, lambda client: client.kept.things.find_one({"_id": 1})) == {"_id": 1}
        assert (second.store.url, second.redis and second.redis.url) == urls


async def test_a_second_owner_is_refused_by_pid(options: EmbeddedOptions) -> None:
    async with embedded_services(options):
        with pytest.raises(DataDirectoryInUseError, match=rf"in use by process {os.getpid()}\b") as refusal:
            async with embedded_services(options):
                pass
    assert refusal.value.pid == os.getpid()


async def test_c76_a_killed_redis_comes_back_on_its_port(options: EmbeddedOptions, events: list[EmbeddedEvent]) -> None:
    async with embedded_services(options) as services:
        before = services.redis
        assert before is not None
        assert services.kill(Service.REDIS) == before.pid
        await services.until_ready(Service.REDIS)
        after = services.redis
        assert after is not None
        assert after.url == before.url
        assert after.pid != before.pid
        port = int(after.url.rpartition(":")[2].partition("/")[0])
        assert (await probe_redis(port)).pid == after.pid
    assert happened(events, Service.REDIS)[2:5] == [Happening.READY, Happening.ENDED, Happening.STARTED]
    told = next(event.text for event in events if event.happening is Happening.ENDED)
    assert "SIGKILL" in told
    assert f"port {port}" in told


async def test_a_child_that_cannot_come_back_says_so_and_goes_on_trying(
    tmp_path: Path, events: list[EmbeddedEvent], eventually: Eventually
) -> None:
    thief = socket.socket()
    thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

    def steal_the_port(event: EmbeddedEvent) -> None:
        events.append(event)
        if event.happening is Happening.ENDED:
            thief.bind(("127.0.0.1", int(event.text.rpartition("port ")[2].split()[0])))
            thief.listen()

    with thief:
        async with embedded_services(EmbeddedOptions(tmp_path, environment(), on_event=steal_the_port)) as services:
            before = services.redis
            services.kill(Service.REDIS)
            await eventually(lambda: Happening.FAILED in happened(events, Service.REDIS))
            thief.close()
            await services.until_ready(Service.REDIS)
            after = services.redis
    assert before is not None
    assert after is not None
    assert after.url == before.url
    told = next(event.text for event in events if event.happening is Happening.FAILED)
    assert "tries again in 0.2 s" in told
    assert "already in use" in told


async def test_c67_a_killed_store_comes_back_with_all_that_it_acknowledged(options: EmbeddedOptions) -> None:
    async with embedded_services(options) as services:
        before = services.store
        acknowledged = await on_store(services, lambda client: bulk_writes_until_killed(client, services))
        await services.until_ready(Service.STORE)
        assert services.store.url == before.url
        assert services.store.pid != before.pid
        assert await on_store(services, lambda client: client.kept.things.count_documents({})) == acknowledged


async def bulk_writes_until_killed(client: Any, services: EmbeddedServices) -> int:
    """The store's own road, the bulkWrite command; the kill comes right after the last acknowledgement."""
    namespaces = [{"ns": "kept.things"}]
    concern = {"w": "majority", "j": True}
    count = 0
    for batch in range(40):
        inserts = [{"insert": 0, "document": {"_id": batch * 5 + one}} for one in range(5)]
        reply = await client.admin.command(
            {"bulkWrite": 1, "ops": inserts, "nsInfo": namespaces, "ordered": False, "writeConcern": concern}
        )
        count += reply["nInserted"]
    services.kill(Service.STORE)
    return count


async def test_a_restart_on_request_is_clean(options: EmbeddedOptions, events: list[EmbeddedEvent]) -> None:
    async with embedded_services(options) as services:
        before = services.store
        await services.restart(Service.STORE)
        assert services.store.url == before.url
        assert services.store.pid != before.pid
        port = int(before.url.partition("127.0.0.1:")[2].partition("/")[0])
        (hello,) = await command(port, {"hello": 1, "$db": "admin"})
        assert hello["isWritablePrimary"] is True
    assert Happening.ENDED not in happened(events, Service.STORE)


async def test_an_error_in_the_block_stays_itself_and_leaves_nothing(options: EmbeddedOptions) -> None:
    with pytest.raises(ZeroDivisionError):
        async with embedded_services(options):
            raise ZeroDivisionError
    assert not running_with(str(options.data_directory))


async def test_a_store_that_cannot_start_is_told_with_its_log(options: EmbeddedOptions) -> None:
    directory = options.data_directory / f"store-{StoreKind.SECANTUS_WHEEL}"
    directory.mkdir(parents=True)
    (directory / "data").write_text("a file where the data directory should be")
    wanted = EmbeddedOptions(options.data_directory, options.environment, store_kind=StoreKind.SECANTUS_WHEEL)
    with pytest.raises(Exception, match=r"(?s)ended with exit code 1; the end of .*store.log.*data") as failure:
        async with embedded_services(wanted):
            pass
    assert type(failure.value).__name__ == "ChildDidNotStartError"
    assert not running_with(str(options.data_directory))

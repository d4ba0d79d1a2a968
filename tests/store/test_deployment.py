"""What the store asks of a deployment: concerns that no URL weakens, a replica set, its indexes; and documents that do not decode."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import bson
import pytest

from perdure_server.ports.errors import CorruptDocument, StoreError, StoreUnavailable
from perdure_server.ports.store import Read
from perdure_server.store import limits
from perdure_server.store.committer import Road
from perdure_server.store.driver import Connection, Driver
from perdure_server.store.mongo import MongoStore
from perdure_server.store.schema import INDEXES
from tests.conftest import RunningServer
from tests.processes import ServerProcess, missing_server, store_available
from tests.store.conftest import DATABASE, OpenStore, emptied
from tests.store.instances import NOW, claimed, session, started
from tests.store.proxy import Proxy, proxied

DRIVERS: tuple[Driver, ...] = ("motor", "pymongo")


@pytest.fixture
async def proxy(store_process: RunningServer) -> AsyncIterator[Proxy]:
    async with proxied(store_process.url) as proxy:
        yield proxy


@pytest.mark.parametrize("driver", DRIVERS)
async def test_c66_url_does_not_weaken_what_ok_means(proxy: Proxy, driver: Driver, caplog: pytest.LogCaptureFixture) -> None:
    url = proxy.url + "&readPreference=secondaryPreferred&readConcernLevel=available&w=1&journal=false&retryWrites=true"
    with caplog.at_level(logging.WARNING):
        store = MongoStore(url, DATABASE, driver)
    assert "w" in caplog.text
    assert "readpreference" in caplog.text
    async with emptied(store):
        first = started()
        assert await store.workflows.commit(None, first)
        assert await store.workflows.commit(first, claimed(first))
        await store.workflows.load(first.workflow_id, Read.LINEARIZABLE)
        await store.workflows.due(NOW, 10)
        opened = session()
        await store.sessions.open(opened)
        await store.sessions.refuse(opened.session_id, "a")
        sent = list(proxy.commands)
    writes = [command for command in sent if next(iter(command), "") in {"insert", "update", "bulkWrite", "findAndModify", "delete"}]
    assert len(writes) >= 6
    assert all(command["writeConcern"] == {"w": "majority", "j": True, "wtimeout": limits.WRITE_TIMEOUT_MS} for command in writes)
    reads = [command for command in sent if next(iter(command), "") == "find"]
    assert {command["readConcern"]["level"] for command in reads} <= {"local", "majority", "linearizable"}
    assert not any("txnNumber" in command for command in sent)
    assert not any(command.get("$readPreference", {}).get("mode", "primary").startswith("secondary") for command in reads)


@pytest.mark.parametrize("url", ["", "redis://localhost", "mongodb://localhost/?w=perhaps&journal=maybe", "mongodb://"])
def test_url_that_is_none_is_refused_with_what_it_must_be(url: str) -> None:
    with pytest.raises(StoreError, match="mongodb://") as caught:
        MongoStore(url, DATABASE)
    assert "perhaps" not in str(caught.value)


@pytest.mark.parametrize("driver", DRIVERS)
async def test_nobody_listens(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SELECTION_TIMEOUT_MS", 200)
    store = MongoStore("mongodb://127.0.0.1:1/", DATABASE, driver)
    with pytest.raises(StoreUnavailable):
        await store.open()
    with pytest.raises(StoreUnavailable):
        await store.time()
    await store.close()


async def test_standalone_is_refused_with_the_remedy(tmp_path: Path) -> None:
    if not store_available():
        missing_server("the SecantusDB wheel is not installed")
    storage = ["--storage-path", str(tmp_path / "data"), "--cache-size", "64M", "--standalone"]
    ready = r"secantus listening on \S+:(?P<port>\d+)"
    process = ServerProcess(
        lambda port: [sys.executable, "-m", "secantus", "--host", "127.0.0.1", "--port", str(port), *storage], ready, tmp_path
    )
    process.start()
    # Polled: the driver's second monitor, of streaming, would still be connecting when this client is closed, and leave its socket.
    store = MongoStore(f"mongodb://127.0.0.1:{process.port}/?serverMonitoringMode=poll", DATABASE)
    try:
        with pytest.raises(StoreError, match=r"replica set.*rs\.initiate"):
            await store.open()
    finally:
        await store.close()
        process.kill()


async def test_c02_indexes_are_built_again(open_store: OpenStore, store_process: RunningServer) -> None:
    async with open_store("motor", None) as store:
        await store.connection.command({"dropIndexes": "workflows", "index": "*"})
    async with open_store("motor", None) as store:
        for collection, indexes in INDEXES.items():
            reply = await store.connection.command({"listIndexes": collection})
            stored = [(dict(index["key"]), bool(index.get("sparse"))) for index in reply["cursor"]["firstBatch"]]
            assert all(index in stored for index in indexes)
            assert len(stored) == len(indexes) + 1


async def test_opened_again_and_by_two_at_once(open_store: OpenStore) -> None:
    async with open_store("motor", None) as one, open_store("pymongo", None) as two:
        first = started()
        assert await one.workflows.commit(None, first)
        assert await two.workflows.load(first.workflow_id) == first
        found = await one.connection.command({"find": "migrations", "filter": {}})
        assert [document["_id"] for document in found["cursor"]["firstBatch"]] == [1]


async def test_bulk_write_unknown_to_the_server_means_the_other_road(proxy: Proxy) -> None:
    proxy.spoil("bulkWrite", forward=False, answer={"ok": 0.0, "code": 59, "codeName": "CommandNotFound", "errmsg": "no such command"})
    async with emptied(MongoStore(proxy.url, DATABASE)) as store:
        assert store.description()["group_commit"] == Road.INSERT_AND_UPDATE.value
        assert await store.workflows.commit(None, started())


async def test_linearizable_unknown_to_the_server_means_majority(proxy: Proxy) -> None:
    proxy.spoil("find", forward=False, answer={"ok": 0.0, "code": 72, "codeName": "InvalidOptions", "errmsg": "not here"})
    async with emptied(MongoStore(proxy.url, DATABASE)) as store:
        assert "majority" in store.description()["reads"]
        first = started()
        assert await store.workflows.commit(None, first)
        assert await store.workflows.load(first.workflow_id, Read.LINEARIZABLE) == first


async def test_writes_that_are_not_allowed_are_told(proxy: Proxy) -> None:
    proxy.spoil("insert", forward=False, answer={"ok": 0.0, "code": 13, "codeName": "Unauthorized", "errmsg": "not allowed on secret_db"})
    store = MongoStore(proxy.url, DATABASE)
    with pytest.raises(StoreError, match="readWrite") as caught:
        await store.open()
    await store.close()
    assert "secret_db" not in str(caught.value)


async def _damage(connection: Connection, workflow_id: bytes, changes: dict[str, object]) -> None:
    await connection.command({"update": "workflows", "updates": [{"q": {"_id": workflow_id}, "u": {"$set": changes}}]})


@pytest.mark.parametrize("driver", DRIVERS)
async def test_c27_document_that_does_not_decode_stops_nobody(open_store: OpenStore, driver: Driver) -> None:
    async with open_store(driver, None) as store:
        sick, well = started(wake_time=NOW, ready=("default",)), started(wake_time=NOW, ready=("default",))
        for workflow in (sick, well):
            assert await store.workflows.commit(None, workflow)
        await _damage(store.connection, sick.workflow_id, {"state": "DREAMING"})
        assert len(await store.workflows.due(NOW, 10)) == 2
        with pytest.raises(CorruptDocument):
            await store.workflows.load(sick.workflow_id)
        assert await store.workflows.load(well.workflow_id) == well
        assert [due.workflow_id for due in await store.workflows.due(NOW, 10)] == [well.workflow_id]
        assert [ready.workflow_id for ready in await store.workflows.ready(["default"], 10)] == [well.workflow_id]
        with pytest.raises(CorruptDocument):
            await store.workflows.load(sick.workflow_id, Read.LINEARIZABLE)
    # A server of another format tries for itself.
    async with open_store(driver, None) as store:
        assert await store.workflows.commit(None, sick)
        await _damage(store.connection, sick.workflow_id, {"quarantined": {"format": 0, "reason": "KeyError"}})
        assert list(await store.workflows.due(NOW, 10)) == []
    async with open_store(driver, None) as store:
        assert await store.workflows.commit(None, sick)
        await _damage(store.connection, sick.workflow_id, {"quarantined": {"format": 0, "reason": "KeyError"}})
        await store.open()
        assert [due.workflow_id for due in await store.workflows.due(NOW, 10)] == [sick.workflow_id]


async def test_c27_bytes_that_are_no_bson_spoil_no_other_load(proxy: Proxy) -> None:
    async with emptied(MongoStore(proxy.url, DATABASE)) as store:
        sick, well = started(wake_time=NOW), started(wake_time=NOW)
        for workflow in (sick, well):
            assert await store.workflows.commit(None, workflow)
        batch = [{"_id": sick.workflow_id, "state": "XXXX"}, {"_id": well.workflow_id}]
        reply = bson.encode({"ok": 1.0, "cursor": {"id": 0, "ns": "x", "firstBatch": batch}}).replace(b"XXXX", b"\xff\xfe\xff\xfe")
        # The query for both, then the one for the first alone.
        proxy.spoil("find", answer=reply, times=2)
        first, second = await asyncio.gather(
            store.workflows.load(sick.workflow_id), store.workflows.load(well.workflow_id), return_exceptions=True
        )
        assert isinstance(first, CorruptDocument)
        assert second == well
        assert [due.workflow_id for due in await store.workflows.due(NOW, 10)] == [well.workflow_id]


async def test_reply_of_another_shape_is_an_unknown_result(proxy: Proxy, caplog: pytest.LogCaptureFixture) -> None:
    async with emptied(MongoStore(proxy.url, DATABASE, "motor", Road.BULK_WRITE)) as store:
        proxy.spoil("bulkWrite", answer={"ok": 1.0})
        with pytest.raises(StoreUnavailable):
            await store.workflows.commit(None, started())
        proxy.spoil("find", answer={"ok": 1.0})
        with pytest.raises(StoreUnavailable):
            await store.workflows.load(started().workflow_id)
        assert await store.workflows.commit(None, started())
    assert "commit batch" in caplog.text
    assert "load batch" in caplog.text


async def test_closed_store_refuses(open_store: OpenStore) -> None:
    async with open_store("motor", None) as store:
        pass
    with pytest.raises(StoreUnavailable):
        await store.workflows.commit(None, started())

"""Broken connections, step-downs and timeouts: a write whose result is unknown is never told as done, nor as refused."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from perdure_server.ports.errors import StoreError, StoreUnavailable
from perdure_server.ports.store import Read
from perdure_server.store import limits
from perdure_server.store.committer import Road
from perdure_server.store.driver import Driver
from perdure_server.store.mongo import MongoStore
from tests.conftest import Eventually, RunningServer
from tests.store.conftest import DATABASE, emptied
from tests.store.instances import NOW, claimed, following, session, started
from tests.store.proxy import Proxy, proxied

NOT_PRIMARY = {"ok": 0.0, "errmsg": "not primary", "code": 10107, "codeName": "NotWritablePrimary"}
STEPPED_DOWN = {"ok": 0.0, "errmsg": "primary stepped down", "code": 189, "codeName": "PrimarySteppedDown"}
UNCONFIRMED = {"code": 64, "codeName": "WriteConcernFailed", "errmsg": "waiting for replication timed out"}
SHUTTING_DOWN = {"code": 91, "codeName": "ShutdownInProgress", "errmsg": "shutting down"}

# The command that carries a change, and the one that carries an insert, on each road.
COMMANDS = {
    Road.BULK_WRITE: ("bulkWrite", "bulkWrite"),
    Road.INSERT_AND_UPDATE: ("update", "insert"),
}


@pytest.fixture
async def proxy(store_process: RunningServer) -> AsyncIterator[Proxy]:
    async with proxied(store_process.url) as proxy:
        yield proxy


@pytest.fixture(params=[("motor", Road.BULK_WRITE), ("pymongo", Road.BULK_WRITE), ("motor", Road.INSERT_AND_UPDATE)], ids=str)
def way(request: pytest.FixtureRequest) -> tuple[Driver, Road]:
    found: tuple[Driver, Road] = request.param
    return found


@pytest.fixture
async def store(proxy: Proxy, way: tuple[Driver, Road]) -> AsyncIterator[MongoStore]:
    """A store behind the proxy."""
    async with emptied(MongoStore(proxy.url, DATABASE, *way)) as store:
        yield store


async def test_c68_reply_lost_after_the_change_was_applied(store: MongoStore, proxy: Proxy, way: tuple[Driver, Road]) -> None:
    first = started()
    assert await store.workflows.commit(None, first)
    second = claimed(first)
    proxy.spoil(COMMANDS[way[1]][0])
    with pytest.raises(StoreUnavailable):
        await store.workflows.commit(first, second)
    assert await store.workflows.load(first.workflow_id) == second
    assert await store.workflows.commit(first, second) is False


async def test_c68_reply_lost_after_the_insert_was_applied(store: MongoStore, proxy: Proxy, way: tuple[Driver, Road]) -> None:
    first = started()
    proxy.spoil(COMMANDS[way[1]][1])
    with pytest.raises(StoreUnavailable):
        await store.workflows.commit(None, first)
    assert await store.workflows.load(first.workflow_id) == first


async def test_c68_connection_lost_before_the_change_was_sent(store: MongoStore, proxy: Proxy, way: tuple[Driver, Road]) -> None:
    first = started()
    assert await store.workflows.commit(None, first)
    proxy.spoil(COMMANDS[way[1]][0], forward=False)
    with pytest.raises(StoreUnavailable):
        await store.workflows.commit(first, claimed(first))
    assert await store.workflows.load(first.workflow_id) == first
    assert await store.workflows.commit(first, claimed(first)) is True


@pytest.mark.parametrize("answer", [NOT_PRIMARY, STEPPED_DOWN], ids=["not primary", "stepped down"])
async def test_c68_step_down_is_unknown(store: MongoStore, proxy: Proxy, way: tuple[Driver, Road], answer: dict[str, Any]) -> None:
    first = started()
    assert await store.workflows.commit(None, first)
    proxy.spoil(COMMANDS[way[1]][0], forward=False, answer=answer)
    with pytest.raises(StoreUnavailable):
        await store.workflows.commit(first, claimed(first))
    assert await store.workflows.commit(first, claimed(first)) is True


@pytest.mark.parametrize("concern", [UNCONFIRMED, SHUTTING_DOWN], ids=["not replicated", "shutting down"])
async def test_c67_c68_unconfirmed_write_is_never_true(
    store: MongoStore, proxy: Proxy, way: tuple[Driver, Road], concern: dict[str, Any]
) -> None:
    first, other = started(), started()
    assert await store.workflows.commit(None, first)
    command = COMMANDS[way[1]][0]
    told = {"firstBatch": [{"ok": 1.0, "idx": index, "n": 1} for index in range(2)], "id": 0, "ns": "admin.$cmd.bulkWrite"}
    applied = {"cursor": told, "nErrors": 0} if command == "bulkWrite" else {"n": 1, "nModified": 1}
    proxy.spoil(command, answer={"ok": 1.0, **applied, "writeConcernError": concern})
    with pytest.raises(StoreUnavailable):
        await store.workflows.commit(first, claimed(first))
    assert await store.workflows.load(other.workflow_id) is None


async def test_c68_lost_reply_spares_the_other_command_of_the_batch(proxy: Proxy) -> None:
    async with emptied(MongoStore(proxy.url, DATABASE, "motor", Road.INSERT_AND_UPDATE)) as store:
        first, fresh = started(), started()
        assert await store.workflows.commit(None, first)
        proxy.spoil("update")
        results = await asyncio.gather(
            store.workflows.commit(first, claimed(first)), store.workflows.commit(None, fresh), return_exceptions=True
        )
        assert isinstance(results[0], StoreUnavailable)
        assert results[1] is True


async def test_c68_silent_server_is_given_up(store_process: RunningServer, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SOCKET_TIMEOUT_MS", 300)
    release = asyncio.Event()
    async with emptied(MongoStore(proxy.url, DATABASE, "motor", Road.BULK_WRITE)) as store:
        first = started()
        assert await store.workflows.commit(None, first)
        proxy.spoil("bulkWrite", release=release)
        with pytest.raises(StoreUnavailable):
            await store.workflows.commit(first, claimed(first))
        release.set()
        assert await store.workflows.load(first.workflow_id) == claimed(first) or await store.workflows.revisions([first.workflow_id])


async def test_c69_cancelled_caller_leaves_its_write(
    store: MongoStore, proxy: Proxy, way: tuple[Driver, Road], eventually: Eventually
) -> None:
    first, other = started(), started()
    assert await store.workflows.commit(None, first)
    assert await store.workflows.commit(None, other)
    release = asyncio.Event()
    held = proxy.spoil(COMMANDS[way[1]][0], release=release)
    second, other_second = claimed(first), claimed(other)
    async with asyncio.TaskGroup() as group:
        leaving = group.create_task(store.workflows.commit(first, second))
        staying = group.create_task(store.workflows.commit(other, other_second))
        await held.happened.wait()
        leaving.cancel()
        release.set()
        assert await staying is True
    assert leaving.cancelled()

    async def is_stored() -> bool:
        return await store.workflows.load(first.workflow_id) == second

    await eventually(is_stored)


async def test_c69_caller_cancelled_before_its_batch_left(
    store: MongoStore, proxy: Proxy, way: tuple[Driver, Road], eventually: Eventually
) -> None:
    workflows = [started() for _ in range(3)]
    for workflow in workflows:
        assert await store.workflows.commit(None, workflow)
    release = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for workflow in workflows[:2]:
            held = proxy.spoil(COMMANDS[way[1]][0], release=release)
            group.create_task(store.workflows.commit(workflow, claimed(workflow)))
            await held.happened.wait()
        waiting = group.create_task(store.workflows.commit(workflows[2], claimed(workflows[2])))
        group.create_task(_cancelled(waiting))
        await store.time()
        release.set()

    async def is_stored() -> bool:
        found = await store.workflows.revisions([workflows[2].workflow_id])
        return found[workflows[2].workflow_id][1] == 2

    await eventually(is_stored)


async def _cancelled(task: asyncio.Task[bool]) -> None:
    task.cancel()


async def test_c69_readers_that_come_and_go_leave_the_pool_whole(store: MongoStore, proxy: Proxy) -> None:
    first = started()
    assert await store.workflows.commit(None, first)
    release = asyncio.Event()
    held = proxy.spoil("find", release=release, times=200)
    async with asyncio.TaskGroup() as group:
        readers = [group.create_task(store.workflows.load(first.workflow_id, Read.LINEARIZABLE)) for _ in range(100)]
        await held.happened.wait()
        for reader in readers[::2]:
            reader.cancel()
        release.set()
        second = claimed(first)
        assert await store.workflows.commit(first, second)
    held.times = 0
    # PyMongo 4.20 swallows a cancellation that comes while a connection is being handed over; then the reader has its answer.
    assert sum(reader.cancelled() for reader in readers[::2]) >= 45
    assert all(reader.cancelled() or reader.result() in (first, second) for reader in readers)
    assert not any(reader.cancelled() for reader in readers[1::2])
    assert await store.workflows.load(first.workflow_id, Read.LINEARIZABLE) == second


async def test_writes_that_wait_go_out_together(store: MongoStore, proxy: Proxy, way: tuple[Driver, Road]) -> None:
    workflows = [started() for _ in range(40)]
    assert all(await asyncio.gather(*(store.workflows.commit(None, workflow) for workflow in workflows)))
    command = COMMANDS[way[1]][0]
    release = asyncio.Event()
    before = len(proxy.sent(command))
    async with asyncio.TaskGroup() as group:
        for workflow in workflows[:2]:
            held = proxy.spoil(command, release=release)
            group.create_task(store.workflows.commit(workflow, claimed(workflow)))
            await held.happened.wait()
        waiting = [group.create_task(store.workflows.commit(workflow, claimed(workflow))) for workflow in workflows[2:]]
        again = group.create_task(store.workflows.commit(workflows[5], following(workflows[5], cancel_reason="second")))
        await store.time()
        release.set()
    assert all(task.result() for task in waiting)
    # The second write of one id went after the first, and lost.
    assert again.result() is False
    batches = [command.get("ops") or command["updates"] for command in proxy.sent(command)[before:]]
    # One batch of 38, or two of 19 if both before it came back in the same moment.
    assert [len(batch) for batch in batches[:2]] == [1, 1]
    assert sum(len(batch) for batch in batches) == 41
    assert len(batches) <= 5


async def test_c68_sessions_are_unknown_too(store: MongoStore, proxy: Proxy) -> None:
    opened = session()
    proxy.spoil("insert")
    with pytest.raises(StoreUnavailable):
        await store.sessions.open(opened)
    await store.sessions.open(opened)
    proxy.spoil("findAndModify")
    with pytest.raises(StoreUnavailable):
        await store.sessions.refuse(opened.session_id, "a")
    assert await store.sessions.refuse(opened.session_id, "a") is True
    proxy.spoil("findAndModify", answer={"ok": 1.0, "value": {"_id": "x"}, "writeConcernError": UNCONFIRMED})
    with pytest.raises(StoreUnavailable):
        await store.sessions.hold(opened.session_id, ["b"])
    proxy.spoil("update", answer={"ok": 1.0, "n": 1, "writeConcernError": UNCONFIRMED})
    with pytest.raises(StoreUnavailable):
        await store.sessions.renew(opened.session_id, 1, NOW + 60_000, [])


async def test_reads_are_sent_again_once(store: MongoStore, proxy: Proxy) -> None:
    first = started()
    assert await store.workflows.commit(None, first)
    proxy.spoil("find", forward=False)
    assert await store.workflows.load(first.workflow_id) == first
    proxy.spoil("find", forward=False, times=2)
    with pytest.raises(StoreUnavailable):
        await store.workflows.load(first.workflow_id)


async def test_refused_command_is_an_error_of_its_own_write(store: MongoStore, proxy: Proxy, way: tuple[Driver, Road]) -> None:
    workflows = [started() for _ in range(3)]
    for workflow in workflows:
        assert await store.workflows.commit(None, workflow)
    command = COMMANDS[way[1]][0]
    # The whole batch is refused, though the server had applied it; then each goes alone, and the first of them is refused for good.
    proxy.spoil(command, answer={"ok": 0.0, "code": 9, "errmsg": "cannot parse"})
    proxy.spoil(command, forward=False, answer={"ok": 0.0, "code": 9, "errmsg": "cannot parse"})
    results = await asyncio.gather(*(store.workflows.commit(workflow, claimed(workflow)) for workflow in workflows), return_exceptions=True)
    assert isinstance(results[0], StoreError)
    assert not isinstance(results[0], StoreUnavailable)
    assert results[1:] == [True, True]


async def test_c39_every_write_names_run_and_revision(store: MongoStore, proxy: Proxy) -> None:
    first = started()
    assert await store.workflows.commit(None, first)
    second = claimed(first)
    assert await store.workflows.commit(first, second)
    assert await store.workflows.delete(second)
    filters = [operation["filter"] for command in proxy.sent("bulkWrite") for operation in command["ops"] if "update" in operation]
    filters += [statement["q"] for command in proxy.sent("update") for statement in command["updates"] if command["update"] == "workflows"]
    filters += [statement["q"] for command in proxy.sent("delete") for statement in command["deletes"] if command["delete"] == "workflows"]
    assert len(filters) >= 2
    assert all({"_id", "run_id", "revision"} == each.keys() for each in filters if each.get("_id") == first.workflow_id)
    changes = [operation["updateMods"] for command in proxy.sent("bulkWrite") for operation in command["ops"] if "update" in operation]
    assert all(set(change) <= {"$set", "$unset"} for change in changes)

"""Batches as transactions on the stand-in store: all or nothing, one road back, and nobody blocked by a server that died in the middle."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.errors import StoreError, StoreUnavailable
from perdure_server.ports.store import Store
from perdure_server.store.committer import Road
from perdure_server.store.driver import Driver, TransactionUndoneError
from perdure_server.store.mongo import MongoStore
from perdure_server.store.probe import SECANTUS
from perdure_server.store.transactions import REGISTRY, Transactions
from tests.conftest import RunningServer
from tests.store.conftest import DATABASE, OpenStore, emptied
from tests.store.instances import following, started
from tests.store.proxy import Proxy, proxied


@pytest.fixture
async def proxy(store_process: RunningServer) -> AsyncIterator[Proxy]:
    async with proxied(store_process.url) as proxy:
        yield proxy


@pytest.fixture(params=["motor", "pymongo"])
async def ours(proxy: Proxy, request: pytest.FixtureRequest) -> AsyncIterator[MongoStore]:
    driver: Driver = request.param
    async with emptied(MongoStore(proxy.url, DATABASE, driver, Road.TRANSACTION)) as store:
        if store.description()["kind"] != SECANTUS:
            pytest.skip("this road is for SecantusDB")
        yield store


@pytest.fixture
async def theirs(open_store: OpenStore) -> AsyncIterator[MongoStore]:
    async with open_store("motor", Road.TRANSACTION) as store:
        yield store


async def _stored(store: MongoStore, count: int) -> list[Workflow]:
    workflows = [started() for _ in range(count)]
    assert all(await asyncio.gather(*(store.workflows.commit(None, workflow) for workflow in workflows)))
    return workflows


async def _changed(store: MongoStore, workflows: list[Workflow], reason: str) -> list[bool]:
    return await asyncio.gather(*(store.workflows.commit(each, following(each, cancel_reason=reason)) for each in workflows))


async def test_changes_are_one_transaction_and_a_lonely_one_is_none(ours: MongoStore, proxy: Proxy) -> None:
    workflows = await _stored(ours, 10)
    assert proxy.sent("commitTransaction") == []  # one insert command is one flush by itself
    assert all(await _changed(ours, workflows, "together"))
    commits = proxy.sent("commitTransaction")
    assert len(commits) == 1
    assert commits[0]["writeConcern"] == {"w": "majority", "j": True, "wtimeout": 5_000}
    lonely = started()
    assert await ours.workflows.commit(None, lonely)
    assert await ours.workflows.commit(lonely, following(lonely, cancel_reason="alone"))
    assert len(proxy.sent("commitTransaction")) == 1


async def test_starts_and_changes_of_one_batch_are_stored_beside_one_another(ours: MongoStore, proxy: Proxy) -> None:
    known = await _stored(ours, 4)
    fresh = [started() for _ in range(4)]
    starts = (ours.workflows.commit(None, each) for each in [*fresh, known[0]])
    changes = (ours.workflows.commit(each, following(each, cancel_reason="ours")) for each in known[1:])
    assert await asyncio.gather(*starts, *changes) == [True] * 4 + [False] + [True] * 3
    assert len(proxy.sent("commitTransaction")) == 1
    assert ours.counters()["commit_transactions_undone"] == 0


async def test_large_documents_are_changed_one_by_one(ours: MongoStore, proxy: Proxy) -> None:
    # A transaction of many would fill the stand-in store's cache, and stop it for good.
    workflows = [started(inline_bytes=2_000_000) for _ in range(4)]
    assert all(await asyncio.gather(*(ours.workflows.commit(None, workflow) for workflow in workflows)))
    assert all(await _changed(ours, workflows, "together"))
    assert proxy.sent("commitTransaction") == []


async def test_each_write_of_a_batch_has_its_own_answer(ours: MongoStore, theirs: Store, proxy: Proxy) -> None:
    workflows = await _stored(ours, 6)
    assert await theirs.workflows.commit(workflows[2], following(workflows[2], cancel_reason="theirs"))
    assert await _changed(ours, workflows, "ours") == [True, True, False, True, True, True]
    assert len(proxy.sent("commitTransaction")) == 1
    assert ours.counters()["commit_reads_to_settle"] == 1


async def test_a_refused_change_undoes_the_others_and_all_are_sent_again(ours: MongoStore, proxy: Proxy) -> None:
    workflows = await _stored(ours, 4)
    refused = {"index": 2, "code": 112, "errmsg": "WriteConflict"}
    proxy.spoil("update", answer={"ok": 1.0, "n": 3, "nModified": 3, "writeErrors": [refused]})
    assert await _changed(ours, workflows, "ours") == [True] * 4
    assert len(proxy.sent("abortTransaction")) == 1
    assert proxy.sent("commitTransaction") == []
    assert ours.counters()["commit_transactions_undone"] == 1


async def test_a_refused_transaction_goes_the_other_road(ours: MongoStore, proxy: Proxy) -> None:
    workflows = await _stored(ours, 5)
    conflict = {"ok": 0.0, "code": 112, "errmsg": "WriteConflict", "errorLabels": ["TransientTransactionError"]}
    proxy.spoil("update", forward=False, answer=conflict)
    assert all(await _changed(ours, workflows, "ours"))
    assert proxy.sent("commitTransaction") == []
    for count in (1, 2, 3):  # the refused session serves again
        assert all(await _changed(ours, await _stored(ours, 5), "ours"))
        assert len(proxy.sent("commitTransaction")) == count


async def test_c68_a_lost_answer_to_the_commit_leaves_the_result_unknown(ours: MongoStore, theirs: Store, proxy: Proxy) -> None:
    workflows = await _stored(ours, 4)
    proxy.spoil("commitTransaction", times=2)  # the driver asks once more by itself
    changed = [following(each, cancel_reason="once") for each in workflows]
    results = await asyncio.gather(*(ours.workflows.commit(*pair) for pair in zip(workflows, changed, strict=True)), return_exceptions=True)
    assert [type(result) for result in results] == [StoreUnavailable] * 4
    for workflow in changed:
        assert await theirs.workflows.load(workflow.workflow_id) == workflow


async def test_a_server_that_dies_before_its_commit_blocks_nobody_for_long(ours: MongoStore, theirs: MongoStore, proxy: Proxy) -> None:
    workflows = await _stored(theirs, 4)
    # From the commit on nothing of ours reaches the store: its batch stays in the middle of a transaction.
    cut, _ = [proxy.spoil(name, forward=False, times=1_000) for name in ("commitTransaction", "abortTransaction")]
    changes = (ours.workflows.commit(each, following(each, cancel_reason="ours")) for each in workflows)
    losing = asyncio.gather(*changes, return_exceptions=True)
    await cut.happened.wait()
    proxy.spoil("update", forward=False, times=1_000)
    assert [type(result) for result in await losing] == [StoreUnavailable] * 4
    began = time.monotonic()
    assert await _changed(theirs, workflows, "theirs") == [True] * 4
    assert time.monotonic() - began < 8


async def test_a_commit_that_never_arrives_blocks_nobody_for_long(ours: MongoStore, proxy: Proxy) -> None:
    workflows = await _stored(ours, 4)
    proxy.spoil("commitTransaction", forward=False, times=2)  # the driver asks once more by itself
    changed = [following(each, cancel_reason="once") for each in workflows]
    lost = await asyncio.gather(*(ours.workflows.commit(*pair) for pair in zip(workflows, changed, strict=True)), return_exceptions=True)
    assert [type(result) for result in lost] == [StoreUnavailable] * 4
    began = time.monotonic()
    # One write is no transaction: only the end of ours can let it through.
    assert await ours.workflows.commit(workflows[0], following(workflows[0], cancel_reason="again"))
    assert time.monotonic() - began < 8


async def test_sessions_are_registered_while_the_server_lives(ours: MongoStore, theirs: MongoStore, store_process: RunningServer) -> None:
    async def registered() -> int:
        reply = await theirs.connection.command({"count": REGISTRY, "query": {}})
        count: int = reply["n"]
        return count

    assert await registered() == 4
    third = MongoStore(store_process.url, DATABASE, "motor", Road.TRANSACTION)
    await third.open()
    assert await registered() == 6
    await third.close()
    assert await registered() == 4


async def test_a_server_without_transactions_is_not_registered_until_it_sends_one_again(theirs: MongoStore) -> None:
    async def until_registered(count: int) -> None:
        async with asyncio.timeout(10):
            while (await theirs.connection.command({"count": REGISTRY, "query": {}}))["n"] != count:
                pass

    idle = Transactions(theirs.connection, idle_after=0.5)
    await idle.open()
    try:
        await until_registered(4)
        await until_registered(2)
        with pytest.raises(TransactionUndoneError):
            await idle.send({"ping": 1})
        await until_registered(4)
    finally:
        await idle.close()
    await until_registered(2)


async def test_the_road_is_refused_elsewhere(proxy: Proxy) -> None:
    proxy.spoil("buildInfo", forward=False, answer={"ok": 1.0, "version": "8.0.4"})
    store = MongoStore(proxy.url, DATABASE, "motor", Road.TRANSACTION)
    try:
        with pytest.raises(StoreError, match="store-transactions is for SecantusDB"):
            await store.open()
    finally:
        await store.close()

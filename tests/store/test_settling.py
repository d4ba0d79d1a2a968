"""What a short count of `update` leaves open (MongoDB 6 and 7), and how it is settled."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.errors import StoreError, StoreUnavailable
from perdure_server.ports.store import Store
from perdure_server.store.committer import Road
from perdure_server.store.mongo import MongoStore
from tests.conftest import RunningServer
from tests.store.conftest import DATABASE, OpenStore, emptied
from tests.store.instances import claimed, following, started
from tests.store.proxy import Proxy, proxied


@pytest.fixture
async def proxy(store_process: RunningServer) -> AsyncIterator[Proxy]:
    async with proxied(store_process.url) as proxy:
        yield proxy


@pytest.fixture
async def ours(proxy: Proxy) -> AsyncIterator[MongoStore]:
    async with emptied(MongoStore(proxy.url, DATABASE, "motor", Road.INSERT_AND_UPDATE)) as store:
        yield store


@pytest.fixture
async def theirs(open_store: OpenStore) -> AsyncIterator[Store]:
    async with open_store("motor", None) as store:
        yield store


async def test_c39_two_servers_and_one_winner_each(ours: MongoStore, theirs: Store) -> None:
    workflows = [started() for _ in range(60)]
    assert all(await asyncio.gather(*(ours.workflows.commit(None, workflow) for workflow in workflows)))
    mine = [following(workflow, cancel_reason="ours") for workflow in workflows]
    other = [following(workflow, cancel_reason="theirs") for workflow in reversed(workflows)]
    results = await asyncio.gather(
        *(ours.workflows.commit(old, new) for old, new in zip(workflows, mine, strict=True)),
        *(theirs.workflows.commit(old, new) for old, new in zip(reversed(workflows), other, strict=True)),
    )
    won, lost = results[:60], list(reversed(results[60:]))
    assert all(we is not they for we, they in zip(won, lost, strict=True))
    for workflow, we in zip(workflows, won, strict=True):
        stored = await theirs.workflows.load(workflow.workflow_id)
        assert stored is not None
        assert stored.cancel_reason == ("ours" if we else "theirs")


async def test_ours_is_true_though_another_wrote_over_it(ours: MongoStore, theirs: Store, proxy: Proxy) -> None:
    first, lost = started(), started()
    assert all(await asyncio.gather(*(ours.workflows.commit(None, workflow) for workflow in (first, lost))))
    assert await theirs.workflows.commit(lost, claimed(lost))
    release = asyncio.Event()
    replied = proxy.spoil("update", release=release)
    second = claimed(first)
    async with asyncio.TaskGroup() as group:
        one = group.create_task(ours.workflows.commit(first, second))
        two = group.create_task(ours.workflows.commit(lost, claimed(lost)))
        await replied.happened.wait()
        # Between our write and the read that settles the batch.
        assert await theirs.workflows.commit(second, following(second))
        release.set()
    assert (one.result(), two.result()) == (True, False)


async def test_what_nothing_proves_is_unknown(ours: MongoStore, theirs: Store, proxy: Proxy) -> None:
    first, lost, sure = started(), started(), started()
    assert all(await asyncio.gather(*(ours.workflows.commit(None, workflow) for workflow in (first, lost, sure))))
    lost_second = claimed(lost)
    assert await theirs.workflows.commit(lost, lost_second)
    release = asyncio.Event()
    replied = proxy.spoil("update", release=release)
    second = claimed(first)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_result(ours, workflow)) for workflow in (first, lost, sure)]
        await replied.happened.wait()
        assert await theirs.workflows.commit(second, following(second))
        assert await theirs.workflows.commit(lost_second, following(lost_second))
        release.set()
    results = [task.result() for task in tasks]
    assert [type(result) for result in results] == [StoreUnavailable, StoreUnavailable, bool]
    assert results[2] is True


async def _result(store: Store, workflow: Workflow) -> bool | StoreError:
    try:
        return await store.workflows.commit(workflow, claimed(workflow))
    except StoreError as error:
        return error

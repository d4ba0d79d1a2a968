"""What only a replica set of several members can show: an election under load (case C67), a secondary that lags (case C66).

It runs where MONGO_URL names one (its user may step a primary down and fsync-lock nothing), and is skipped with that reason elsewhere.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from functools import partial

import pytest
from pymongo import AsyncMongoClient
from pymongo.errors import ConnectionFailure

from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.store.mongo import MongoStore
from tests.conftest import Eventually
from tests.processes import MONGO_URL as MONGO_URL_IF_ANY
from tests.store.conftest import DATABASE
from tests.store.instances import following, started

MONGO_URL = MONGO_URL_IF_ANY or ""
WRITERS = 20
ROUNDS = 5
STEP_DOWN_SECONDS = 5


@pytest.fixture
async def admin() -> AsyncMongoClient[dict[str, object]]:
    """A connection to a replica set with at least two members that hold data."""
    if not MONGO_URL:
        pytest.skip("not run: needs MONGO_URL with a replica set of several members")
    client: AsyncMongoClient[dict[str, object]] = AsyncMongoClient(MONGO_URL)
    hello = await client.admin.command("hello")
    if len(hello.get("hosts", ())) < 2:
        pytest.skip(f"not run: the replica set of MONGO_URL has {len(hello.get('hosts', ()))} member that holds data")
    return client


async def write_on(store: MongoStore, known: dict[bytes, Workflow], stop: asyncio.Event) -> None:
    """One writer: a new instance and then change after change; an unknown result is settled by reading, as the engine does."""
    stored: Workflow | None = None
    new = started()
    while not stop.is_set():
        changed = new if stored is None else following(stored, cancel_reason=f"revision {stored.revision + 1}")
        try:
            done = await store.workflows.commit(stored, changed)
        except StoreUnavailable:
            done = False
        stored = changed if done else await _settled(store, new)
        if stored is not None:
            known[stored.workflow_id] = stored


async def _settled(store: MongoStore, current: Workflow) -> Workflow | None:
    while True:
        try:
            return await store.workflows.load(current.workflow_id)
        except StoreUnavailable:
            continue


def _revisions(known: Mapping[bytes, Workflow]) -> int:
    return sum(workflow.revision for workflow in known.values())


def _reached(known: Mapping[bytes, Workflow], revisions: int) -> bool:
    return _revisions(known) >= revisions


@pytest.mark.timeout(300)
async def test_c67_every_ok_is_there_after_elections_under_load(admin: AsyncMongoClient[dict[str, object]], eventually: Eventually) -> None:
    store = MongoStore(MONGO_URL, DATABASE)
    await store.open()
    known: dict[bytes, Workflow] = {}
    stop = asyncio.Event()
    writers = [asyncio.get_running_loop().create_task(write_on(store, known, stop)) for _ in range(WRITERS)]
    try:
        for _ in range(ROUNDS):
            before = _revisions(known)
            with contextlib.suppress(ConnectionFailure):  # a primary that steps down may close its connections before it answers
                await admin.admin.command({"replSetStepDown": STEP_DOWN_SECONDS, "secondaryCatchUpPeriodSecs": STEP_DOWN_SECONDS})
            await eventually(partial(_reached, known, before + WRITERS), within=60.0, what="writing goes on")
    finally:
        stop.set()
        await asyncio.gather(*writers)
    for workflow_id, workflow in known.items():
        found = await store.workflows.load(workflow_id)
        assert found is not None
        assert (found.run_id, found.revision) == (workflow.run_id, workflow.revision), "no OK went back, and nobody else wrote"
    await store.close()
    await admin.close()


async def test_c66_reads_come_from_the_primary_whatever_the_url_prefers(admin: AsyncMongoClient[dict[str, object]]) -> None:
    joint = "&" if "?" in MONGO_URL else "/?" if MONGO_URL.count("/") == 2 else "?"
    store = MongoStore(f"{MONGO_URL}{joint}readPreference=secondary&readConcernLevel=available&w=1", DATABASE)
    await store.open()
    current = started()
    assert await store.workflows.commit(None, current)
    for _ in range(100):
        changed = following(current, cancel_reason=f"revision {current.revision + 1}")
        assert await store.workflows.commit(current, changed)
        found = await store.workflows.load(current.workflow_id)
        assert found is not None
        assert found.revision == changed.revision, "a secondary may not have it yet"
        current = changed
    await store.close()
    await admin.close()

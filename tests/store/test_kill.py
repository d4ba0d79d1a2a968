"""kill -9 of the store in the middle of commits: whatever was answered True is there afterwards."""

import asyncio
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.store.committer import Road
from perdure_server.store.mongo import MongoStore
from tests.processes import ServerProcess, missing_server, store_available
from tests.store.conftest import DATABASE
from tests.store.instances import following, started

WORKFLOWS = 200
TRUE_BEFORE_KILL = 300

READY = r"(secantus|secantusd-rs) listening on \S+:\d+"


def _arguments(kind: str, directory: Path) -> list[str] | None:
    """How to start this kind of store so that an acknowledged write is on disk; None if it is not here."""
    data = directory / "data"
    data.mkdir()
    flags = ["--host", "127.0.0.1", "--storage-path", str(data), "--cache-size", "256M", "--sync-on-commit"]
    if kind == "secantusd-rs":
        binary = shutil.which("secantusd-rs") or shutil.which("secantusd-rs", path="/opt/secantus/bin")
        return [binary, *flags] if binary else None
    return [sys.executable, "-m", "secantus", *flags] if store_available() else None


@pytest.fixture(params=["wheel", "secantusd-rs"])
def process(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServerProcess]:
    """A store of its own, on one port for life, that a test may kill."""
    arguments = _arguments(request.param, tmp_path)
    if arguments is None and request.param == "wheel":
        missing_server("the SecantusDB wheel is not installed")
    if arguments is None:
        pytest.skip(f"no {request.param} on PATH")
    command = list(arguments)
    # Without an oplog, as the embedded one runs; the wheel does not know this setting.
    settings = {"SECANTUS_DISABLE_OPLOG": "1"}
    server = ServerProcess(lambda port: [*command, "--port", str(port)], READY, tmp_path, settings=settings)
    server.start()
    yield server
    server.kill()


@pytest.mark.parametrize("road", [None, pytest.param(Road.TRANSACTION, marks=pytest.mark.slow)])
async def test_c67_every_true_is_there_after_kill_9(process: ServerProcess, road: Road | None) -> None:
    url = f"mongodb://127.0.0.1:{process.port}/"
    store = MongoStore(url, DATABASE, road=road)
    await store.open()
    confirmed: dict[bytes, Workflow] = {}
    enough = asyncio.Event()

    async def write() -> None:
        current = started()
        if not await store.workflows.commit(None, current):
            raise AssertionError(current)
        while True:
            confirmed[current.workflow_id] = current
            if sum(workflow.revision for workflow in confirmed.values()) >= TRUE_BEFORE_KILL:
                enough.set()
            changed = following(current, cancel_reason=f"revision {current.revision + 1}")
            assert await store.workflows.commit(current, changed)
            current = changed

    tasks = [asyncio.get_running_loop().create_task(write()) for _ in range(WORKFLOWS)]
    await asyncio.wait_for(enough.wait(), 30)
    await asyncio.to_thread(process.kill)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(result) for result in results} == {StoreUnavailable}
    counters = store.counters()
    assert counters["commit_transactions_undone"] < counters["commit_batches"] / 2, (
        "a busy machine may register its sessions late, now and then"
    )
    await store.close()

    await asyncio.to_thread(process.start)
    store = MongoStore(url, DATABASE)
    await store.open()
    stored = await store.workflows.revisions(list(confirmed))
    lost = [workflow for key, workflow in confirmed.items() if key not in stored or stored[key][1] < workflow.revision]
    assert lost == []
    for key, workflow in list(confirmed.items())[:20]:
        found = await store.workflows.load(key)
        assert found is not None
        # At most the one write whose answer the kill took away is there beyond what was confirmed.
        assert found.revision in {workflow.revision, workflow.revision + 1}
    await store.close()


async def test_store_that_comes_back_is_used_again(process: ServerProcess) -> None:
    store = MongoStore(f"mongodb://127.0.0.1:{process.port}/", DATABASE)
    await store.open()
    first = started()
    assert await store.workflows.commit(None, first)
    await asyncio.to_thread(process.kill)
    writing = asyncio.get_running_loop().create_task(_try(store, first))
    await asyncio.to_thread(process.start)
    await writing
    for _ in range(2):
        if await _try(store, first) is not None:
            break
    found = await store.workflows.load(first.workflow_id)
    assert found is not None
    assert found.revision == 2
    await store.close()


async def _try(store: MongoStore, workflow: Workflow) -> bool | None:
    try:
        return await store.workflows.commit(workflow, following(workflow))
    except StoreUnavailable:
        return None

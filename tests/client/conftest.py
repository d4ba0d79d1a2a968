"""A scripted server for the worker's protocol, and a whole real server on the in-memory store."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from perdure import Client
from perdure_server.config import Config
from perdure_server.main import Parts, Running, serve
from perdure_server.store.memory import MemoryStore
from tests.client.probe import Probe
from tests.client.scripted import Script, ScriptedServer

ScriptServer = Callable[..., ScriptedServer]


@pytest.fixture
def scripted() -> Iterator[ScriptServer]:
    """Starts scripted servers: `server = scripted(renew_interval=0.2)`."""
    started: list[ScriptedServer] = []

    def start(**script: object) -> ScriptedServer:
        server = ScriptedServer(Script(**script))  # type: ignore[arg-type]  # fields of Script
        server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture
async def probe() -> Probe:
    """An activity that a test can hold and look into."""
    return Probe()


@pytest.fixture
async def real() -> AsyncIterator[Running]:
    """A whole server in this process on the in-memory store."""
    store = MemoryStore(lambda: time.time_ns() // 1_000_000)
    async with serve(Config(port=0, drain_grace_ms=500), Parts(store=store)) as running:
        yield running


@pytest.fixture
async def client(real: Running) -> AsyncIterator[Client]:
    """A client of the real server."""
    async with Client(f"127.0.0.1:{real.port}") as found:
        yield found


@pytest.fixture(autouse=True)
async def no_task_is_left() -> AsyncIterator[None]:
    """Fails a test that leaves tasks behind on its loop."""
    before = asyncio.all_tasks()
    yield
    left = [task for task in asyncio.all_tasks() - before - {asyncio.current_task()} if not task.done()]
    names = [task.get_name() for task in left]
    assert not [name for name in names if name.startswith("perdure")], names

"""Children die with their parent, however it dies."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pymongo import AsyncMongoClient

from perdure_server.embedded import EmbeddedOptions, embedded_services
from tests.conftest import Eventually
from tests.embedded.proc import running_with
from tests.processes import environment, is_alive, missing_server, redis_binary, store_available

ROOT = Path(__file__).parents[2]

if not (store_available() and redis_binary()):
    missing_server("the embedded servers are not installed")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]


@asynccontextmanager
async def running(module: str, argument: str) -> AsyncIterator[tuple[Process, Any]]:
    """A process of ours and the first line, as JSON, that it says. It is killed at the end."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", module, argument, cwd=ROOT, stdin=PIPE, stdout=PIPE)
    try:
        assert process.stdout is not None
        yield process, json.loads(await process.stdout.readline())
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_kill_9_of_the_parent_leaves_no_child_and_loses_no_data(tmp_path: Path, eventually: Eventually) -> None:
    async with running("tests.embedded.owner", str(tmp_path)) as (owner, told):
        client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(told["store"])
        await client.kept.things.insert_one({"_id": 1})
        await client.close()
        assert all(is_alive(pid) for pid in told["pids"])
        owner.kill()
        await owner.wait()
    # At once, while the children may still be dying: the new owner waits for them.
    async with embedded_services(EmbeddedOptions(tmp_path, environment())) as services:
        assert not any(is_alive(pid) for pid in told["pids"])
        assert services.store.url == told["store"]
        client = AsyncMongoClient(services.store.url)
        assert await client.kept.things.find_one({"_id": 1}) == {"_id": 1}
        await client.close()
    await eventually(lambda: not running_with(str(tmp_path)))


async def test_sigterm_of_the_parent_is_no_worse(tmp_path: Path, eventually: Eventually) -> None:
    async with running("tests.embedded.owner", str(tmp_path)) as (owner, told):
        owner.terminate()  # this owner has no handler: it is killed by the signal
        await owner.wait()
    await eventually(lambda: not any(is_alive(pid) for pid in told["pids"]))


async def test_the_end_of_the_block_ends_them_before_the_process_ends(tmp_path: Path) -> None:
    async with running("tests.embedded.owner", str(tmp_path)) as (owner, told):
        assert owner.stdin is not None
        owner.stdin.close()
        assert await owner.wait() == 0
        assert not any(is_alive(pid) for pid in told["pids"])


async def test_the_watchdog_ends_the_child_where_the_kernel_does_not(eventually: Eventually) -> None:
    async with running("tests.embedded.watched", "wait") as (parent, child):
        await eventually(lambda: b"threading" in Path(f"/proc/{child}/cmdline").read_bytes())
        assert is_alive(child)
        parent.kill()
        await parent.wait()
    await eventually(lambda: not is_alive(child))


async def test_the_watchdog_goes_with_its_child(eventually: Eventually) -> None:
    async with running("tests.embedded.watched", "end") as (parent, _child):
        await eventually(lambda: running_with("tests.embedded.watched") == {parent.pid})

"""The server as a process of its own on a real store: signals, exit codes, and a store that hangs (case C60)."""

import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.config import COLLECTED_OBJECTS
from tests.conftest import Eventually, RunningServer
from tests.processes import ServerProcess, StoreProcess, missing_server, store_available
from tests.rpc.conftest import Served, ref
from tests.rpc.worker import Worker

pytestmark = pytest.mark.slow


class PerdureProcess(ServerProcess):
    """`python -m perdure_server serve` on a free port."""

    def __init__(self, store_url: str, database: str, directory: Path, grace: int = 1_000) -> None:
        flags = ["--mongo-url", store_url, "--database", database, "--drain-grace-ms", str(grace), "--log-format", "json"]

        def arguments(port: int) -> list[str]:
            return [sys.executable, "-m", "perdure_server", "serve", "--port", str(port), *flags]

        super().__init__(arguments, r"perdure serves on \S+:(?P<port>\d+)", directory)

    @property
    def exit_code(self) -> int | None:
        return self._process.poll() if self._process is not None else None


@pytest.fixture
def perdure(store_process: RunningServer, database_name: str, tmp_path: Path) -> Iterator[PerdureProcess]:
    process = PerdureProcess(store_process.url, database_name, tmp_path)
    process.start()
    yield process
    process.kill()


_TELLS_OF_ITS_COLLECTOR = """
import gc, os, signal, sys
from perdure_server import config, main

def told(port):
    print(gc.get_threshold()[0], gc.get_freeze_count() > 10_000, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)

sys.exit(main.run(config.read(sys.argv[1:]), told))
"""


@asynccontextmanager
async def talking_to(process: PerdureProcess) -> AsyncIterator[Served]:
    nothing: Any = None  # there is no engine in this process
    async with grpc.aio.insecure_channel(f"127.0.0.1:{process.port}") as channel:
        yield Served(nothing, channel)


async def test_sigterm_ends_it_in_order_and_the_work_goes_on_after_the_next_start(perdure: PerdureProcess, eventually: Eventually) -> None:
    async with talking_to(perdure) as served:
        await served.register("a")
        await served.start()
    perdure.send(signal.SIGTERM)
    await eventually(lambda: not perdure.running, within=6)
    assert perdure.exit_code == 0
    assert any("gRPC stopped" in line for line in perdure.log)
    perdure.start()
    async with talking_to(perdure) as served:
        again = await served.start()
        assert not again.created
        worker = Worker(_stub(served).Claim())
        await worker.hello()
        await worker.complete(await worker.claim())
        assert (await served.workflows.WaitForResult(wire.WaitForResultRequest(workflow=ref()))).done


async def test_c60_a_second_sigterm_is_obeyed_at_once(
    store_process: RunningServer, database_name: str, tmp_path: Path, eventually: Eventually
) -> None:
    process = PerdureProcess(store_process.url, database_name, tmp_path, grace=60_000)
    process.start()
    async with talking_to(process) as served:
        worker = Worker(_stub(served).Claim())
        await worker.hello()
        process.send(signal.SIGTERM)
        await worker.hear_one("go_away")
        assert process.running
        process.send(signal.SIGTERM)
        await eventually(lambda: not process.running, within=6)
        assert process.exit_code == 128 + signal.SIGTERM
    process.kill()


@pytest.fixture
def hanging(tmp_path: Path) -> Iterator[tuple[StoreProcess, PerdureProcess]]:
    """A server on a store of its own, which a test may stop."""
    if not store_available():
        missing_server("a store that may be stopped: install the `embedded` extra")
    store = StoreProcess(tmp_path / "store")
    store.start()
    process = PerdureProcess(store.url, "perdure", tmp_path / "server")
    process.start()
    yield store, process
    process.kill()
    store.send(signal.SIGCONT)
    store.kill()


async def test_c60_it_ends_within_the_grace_and_two_seconds_while_the_store_hangs(
    hanging: tuple[StoreProcess, PerdureProcess], eventually: Eventually
) -> None:
    store, process = hanging
    async with talking_to(process) as served:
        await served.register("a")
        store.send(signal.SIGSTOP)
        started: Any = served.workflows.StartWorkflow(wire.StartWorkflowRequest(workflow=ref()))
        asked: Any = served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref()))
        begun = time.monotonic()
        process.send(signal.SIGTERM)
        await eventually(lambda: not process.running, within=10)
        assert time.monotonic() - begun < 1 + 2 + 2, "grace, two seconds, and a busy machine"
        for call in (started, asked):
            with pytest.raises(grpc.aio.AioRpcError):
                await call


def test_the_probe_command(perdure: PerdureProcess) -> None:
    command = [sys.executable, "-m", "perdure_server", "health", "--port", str(perdure.port)]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (asked.returncode, asked.stdout.strip()) == (0, "SERVING")
    assert subprocess.run([*command, "--liveness"], capture_output=True, check=False).returncode == 0
    perdure.kill()
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1


def test_the_log_tells_no_secrets(perdure: PerdureProcess) -> None:
    assert not [line for line in perdure.log if "mongodb://" in line]


def _stub(served: Served) -> Any:
    return served.workers


def test_a_process_that_serves_spares_the_cycle_collector(store_process: RunningServer, database_name: str) -> None:
    """Without it the collector takes a tenth of the server's time, and nothing else shows that."""
    flags = ("--mongo-url", store_process.url, "--database", database_name, "--port", "0", "--drain-grace-ms", "1000")
    command = [sys.executable, "-c", _TELLS_OF_ITS_COLLECTOR, *flags]
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=30, check=True)
    assert told.stdout.split() == [str(COLLECTED_OBJECTS), "True"]

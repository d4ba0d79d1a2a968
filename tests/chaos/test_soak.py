"""Streams that are opened, read once and given up, thousands of them (case C59), and a slow store under callers who leave (case C69).

grpcio is pinned below 1.83 because from there on abandoned aio calls are never collected (grpc/grpc#43462). This is the evidence, and
what must pass before the pin moves. Server and clients share one process, so that a leak of either side shows, and so that what the
server itself counts can be read.
"""

import asyncio
import contextlib
import gc
import random
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import grpc
import pytest

from perdure.v1 import worker_service_pb2, workflow_service_pb2
from perdure_server.config import Config
from perdure_server.main import Parts, Running, serve
from perdure_server.store.memory import MemoryStore
from tests.chaos.conftest import Report
from tests.chaos.extent import extent
from tests.conftest import Eventually, RunningServer
from tests.coordination.proxy import Proxy
from tests.e2e.channels import COMPLETED, Perdure, connected
from tests.e2e.servers import LEASE_MS
from tests.e2e.stream_worker import lapse

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(240)]

PAGE_KIB = 4
SAMPLES = 8
CYCLES = extent(300, long=500)  # between two samples
WARM_UP = 1_500
AT_ONCE = 10
SLOPE_KIB = extent(1.5, long=0.5)  # per cycle, at most: one call that is never collected holds more than 5
EMPTY_WITHIN = 5.0
STORE_DELAY = 0.25  # each way
CALLERS = extent(300, long=600)
COMPLETE_WITHIN = 5.0  # one trip to the store takes 0.5 s here; those who left must not hold what a result needs

Cycle = Callable[[Perdure, bool], Awaitable[None]]


@contextlib.asynccontextmanager
async def serving(config: Config, parts: Parts | None = None) -> AsyncIterator[tuple[Running, Perdure]]:
    """A server in this process, and a channel to it."""
    async with serve(config, parts) as running, connected(f"127.0.0.1:{running.port}", "soak") as perdure:
        yield running, perdure


async def watch_once(perdure: Perdure, drop: bool) -> None:
    """The snapshot of a workflow that stays silent; then cancel, or forget the call."""
    call = perdure.workflows.Watch(workflow_service_pb2.WatchRequest(workflow=perdure.ref()))
    await call.read()
    if not drop:
        call.cancel()


async def claim_once(perdure: Perdure, drop: bool) -> None:
    """Hello and welcome; then cancel, or forget the call."""
    call = perdure.workers.Claim()  # type: ignore[call-arg]  # without an iterator the call is written to by hand
    hello = worker_service_pb2.Hello(worker_id="w", pools=[perdure.pool("never")])
    await call.write(worker_service_pb2.ClaimRequest(hello=hello))
    await call.read()
    if not drop:
        call.cancel()


def resident_kib() -> int:
    """Memory of this process."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_KIB


async def run_cycles(perdure: Perdure, cycle: Cycle, count: int) -> None:
    """That many, a few at once; every fourth call is forgotten instead of cancelled."""
    async with asyncio.TaskGroup() as group:
        for first in range(AT_ONCE):
            group.create_task(_some(perdure, cycle, range(first, count, AT_ONCE)))


async def _some(perdure: Perdure, cycle: Cycle, numbers: range) -> None:
    for number in numbers:
        await cycle(perdure, number % 4 == 0)


@pytest.mark.parametrize("cycle", [watch_once, claim_once], ids=["watch", "claim"])
async def test_c59_streams_that_are_given_up_leave_nothing_behind(report: Report, eventually: Eventually, cycle: Cycle) -> None:
    store = MemoryStore(lambda: time.time_ns() // 1_000_000)
    async with serving(Config(port=0, session_lease_ms=LEASE_MS), Parts(store=store)) as (running, perdure):
        await perdure.register("a", "never: a")
        await perdure.start()
        await run_cycles(perdure, cycle, WARM_UP)
        began = time.monotonic()
        samples = []
        for number in range(SAMPLES):
            await run_cycles(perdure, cycle, CYCLES)
            samples.append((number * CYCLES, resident_kib()))
        rate = SAMPLES * CYCLES / (time.monotonic() - began)
        slope = statistics.linear_regression(*zip(*samples, strict=True)).slope
        await eventually(lambda: gc.collect() >= 0 and running.server.guard.in_flight == 0, within=EMPTY_WITHIN, what="no handler is left")
        assert len(running.engine.workers) == 0
        report(f"{SAMPLES * CYCLES} cycles, {rate:.0f} a second; {slope:+.3f} KiB per cycle; {samples[0][1]} to {samples[-1][1]} KiB")
    assert slope < SLOPE_KIB, f"memory grows: {samples}"


async def leave_early(perdure: Perdure, number: int, patience: float) -> None:
    """A Get or a Watch of somebody who gives up."""
    request = workflow_service_pb2.WatchRequest(workflow=perdure.ref())
    with contextlib.suppress(TimeoutError, grpc.aio.AioRpcError):
        async with asyncio.timeout(patience):
            await (perdure.get() if number % 2 else perdure.workflows.Watch(request).read())


async def test_c69_callers_who_leave_a_slow_store_hold_nothing(
    store_process: RunningServer, database_name: str, report: Report, random_source: random.Random, eventually: Eventually
) -> None:
    port = int(store_process.url.rstrip("/").rpartition(":")[2])
    async with Proxy(port) as slow:
        config = Config(port=0, mongo_url=f"mongodb://127.0.0.1:{slow.port}/?directConnection=true", database=database_name)
        async with serving(config) as (running, perdure), asyncio.TaskGroup() as group:
            await perdure.register("a", "never: a")
            await perdure.start()
            claim = await perdure.taken()
            accepted = slow.accepted
            slow.delay = lambda: STORE_DELAY
            for number in range(CALLERS):
                group.create_task(leave_early(perdure, number, random_source.uniform(0.01, 4 * STORE_DELAY)))
            await lapse(STORE_DELAY)
            began = time.monotonic()
            await perdure.complete(claim)
            completed = time.monotonic() - began
            await eventually(lambda: running.server.guard.in_flight == 0, what="no handler is left")
            slow.delay = lambda: 0.0
            began = time.monotonic()
            for _ in range(50):
                await perdure.get()
            healed = time.monotonic() - began
            await perdure.complete(await perdure.taken("never"))
            assert (await perdure.ended()).state == COMPLETED
    report(
        f"{CALLERS} callers left; a Complete among them took {completed:.1f} s; {slow.accepted - accepted} connections were made anew; "
        f"afterwards 50 reads took {healed:.1f} s"
    )
    assert completed < COMPLETE_WITHIN

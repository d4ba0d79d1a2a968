"""`perdure dev --test`: real processes, a worker that stays connected, and a clock that a test moves."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

from perdure import Client, Context, Definition, Retry
from perdure.testing.v1 import test_service_pb2 as wire
from perdure.testing.v1 import test_service_pb2_grpc
from tests.conftest import Eventually
from tests.e2e.servers import DevProcess
from tests.processes import missing_server, redis_binary, store_available

pytestmark = pytest.mark.slow

if not (store_available() and redis_binary()):
    missing_server("the embedded servers are not installed")

MONTH = timedelta(days=30)
order = Definition("order", version="1")
gate = asyncio.Event()
begun: list[str] = []


@order.step(retry=Retry(max_attempts=3, initial_interval=timedelta(hours=1), max_interval=timedelta(days=1)))
async def reserve(ctx: Context[None], input: str) -> str:
    if ctx.attempt == 1:
        raise RuntimeError("the first attempt fails")
    return f"{input} reserved"


thinking = order.wait("thinking", after=reserve, timeout=MONTH)


@order.step(after=thinking, attempt_timeout=timedelta(days=2))
async def deliver(ctx: Context[None], reserve: str) -> str:
    begun.append(ctx.business_key)
    await gate.wait()
    return f"{reserve}, delivered"


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevProcess]:
    made = DevProcess(tmp_path_factory.mktemp("dev"), is_test=True)
    made.start()
    yield made
    made.kill()


@pytest.fixture
async def testing(dev: DevProcess) -> "AsyncIterator[test_service_pb2_grpc.TestServiceAsyncStub]":
    async with grpc.aio.insecure_channel(dev.address) as channel:
        yield test_service_pb2_grpc.TestServiceStub(channel)


async def test_a_month_passes_while_a_worker_keeps_what_it_holds(
    dev: DevProcess, testing: "test_service_pb2_grpc.TestServiceAsyncStub", eventually: Eventually
) -> None:
    async with Client(dev.address) as client, client.worker(order):
        run = await client.start(order, key="o-1", input="two books")
        quiet = await testing.WaitIdle(wire.WaitIdleRequest())
        assert quiet.idle
        assert quiet.next_due_time.seconds - quiet.now_time.seconds in range(40 * 60, 73 * 60), "backing off for an hour"
        await testing.AdvanceTime(wire.AdvanceTimeRequest(to_next_due=True))
        before = time.monotonic()
        month = wire.AdvanceTimeRequest()
        month.by.FromTimedelta(MONTH + timedelta(seconds=1))
        month.skip_wait_idle = True
        assert (await testing.AdvanceTime(month)).fired_count == 1
        assert time.monotonic() - before < 8
        await eventually(lambda: begun)
        moving = await testing.WaitIdle(wire.WaitIdleRequest(timeout=Duration(nanos=200_000_000)))
        assert not moving.idle
        assert "deliver RUNNING" in moving.busy[0]
        day = wire.AdvanceTimeRequest()
        day.by.FromTimedelta(timedelta(days=1))
        await testing.AdvanceTime(day)
        gate.set()
        assert await run.result() == "two books reserved, delivered"
        assert begun == ["o-1"], "its lease of 3 s did not end in a month and a day"

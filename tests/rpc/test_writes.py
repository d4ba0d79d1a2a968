"""What a caller's fate does to a write: nothing. And what the store's fate does to a caller."""

import asyncio
import time
from collections.abc import AsyncIterator

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo

from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.main import Parts
from perdure_server.ports.errors import CorruptDocument, StoreUnavailable
from perdure_server.store.memory import MemoryStore, Moment
from tests.conftest import Eventually
from tests.rpc.conftest import Served, ref, refused, serving, unpacked


class Gate:
    """Holds the store's commits, or fails its loads."""

    def __init__(self) -> None:
        self.held = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()
        self.error: Exception | None = None

    async def __call__(self, operation: str, moment: Moment) -> None:
        if "load" in operation and self.error is not None:
            raise self.error
        if "commit" in operation and moment is Moment.BEFORE and not self.open.is_set():
            self.held.set()
            await self.open.wait()


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
async def gated(gate: Gate) -> AsyncIterator[Served]:
    async with serving(parts=Parts(store=MemoryStore(lambda: time.time_ns() // 1_000_000, gate))) as served:
        yield served


@pytest.mark.parametrize("how", ["cancel", "deadline"])
async def test_c69_a_caller_that_leaves_does_not_cancel_its_write(gated: Served, gate: Gate, how: str, eventually: Eventually) -> None:
    await gated.register("a")
    gate.open.clear()
    request = wire.StartWorkflowRequest(workflow=ref())
    call = gated.workflows.StartWorkflow(request, timeout=0.3 if how == "deadline" else None)
    waiting = asyncio.gather(call, return_exceptions=True)
    await asyncio.wait_for(gate.held.wait(), 5)
    if how == "cancel":
        call.cancel()
    (outcome,) = await waiting
    assert isinstance(outcome, (grpc.aio.AioRpcError, asyncio.CancelledError))
    await eventually(lambda: gated.running.server.guard.in_flight == 0)
    gate.open.set()
    again = await gated.workflows.StartWorkflow(request)
    assert not again.created, "the first one was stored"


async def test_an_unreachable_store_is_unavailable_and_says_when_to_come_again(gated: Served, gate: Gate) -> None:
    gate.error = StoreUnavailable("mongodb://user:marker-17@host")
    found = await refused(gated.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref())))
    assert (found.code, found.reason) == (grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE")
    assert unpacked(found.status, RetryInfo) is not None
    assert "marker-17" not in str(found.status)


async def test_c27_a_document_that_does_not_decode_is_data_loss_with_an_id(gated: Served, gate: Gate) -> None:
    gate.error = CorruptDocument("marker-17")
    found = await refused(gated.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref())))
    assert (found.code, found.reason) == (grpc.StatusCode.DATA_LOSS, "DOCUMENT_QUARANTINED")
    assert found.facts["incident_id"]
    assert "marker-17" not in str(found.status)

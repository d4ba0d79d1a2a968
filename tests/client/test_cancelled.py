"""CANCELLED: what nobody here asked for is tried again, by both clients; what this program ended itself is not.

tests/conformance tries the asynchronous client, as those of the other languages, behind a relay that cancels.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import grpc
import pytest
from grpc import aio

from perdure import CallTimeout, Client, Snapshot, sync
from perdure.events import Change, End
from perdure.v1 import watch_pb2, workflow_pb2, workflow_service_pb2

Responses = list[watch_pb2.WatchEvent]
SERVICE = "perdure.v1.WorkflowService"


class Fickle:
    """Ends its first calls as told, and holds those that come when nothing is told."""

    def __init__(self) -> None:
        self.ends: list[grpc.StatusCode | None] = []
        """One for each call to come: how it ends; None: it is answered."""
        self.requests: list[bytes] = []
        self.held = asyncio.Event()
        self.left = asyncio.Event()

    async def count(self, request: bytes, context: Any) -> bytes:
        await self._take(request, context)
        return workflow_service_pb2.CountWorkflowsResponse(count=7).SerializeToString()

    async def watch(self, request: bytes, context: Any) -> AsyncIterator[bytes]:
        """Each stream tells one more event, then ends as told."""
        event = _events()[len(self.requests)]
        yield workflow_service_pb2.WatchResponse(events=[event]).SerializeToString()
        await self._take(request, context)

    async def _take(self, request: bytes, context: Any) -> None:
        self.requests.append(request)
        if self.ends:
            end = self.ends.pop(0)
            if end is not None:
                await context.abort(end, "a proxy gives up")
            return
        self.held.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.left.set()


def _events() -> Responses:
    changes = [watch_pb2.WatchEvent(change=watch_pb2.StateChange(seq=seq, round=1), resume_token=f"t{seq}") for seq in (1, 2)]
    end = watch_pb2.WatchEvent(end=watch_pb2.WatchEnd(state=workflow_pb2.Workflow.STATE_COMPLETED), resume_token="t3")
    return [watch_pb2.WatchEvent(snapshot=workflow_pb2.Workflow(), resume_token="t0"), *changes, end]


@pytest.fixture
async def fickle() -> AsyncIterator[tuple[Fickle, str]]:
    """The server, and its address."""
    made = Fickle()
    server = aio.server()
    handlers = {
        "CountWorkflows": grpc.unary_unary_rpc_method_handler(made.count),
        "Watch": grpc.unary_stream_rpc_method_handler(made.watch),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield made, f"127.0.0.1:{port}"
    await server.stop(None)


async def test_a_call_that_was_cancelled_on_its_way_comes_again_byte_for_byte(fickle: tuple[Fickle, str]) -> None:
    server, address = fickle
    server.ends = [grpc.StatusCode.CANCELLED, grpc.StatusCode.CANCELLED, None] * 2
    async with Client(address) as client:
        assert (await client.count()).count == 7
    with sync.Client(address) as blocking:
        assert (await asyncio.to_thread(blocking.count)).count == 7
    assert (len(server.requests), len(set(server.requests))) == (6, 1)


async def test_a_watch_that_was_cut_by_a_proxy_goes_on_where_it_was(fickle: tuple[Fickle, str]) -> None:
    server, address = fickle
    cuts = [grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED, None]
    kinds = [Snapshot, Change, Change, End]
    server.ends = [*cuts]
    async with Client(address) as client:
        assert [type(event) async for event in client.run("note", "k").watch()] == kinds
    tokens = [workflow_service_pb2.WatchRequest.FromString(request).resume_token for request in server.requests]
    assert tokens == ["", "t0", "t1", "t2"]
    server.ends, server.requests = [*cuts], []
    with sync.Client(address) as blocking:
        assert await asyncio.to_thread(lambda: [type(event) for event in blocking.run("note", "k").watch()]) == kinds


@pytest.mark.parametrize("call", ["count", "watch"])
async def test_a_task_that_is_cancelled_ends_its_call(fickle: tuple[Fickle, str], call: str) -> None:
    server, address = fickle
    async with Client(address) as client:
        calling = asyncio.get_running_loop().create_task(_counted(client) if call == "count" else _watched(client))
        await server.held.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await server.left.wait()
    assert len(server.requests) == 1


@pytest.mark.parametrize("call", ["count", "watch"])
async def test_a_client_that_is_closed_ends_its_calls(fickle: tuple[Fickle, str], call: str) -> None:
    server, address = fickle
    client = Client(address)
    calling = asyncio.get_running_loop().create_task(_counted(client) if call == "count" else _watched(client))
    await server.held.wait()
    await client.close()
    with pytest.raises(asyncio.CancelledError):
        await calling
    await server.left.wait()
    assert len(server.requests) == 1


async def test_a_blocking_client_that_is_closed_ends_its_calls(fickle: tuple[Fickle, str]) -> None:
    # A watch is not tried: one whose read begins while gRPC closes its channel may hang (github.com/grpc/grpc/issues/20562).
    server, address = fickle
    client = sync.Client(address)
    calling = asyncio.get_running_loop().create_task(asyncio.to_thread(client.count))
    await server.held.wait()
    await asyncio.to_thread(client.close)
    with pytest.raises(CallTimeout) as caught:
        await calling
    assert caught.value.code == "CANCELLED"
    await server.left.wait()
    assert len(server.requests) == 1


async def test_a_blocking_watch_that_another_thread_closes_ends(fickle: tuple[Fickle, str]) -> None:
    server, address = fickle
    with sync.Client(address) as client:
        watching = client.run("note", "k").watch()
        reading = asyncio.get_running_loop().create_task(asyncio.to_thread(lambda: [*watching]))
        await server.held.wait()
        await asyncio.to_thread(watching.close)
        with suppress(CallTimeout):  # if it was reading just then
            await reading
        await server.left.wait()
    assert len(server.requests) == 1


async def _counted(client: Client) -> None:
    await client.count()


async def _watched(client: Client) -> None:
    async for _ in client.run("note", "k").watch():
        pass

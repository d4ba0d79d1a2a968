"""CANCELLED: what nobody here asked for is tried again, by both clients; what this program ended itself is not.

tests/conformance tries the asynchronous client, as those of the other languages, behind a relay that cancels.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, NamedTuple

import grpc
import pytest
from grpc import aio

from perdure import CallTimeout, Client, Snapshot, sync
from perdure.errors import ServerFault, Unavailable
from perdure.events import Change, End
from perdure.importing import PIECE
from perdure.statuses import SEND_FAILED, error_of_call
from perdure.sync.watching import Watching
from perdure.v1 import admin_service_pb2, watch_pb2, workflow_pb2, workflow_service_pb2

Responses = list[watch_pb2.WatchEvent]


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

    async def import_workflow(self, requests: AsyncIterator[bytes], context: Any) -> bytes:
        pieces = b"".join([piece async for piece in requests])
        await self._take(pieces, context)
        workflow = workflow_pb2.Workflow(workflow=workflow_pb2.WorkflowRef(business_key="k"))
        return admin_service_pb2.ImportWorkflowResponse(workflow=workflow).SerializeToString()

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
    files = {"ImportWorkflow": grpc.stream_unary_rpc_method_handler(made.import_workflow)}
    server.add_generic_rpc_handlers(
        (
            grpc.method_handlers_generic_handler("perdure.v1.WorkflowService", handlers),
            grpc.method_handlers_generic_handler("perdure.v1.AdminService", files),
        )
    )
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


async def test_a_file_whose_sending_was_cut_comes_again_byte_for_byte(fickle: tuple[Fickle, str]) -> None:
    server, address = fickle
    server.ends = [grpc.StatusCode.CANCELLED, None] * 2
    file = b"x" * (PIECE + 1)
    async with Client(address) as client:
        assert (await client.import_workflow(file)).business_key == "k"
    with sync.Client(address) as blocking:
        assert (await asyncio.to_thread(blocking.import_workflow, file)).business_key == "k"
    assert len(server.requests) == 4
    assert server.requests[0] == server.requests[1]
    assert server.requests[2] == server.requests[3]


class Told(NamedTuple):
    """What grpc tells of a failed call."""

    said: grpc.StatusCode
    about: str

    def code(self) -> grpc.StatusCode:
        return self.said

    def details(self) -> str:
        return self.about

    def trailing_metadata(self) -> object:
        return None


def test_a_stream_that_ended_under_a_message_was_cut_and_is_no_fault_of_the_server() -> None:
    assert isinstance(error_of_call(Told(grpc.StatusCode.INTERNAL, SEND_FAILED)), Unavailable)
    assert isinstance(error_of_call(Told(grpc.StatusCode.INTERNAL, "The server failed.")), ServerFault)


async def test_grpc_still_words_a_failed_send_so() -> None:
    async def end(_requests: object, context: Any) -> None:
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, "no")

    server = aio.server()
    method = {"End": grpc.stream_stream_rpc_method_handler(end)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test", method),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    said = set()
    async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        untyped: Any = channel
        for _ in range(200):
            said.add(await _ended(untyped.stream_stream("/test/End")()))
    await server.stop(None)
    assert said <= {(grpc.StatusCode.UNAUTHENTICATED, "no"), (grpc.StatusCode.INTERNAL, SEND_FAILED)}


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


@pytest.mark.parametrize("call", ["count", "watch"])
async def test_a_blocking_client_that_is_closed_ends_its_calls(fickle: tuple[Fickle, str], call: str) -> None:
    server, address = fickle
    client = sync.Client(address)
    begin: Callable[[], object] = client.count if call == "count" else lambda: [*client.run("note", "k").watch()]
    calling = asyncio.get_running_loop().create_task(asyncio.to_thread(begin))
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
        assert [type(event) for event in await reading] in ([], [Snapshot]), "it ends, and without an error"
        await server.left.wait()
    assert len(server.requests) == 1


class Closing(grpc.UnaryStreamClientInterceptor):  # type: ignore[type-arg]  # at run time it takes none
    """Ends the watch just when its stream has begun, before its reader has got it."""

    watching: Watching
    begun: Any

    def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        self.begun = continuation(client_call_details, request)
        self.watching.close()
        return self.begun


async def test_a_blocking_watch_that_is_closed_while_it_opens_leaves_no_stream(fickle: tuple[Fickle, str]) -> None:
    closing = Closing()
    with grpc.insecure_channel(fickle[1]) as channel:
        client = sync.Client(fickle[1], channel=grpc.intercept_channel(channel, closing))
        watching = closing.watching = client.run("note", "k").watch()
        assert await asyncio.to_thread(lambda: [*watching]) == []
        assert closing.begun.cancelled()


async def _ended(call: Any) -> tuple[grpc.StatusCode, str]:
    """How a call ends whose client goes on sending."""
    with suppress(asyncio.InvalidStateError, aio.AioRpcError):
        while True:
            await call.write(b"x")
    return await call.code(), await call.details()


async def _counted(client: Client) -> None:
    await client.count()


async def _watched(client: Client) -> None:
    async for _ in client.run("note", "k").watch():
        pass

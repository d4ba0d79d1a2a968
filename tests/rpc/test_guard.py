"""The guard on a dummy service with one method of each kind, over a real channel."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import BadRequest

from perdure.v1.admin_service_pb2 import GetDefinitionRequest
from perdure.v1.workflow_service_pb2 import GetWorkflowRequest
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.rpc.guard import Guard, resource_name
from perdure_server.rpc.transport import EOF, GenericHandler
from tests.rpc.conftest import refusal_of, unpacked

KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")
Behaviour = Callable[[], Awaitable[None]]


async def nothing() -> None:
    """A handler without an adventure."""


@dataclass
class Dummy:
    """Four methods that do what they are told: `before` anything is answered, or `after` a first message."""

    before: Behaviour = nothing
    after: Behaviour = nothing
    cancelled: list[str] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    finished: asyncio.Event = field(default_factory=asyncio.Event)

    async def _act(self, kind: str) -> None:
        self.begun.set()
        try:
            await self.before()
        except asyncio.CancelledError:
            self.cancelled.append(kind)
            raise
        finally:
            self.finished.set()

    async def unary_unary(self, _request: bytes, _context: Any) -> bytes:
        await self._act("unary_unary")
        return b"1"

    async def stream_unary(self, requests: AsyncIterator[bytes], _context: Any) -> bytes:
        count = len([request async for request in requests])
        await self._act("stream_unary")
        return str(count).encode()

    async def unary_stream(self, _request: bytes, _context: Any) -> AsyncIterator[bytes]:
        await self._act("unary_stream")
        yield b"1"
        await self.after()
        yield b"2"

    async def stream_stream(self, _requests: AsyncIterator[bytes], context: Any) -> None:
        requests = [await context.read()]  # ended before, a client that is sending may not learn why
        await self._act("stream_stream")
        while requests[-1] is not EOF:
            await context.write(requests[-1])
            requests.append(await context.read())
        await self.after()

    def handler(self) -> GenericHandler:
        made = {
            "unary_unary": grpc.unary_unary_rpc_method_handler(self.unary_unary),
            "unary_stream": grpc.unary_stream_rpc_method_handler(self.unary_stream),
            "stream_unary": grpc.stream_unary_rpc_method_handler(self.stream_unary),
            "stream_stream": grpc.stream_stream_rpc_method_handler(self.stream_stream),
        }
        return grpc.method_handlers_generic_handler("perdure.test.Dummy", made)


@dataclass
class Service:
    dummy: Dummy
    guard: Guard
    counts: Counter[tuple[str, str]]
    channel: Any  # the stubs want codecs that raw bytes do not need

    def call(self, kind: str, *requests: bytes) -> Any:
        method = f"/perdure.test.Dummy/{kind}"
        if kind == "unary_unary":
            return self.channel.unary_unary(method)(b"x")
        if kind == "unary_stream":
            return self.channel.unary_stream(method)(b"x")
        if kind == "stream_unary":
            return self.channel.stream_unary(method)(iter([b"a", b"b"]))
        return self.channel.stream_stream(method)(iter(requests))

    async def answers(self, kind: str, *requests: bytes) -> list[bytes]:
        call = self.call(kind, *requests)
        if kind.endswith("_unary"):
            return [await call]
        return [message async for message in call]


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    counts: Counter[tuple[str, str]] = Counter()
    guard = Guard(lambda method, code, _took: counts.update([(method.rpartition("/")[2], code)]))
    dummy = Dummy()
    server = grpc.aio.server(interceptors=(guard,))
    server.add_generic_rpc_handlers((dummy.handler(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield Service(dummy, guard, counts, channel)
    await server.stop(None)


def raising(error: Exception) -> Behaviour:
    async def act() -> None:
        raise error

    return act


async def never() -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("kind", "answers"),
    [("unary_unary", [b"1"]), ("unary_stream", [b"1", b"2"]), ("stream_unary", [b"2"]), ("stream_stream", [b"a", b"b"])],
)
async def test_what_goes_well_passes_unchanged(service: Service, kind: str, answers: list[bytes]) -> None:
    assert await service.answers(kind, b"a", b"b") == answers
    await asyncio.wait_for(service.guard.idle(), 5)
    assert service.counts == {(kind, "OK"): 1}


@pytest.mark.parametrize("kind", KINDS)
async def test_what_handlers_raise_becomes_a_status(service: Service, kind: str) -> None:
    service.dummy.before = raising(Rejection(Reason.FENCED, "Another fence.", fence="7"))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.answers(kind)
    found = refusal_of(caught.value)
    assert (found.code, found.reason, found.facts, found.message) == (grpc.StatusCode.ABORTED, "FENCED", {"fence": "7"}, "Another fence.")
    await asyncio.wait_for(service.guard.idle(), 5)
    assert service.counts == {(kind, "ABORTED"): 1}


@pytest.mark.parametrize("kind", ["unary_stream", "stream_stream"])
async def test_what_a_stream_raises_later_becomes_a_status_too(service: Service, kind: str) -> None:
    service.dummy.after = raising(StoreUnavailable("mongodb://host marker-17"))
    answers = aiter(service.call(kind, b"1"))
    assert await anext(answers) == b"1", "what came before the error arrives"
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await anext(answers)
    found = refusal_of(caught.value)
    assert (found.code, found.reason) == (grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE")
    assert "marker-17" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
async def test_unexpected_errors_leak_nothing(service: Service, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    service.dummy.before = raising(RuntimeError("marker-17"))
    with caplog.at_level(logging.ERROR), pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.answers(kind)
    found = refusal_of(caught.value)
    assert found.code is grpc.StatusCode.INTERNAL
    assert "marker-17" not in str(caught.value) + str(caught.value.debug_error_string())
    assert found.facts["incident_id"] in caplog.text


async def test_two_thousand_faults_arrive_in_one_answer(service: Service) -> None:
    service.dummy.before = raising(FieldViolation([(f"definition.steps[{index}]", "is wrong " * 20) for index in range(2_000)]))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.answers("unary_unary")
    found = refusal_of(caught.value)
    assert found.code is grpc.StatusCode.INVALID_ARGUMENT
    assert unpacked(found.status, BadRequest) is not None


@pytest.mark.parametrize("kind", KINDS)
async def test_c59_a_client_that_leaves_cancels_the_handler_which_is_counted_out(service: Service, kind: str) -> None:
    service.dummy.before = never
    call = service.call(kind)
    await service.dummy.begun.wait()
    assert service.guard.in_flight == 1
    call.cancel()
    await asyncio.wait_for(service.guard.idle(), 5)
    assert service.dummy.cancelled == [kind]
    assert service.counts == {(kind, "CANCELLED"): 1}


async def test_a_deadline_cancels_the_handler(service: Service) -> None:
    service.dummy.before = never
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.channel.unary_unary("/perdure.test.Dummy/unary_unary")(b"x", timeout=0.2)
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    await asyncio.wait_for(service.guard.idle(), 5)
    assert service.dummy.cancelled == ["unary_unary"]


async def test_c60_an_error_is_answered_only_after_the_handlers_own_cleanup(service: Service) -> None:
    cleaned = asyncio.Event()

    async def act() -> None:
        try:
            raise Rejection(Reason.FENCED, "x")
        finally:
            await asyncio.to_thread(lambda: None)
            cleaned.set()

    service.dummy.before = act
    with pytest.raises(grpc.aio.AioRpcError):
        await service.answers("unary_unary")
    assert cleaned.is_set()


async def test_methods_that_do_not_exist_are_answered_with_a_reason(service: Service) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.channel.unary_unary("/perdure.v1.Nothing/Here")(b"x")
    found = refusal_of(caught.value)
    assert (found.code, found.facts) == (grpc.StatusCode.UNIMPLEMENTED, {"method": "perdure.v1.Nothing/Here"})
    assert service.counts == {("unknown", "UNIMPLEMENTED"): 1}, "callers cannot make counters"


async def test_c59_cancelled_streams_leave_nothing_behind(service: Service) -> None:
    service.dummy.after = never
    for _ in range(300):
        call = service.call("unary_stream")
        assert await call.read() == b"1"
        call.cancel()
    await asyncio.wait_for(service.guard.idle(), 10)
    tasks = [task for task in asyncio.all_tasks() if "guarded" in repr(task.get_coro())]
    assert not tasks


def test_resource_names_come_from_the_request() -> None:
    request = GetWorkflowRequest()
    request.workflow.workflow_type, request.workflow.business_key = "note", "k"
    assert resource_name(request) == "default/note/k"
    assert resource_name(GetDefinitionRequest(namespace="n", workflow_type="note")) == "n/note"
    assert resource_name(object()) == ""

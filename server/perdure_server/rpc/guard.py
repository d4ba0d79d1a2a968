"""The outermost interceptor: the only place that turns an error into a status, for all four kinds of calls and for what streams raise.

Handlers raise and never call `abort`: grpc.aio sends the status at once and `Server.stop` does not wait for a handler that still
unwinds afterwards (grpc/grpc#37239), so the guard aborts as its very last act and counts who is in flight. A cancelled handler (the
client left, its deadline passed) re-raises CancelledError, since grpc.aio leaks the call otherwise (grpc/grpc#43360); what it had
begun to write goes on, because writes belong to the engine.
"""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final

import grpc
from google.protobuf.message import Message

from perdure_server.kernel.limits import SECOND
from perdure_server.rpc.errors import grpc_code, not_implemented, to_status, trailer
from perdure_server.rpc.transport import Behaviour, Context, Continuation, Handler, ServerInterceptor
from perdure_server.rpc.unread import PeerDoesNotRead, written

Tell = Callable[[str, str, float], None]

_OURS: Final = "/perdure."


class Guard(ServerInterceptor):
    """Maps errors, measures calls by method and code, and knows how many of our handlers are at work."""

    def __init__(self, tell: Tell) -> None:
        """`tell(method, code, ms)` is called once per call, with names of bounded number."""
        self._tell = tell
        self._in_flight = 0
        self._entered = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def in_flight(self) -> int:
        """How many calls of our own services are being handled; health and reflection do not count."""
        return self._in_flight

    @property
    def entered(self) -> int:
        """How many calls of our own services have come so far."""
        return self._entered

    async def idle(self) -> None:
        """Return once no handler of ours is at work."""
        await self._idle.wait()

    async def intercept_service(self, continuation: Continuation, handler_call_details: grpc.HandlerCallDetails) -> Handler:
        """Wrap the handler of this call."""
        method = handler_call_details.method
        handler = await continuation(handler_call_details)
        if handler is None:
            # Counted under one name: a caller must not be able to make counters.
            return grpc.stream_stream_rpc_method_handler(self._stream("unknown", _unknown_method(method)))
        codecs = (handler.request_deserializer, handler.response_serializer)
        if handler.request_streaming and handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(self._stream(method, handler.stream_stream), *codecs)
        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(self._stream(method, handler.unary_stream), *codecs)
        if handler.request_streaming:
            return grpc.stream_unary_rpc_method_handler(self._unary(method, handler.stream_unary), *codecs)
        return grpc.unary_unary_rpc_method_handler(self._unary(method, handler.unary_unary), *codecs)

    def _unary(self, method: str, inner: Behaviour) -> Behaviour:
        async def guarded(request: Any, context: Context) -> Any:
            return await self._run(method, context, inner(request, context), request)

        return guarded

    def _stream(self, method: str, inner: Behaviour) -> Behaviour:
        async def guarded(request: Any, context: Context) -> None:
            await self._run(method, context, _drive(inner, request, context), request)

        return guarded

    async def _run(self, method: str, context: Context, work: Awaitable[Any], request: Any) -> Any:
        ours = method.startswith(_OURS)
        self._enter(ours)
        begun = time.perf_counter()
        try:
            try:
                answer = await work
            except asyncio.CancelledError:
                self._tell(method, grpc.StatusCode.CANCELLED.name, _since(begun))
                raise
            except grpc.aio.BaseError:
                raise  # the transport's own: the peer is gone, and nobody is left to be told
            except Exception as error:  # noqa: BLE001 -- this is the one place where every error becomes a status
                status = to_status(error, resource_name(request))
                writing = error.writing if isinstance(error, PeerDoesNotRead) else None
            else:
                self._tell(method, grpc.StatusCode.OK.name, _since(begun))
                return answer
            code = grpc_code(status)
            self._tell(method, code.name, _since(begun))
            if writing is not None:
                await written(writing)
            await context.abort(code, status.message, trailer(status))
        finally:
            self._leave(ours)

    def _enter(self, ours: bool) -> None:
        if ours:
            self._in_flight += 1
            self._entered += 1
            self._idle.clear()

    def _leave(self, ours: bool) -> None:
        if ours:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()


def _since(begun: float) -> float:
    return (time.perf_counter() - begun) * SECOND


def resource_name(request: object) -> str:
    """What a request is about, for ResourceInfo: namespace/type/key of a workflow, namespace/type of a definition; "" if neither."""
    if not isinstance(request, Message):
        return ""
    about: Any = getattr(request, "workflow", request)
    if not hasattr(about, "workflow_type"):
        return ""
    parts = [about.namespace or "default", about.workflow_type, getattr(about, "business_key", "")]
    return "/".join(part for part in parts if part)


async def _drive(inner: Behaviour, request: Any, context: Context) -> None:
    produced = inner(request, context)
    if not inspect.isasyncgen(produced):
        await produced
        return
    async with aclosing(produced):
        async for message in produced:
            await context.write(message)


def _unknown_method(method: str) -> Behaviour:
    async def refuse(requests: AsyncIterator[bytes], context: Context) -> None:
        del requests, context
        raise not_implemented(method.removeprefix("/"))

    return refuse

"""A gRPC relay between drivers and a server that cancels calls, as an overloaded server does and proxies do; on a thread of its own."""

import asyncio
import threading
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Coroutine
from typing import Any, Final, TypeVar

import grpc
from grpc import aio

T = TypeVar("T")

REFUSALS: Final = 2
"""How many calls of each method are refused."""
WORDS: Final = "the relay has had enough"
PATIENCE_SECONDS: Final = 10.0


class Relay:
    """Passes calls on to a port of this machine, byte for byte, until it is told otherwise."""

    def __init__(self, port: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay", daemon=True)
        self._thread.start()
        self._target = f"127.0.0.1:{port}"
        self._passing = Passing()
        self.address = f"127.0.0.1:{self._run(self._open())}"

    def refuse(self) -> None:
        """The next two calls of each method end with CANCELLED, and reach no server."""
        self._tell(self._passing.refuse, REFUSALS)

    def bar(self) -> None:
        """From now on every call ends with CANCELLED, and reaches no server."""
        self._tell(self._passing.refuse, 1_000_000)

    def cancel(self) -> None:
        """Every call that runs ends with CANCELLED."""
        self._tell(self._passing.end_all, grpc.StatusCode.CANCELLED)

    def expire(self) -> None:
        """Every call that runs ends with DEADLINE_EXCEEDED."""
        self._tell(self._passing.end_all, grpc.StatusCode.DEADLINE_EXCEEDED)

    def same(self) -> None:
        """Every refused request must have come again since, byte for byte, and been let through. Raises AssertionError."""
        self._tell(self._passing.judge)

    def idle(self) -> None:
        """Waits until no call runs. Raises TimeoutError."""
        self._run(self._passing.until_idle())

    def close(self) -> None:
        """Ends the relay and its thread."""
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _open(self) -> int:
        self._channel = aio.insecure_channel(self._target, options=[*UNBOUNDED, ("grpc.enable_retries", 0)])
        self._passing.channel = self._channel
        self._server = aio.server(options=UNBOUNDED)
        self._server.add_generic_rpc_handlers((self._passing,))
        port = self._server.add_insecure_port("127.0.0.1:0")
        await self._server.start()
        return port

    async def _close(self) -> None:
        await self._server.stop(None)
        await self._channel.close(None)

    def _tell(self, what: Any, *words: Any) -> None:
        async def tell() -> None:
            what(*words)

        self._run(tell())

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


UNBOUNDED: Final = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class Passing(grpc.GenericRpcHandler):  # type: ignore[type-arg]  # it takes none at run time
    """Handles every method as a stream of bytes in both directions, which all four kinds of call are on the wire."""

    channel: Any  # the stubs of grpc know of neither raw bytes nor writing to a call

    def __init__(self) -> None:
        self._refusals = 0
        self._refused: defaultdict[str, list[bytes]] = defaultdict(list)
        self._passed: defaultdict[str, Counter[bytes]] = defaultdict(Counter)
        self._running: dict[asyncio.Future[grpc.StatusCode], asyncio.Task[Any] | None] = {}

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        """The handler of a call."""
        method = handler_call_details.method

        async def handle(requests: AsyncIterator[bytes], context: Any) -> None:
            await self._handle(method, requests, context)

        return grpc.stream_stream_rpc_method_handler(handle)

    def refuse(self, count: int) -> None:
        """So many calls of each method, from now on."""
        self._refusals = count
        self._refused.clear()

    def end_all(self, code: grpc.StatusCode) -> None:
        """Ends what runs."""
        for ending in self._running:
            if not ending.done():
                ending.set_result(code)

    def judge(self) -> None:
        """Of every method that was refused, the same request must have passed."""
        assert self._refused, "no call was refused"
        for method, requests in self._refused.items():
            assert len(requests) == self._refusals, f"{method}: refused {len(requests)} times, not {self._refusals}"
            assert len(set(requests)) == 1, f"{method}: the second try is not the first"
            assert self._passed[method][requests[0]], f"{method}: what was refused did not come again"

    async def until_idle(self) -> None:
        """Waits until nothing runs."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self._running:
                await asyncio.wait([task for task in self._running.values() if task is not None])

    async def _handle(self, method: str, requests: AsyncIterator[bytes], context: Any) -> None:
        first = await anext(requests)
        if len(self._refused.get(method, ())) < self._refusals:
            self._refused[method].append(first)
            await context.abort(grpc.StatusCode.CANCELLED, WORDS)
        self._passed[method][first] += 1
        ending = asyncio.get_running_loop().create_future()
        call = self.channel.stream_stream(method, None, None)(
            timeout=context.time_remaining(),
            metadata=[(key, value) for key, value in context.invocation_metadata() if key != "user-agent" and not key.startswith("grpc-")],
        )
        sending = asyncio.get_running_loop().create_task(_send(first, requests, call))
        answering = asyncio.get_running_loop().create_task(_answer(call, context))
        self._running[ending] = asyncio.current_task()
        try:
            await asyncio.wait([answering, ending], return_when=asyncio.FIRST_COMPLETED)
        finally:
            del self._running[ending]
            for task in (sending, answering):
                task.cancel()
            call.cancel()
        if ending.done():
            await asyncio.wait([answering])  # gRPC takes no status while a message is written
            await context.abort(ending.result(), WORDS)
        code, details, trailing = await call.code(), await call.details(), await call.trailing_metadata()
        context.set_trailing_metadata(tuple(trailing))
        if code is not grpc.StatusCode.OK:
            await context.abort(code, details, tuple(trailing))


async def _send(first: bytes, requests: AsyncIterator[bytes], call: Any) -> None:
    try:
        await call.write(first)
        async for request in requests:
            await call.write(request)
        await call.done_writing()
    except (aio.AioRpcError, asyncio.InvalidStateError):
        pass  # the call is over; whoever reads its answers learns why


async def _answer(call: Any, context: Any) -> None:
    try:
        async for answer in call:
            await context.write(answer)
    except aio.AioRpcError:
        pass  # its status is passed on

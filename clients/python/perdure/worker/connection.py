"""One Claim stream: dials, says hello, reads, writes, and notices when it is dead."""

import asyncio
import contextlib
import math
import time
from typing import Any, Protocol

import grpc
from grpc import aio

from perdure import limits
from perdure.calls import END_OF_STREAM, open_channel
from perdure.config import ConnectionConfig
from perdure.contact import call_metadata
from perdure.errors import CallTimeout, Unavailable
from perdure.statuses import error_of_call
from perdure.v1 import worker_service_pb2
from perdure.v1.worker_service_pb2_grpc import WorkerServiceStub
from perdure.worker.outgoing import Outgoing


class Listener(Protocol):
    """Who takes what the server says."""

    def received(self, connection: "Connection", message: worker_service_pb2.ClaimResponse) -> None:
        """One message, in order."""


class Connection:
    """One stream with a channel, and so a TCP connection, of its own: a half-dead one takes no other down with it."""

    def __init__(self, config: ConnectionConfig, credentials: grpc.ChannelCredentials | None, outgoing: Outgoing) -> None:
        self._config = config
        self._channel = open_channel(config, credentials, alone=True)
        self._outgoing = outgoing
        self._call: Any = None
        self._news = asyncio.Event()
        self._last_renew_id = 0
        self._renews: dict[int, float] = {}
        self.connection_no = 0
        self.renew_interval = 10.0
        self.is_stale = False
        """A newer hello was said: claims that still come here must be dropped."""
        self.leaving = asyncio.Event()
        """Set by go_away: open another one."""
        self.hello_sent = 0.0

    async def open(self, hello: worker_service_pb2.Hello) -> worker_service_pb2.Welcome:
        """Says hello and waits for welcome, 10 s at most. Raises PerdureError."""
        try:
            async with asyncio.timeout(limits.HANDSHAKE_TIMEOUT):
                return await self._shake_hands(hello)
        except aio.AioRpcError as failure:
            raise error_of_call(failure) from None
        except TimeoutError:
            raise Unavailable(f"no welcome from {self._config.address} within {limits.HANDSHAKE_TIMEOUT:g} s") from None
        except asyncio.InvalidStateError as error:
            raise Unavailable(f"the stream to {self._config.address} broke: {error}") from None

    async def run(self, listener: Listener) -> None:
        """Reads and writes until the stream ends. Raises PerdureError with the reason, unless it ended well."""
        reader = asyncio.create_task(self._read(listener), name="perdure read")
        others = [
            asyncio.create_task(self._write(), name="perdure write"),
            asyncio.create_task(self._keep_alive(), name="perdure renew"),
        ]
        try:
            done, _ = await asyncio.wait([reader, *others], return_when=asyncio.FIRST_COMPLETED)
            if others[0] in done:
                # The writer only knows that the stream is over; the reader learns why a moment later.
                await asyncio.wait([reader], timeout=limits.STATUS_DELAY)
            first = reader if reader.done() else next(iter(done))
            first.result()
        except aio.AioRpcError as failure:
            raise error_of_call(failure) from None
        except asyncio.InvalidStateError as error:
            raise Unavailable(f"the stream broke: {error}") from None
        finally:
            for task in [reader, *others]:
                task.cancel()
            await asyncio.gather(reader, *others, return_exceptions=True)
            await self.close()

    def wake(self) -> None:
        """There is something to say."""
        self._news.set()

    def renewed(self, renew_id: int) -> float | None:
        """When the renew that is now answered was sent; None for an unknown one. Older ones count as answered with it."""
        sent = self._renews.get(renew_id)
        self._renews = {number: time_sent for number, time_sent in self._renews.items() if number > renew_id}
        return sent

    async def finish(self) -> None:
        """Says that nothing more comes."""
        if self._call is not None:
            with contextlib.suppress(aio.AioRpcError, asyncio.InvalidStateError):
                await self._call.done_writing()

    async def close(self) -> None:
        """Ends the stream at once and closes its connection."""
        if self._call is not None:
            self._call.cancel()
        await self._channel.close(None)

    async def _shake_hands(self, hello: worker_service_pb2.Hello) -> worker_service_pb2.Welcome:
        self._call = WorkerServiceStub(self._channel).Claim(None, metadata=call_metadata(self._config))
        self.hello_sent = time.monotonic()
        await self._call.write(worker_service_pb2.ClaimRequest(hello=hello))
        first = await self._call.read()
        if first is END_OF_STREAM or first.WhichOneof("message") != "welcome":
            raise Unavailable("the server ended the stream without a welcome")
        self.connection_no = first.welcome.connection_no
        self.renew_interval = max(0.2, first.welcome.renew_interval.ToTimedelta().total_seconds())
        return first.welcome  # type: ignore[no-any-return]  # the call's type is lost in the stub's union

    async def _read(self, listener: Listener) -> None:
        while (message := await self._call.read()) is not END_OF_STREAM:
            listener.received(self, message)

    async def _write(self) -> None:
        while True:
            self._news.clear()
            for message in self._outgoing.messages(self.connection_no, self._last_renew_id + 1):
                if message.HasField("renew"):
                    self._last_renew_id += 1
                    self._renews[self._last_renew_id] = time.monotonic()
                await self._call.write(message)
            await self._news.wait()

    async def _keep_alive(self) -> None:
        next_renew = time.monotonic() + self.renew_interval
        while True:
            # A write may hang without an error for as long as the kernel likes; an answered renewal is the proof of life (case C57).
            dead_at = min(self._renews.values(), default=math.inf) + limits.MISSED_RENEWALS * self.renew_interval
            now = time.monotonic()
            if now >= dead_at:
                raise CallTimeout("renewals stay unanswered: the stream is dead")
            if now >= next_renew:
                next_renew = now + self.renew_interval
                self._outgoing.renew_wanted = True
                self.wake()
            await asyncio.sleep(min(next_renew, dead_at) - now if now < next_renew else self.renew_interval / 10)

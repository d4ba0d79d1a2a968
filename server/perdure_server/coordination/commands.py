"""The batching sender: whatever waits when the connection is free goes out as one pipeline (14 us instead of 42 us a command).

One task owns the connection. A caller only waits for its own replies; a cancelled caller touches nothing that others use.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence

from redis.exceptions import ClusterDownError, NoScriptError, ReadOnlyError, RedisError, ResponseError

from perdure_server.coordination.endpoint import Endpoint, ServerInfo, inspect
from perdure_server.coordination.limits import BATCH_COMMANDS, BATCH_SIZE, IDLE_PING, REQUESTS_WAITING, STABLE
from perdure_server.coordination.link import Link
from perdure_server.coordination.scripts import Command, with_source
from perdure_server.coordination.wire import Reply, Session
from perdure_server.kernel.limits import SECOND
from perdure_server.ports.errors import CoordinationUnavailable
from perdure_server.ports.instruments import DATABASE_TIME
from perdure_server.ports.telemetry import SILENCE, Meter

# Answers of a server that is not, or no longer, the one to write to: look the address up again.
_MOVED_AWAY = (ReadOnlyError, ClusterDownError)

Abandoned = Callable[[list[Reply]], None]


class _Request:
    """One caller's commands, and where its replies go; a posted one has no caller."""

    __slots__ = ("abandoned", "commands", "replies", "sent_before", "size")

    def __init__(self, commands: Sequence[Command], size: int, sent_before: float, replies: asyncio.Future[list[Reply]] | None) -> None:
        self.commands = commands
        self.size = size
        self.sent_before = sent_before
        self.replies = replies
        self.abandoned: Abandoned | None = None

    @property
    def is_pointless(self) -> bool:
        """Whether its caller was cancelled before it was sent."""
        return self.replies is not None and self.replies.done()

    def answer(self, replies: list[Reply]) -> None:
        """Gives the replies to the caller, or to `abandoned` if it was cancelled after the commands went out."""
        refused = next((reply for reply in replies if isinstance(reply, RedisError)), None)
        if refused is not None:
            self.fail(refused)
        elif self.replies is not None and not self.replies.done():
            self.replies.set_result(replies)
        elif self.abandoned is not None:
            self.abandoned(replies)

    def fail(self, cause: BaseException) -> None:
        """Tells the caller that the commands did not take effect, or that nobody knows."""
        if self.replies is not None and not self.replies.done():
            unavailable = CoordinationUnavailable("Redis refused a command, or was not reached in time")
            unavailable.__cause__ = cause
            self.replies.set_exception(unavailable)


class Commands:
    """Sends commands in the order of the calls; every call ends within about twice `timeout` ms, whatever the network does."""

    def __init__(self, endpoint: Endpoint, timeout: int, meter: Meter = SILENCE) -> None:
        self._meter = meter
        self.link = Link("commands", self._use)
        self.server: ServerInfo | None = None
        self._endpoint = endpoint
        self._timeout = timeout / 1_000
        self._waiting: deque[_Request] = deque()
        self._arrived = asyncio.Event()

    @property
    def pops_block(self) -> bool:
        """Whether one pop may block over many queues here; false until the first connection."""
        return self._endpoint.mode != "cluster" and self.server is not None and self.server.pops_block

    async def call(self, commands: Sequence[Command], *, size: int = 0, abandoned: Abandoned | None = None) -> list[Reply]:
        """The replies, in order. CoordinationUnavailable if any command was refused, or Redis is away.

        `size`: bytes of payload, so that batches stay small. `abandoned` gets the replies that came for a cancelled caller.
        """
        replies: asyncio.Future[list[Reply]] = asyncio.get_running_loop().create_future()
        request = self._enqueue(commands, size, replies)
        try:
            return await replies
        except asyncio.CancelledError:
            request.abandoned = abandoned
            # Answered in the same turn of the loop in which the caller was cancelled.
            if abandoned is not None and not replies.cancelled() and replies.exception() is None:
                abandoned(replies.result())
            raise

    def post(self, commands: Sequence[Command]) -> None:
        """Sends without waiting, and without telling anybody if it fails: for courtesies."""
        if self.link.is_up and len(self._waiting) < REQUESTS_WAITING:
            self._enqueue(commands, 0, None)

    def _enqueue(self, commands: Sequence[Command], size: int, replies: asyncio.Future[list[Reply]] | None) -> _Request:
        if not self.link.is_up:
            raise CoordinationUnavailable(f"Redis is unavailable: {self.link.health}")
        if len(self._waiting) >= REQUESTS_WAITING:
            raise CoordinationUnavailable("too many calls wait for Redis")
        request = _Request(commands, size, asyncio.get_running_loop().time() + self._timeout, replies)
        self._waiting.append(request)
        self._arrived.set()
        return request

    async def _use(self) -> None:
        async with asyncio.timeout(self._timeout):
            session = await self._endpoint.session()
        cause: BaseException = CoordinationUnavailable("closed")
        try:
            async with asyncio.timeout(self._timeout):
                self.server = await inspect(session)
            self.link.up()
            await self._serve(session)
        except BaseException as error:
            cause = error
            raise
        finally:
            # Before anything is awaited, so that no call slips in behind.
            self.link.lost()
            while self._waiting:
                self._waiting.popleft().fail(cause)
            await session.close()

    async def _serve(self, session: Session) -> None:
        begun = asyncio.get_running_loop().time()
        while True:
            batch = await self._next_batch(session)
            commands = [command for request in batch for command in request.commands]
            sent = time.perf_counter()
            failed = ""
            try:
                async with asyncio.timeout(self._timeout):
                    replies = await self._execute(session, commands)
            except BaseException as error:
                failed = type(error).__name__
                for request in batch:
                    request.fail(error)
                raise
            finally:
                self._meter.record(DATABASE_TIME, (time.perf_counter() - sent) * SECOND, ("redis", "PIPELINE", failed))
            position = 0
            for request in batch:
                request.answer(replies[position : position + len(request.commands)])
                position += len(request.commands)
            self._raise_if_moved(replies, begun)

    @staticmethod
    def _raise_if_moved(replies: list[Reply], begun: float) -> None:
        for reply in replies:
            if isinstance(reply, _MOVED_AWAY):
                raise reply
            # One node of a Cluster is away: its slots may have moved, so look again, but not so often that the others suffer.
            is_away = isinstance(reply, RedisError) and not isinstance(reply, ResponseError)
            if is_away and (asyncio.get_running_loop().time() - begun) * 1_000 > STABLE:
                raise reply

    async def _next_batch(self, session: Session) -> list[_Request]:
        batch: list[_Request] = []
        while not batch:
            while not self._waiting:
                await self._wait(session)
            now, count, size = asyncio.get_running_loop().time(), 0, 0
            while self._waiting and count < BATCH_COMMANDS and size < BATCH_SIZE:
                request = self._waiting.popleft()
                if request.sent_before < now:
                    request.fail(TimeoutError("waited too long for its turn"))
                elif not request.is_pointless:
                    batch.append(request)
                    count += len(request.commands)
                    size += request.size
        return batch

    async def _wait(self, session: Session) -> None:
        self._arrived.clear()
        try:
            async with asyncio.timeout(IDLE_PING / 1_000):
                await self._arrived.wait()
        except TimeoutError:
            async with asyncio.timeout(self._timeout):
                await session.execute([("PING",)])

    async def _execute(self, session: Session, commands: list[Command]) -> list[Reply]:
        replies = await session.execute(commands)
        unknown = [position for position, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
        if unknown:
            again = await session.execute([with_source(commands[position]) for position in unknown])
            for position, reply in zip(unknown, again, strict=True):
                replies[position] = reply
        return replies

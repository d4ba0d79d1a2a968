"""The blocked pop: one BZMPOP, on a connection of its own, over the queues of all takers that wait in this process.

So a thousand waiting takers cost one connection, and cancelling one never touches a connection. A taker that comes or goes while
the pop is blocked rings a bell: a key of this process that is part of every pop. A bell cannot be lost between two pops, as a
CLIENT UNBLOCK can. An item popped for takers that have gone is put back at its place.
"""

import asyncio
from collections.abc import Iterable, Sequence
from secrets import token_hex

from perdure_server.coordination.commands import Commands
from perdure_server.coordination.endpoint import Endpoint
from perdure_server.coordination.keys import Keys
from perdure_server.coordination.limits import BELL_KEPT, IDLE_PING, POP_SLICE
from perdure_server.coordination.link import Link
from perdure_server.coordination.ready import Rotation
from perdure_server.coordination.scripts import Command
from perdure_server.coordination.wire import Reply, Wire
from perdure_server.ports.errors import CoordinationUnavailable

# A member of a ready set and its score, as Redis gives them.
Scored = tuple[bytes, bytes]
Popped = tuple[str, list[Scored]]


def put_back(key: str, popped: Iterable[Scored]) -> Command:
    """The command that returns items to the places they were taken from."""
    command: list[bytes | str] = ["ZADD", key, "NX"]
    for member, place in popped:
        command += [place, member]
    return tuple(command)


def popped_of(reply: Reply) -> tuple[str, list[Scored]]:
    """The key and the items of a ZMPOP or BZMPOP that gave something."""
    key, entries = reply
    return key.decode(), [(member, place) for member, place in entries]


class _Taker:
    """One waiting call: the first pop that has something for it ends it."""

    def __init__(self, queues: Sequence[str], limit: int) -> None:
        self.queues = queues
        self.limit = limit
        self.popped: asyncio.Future[Popped] = asyncio.get_running_loop().create_future()


class BlockedPop:
    """Serves waiting takers, the one that waits longest first."""

    def __init__(self, endpoint: Endpoint, commands: Commands, keys: Keys, timeout: int) -> None:
        self.link = Link("blocked pop", self._use)
        self._endpoint = endpoint
        self._commands = commands
        self._keys = keys
        self._timeout = timeout
        self._bell = keys.bell(token_hex(8))
        self._takers: dict[_Taker, None] = {}  # in the order of their coming
        self._came = asyncio.Event()
        self._asked: frozenset[str] | None = None  # the queues of the pop that is blocked now
        self._rotation = Rotation()

    async def wait(self, queues: Sequence[str], limit: int, wait: int) -> Popped | None:
        """What was popped from one of the queues, None after `wait` ms. CoordinationUnavailable when Redis is or goes away."""
        if not self.link.is_up:
            raise CoordinationUnavailable(f"Redis is unavailable: {self.link.health}")
        taker = _Taker(queues, limit)
        self._takers[taker] = None
        self._came.set()
        if self._asked is not None and not self._asked.issuperset(queues):
            self._ring()
        try:
            async with asyncio.timeout(wait / 1_000):
                return await taker.popped
        except TimeoutError:
            return self._given(taker)
        except asyncio.CancelledError:
            popped = self._given(taker)
            if popped is not None:
                self._commands.post([put_back(self._keys.ready(popped[0]), popped[1])])
            elif self._asked is not None and not self._asked.issubset(self._wanted(excluding=taker)):
                self._ring()
            raise
        finally:
            self._takers.pop(taker, None)

    @staticmethod
    def _given(taker: _Taker) -> Popped | None:
        given = taker.popped.done() and not taker.popped.cancelled() and taker.popped.exception() is None
        return taker.popped.result() if given else None

    def _wanted(self, excluding: _Taker | None = None) -> dict[str, None]:
        return {queue: None for taker in self._takers if taker is not excluding for queue in taker.queues}

    def _ring(self) -> None:
        self._commands.post([("ZADD", self._bell, 0, "ring"), ("PEXPIRE", self._bell, BELL_KEPT)])

    async def _use(self) -> None:
        async with asyncio.timeout(self._timeout / 1_000):
            wire = await self._endpoint.wire()
        cause: BaseException = ConnectionError("closed")
        try:
            self.link.up()
            while True:
                await self._pop_once(wire)
        except BaseException as error:
            cause = error
            raise
        finally:
            self.link.lost()
            self._asked = None
            for taker in self._takers:
                if not taker.popped.done():
                    unavailable = CoordinationUnavailable("Redis went away, or refused a pop")
                    unavailable.__cause__ = cause
                    taker.popped.set_exception(unavailable)
            await wire.close()

    async def _pop_once(self, wire: Wire) -> None:
        wanted = self._wanted()
        if not wanted:
            await self._idle(wire)
            return
        queues = self._rotation.order(list(wanted))
        keys = [self._bell, *(self._keys.ready(queue) for queue in queues)]
        most = max(taker.limit for taker in self._takers)
        self._asked = frozenset(queues)
        async with asyncio.timeout((POP_SLICE + self._timeout) / 1_000):
            reply = await wire.ask("BZMPOP", POP_SLICE / 1_000, len(keys), *keys, "MIN", "COUNT", most)
        self._asked = None
        if reply is not None and reply[0] != self._bell.encode():
            self._deliver(*popped_of(reply))

    def _deliver(self, key: str, popped: list[Scored]) -> None:
        queue = self._keys.queue_of(key)
        self._rotation.served(queue)
        for taker in list(self._takers):
            if popped and queue in taker.queues and not taker.popped.done():
                taker.popped.set_result((queue, popped[: taker.limit]))
                popped = popped[taker.limit :]
        if popped:
            self._commands.post([put_back(key, popped)])

    async def _idle(self, wire: Wire) -> None:
        self._came.clear()
        try:
            async with asyncio.timeout(IDLE_PING / 1_000):
                await self._came.wait()
        except TimeoutError:
            async with asyncio.timeout(self._timeout / 1_000):
                await wire.ask("PING")

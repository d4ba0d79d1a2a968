"""A TCP connection that fails without a word: one direction swallowed, both frozen, the far end gone and the near one still open."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeAlias

CHUNK = 65_536

Pump: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Wire:
    """Listens on `port` and passes on to `target`. What is said of `old` connections spares those that are made later.

    `cut_on`, if set, sees what clients send; where it is true the connection is reset instead of passing that on.
    """

    target: int
    port: int = 0
    cut_on: Callable[[bytes], bool] | None = None
    cuts: int = 0
    connections: list["Connection"] = field(default_factory=list)

    def swallow_answers(self) -> None:
        """Old connections: what the server says never arrives, what the client says does."""
        for connection in self.connections:
            connection.deaf = True

    def freeze(self) -> None:
        """Old connections: nothing arrives any more, in either direction."""
        for connection in self.connections:
            connection.deaf = connection.mute = True

    def reset(self) -> None:
        """Old connections are reset."""
        for connection in self.connections:
            connection.abort()

    def hold_open(self) -> None:
        """Old connections stay open towards the client, whatever the server does to its end."""
        for connection in self.connections:
            connection.held_open = True


class Connection:
    """One client's connection and the one behind it."""

    def __init__(self, wire: Wire, client: Pump, server: Pump) -> None:
        self.deaf = False
        self.mute = False
        self.held_open = False
        self._wire = wire
        self._client = client
        self._server = server

    async def pass_on(self) -> None:
        """Until one end closes."""
        async with asyncio.TaskGroup() as group:
            up = group.create_task(self._up())
            down = group.create_task(self._down())
            await asyncio.wait([up, down], return_when=asyncio.FIRST_COMPLETED)
            if self.held_open and not up.done():
                await asyncio.wait([up])
            for task in (up, down):
                task.cancel()

    def abort(self) -> None:
        """Reset both ends."""
        for _, writer in (self._client, self._server):
            writer.transport.abort()

    async def _up(self) -> None:
        while data := await _read(self._client[0]):
            if self._wire.cut_on is not None and self._wire.cut_on(data):
                self._wire.cuts += 1
                self.abort()
                return
            if not self.mute:
                await _write(self._server[1], data)

    async def _down(self) -> None:
        while data := await _read(self._server[0]):
            if not self.deaf:
                await _write(self._client[1], data)


async def _read(reader: asyncio.StreamReader) -> bytes:
    with suppress(ConnectionError):
        return await reader.read(CHUNK)
    return b""


async def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    with suppress(ConnectionError):
        writer.write(data)
        await writer.drain()


@asynccontextmanager
async def wired(target: int) -> AsyncIterator[Wire]:
    """A wire to this port of 127.0.0.1."""
    wire = Wire(target)
    open_ones: set[asyncio.Task[None]] = set()

    async def serve(client: Pump) -> None:
        try:
            server = await asyncio.open_connection("127.0.0.1", wire.target)
        except OSError:
            client[1].transport.abort()
            return
        connection = Connection(wire, client, server)
        wire.connections.append(connection)
        try:
            await connection.pass_on()
        finally:
            wire.connections.remove(connection)
            connection.abort()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(serve((reader, writer)))
        open_ones.add(task)
        task.add_done_callback(open_ones.discard)

    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    wire.port = listener.sockets[0].getsockname()[1]
    try:
        yield wire
    finally:
        listener.close()
        for task in open_ones:
            task.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)
        await listener.wait_closed()

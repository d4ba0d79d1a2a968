"""A TCP proxy between a driver and its server that spoils chosen commands: drops what is on the wire, holds it, or answers itself.

It reads OP_MSG frames, so it knows every command by its name; everything else passes untouched. The URL asks for a direct connection, since
a driver that discovers the replica set would go round the proxy, and for polled monitoring, since an answer that the proxy made up is not
followed by the news that a real primary pushes when it steps down.
"""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import bson

OP_MSG = 2013
HEADER = struct.Struct("<iiii")

Document = dict[str, Any]


@dataclass
class Spoiled:
    """What happens to the next `times` commands of this name in a collection.

    `forward`: the server gets it. Its reply is then replaced by `answer`, or held until `release` is set, or dropped with the connection.
    """

    command: str
    forward: bool = True
    answer: Document | bytes | None = None
    release: asyncio.Event | None = None
    times: int = 1
    happened: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def drops(self) -> bool:
        """Whether the client sees its connection closed."""
        return self.answer is None and self.release is None


class Proxy:
    """One listening proxy. `commands` is what the driver sent, in order, with its batched sections put back in."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._spoiled: list[Spoiled] = []
        self.commands: list[Document] = []
        self.url = ""

    def spoil(self, command: str, **options: Any) -> Spoiled:
        """Arranges one; returns it, so that a test may wait until it happened."""
        spoiled = Spoiled(command, **options)
        self._spoiled.append(spoiled)
        return spoiled

    def sent(self, name: str) -> list[Document]:
        """The commands of this name."""
        return [command for command in self.commands if next(iter(command)) == name]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until either side ends it."""
        writers = [writer]
        tasks: list[asyncio.Task[None]] = []
        try:
            server_reader, server_writer = await asyncio.open_connection(*self._target)
            writers.append(server_writer)
            doomed: dict[int, Spoiled] = {}
            pumps = (self._to_server(reader, server_writer, doomed, writer), self._to_client(server_reader, writer, doomed))
            tasks += [asyncio.get_running_loop().create_task(pump) for pump in pumps]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in writers:
                each.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, *(each.wait_closed() for each in writers), return_exceptions=True)

    async def _to_server(
        self, reader: asyncio.StreamReader, server: asyncio.StreamWriter, doomed: dict[int, Spoiled], client: asyncio.StreamWriter
    ) -> None:
        while frame := await _frame(reader):
            _, request_id, _, operation = HEADER.unpack_from(frame)
            command = _command(frame) if operation == OP_MSG else {}
            self.commands.append(command)
            spoiled = self._match(command)
            if spoiled is not None and not spoiled.forward:
                spoiled.happened.set()
                if spoiled.drops:
                    return
                client.write(_reply(request_id, spoiled.answer or {}))
                continue
            if spoiled is not None:
                doomed[request_id] = spoiled
            server.write(frame)
            await server.drain()

    async def _to_client(self, server: asyncio.StreamReader, client: asyncio.StreamWriter, doomed: dict[int, Spoiled]) -> None:
        while frame := await _frame(server):
            _, _, response_to, _ = HEADER.unpack_from(frame)
            spoiled = doomed.pop(response_to, None)
            if spoiled is not None:
                spoiled.happened.set()
                if spoiled.drops:
                    return
                if spoiled.release is not None:
                    await spoiled.release.wait()
                if spoiled.answer is not None:
                    frame = _reply(response_to, spoiled.answer)
            client.write(frame)
            await client.drain()

    def _match(self, command: Document) -> Spoiled | None:
        name = next(iter(command), "")
        for spoiled in self._spoiled:
            if spoiled.command == name and spoiled.times:
                spoiled.times -= 1
                return spoiled
        return None


@asynccontextmanager
async def proxied(url: str) -> AsyncIterator[Proxy]:
    """A proxy to the first host of this URL."""
    host, _, port = urlsplit(url).netloc.rpartition("@")[2].split(",")[0].partition(":")
    proxy = Proxy(host, int(port or 27017))
    connections: set[asyncio.Task[None]] = set()
    server = await asyncio.start_server(_tracked(proxy, connections), "127.0.0.1", 0)
    proxy.url = f"mongodb://127.0.0.1:{server.sockets[0].getsockname()[1]}/?directConnection=true&serverMonitoringMode=poll"
    try:
        yield proxy
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        await server.wait_closed()


def _tracked(proxy: Proxy, connections: set[asyncio.Task[None]]) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await proxy.serve(reader, writer)

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(serve(reader, writer))
        connections.add(task)
        task.add_done_callback(connections.discard)

    return connected


async def _frame(reader: asyncio.StreamReader) -> bytes:
    """One whole message, or nothing at the end."""
    try:
        head = await reader.readexactly(4)
        return head + await reader.readexactly(int.from_bytes(head, "little") - 4)
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


def _command(frame: bytes) -> Document:
    position = HEADER.size + 4
    command: Document = {}
    while position < len(frame):
        kind = frame[position]
        size = int.from_bytes(frame[position + 1 : position + 5], "little")
        body = frame[position + 1 : position + 1 + size]
        if kind == 0:
            command.update(bson.decode(body))
        else:
            name, _, batch = body[4:].partition(b"\x00")
            command[name.decode()] = bson.decode_all(batch)
        position += 1 + size
    return command


def _reply(response_to: int, answer: Document | bytes) -> bytes:
    body = b"\x00\x00\x00\x00\x00" + (answer if isinstance(answer, bytes) else bson.encode(answer))
    return HEADER.pack(HEADER.size + len(body), 0, response_to, OP_MSG) + body

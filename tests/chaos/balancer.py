"""A load balancer as people have them: it reads HTTP/2, counts no pings, and cuts a connection with a call that was idle for too long."""

import asyncio
import time
from types import TracebackType
from typing import Final, Self

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADER: Final = 9
DATA, HEADERS, RST_STREAM = 0x0, 0x1, 0x3
END_STREAM: Final = 0x1
LOOK_EVERY: Final = 0.1


class Balancer:
    """Listens on a free port and passes on to `port`. `cuts` counts the connections that it ended; `longest_idle` is in seconds."""

    def __init__(self, port: int, idle_limit: float) -> None:
        self.cuts = 0
        self.calls = 0
        self.longest_idle = 0.0
        self.port = 0
        self._target = port
        self._idle_limit = idle_limit
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def address(self) -> str:
        """host:port for clients."""
        return f"127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._target)
        busy: dict[int, float] = {}  # open calls, and when their last byte passed
        pumps = [
            asyncio.get_running_loop().create_task(pump)
            for pump in (self._to_server(reader, server_writer, busy), self._to_client(server_reader, writer, busy), self._watch(busy))
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            writer.transport.abort()
            server_writer.transport.abort()
            await asyncio.gather(*pumps, return_exceptions=True)
            self._tasks.discard(task)

    async def _to_server(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, busy: dict[int, float]) -> None:
        writer.write(await reader.readexactly(len(PREFACE)))
        while True:
            frame, kind, _, stream = await _frame(reader)
            if kind == HEADERS and stream not in busy:
                self.calls += 1
                busy[stream] = time.monotonic()
            self._note(busy, kind, stream)
            writer.write(frame)
            await writer.drain()

    async def _to_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, busy: dict[int, float]) -> None:
        while True:
            frame, kind, flags, stream = await _frame(reader)
            self._note(busy, kind, stream)
            if kind == RST_STREAM or (kind in {DATA, HEADERS} and flags & END_STREAM):
                busy.pop(stream, None)
            writer.write(frame)
            await writer.drain()

    def _note(self, busy: dict[int, float], kind: int, stream: int) -> None:
        if kind in {DATA, HEADERS} and stream in busy:
            now = time.monotonic()
            self.longest_idle = max(self.longest_idle, now - busy[stream])
            busy[stream] = now

    async def _watch(self, busy: dict[int, float]) -> None:
        changed = asyncio.Event()
        while all(time.monotonic() - last < self._idle_limit for last in busy.values()):
            try:
                async with asyncio.timeout(LOOK_EVERY):
                    await changed.wait()
            except TimeoutError:
                continue
        self.cuts += 1


async def _frame(reader: asyncio.StreamReader) -> tuple[bytes, int, int, int]:
    """One frame whole, its kind, flags and stream. Raises IncompleteReadError at the end."""
    header = await reader.readexactly(HEADER)
    length = int.from_bytes(header[:3], "big")
    return header + await reader.readexactly(length), header[3], header[4], int.from_bytes(header[5:9], "big") & 0x7FFFFFFF

"""A TCP proxy that can be slow, silent, or gone: what networks do to a connection."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self, cast


class _Side(asyncio.Protocol):
    """One end of a proxied connection; whatever it receives goes to the other end, in order."""

    def __init__(self, proxy: "Proxy") -> None:
        self.proxy = proxy
        self.transport: asyncio.Transport | None = None
        self.other: _Side | None = None
        self._held: list[bytes] = []
        self._not_before = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses of asyncio's.
        self.transport = cast("asyncio.Transport", transport)
        self.proxy.sides.add(self)

    def data_received(self, data: bytes) -> None:
        if self.proxy.frozen:
            self._held.append(data)
            return
        loop = asyncio.get_running_loop()
        # Later chunks never overtake earlier ones, however the delays fall.
        self._not_before = max(self._not_before, loop.time() + self.proxy.delay())
        loop.call_at(self._not_before, self._forward, data)

    def thaw(self) -> None:
        held, self._held = self._held, []
        for data in held:
            self.data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.proxy.sides.discard(self)
        if self.other is not None and self.other.transport is not None and not self.proxy.frozen:
            self.other.transport.abort()

    def _forward(self, data: bytes) -> None:
        if self.proxy.frozen or self.other is None or self.other.transport is None:
            self._held.append(data)
        elif not self.other.transport.is_closing():
            self.other.transport.write(data)


class Proxy:
    """Listens on a free port of 127.0.0.1 and passes everything on to `port`.

    `delay` gives the seconds that the next chunk takes. `freeze()` drops everything silently, and new connections stay silent
    too; `thaw()` heals it and delivers what was on the way. `drop()` resets all connections. `target` may be changed: new connections
    go there, as behind a balancer.
    """

    def __init__(self, port: int) -> None:
        self.delay: Callable[[], float] = lambda: 0.0
        self.frozen = False
        self.sides: set[_Side] = set()
        self.accepted = 0
        self.port = 0
        self.target = port
        self._server: asyncio.Server | None = None
        self._connecting: set[asyncio.Future[None]] = set()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._server is not None
        self._server.close()
        self.frozen = False
        for connecting in self._connecting:
            connecting.cancel()
        self.drop()
        await self._server.wait_closed()

    def freeze(self) -> None:
        self.frozen = True

    def thaw(self) -> None:
        self.frozen = False
        for side in list(self.sides):
            side.thaw()

    def drop(self) -> None:
        for side in list(self.sides):
            if side.transport is not None:
                side.transport.abort()

    def _accept(self) -> asyncio.Protocol:
        self.accepted += 1
        client = _Side(self)
        connecting = asyncio.get_running_loop().create_task(self._connect(client))
        self._connecting.add(connecting)
        connecting.add_done_callback(self._connecting.discard)
        return client

    async def _connect(self, client: _Side) -> None:
        try:
            _, server = await asyncio.get_running_loop().create_connection(lambda: _Side(self), "127.0.0.1", self.target)
        except OSError:
            if client.transport is not None:
                client.transport.abort()
            return
        client.other, server.other = server, client
        if not self.frozen:
            client.thaw()

"""100 permits under five worker processes and two servers: the downstream counts at most 100 calls at a time, and no call fails."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from perdure import Client
from tests.e2e.conftest import MakeServer
from tests.e2e.permit_worker import definition

CALLS = 400
PERMITS = 100
_LONG = 0.15  # seconds of one call


class Downstream:
    """Takes PERMITS calls at a time and refuses the rest, as such services do. The first ones stay until that many are there."""

    def __init__(self) -> None:
        self.now = 0
        self.most = 0
        self.served = 0
        self.refused = 0
        self.port = 0
        self._full = asyncio.Event()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["Downstream"]:
        """It listens on a port of its own."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=500)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            await server.wait_closed()

    async def _serve(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        is_too_much = self.now > PERMITS
        self.refused += is_too_much
        if self.now >= PERMITS:
            self._full.set()
        await self._full.wait()
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(_LONG, done.set_result, None)
        await done
        self.now -= 1
        self.served += 1
        writer.write(b"too many calls\n" if is_too_much else b"ok\n")
        await writer.drain()
        writer.close()


@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_a_hundred_permits_under_five_worker_processes(new_server: MakeServer) -> None:
    servers = [new_server(session_lease_ms=30_000), new_server(session_lease_ms=30_000)]  # no claim is lost to a slow machine
    addresses = [server.address for server in servers]
    async with Downstream().listening() as downstream, Client(addresses[0]) as client:
        await client.resources.put("downstream", capacity=PERMITS)
        await client.definitions.register(definition, activate=True)
        program = ("-m", "tests.e2e.permit_worker")
        workers = [
            await asyncio.create_subprocess_exec(sys.executable, *program, addresses[number % 2], str(downstream.port))
            for number in range(5)
        ]
        try:
            runs = await asyncio.gather(*(client.start(definition, key=f"call-{number}", input=number) for number in range(CALLS)))
            results = await asyncio.gather(*(run.result() for run in runs))
        finally:
            for worker in workers:
                worker.terminate()
            await asyncio.gather(*(worker.wait() for worker in workers))
        assert results == ["ok"] * CALLS
        assert downstream.refused == 0
        assert downstream.served >= CALLS, "a claim may be lost with its connection, and its call made again"
        assert downstream.most == PERMITS, "all of them were in use at once, and never one more"
        async with asyncio.timeout(30):
            while (found := await anext(client.resources.list("downstream"))).in_use or found.waiting:
                await client.server_info()

"""The load for Perdure: the client as a user would use it."""

import asyncio
import sys
import time
from datetime import timedelta
from itertools import cycle

from perdure import Client, NotFound
from tools.bench.load.driving import drive
from tools.bench.load.perdure_job import job, parked


class Perdure:
    """By the Python client, at each server in turn."""

    def __init__(self, *addresses: str) -> None:
        self._clients = [Client(address) for address in addresses]
        self._turns = cycle(self._clients)

    async def open(self) -> None:
        """The first job ends when a worker serves; until it has registered the jobs nothing can be started."""
        until = time.monotonic() + 30
        while True:
            try:
                await self.run("first")
                await next(self._turns).start(parked, key="first")
            except NotFound:
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(0.05)
            else:
                return

    async def run(self, key: str) -> None:
        """Start and result."""
        run = await next(self._turns).start(job, key=key)
        await run.result()

    async def park(self, key: str) -> None:
        """An acknowledged start."""
        await next(self._turns).start(parked, key=key)

    async def wake(self, key: str) -> float:
        """Signal and result."""
        run = next(self._turns).run(parked, key)
        await run.signal("go")
        return await run.result(float, timeout=timedelta(seconds=30))

    async def close(self) -> None:
        """The connections."""
        await asyncio.gather(*(client.close() for client in self._clients))


if __name__ == "__main__":
    asyncio.run(drive(Perdure(*sys.argv[1:])))

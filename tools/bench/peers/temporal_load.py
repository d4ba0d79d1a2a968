"""The load for Temporal, by its Python client."""

import asyncio
import sys

from temporalio.client import Client

from tools.bench.load.driving import drive
from tools.bench.peers.temporal_job import QUEUE, Job, Parked


class Temporal:
    """By the client."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def open(self) -> None:
        """The first job ends when a worker serves."""
        self._client = await Client.connect(self._address)
        await self.run("first")

    async def run(self, key: str) -> None:
        """Start and result."""
        await self._client.execute_workflow(Job.run, id=key, task_queue=QUEUE)

    async def park(self, key: str) -> None:
        """An acknowledged start."""
        await self._client.start_workflow(Parked.run, id=key, task_queue=QUEUE)

    async def wake(self, key: str) -> float:
        """Signal and result."""
        handle = self._client.get_workflow_handle_for(Parked.run, key)
        await handle.signal(Parked.go)
        return await handle.result()

    async def close(self) -> None:
        """Nothing to close."""


if __name__ == "__main__":
    asyncio.run(drive(Temporal(sys.argv[1])))

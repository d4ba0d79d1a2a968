"""The worker for Temporal, with its default settings."""

import asyncio
import sys

from temporalio.client import Client
from temporalio.worker import Worker

from tools.bench.peers.temporal_job import QUEUE, Job, Parked, moment, nothing


async def main() -> None:
    """Work until it is ended."""
    client = await Client.connect(sys.argv[1])
    await Worker(client, task_queue=QUEUE, workflows=[Job, Parked], activities=[nothing, moment]).run()


if __name__ == "__main__":
    asyncio.run(main())

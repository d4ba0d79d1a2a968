"""The worker for Perdure: as a user would write it."""

import asyncio
import sys

from perdure import Client
from tools.bench.load.perdure_job import job, parked


async def main() -> None:
    """Work until SIGTERM."""
    async with Client(sys.argv[1]) as client:
        worker = client.worker(job, parked, slots=100)
        await worker.run()


if __name__ == "__main__":
    asyncio.run(main())

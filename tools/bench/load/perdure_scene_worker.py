"""The worker of the scenes."""

import asyncio
import sys

from perdure import Client
from tools.bench.load.perdure_job import parked
from tools.bench.load.perdure_scene_jobs import chained, child, family, limited, long, short, single, timed, unlimited

SERVED = (timed, short, long, child, family, limited, unlimited, chained, single, parked)


async def main() -> None:
    """Work until SIGTERM."""
    async with Client(sys.argv[1]) as client:
        await client.worker(*SERVED, slots=200).run()


if __name__ == "__main__":
    asyncio.run(main())

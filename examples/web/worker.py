"""`python -m examples.web.worker`: does the work, until SIGTERM. Apart from the web service, so that each is deployed without the other."""

import asyncio

from examples.web.plan import export
from perdure import Client


async def main() -> None:
    async with Client() as client:
        await client.worker(export).run()


if __name__ == "__main__":
    asyncio.run(main())

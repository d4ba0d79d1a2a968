"""A worker on the Python client: `python -m tests.e2e.draining_worker ADDRESS`. Its one activity runs until a line is given to it."""

import asyncio
import sys
from datetime import timedelta

from perdure import Client, Context, Definition

definition = Definition("drained")


@definition.step()
async def work(ctx: Context[None]) -> str:
    """Say that it has begun, then wait for the line."""
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    line = await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    return f"finished {line.strip()}"


async def main(address: str) -> None:
    """Work until SIGTERM."""
    async with Client(address) as client:
        await client.worker(definition, grace=timedelta(minutes=1)).run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

"""A worker on the Python client: `python -m tests.e2e.permit_worker ADDRESS PORT`. Its one activity is a call of a downstream at that port.

The downstream refuses what is more than it can take, and then the attempt fails for good: nothing here is tried again.
"""

import asyncio
import sys

from perdure import Client, Context, Definition, Failure

definition = Definition("limited_calls")


@definition.step(permits={"downstream": 1})
async def call(ctx: Context[None], input: int) -> str:
    """One call."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    try:
        answer = (await reader.readline()).decode().strip()
    finally:
        writer.close()
        await writer.wait_closed()
    if answer != "ok":
        raise Failure("downstream.refused", answer, non_retryable=True)
    return answer


async def main(address: str) -> None:
    """Work until SIGTERM."""
    async with Client(address) as client:
        await client.worker(definition, slots=100).run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

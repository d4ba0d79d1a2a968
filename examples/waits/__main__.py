"""`python -m examples.waits`: runs each wait once, and tells what it cost."""

import asyncio
from types import ModuleType

from examples.waits import callback, child, first_of, loop, permit, polling, rounds, signal, timer
from perdure import Client, Definition

WAITS: tuple[ModuleType, ...] = (polling, callback, signal, timer, first_of, child, loop, rounds, permit)


async def main() -> None:
    definitions: list[Definition] = [module.definition for module in WAITS]
    async with Client() as client, client.worker(*definitions, child.parcel):
        for module in WAITS:
            run = await module.demo(client)
            result = await run.result()
            message = (await run.get()).message
            documents = (run.ref.round or 1) + len([found async for found in run.children()])
            name = module.__name__.rpartition(".")[2]
            print(
                f"{name:9} {message.totals.claims} claims, {message.last_change_seq} changes, {documents} documents: {result}", flush=True
            )


if __name__ == "__main__":
    asyncio.run(main())

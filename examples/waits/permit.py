"""Something is scarce: no wait at all, but a permit. The step stays READY until a unit is free; nothing is charged for that."""

import asyncio

from perdure import Client, Context, Definition, Run

definition = Definition("waits_permit")


@definition.step(permits={"printer": 1})
async def print_label(_: Context[None]) -> str:
    await asyncio.sleep(0.2)
    return "printed"


async def demo(client: Client) -> Run:
    await client.resources.put("printer", capacity=1)
    runs = [await client.start(definition, key=f"demo-{number}") for number in range(3)]
    for run in runs:
        await run.result()
    return runs[-1]

"""Whichever comes first decides how it goes on: conditions that choose branches."""

from datetime import timedelta as td

from perdure import Client, Condition, Context, Definition, Run

definition = Definition("waits_first_of", output="ship")
outcome = definition.wait(
    "outcome",
    Condition("paid", choose=("paid",)),
    Condition("refused", choose=("unpaid",)),
    Condition(after=td(days=14), choose=("unpaid",)),
)


@definition.step(after=outcome.branch("paid"))
async def ship(_: Context[None]) -> str:
    return "shipped"


@definition.step(after=outcome.branch("unpaid"))
async def dun(_: Context[None]) -> str:
    return "dunned"


async def demo(client: Client) -> Run:
    run = await client.start(definition, key="demo")
    await run.signal("paid", signal_id="payment-1")
    return run

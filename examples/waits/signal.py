"""A person or a service decides: a wait step. Between the steps no code runs, and no worker need be there."""

from datetime import timedelta as td

from perdure import Client, Context, Definition, Run, Woken

definition = Definition("waits_signal")
definition.wait("decision", signal="decide", payload=str, timeout=td(days=3))


@definition.step()
async def act(_: Context[None], decision: Woken[str]) -> str:
    return decision.value or "nobody decided"


async def demo(client: Client) -> Run:
    run = await client.start(definition, key="demo")
    await run.signal("decide", "yes", signal_id="click-1")  # before the wait or after it: stored either way, counted once
    return run

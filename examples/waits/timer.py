"""Only time has to pass: a wait step without a signal. A day or a year, it costs the same."""

from datetime import timedelta as td

from perdure import Client, Context, Definition, Run

definition = Definition("waits_timer")
cooling = definition.wait("cooling", timeout=td(seconds=1))


@definition.step(after=cooling)
async def remind(_: Context[None]) -> str:
    return "reminded"


async def demo(client: Client) -> Run:
    return await client.start(definition, key="demo")

"""The other side can be asked, and calls nobody: ask, wait, ask again."""

from datetime import timedelta as td

from examples.waits import outside
from perdure import Client, Context, Definition, Run, Wait

definition = Definition("waits_polling")


@definition.step()
async def convert(ctx: Context[str]) -> str | Wait:
    if ctx.checkpoint is None:
        await ctx.save(outside.submit(ctx.idempotency_key))
    if not outside.is_finished(ctx.checkpoint or ""):
        return Wait.any(after=td(milliseconds=400))  # minutes, in earnest: each round of this is a claim and two writes
    return "converted"


async def demo(client: Client) -> Run:
    return await client.start(definition, key="demo")

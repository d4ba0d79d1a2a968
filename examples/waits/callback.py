"""The other side calls back: hand it the wake token, and look yourself now and then in case the call is lost."""

from datetime import timedelta as td

from examples.waits import outside
from perdure import Client, Context, Definition, Run, Wait

definition = Definition("waits_callback")


@definition.step()
async def convert(ctx: Context[str]) -> str | Wait:
    if ctx.checkpoint is None:
        await ctx.save(outside.submit(ctx.idempotency_key, lambda: webhook(ctx.wake_token)))
    if not outside.is_finished(ctx.checkpoint or ""):  # the call only wakes: the truth is over there
        return Wait.any(signal="converted", after=td(minutes=10))
    return "converted"


async def webhook(wake_token: str) -> None:
    """What your web service does when the call comes: the token alone says whom it is for."""
    async with Client() as client:
        await client.signal(wake_token, "converted")


async def demo(client: Client) -> Run:
    return await client.start(definition, key="demo")

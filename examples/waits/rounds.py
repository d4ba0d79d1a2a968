"""A loop without an end: each turn is a round of the same key, with its own history; the last one is the current one."""

from perdure import Client, Context, Definition, Run

definition = Definition("waits_rounds")


@definition.step()
async def bill(ctx: Context[None], input: str) -> str:
    return f"{input}: bill {ctx.round}"


async def demo(client: Client) -> Run:
    await (await turn(client, "may")).result()
    return await turn(client, "june")


async def turn(client: Client, month: str) -> Run:
    """What a schedule does, or your own caller: the request id makes each month's start count once."""
    return await client.start(definition, key="demo", input=month, on_closed="new_round", request_id=f"bill-{month}")

"""A loop of a known, small number of turns: one step with a checkpoint, which waits between its turns."""

from datetime import timedelta as td

from perdure import Client, Context, Definition, Run, Wait

TURNS = 3
definition = Definition("waits_loop")


@definition.step()
async def remind(ctx: Context[int]) -> str | Wait:
    turn = (ctx.checkpoint or 0) + 1
    ctx.log(f"reminder {turn}")  # its effect, by a key of its own: f"{ctx.idempotency_key}-{turn}"
    if turn == TURNS:
        return f"reminded {turn} times"
    return Wait.any(after=td(milliseconds=300), checkpoint=turn)  # turn and wait in one write


async def demo(client: Client) -> Run:
    return await client.start(definition, key="demo")

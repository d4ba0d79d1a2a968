"""An export: collect rows, wait for somebody's yes, publish."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta as td

from perdure import Context, Definition, Woken


@dataclass(frozen=True)
class Export:
    rows: int
    pause_seconds: float = 0.1


export = Definition("export", version="1")


@export.step()
async def collect(ctx: Context[int], input: Export) -> int:
    for row in range(ctx.checkpoint or 0, input.rows):
        await asyncio.sleep(input.pause_seconds)
        ctx.progress(row + 1, input.rows, unit="rows")
        if row % 10 == 9:  # what a kill costs at most
            await ctx.save(row + 1)
    return input.rows


export.wait("approval", after=collect, signal="approve", payload=str, timeout=td(hours=1))


@export.step()
def publish(_: Context[None], collect: int, approval: Woken[str]) -> str:
    return f"{collect} rows, published by {approval.value}" if approval.value else "not published: nobody said yes"

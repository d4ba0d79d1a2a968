"""The jobs for Perdure."""

import time

from perdure import Context, Definition

job = Definition("job", version="1")


@job.step()
async def first(ctx: Context[None]) -> None:
    """Nothing."""


@job.step(after=first)
async def second(ctx: Context[None]) -> None:
    """Nothing."""


@job.step(after=second)
async def third(ctx: Context[None]) -> None:
    """Nothing."""


parked = Definition("parked", version="1")
go = parked.wait("go", signal="go")


@parked.step(after=go)
async def resumed(ctx: Context[None]) -> float:
    """When this line ran."""
    return time.time()

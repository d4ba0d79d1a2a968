"""Steps that run in spawned processes; a module of their own, as the child imports them by name."""

import os

from perdure import Context, Definition

definition = Definition("heavy")


@definition.step(process=True)
def measure(ctx: Context[str], input: int) -> tuple[int, int]:
    ctx.frame("begin")
    ctx.save_blocking("half")
    return os.getpid(), sum(range(input))


@definition.step(process=True)
def fails(ctx: Context[None]) -> None:
    raise ValueError("as planned")


@definition.step(process=True)
def dies(ctx: Context[None]) -> None:
    os._exit(137)


@definition.step(process=True)
def waits_for_cancel(ctx: Context[None]) -> str:
    ctx.frame("running")
    while not ctx.cancelled:
        ctx.alive()
    ctx.raise_if_cancelled()
    return "never"


@definition.step(process=True)
def never_ends(ctx: Context[None]) -> None:
    ctx.frame(str(os.getpid()))
    while True:
        pass

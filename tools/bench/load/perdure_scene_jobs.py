"""The jobs of the scenes: timers, graphs of steps, children, permits."""

import asyncio
import time

from perdure import Context, Definition, Page

SHORT, LONG = 10, 1_000

timed = Definition("timed", version="1")


@timed.step()
async def fired(ctx: Context[None]) -> float:
    """When this line ran."""
    return time.time()


short = Definition("short", version="1")
long = Definition("long", version="1")


def _layers(definition: Definition, count: int) -> None:
    """`count` steps in layers of ten, each step behind the one above it: as wide as long graphs are, and as deep."""
    above: list[str] = []
    for number in range(count):
        name = f"s{number}"

        @definition.step(name=name, after=[above[number - 10]] if number >= 10 else [])
        async def nothing(ctx: Context[None]) -> None:
            """Nothing."""

        above.append(name)


_layers(short, SHORT)
_layers(long, LONG)

child = Definition("child", version="1")


@child.step()
async def leaf(ctx: Context[None]) -> None:
    """Nothing."""


PAGE = 1_000
family = Definition("family", version="1")


@family.pages(child, max_in_flight=256)
async def children(ctx: Context[None], input: int) -> Page:
    """`input` children, a thousand a page."""
    made = ctx.cursor or 0
    next_page = min(PAGE, input - made)
    return Page(list(range(made, made + next_page)), made + next_page if made + next_page < input else None)


limited = Definition("limited", version="1")


@limited.step(permits={"downstream": 1})
async def call(ctx: Context[None]) -> None:
    """Nothing, under a permit."""


unlimited = Definition("unlimited", version="1")


@unlimited.step()
async def free(ctx: Context[None]) -> None:
    """The same without one."""


CALLS = 10
chained = Definition("chained", version="1")


def _calls(definition: Definition, count: int) -> None:
    """`count` steps, one behind the other, each under a permit."""
    above: list[str] = []
    for number in range(count):

        @definition.step(name=f"c{number}", after=above, permits={"downstream": 1})
        async def call_again(ctx: Context[None]) -> None:
            """Nothing, under a permit."""

        above = [f"c{number}"]


_calls(chained, CALLS)

single = Definition("single", version="1")


@single.step(permits={"single": 1})
async def turn(ctx: Context[None]) -> tuple[float, float]:
    """Hold the only permit for a moment; when it began, and when it ended."""
    began = time.time()
    await asyncio.sleep(0.01)
    return began, time.time()

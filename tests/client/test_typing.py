"""Wrong programs that the type checker must refuse: an ignore that is not needed fails `make types` (warn_unused_ignores)."""

import inspect
from datetime import timedelta
from typing import TYPE_CHECKING

from perdure import Client, Context, Definition, Retry, Wait, Woken


def test_a_step_keeps_the_signature_and_name_of_its_function() -> None:
    definition = Definition("note")

    @definition.step()
    async def work(ctx: Context[None], input: int) -> str:
        """About."""
        return str(input)

    assert list(inspect.signature(work).parameters) == ["ctx", "input"]
    assert (work.__name__, work.__doc__) == ("work", "About.")  # type: ignore[attr-defined]  # set as on any wrapped function


if TYPE_CHECKING:
    note = Definition("note")

    @note.step(retry=3)  # type: ignore[arg-type]  # a Retry, not a number
    async def first(ctx: Context[str]) -> str:
        await ctx.save(5)  # type: ignore[arg-type]  # the checkpoint is text
        ctx.save("x")  # type: ignore[unused-coroutine]  # without await nothing is stored
        return "x"

    @note.step()  # type: ignore[arg-type]  # the first parameter is the context
    async def second(ctx: int) -> str:
        return "x"

    choice = note.wait("choice", signal="choose", payload=int, timeout=3)  # type: ignore[call-overload]  # a timedelta, not a number

    @note.step(on_exhausted="explode", retry=Retry(max_attempts=2))  # type: ignore[arg-type]  # one of four words
    async def third(ctx: Context[None], choice: Woken[int]) -> str | Wait:
        value: str = choice.value  # type: ignore[assignment]  # int, or None when the timer won
        return value or Wait.any(after=timedelta(seconds=1))

    async def use(ctx: Context[str]) -> int:
        text: int = await first(ctx)  # type: ignore[assignment]  # calling a step calls its function
        async with Client() as client:
            found: int = await client.run(note, "k").result(str)  # type: ignore[arg-type]  # the result is text
            return found + text

"""One step that streams what a model says. Nobody has to watch, and nobody who watches can disturb it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta as td

from examples.streaming.model import stream
from perdure import Context, Definition, Retry


@dataclass(frozen=True)
class Prompt:
    about: str
    pause_seconds: float = 0.1
    """Between two pieces, so that there is time to cut something."""
    breaks: bool = True
    """Whether the model's connection breaks in the middle of the first attempt."""


story = Definition("story", version="1")


# A model that hangs sends no frames: after 30 s of silence the attempt is over, and another begins.
@story.step(silence_timeout=td(seconds=30), retry=Retry(max_attempts=3))
async def write(ctx: Context[None], input: Prompt) -> str:
    pieces: AsyncIterator[str] = stream(input.about, input.pause_seconds, breaks=input.breaks and ctx.attempt == 1)
    # What is streamed is for people; what counts is the value that the step returns.
    return "".join([await ctx.frame(piece) async for piece in pieces])

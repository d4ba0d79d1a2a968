"""A scripted model: it stands where yours would be called, and says the same each time, piece by piece."""

import asyncio
from collections.abc import AsyncIterator

TEXT = """A text about {about}. It comes in small pieces, as models send them, and it is longer than one patience. Somebody reads it on
a train. In the tunnel the connection breaks; on the other side the reader asks for what came after the last piece that was shown,
and gets that, from whichever server answers. Nothing is missing, nothing is there twice, and the model was asked once."""


class ConnectionBroken(ConnectionError):
    """What a real model's client raises in the middle of an answer."""


async def stream(about: str, pause_seconds: float, *, breaks: bool) -> AsyncIterator[str]:
    """The text in pieces of a word. With `breaks` it ends in the middle, by ConnectionBroken."""
    words = TEXT.replace("\n", " ").format(about=about).split(" ")
    for number, word in enumerate(words):
        if breaks and number == len(words) // 3:
            raise ConnectionBroken("the model's connection broke")
        yield f"{word} "
        await asyncio.sleep(pause_seconds)

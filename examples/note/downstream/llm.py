"""A model that streams its answer piece by piece."""

from collections.abc import AsyncIterator


async def stream(text: str) -> AsyncIterator[str]:
    """The text as a title, a word at a time."""
    for word in text.title().split():
        yield word + " "

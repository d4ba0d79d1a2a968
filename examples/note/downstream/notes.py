"""The company's store of notes."""

_fences: dict[str, int] = {}
written: dict[str, tuple[str, int]] = {}


async def write(key: str, text: str, choice: int, *, only_if_fence_at_most: int) -> None:
    """Write the note unless a newer round already did (`WHERE fence <= :fence`)."""
    if _fences.get(key, 0) <= only_if_fence_at_most:
        _fences[key] = only_if_fence_at_most
        written[key] = (text, choice)

"""`make demo-polyglot`: the story on a server of its own, and whether it kept what it promises."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from examples.polyglot.story import NUMBER, STEPS, Story, Told, play, server


def faults(story: Story) -> Iterator[str]:
    """What it did not keep."""
    if story.first is None or story.second is None:
        yield "a workflow did not end"
        return
    languages = {one.step: one.language for one in story.runners}
    expected = {f"{step}:{language}" for step, language in languages.items()}
    yield from _one(story.first, expected - {"sign:python"}, {story.killed: 2})
    yield from _one(story.second, expected, {})
    if story.restarted:
        yield f"restarted for the new version: {', '.join(story.restarted)}"


def _one(told: Told, path: set[str], claims: dict[str, int]) -> Iterator[str]:
    if set(told.baton.path) != path or len(told.baton.path) != len(path):
        yield f"the path is {told.baton.path}, not {sorted(path)}"
    hands = 3 + ("sign:python" in path)
    if told.baton.number != NUMBER + hands:
        yield f"the number is {told.baton.number}, not {NUMBER + hands}"
    again = {step: count for step, count in told.claims.items() if count != 1}
    if again != claims:
        yield f"claimed more than once: {again}, not {claims}"
    if told.trace_ids != {told.trace_id}:
        yield f"trace ids {sorted(told.trace_ids)}, not only {told.trace_id}"


async def main() -> int:
    with tempfile.TemporaryDirectory(prefix="perdure-polyglot-") as place:
        async with server(Path(place)) as address:
            story = await play(address, Path(place), lambda line: print(line, flush=True))
    found = list(faults(story))
    missing = [language for language in set(STEPS.values()) if language in story.absent]
    if os.environ.get("CI") == "true":
        found += [f"under CI all languages take part, and {language} does not: {story.absent[language]}" for language in missing]
    for line in found:
        print(f"FAULT: {line}")
    if not found:
        took_part = ", ".join(sorted(set(STEPS.values()) - set(missing)))
        print(f"kept: one workflow through {took_part}; one worker killed; one trace; one step more, and nobody else redeployed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

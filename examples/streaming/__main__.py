"""`python -m examples.streaming [KEY] [--pause SECONDS]`: a worker and one story, which it shows as it comes."""

import argparse
import asyncio

from examples.streaming.plan import Prompt, story
from examples.streaming.view import View
from perdure import Client


async def main(key: str, prompt: Prompt) -> None:
    print("The model is scripted: see model.py.", flush=True)
    view = View()
    async with Client() as client, client.worker(story):
        run = await client.start(story, key=key, input=prompt)
        async for event in run.watch():
            print(view.show(event), end="", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("key", nargs="?", default="story-1")
    parser.add_argument("--pause", type=float, default=Prompt.pause_seconds, help="seconds between two words")
    given = parser.parse_args()
    asyncio.run(main(given.key, Prompt("durable work", given.pause)))

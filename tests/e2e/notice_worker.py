"""Sends notices to subscribers: `python -m tests.e2e.notice_worker ADDRESS JOURNAL`. A line of the journal per notice that goes out."""

import asyncio
import os
import sys

from perdure import Client, Context, Definition, MapResult

JOURNAL: list[int] = []  # the open file
notice = Definition("story_notice")
news = Definition("story_news", output="report")
news.map("notify", notice, join="all", max_in_flight=200)


@notice.step()
async def send(ctx: Context[None], input: int) -> str:
    """One write, so that a kill leaves whole lines."""
    os.write(JOURNAL[0], f"{input} {ctx.attempt}\n".encode())
    return f"sent to {input}"


@news.step()
async def report(ctx: Context[None], notify: MapResult) -> dict[str, int]:
    """How many got it."""
    return {"total": notify.total, "completed": notify.completed}


async def main(address: str, journal: str) -> None:
    """Work until killed."""
    JOURNAL.append(os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT))
    async with Client(address) as client, client.worker(news, notice, slots={"send": 50}):
        sys.stdout.write("works\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

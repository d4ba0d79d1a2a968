"""A worker program that a test starts, signals and reads: `python lifecycle_worker.py ADDRESS MODE GRACE`."""

import asyncio
import sys
from datetime import timedelta

from perdure import Client, Context, Definition

definition = Definition("note")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@definition.step()
async def work(ctx: Context[str]) -> str:
    say("begun")
    line = await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    return f"finished {line.strip()}"


@definition.step()
async def hangs(ctx: Context[str]) -> str:
    say("begun")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        say(f"stopped by {ctx.cancel_reason}")
        await ctx.save("last words")
        raise
    return "never"


async def main(address: str, mode: str, grace: float) -> None:
    async with Client(address) as client:
        worker = client.worker(definition, grace=timedelta(seconds=grace))
        if mode == "run":
            await worker.run()
        else:
            async with worker:
                await asyncio.Event().wait()
        say("left")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))

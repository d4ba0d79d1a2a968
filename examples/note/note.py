"""A note from a recording: transcribed, composed, and published when a person has chosen. Run `perdure dev`, then this file."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta as td

from downstream import asr, llm, notes  # the company's own clients

from perdure import Client, Context, Definition, Retry, Wait, Woken


@dataclass
class Audio:
    url: str


note = Definition("note", version="1")  # bumped when the shape of an output or checkpoint changes


@note.step(attempt_timeout=td(minutes=2), retry=Retry(max_attempts=4))
async def transcribe(ctx: Context[str], input: Audio) -> str | Wait:  # one entry point, run again after each wait
    if ctx.checkpoint is None:  # a key that is the same in every attempt; a token that a webhook can call back with
        await ctx.save(await asr.submit(input.url, dedup=ctx.idempotency_key, callback=ctx.wake_token))
    text = await asr.result(ctx.checkpoint)  # whatever woke us, re-read the truth
    return text if text is not None else Wait.any(signal="asr.done", after=td(seconds=30))  # the checkpoint is kept


@note.step(silence_timeout=td(seconds=60))  # a hung call loses its claim
async def compose(ctx: Context[None], transcribe: str) -> str:  # a parameter named after a step is the dependency
    return "".join([await ctx.frame(piece) async for piece in llm.stream(transcribe)])  # streamed to whoever watches


choice = note.wait("choice", after=compose, signal="choose", payload=int, timeout=td(days=3))


@note.step()
async def publish(ctx: Context[None], compose: str, choice: Woken[int]) -> None:  # None when the timer won
    await notes.write(ctx.business_key, compose, choice.value or 0, only_if_fence_at_most=ctx.fence)


async def main() -> None:
    async with Client() as client, client.worker(note, slots={"transcribe": 50, "compose": 4}):
        run = await client.start(note, key="note-42", input=Audio("s3://a.mp3"), labels={"tenant": "acme"})
        async for event in run.watch():  # resumes by itself; says when an attempt's frames start over
            print(event)
            if event.waits_for("choose"):
                await run.signal("choose", 1, signal_id="click-7")
        print(await run.result())


if __name__ == "__main__":
    asyncio.run(main())

"""A costly transcription is submitted once, whatever becomes of the worker that submitted it; its end is polled for, or called back."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from perdure import Client, Context, Definition, Run, StepState, Wait
from tests.conftest import Eventually
from tests.stories.conftest import Working

pytestmark = pytest.mark.slow


@dataclass
class Transcriber:
    """The service downstream: it charges for every submission."""

    submissions: list[str] = field(default_factory=list)
    callbacks: dict[str, str] = field(default_factory=dict)
    finished: dict[str, str] = field(default_factory=dict)
    polls: int = 0

    async def submit(self, audio: str, dedup: str, callback: str) -> str:
        self.submissions.append(dedup)
        self.callbacks[audio] = callback
        return f"task-{len(self.submissions)}"

    async def result(self, task: str | None) -> str | None:
        self.polls += 1
        return self.finished.get(task or "")


def transcription(service: Transcriber, poll: timedelta) -> Definition:
    note = Definition("transcription")

    @note.step()
    async def transcribe(ctx: Context[str], input: str) -> str | Wait:
        if ctx.checkpoint is None:
            await ctx.save(await service.submit(input, dedup=ctx.idempotency_key, callback=ctx.wake_token))
        text = await service.result(ctx.checkpoint)
        return text if text is not None else Wait.any(signal="asr.done", after=poll)

    @note.step()
    async def title(ctx: Context[None], transcribe: str) -> str:
        return transcribe.title()

    return note


@pytest.mark.parametrize("way", ["polling", "callback"])
async def test_a_transcription_is_submitted_once(client: Client, working: Working, eventually: Eventually, way: str) -> None:
    service = Transcriber()
    note = transcription(service, poll=timedelta(milliseconds=100) if way == "polling" else timedelta(days=1))
    async with working(note):
        run = await client.start(note, key=way, input="s3://a.mp3")
        await eventually(lambda: service.polls >= (3 if way == "polling" else 1))
        if way == "callback":
            await eventually(lambda: waits(run), what="it waits, and holds no worker")

    # The worker is gone. The service finishes, and tells whoever has the token.
    service.finished["task-1"] = "hello world"
    if way == "callback":
        await client.signal(service.callbacks["s3://a.mp3"], "asr.done", signal_id="call-1")
        assert (await client.signal(service.callbacks["s3://a.mp3"], "asr.done", signal_id="call-1")).duplicate

    async with working(note):  # another worker
        assert await run.result(timeout=timedelta(seconds=20)) == "Hello World"
    found = (await run.get()).steps["transcribe"]
    assert (len(service.submissions), found.attempt) == (1, 1), "waiting costs no attempt"


async def waits(run: Run) -> bool:
    return (await run.get()).steps["transcribe"].state is StepState.WAITING


async def test_a_worker_that_vanishes_between_submission_and_wait_submits_nothing_again(
    client: Client, working: Working, eventually: Eventually
) -> None:
    service = Transcriber()
    note = Definition("vanishing")
    begun = asyncio.Event()

    @note.step(attempt_timeout=timedelta(milliseconds=300))
    async def transcribe(ctx: Context[str], input: str) -> str:
        if ctx.checkpoint is None:
            await ctx.save(await service.submit(input, dedup=ctx.idempotency_key, callback=ctx.wake_token))
            begun.set()
            await asyncio.Event().wait()  # never comes back by itself
        return f"{ctx.checkpoint} by attempt {ctx.attempt}"

    async with working(note):
        run = await client.start(note, key="k", input="s3://b.mp3")
        await asyncio.wait_for(begun.wait(), 10)
        assert await run.result(timeout=timedelta(seconds=20)) == "task-1 by attempt 2"
    assert len(service.submissions) == 1

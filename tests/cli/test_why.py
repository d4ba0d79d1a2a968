"""`perdure why` in each phase: what it waits for, who is ahead, and a command that would move it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from perdure import Client, Context, Definition, Failure, Retry, Wait
from tests.cli.conftest import Command
from tests.conftest import Eventually

job = Definition("job")
slowly = asyncio.Event()


@job.step(permits={"asr": 1}, retry=Retry(max_attempts=3, initial_interval=timedelta(minutes=5)))
async def work(ctx: Context[None], input: str) -> str | Wait:
    if input == "wait":
        return Wait.any(signal="go", after=timedelta(hours=1))
    if input == "fail":
        raise Failure("asr.quota", "no minutes left")
    if input == "run":
        await slowly.wait()
    return input


@asynccontextmanager
async def in_phase(client: Client, eventually: Eventually, given: str, phase: str) -> AsyncIterator[None]:
    slowly.clear()
    run = await client.start(job, key="k", input=given)

    async def is_there() -> bool:
        return (await run.get()).phase == phase

    async with client.worker(job, register=False, grace=timedelta(0)):
        await eventually(is_there)
        yield
        slowly.set()


async def ready(client: Client, capacity: int = 5) -> None:
    await client.resources.put("asr", capacity=capacity)
    await client.definitions.register(job, activate=True)


async def test_waiting_names_the_signal_and_the_time(perdure: Command, client: Client, eventually: Eventually) -> None:
    await ready(client)
    async with in_phase(client, eventually, "wait", "WAITING"):
        told = (await perdure("why", "job", "k")).out
    assert "work WAITING (waiting)" in told
    assert "for the signal go" in told
    assert "moves by itself in" in told
    assert "try: perdure signal job k go" in told


async def test_executing_names_the_worker_and_until_when(perdure: Command, client: Client, eventually: Eventually) -> None:
    await ready(client)
    async with in_phase(client, eventually, "run", "EXECUTING"):
        told = (await perdure("why", "job", "k")).out
    assert "for the result of attempt 1 by" in told
    assert "its worker is missed in" in told
    assert "try: perdure tail job --frames k" in told


async def test_backing_off_says_when_it_is_tried_again(perdure: Command, client: Client, eventually: Eventually) -> None:
    await ready(client)
    async with in_phase(client, eventually, "fail", "BACKING_OFF"):
        told = (await perdure("why", "job", "k")).out
    assert "for its next attempt" in told
    assert "moves by itself in 4m" in told or "moves by itself in 5m" in told


async def test_throttled_names_the_resource_its_use_and_who_is_ahead(perdure: Command, client: Client, eventually: Eventually) -> None:
    await ready(client, capacity=0)
    async with in_phase(client, eventually, "x", "THROTTLED"):
        told = (await perdure("why", "job", "k")).out
    assert "for a permit of asr" in told
    assert "steps before it" in told
    assert "perdure resources" in told


async def test_a_start_that_is_held_back_says_until_when(perdure: Command, client: Client) -> None:
    await ready(client)
    await client.start(job, key="k", input="x", start_at=datetime.now(UTC) + timedelta(hours=2))
    assert "for its start time" in (await perdure("why", "job", "k")).out


async def test_an_ended_workflow_has_nothing_left(perdure: Command, client: Client) -> None:
    await ready(client)
    run = await client.start(job, key="k", input="x")
    await run.cancel("no need")
    assert "CANCELLED: no need; nothing is left to happen" in (await perdure("why", "job", "k")).out

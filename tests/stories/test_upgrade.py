"""A rolling upgrade adds a step, with old and new workers side by side; then it is rolled back. Nothing is done twice, nothing is lost."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from perdure import Client, Context, Definition
from tests.conftest import Eventually
from tests.stories.conftest import Working

pytestmark = pytest.mark.slow

done: Counter[tuple[str, str]] = Counter()
gate = asyncio.Event()

before = Definition("letter")


@before.step()
async def write(ctx: Context[None], input: str) -> str:
    done[ctx.business_key, "write"] += 1
    return f"dear {input}"


@before.step()
async def send(ctx: Context[None], write: str) -> str:
    await gate.wait()
    done[ctx.business_key, "send"] += 1
    return f"{write}, sent"


after = Definition("letter")


@after.step(name="write")
async def write_too(ctx: Context[None], input: str) -> str:
    done[ctx.business_key, "write"] += 1
    return f"dear {input}"


@after.step(after=write_too)
async def check(ctx: Context[None]) -> str:
    done[ctx.business_key, "check"] += 1
    return "checked"


@after.step(name="send", after=check)
async def send_too(ctx: Context[None], write: str) -> str:
    done[ctx.business_key, "send"] += 1
    return f"{write}, sent"


WITHIN = timedelta(seconds=20)


async def test_an_upgrade_that_adds_a_step_and_its_rollback(client: Client, working: Working, eventually: Eventually) -> None:
    gate.clear()
    done.clear()
    old = await client.definitions.register(before, activate=True)
    async with working(before):
        first = await client.start(before, key="first", input="ann")
        await eventually(lambda: _is_done("first", "write"))

        # The new version is deployed beside the old one: what began by the old definition ends by it, by whichever worker is free.
        new = await client.definitions.register(after, activate=True)
        assert new.step_contracts["write"] == old.step_contracts["write"]
        async with working(after):
            second = await client.start("letter", key="second", input="bob")
            gate.set()
            assert await first.result(timeout=WITHIN) == "dear ann, sent"
            assert await second.result(timeout=WITHIN) == "dear bob, sent"
        assert (done["first", "check"], done["second", "check"]) == (0, 1)

        # It is rolled back: the new workers are gone, and what has begun by the new definition cannot pass the step that only they know.
        third = await client.start("letter", key="third", input="eve")
        await eventually(lambda: _is_done("third", "write"))
        await client.definitions.activate("letter", old.fingerprint)
        asked = await client.definitions.migrate("letter", new.fingerprint, old.fingerprint, validate_only=True)
        assert (asked.matched, asked.movable, asked.issues) == (1, 1, ())
        await client.definitions.migrate("letter", new.fingerprint, old.fingerprint, reason="rollback")
        assert await third.result(timeout=WITHIN) == "dear eve, sent"
        assert done["third", "check"] == 0
        assert {queue.step async for queue in client.operations.queues(workflow_type="letter")} >= {"write", "send"}
    assert set(done.values()) == {1}, "no step ran twice"


async def _is_done(key: str, step: str) -> bool:
    return done[key, step] == 1

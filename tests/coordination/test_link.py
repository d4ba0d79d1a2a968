"""Keeping one thing connected."""

import asyncio
import contextlib

from perdure_server.coordination.link import Link


async def test_stop_insists_when_a_cancellation_is_swallowed() -> None:
    async def use() -> None:
        for _ in range(3):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        link.up()
        await asyncio.Event().wait()

    link = Link("test", use)
    await link.start(1)
    async with asyncio.timeout(5):
        await link.stop()
    assert link.health == "closed"


async def test_a_defect_does_not_end_the_link() -> None:
    used = 0
    enough = asyncio.Event()

    async def use() -> None:
        nonlocal used
        used += 1
        if used == 3:
            enough.set()
        raise ZeroDivisionError

    link = Link("test", use)
    await link.start(1_000)
    assert link.health == "ZeroDivisionError"
    async with asyncio.timeout(5):
        await enough.wait()
    await link.stop()


async def test_stop_without_start() -> None:
    async def use() -> None:
        raise AssertionError

    link = Link("test", use)
    await link.stop()
    await link.stop()
    assert link.health == "closed"

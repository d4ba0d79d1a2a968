"""Reads that many ask for at once."""

import asyncio

import pytest

from perdure_server.engine.shared_reads import SharedReads
from perdure_server.ports.errors import StoreUnavailable
from tests.engine.harness import World


class Shelf:
    """What is read; every read waits for `go`, and is counted."""

    def __init__(self) -> None:
        self.reads = 0
        self.fails = False
        self.go = asyncio.Event()
        self.shared: SharedReads[str, int] = SharedReads()

    async def _read(self) -> int:
        self.reads += 1
        number = self.reads
        await self.go.wait()
        if self.fails:
            raise StoreUnavailable("away")
        return number

    async def ask(self) -> int:
        """One who asks."""
        return await self.shared.read("key", self._read)


async def test_one_reads_for_all(world: World) -> None:
    shelf = Shelf()
    asking = [world.spawn(shelf.ask()) for _ in range(100)]
    await world.settle()
    shelf.go.set()
    assert await asyncio.gather(*asking) == [1] * 100
    assert await shelf.ask() == 2, "what has been answered is not kept"


async def test_all_hear_that_it_failed(world: World) -> None:
    shelf = Shelf()
    shelf.fails = True
    asking = [world.spawn(shelf.ask()) for _ in range(3)]
    await world.settle()
    shelf.go.set()
    for each in asking:
        with pytest.raises(StoreUnavailable):
            await each
    assert shelf.reads == 1


async def test_another_one_reads_when_the_first_is_cancelled(world: World) -> None:
    shelf = Shelf()
    first, *others = [world.spawn(shelf.ask()) for _ in range(3)]
    await world.settle()
    first.cancel()
    await world.settle()
    assert (shelf.reads, first.cancelled()) == (2, True)
    shelf.go.set()
    assert await asyncio.gather(*others) == [2, 2]


async def test_nobody_else_stops_when_one_who_waits_is_cancelled(world: World) -> None:
    shelf = Shelf()
    first, second = [world.spawn(shelf.ask()) for _ in range(2)]
    await world.settle()
    second.cancel()
    await world.settle()
    shelf.go.set()
    assert await first == 1
    assert second.cancelled()


async def test_who_asks_after_a_change_does_not_get_what_was_read_before(world: World) -> None:
    shelf = Shelf()
    before = world.spawn(shelf.ask())
    await world.settle()
    shelf.shared.forget("key")
    after = world.spawn(shelf.ask())
    await world.settle()
    shelf.go.set()
    assert (await before, await after) == (1, 2)


async def test_starts_at_once_read_the_active_definition_once(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.advance(2_000)
    before = world.faults.calls["definitions.active"]
    starts = [world.spawn(world.start(server, f"k{number}")) for number in range(20)]
    await world.settle()
    assert all(start.done() for start in starts)
    assert world.faults.calls["definitions.active"] == before + 1

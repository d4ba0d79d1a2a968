"""WatchWorkflows: what matches, what comes, changes and goes, over several servers, with lost hints and slow readers."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from perdure_server.engine.people import Conditions
from perdure_server.engine.selection import OPEN, Selection
from perdure_server.engine.service import Engine
from perdure_server.engine.watch import KEEP_ALIVE
from perdure_server.engine.watch_many import ChangedItem, ExistingItem, ManyItem, MissedItem, RemovedItem
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import Paused
from perdure_server.ports.store import WorkflowQuery
from tests.engine.harness import World

OPENED = Selection(WorkflowQuery("default", states=OPEN))
ALL = Selection(WorkflowQuery("default"))


class Many:
    """A watcher of many that reads at its own pace."""

    def __init__(self, world: World, engine: Engine, selection: Selection = OPENED, token: str = "", skip_existing: bool = False) -> None:
        self.items: list[ManyItem] = []
        self.error: Rejection | None = None
        self.reads = asyncio.Event()
        self.reads.set()
        self.task = world.spawn(self._read(engine.watch_many(selection, token, skip_existing)))

    async def _read(self, flow: AsyncIterator[list[ManyItem]]) -> None:
        try:
            async for batch in flow:
                assert batch, "never empty"
                self.items += batch
                await self.reads.wait()
        except Rejection as error:
            self.error = error

    def take(self) -> list[str]:
        """What came since the last time, in short."""
        found, self.items = self.items, []
        self.token = found[-1].resume_token if found else ""
        return [brief(item) for item in found]


def brief(item: ManyItem) -> str:
    match item:
        case ChangedItem(view, _):
            return f"{view.workflow.key.business_key} {view.workflow.state.name}{' paused' if view.workflow.paused else ''}"
        case RemovedItem(key, _, _):
            return f"-{key.business_key}"
        case ExistingItem(count, _):
            return f"={count}"
        case MissedItem():
            return "gap"
        case _:
            return "."


async def two(world: World) -> tuple[Engine, Engine]:
    here, there = await world.server(), await world.server()
    await world.define(here, "a", "b: a")
    await world.advance(2_000)
    return here, there


async def test_what_there_is_then_what_comes_changes_and_goes(world: World) -> None:
    here, there = await two(world)
    await world.start(here, "x")
    await world.start(there, "y")
    await world.advance(100)
    many = Many(world, here)
    await world.settle()
    assert sorted(many.take()) == ["=2", "x RUNNING", "y RUNNING"]
    await world.start(here, "z")
    await there.people.pause(world.ref("x"), Paused(0), Conditions())
    await world.settle()
    assert sorted(many.take()) == ["x RUNNING paused", "z RUNNING"]
    await there.people.terminate(world.ref("y"), "", Conditions())
    await world.settle()
    assert many.take() == ["-y"]


async def test_ended_ones_are_shown_if_asked_for_until_they_are_deleted(world: World) -> None:
    here, there = await two(world)
    await world.start(here, "x", retention=limits.MINUTE)
    await world.start(here, "y")
    many = Many(world, here, ALL)
    await world.settle()
    many.take()
    for key in "xy":
        await there.people.terminate(world.ref(key), "", Conditions())
    await world.settle()
    assert many.take() == ["x TERMINATED", "y TERMINATED"]
    await there.remove(world.ref("y"), Conditions())
    await world.settle()
    assert many.take() == ["-y"]
    await world.advance(2 * limits.MINUTE)
    assert [told for told in many.take() if told != "."] == ["-x"]


async def test_lost_hints_cost_two_seconds(world: World) -> None:
    here, there = await two(world)
    await world.start(here, "x")
    many = Many(world, here)
    await world.settle()
    many.take()
    world.coordination.deaf = True
    await world.start(there, "new")
    await there.people.pause(world.ref("x"), Paused(0), Conditions())
    await world.advance(limits.REVISION_POLL_INTERVAL)
    assert sorted(many.take()) == ["new RUNNING", "x RUNNING paused"]
    await there.people.terminate(world.ref("new"), "", Conditions())
    await world.advance(limits.REVISION_POLL_INTERVAL)
    assert many.take() == ["-new"]


async def test_one_that_begins_to_match_unheard_is_found_within_a_minute(world: World) -> None:
    here, there = await two(world)
    await world.start(here, "x")
    await world.advance(limits.MINUTE)
    many = Many(world, here, Selection(ALL.query, paused=True))
    await world.settle()
    assert many.take() == ["=0"]
    world.coordination.deaf = True
    await there.people.pause(world.ref("x"), Paused(0), Conditions())
    await world.advance(limits.MINUTE + limits.REVISION_POLL_INTERVAL)
    assert "x RUNNING paused" in many.take()


async def test_a_slow_reader_gets_the_newest_of_each_out_of_a_bounded_feed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    here, _ = await two(world)
    many = Many(world, here)
    await world.settle()
    monkeypatch.setattr(limits, "WATCHED_WORKFLOWS", 1_000)
    many.reads.clear()
    (feed,) = here.hub.feeds
    feed._most = 5
    await world.start(here, "first")
    await world.settle()
    for number in range(4):
        await world.start(here, f"k{number}")
    for _ in range(3):
        await here.people.pause(world.ref("k0"), Paused(0), Conditions())
        await here.people.resume(world.ref("k0"), Conditions())
    assert len(feed._changed) == 4, "changes of one fold into one"
    for number in range(4, 40):
        await world.start(here, f"k{number}")
    await here.people.terminate(world.ref("first"), "", Conditions())
    assert not feed._changed, "over its bound it keeps nothing"
    many.take()
    many.reads.set()
    await world.settle()
    assert sorted(many.take()) == sorted(["-first", *(f"k{number} RUNNING" for number in range(40))])


async def test_resuming_is_silent_if_nothing_happened_and_begins_again_otherwise(world: World) -> None:
    here, there = await two(world)
    await world.start(here, "x")
    many = Many(world, here)
    await world.settle()
    many.take()
    token = many.token
    again = Many(world, there, token=token)
    await world.settle()
    assert again.take() == ["."]
    await world.start(here, "y")
    await world.settle()
    assert again.take() == ["y RUNNING"]
    later = Many(world, there, token=token)
    await world.settle()
    gap, *shown = later.take()
    assert (gap, sorted(shown)) == ("gap", ["=2", "x RUNNING", "y RUNNING"])
    for token, selection in (("nonsense", OPENED), (later.token, ALL)):
        wrong = Many(world, here, selection, token)
        await world.settle()
        assert wrong.error is not None
        assert wrong.error.reason is Reason.RESUME_TOKEN_INVALID


async def test_what_there_is_can_be_left_out(world: World) -> None:
    here, _ = await two(world)
    await world.start(here, "x")
    many = Many(world, here, skip_existing=True)
    await world.settle()
    assert many.take() == ["=1"]
    await here.people.terminate(world.ref("x"), "", Conditions())
    await world.settle()
    assert many.take() == ["-x"]


async def test_too_many_are_refused_and_an_idle_stream_is_kept_alive(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WATCHED_WORKFLOWS", 3)
    here, _ = await two(world)
    for number in range(3):
        await world.start(here, f"k{number}")
    many = Many(world, here)
    await world.settle()
    many.take()
    await world.advance(KEEP_ALIVE + limits.REVISION_POLL_INTERVAL)
    assert many.take() == ["."]
    await world.start(here, "one-more")
    await world.settle()
    assert many.error is not None
    assert (many.error.reason, many.error.facts["limit"]) == (Reason.OVERLOADED, "3")
    assert not here.hub.feeds

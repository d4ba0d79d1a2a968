"""Watch while frames cannot be read: late, and no gap, as long as they may still come."""

import pytest

from perdure_server.engine.values import GapItem
from perdure_server.engine.watch import FRAME_PATIENCE, FRAME_RETRY
from perdure_server.kernel.outcomes import Completed
from tests.engine.harness import World
from tests.engine.watching import Watching, brief, one_claim
from tests.kernel.harness import activity


async def test_a_failed_read_of_frames_is_tried_again_and_tells_nothing(world: World) -> None:
    server, worker = await one_claim(world)
    watching = Watching(world, server)
    claim = worker.claim("a")
    worker.beat(claim, "1")
    await world.settle()
    world.coordination.unread = True
    worker.beat(claim, "2", first=2)
    await world.settle()
    assert watching.texts == ["1"]
    world.coordination.unread = False
    await world.advance(2 * FRAME_RETRY)
    assert watching.texts == ["1", "2"], "without any news it is read again"
    assert watching.of(GapItem) == []


@pytest.mark.parametrize("begins", ["before", "after"])
async def test_an_end_waits_for_frames_that_cannot_be_read(world: World, begins: str) -> None:
    server, worker = await one_claim(world, activity("a"), "b: a")
    watching = Watching(world, server) if begins == "before" else None
    claim = worker.claim("a")
    worker.beat(claim, "1", "2")
    await world.settle()
    world.coordination.unread = True
    worker.beat(claim, "3", first=3)
    worker.send(claim, Completed(), last_frame_seq=3)
    await world.settle()
    watching = watching or Watching(world, server)
    await world.advance(FRAME_PATIENCE // 2)
    world.coordination.unread = False
    await world.advance(2 * FRAME_RETRY)
    assert watching.texts == ["1", "2", "3"]
    assert watching.of(GapItem) == []
    told = [brief(item)[1][0] for item in watching.items if brief(item)[0] == "a"]
    assert told == ["frame", "frame", "frame"] + ["change"] * (begins == "before"), "frames of a claim come before its end"


async def test_an_end_is_told_when_frames_stay_unreadable_and_the_hole_has_its_numbers(world: World) -> None:
    server, worker = await one_claim(world)
    watching = Watching(world, server)
    claim = worker.claim("a")
    worker.beat(claim, "1")
    await world.settle()
    world.coordination.unread = True
    worker.beat(claim, "2", "3", first=2)
    worker.send(claim, Completed(), last_frame_seq=3)
    await world.settle()
    assert await world.until(lambda: watching.ended) <= FRAME_PATIENCE + FRAME_RETRY
    assert [gap.reason for gap in watching.of(GapItem)] == ["out of reach: frames 2 to 3 of step a, claim 1"]


async def test_frames_that_were_lost_in_an_outage_are_named_once_and_then_go_on(world: World) -> None:
    server, worker = await one_claim(world)
    watching = Watching(world, server)
    claim = worker.claim("a")
    worker.beat(claim, "1")
    await world.settle()
    world.coordination.away = True
    for number in range(2, 5):
        worker.beat(claim, f"{number}", first=number)
        server.hub.frames_came(world.key().workflow_id)
        await world.settle()
    world.coordination.away = False
    worker.beat(claim, "5", first=5)
    await world.settle()
    worker.send(claim, Completed(), last_frame_seq=5)
    await world.settle()
    assert watching.texts == ["1", "5"]
    assert [gap.reason for gap in watching.of(GapItem)] == ["no longer retained: frames 2 to 4 of step a, claim 1"]
    assert watching.ended

"""What a server leaves out while it hears of no other one, and how it hears of one that comes."""

from typing import Any

import pytest

from tests.engine.harness import World


async def test_a_server_that_is_alone_tells_nobody(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.worker(server)
    await world.advance(5_000)
    world.coordination.published.clear()
    await world.start(server)
    await world.settle()
    assert await world.completed()
    assert world.coordination.published == []
    other = await world.server()
    await world.start(server, "second")
    await world.settle()
    assert {wakeup.topic for wakeup in world.coordination.published} >= {"w"}
    assert other.ready


async def test_a_server_that_is_alone_says_seldom_that_it_lives_and_answers_at_once_who_does(world: World) -> None:
    await world.server("here")
    await world.advance(5_000)
    world.coordination.published.clear()
    await world.advance(6_000)
    assert len(world.coordination.published) == 3
    there = await world.server("there")
    assert b"here" in there.sweep._servers
    world.coordination.published.clear()
    await world.advance(6_000)
    assert len(world.coordination.published) == 12


async def test_a_server_that_is_alone_sees_to_the_timers_of_one_that_has_come(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks at timers seldom, as nobody sets any; whoever comes may."""
    here = await world.server()
    await world.advance(10_000)
    here.hub.on_server(b"there")
    await world.settle()
    await here.coordination.set_timers({b"x" * 16: world.now() + 1_200})
    looked: list[int] = []
    due_timers = here.coordination.due_timers

    async def noted(now: int, limit: int) -> Any:
        looked.append(now)
        return await due_timers(now, limit)

    monkeypatch.setattr(here.coordination, "due_timers", noted)
    since = world.now()
    await world.until(lambda: looked)
    assert looked[0] - since <= 1_600

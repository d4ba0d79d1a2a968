"""Timers: on time whoever knew of them, at one write each, and one that is slow delays no other."""

from perdure_server.kernel import limits
from perdure_server.kernel.workflow import StepState, Workflow
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.kernel.harness import after, on_signal, waiting

_LATE = 30  # ms


async def ended(world: World, name: str = "k") -> Workflow:
    """Let time pass until it has completed."""
    await world.until(lambda: world.is_completed(name), within=limits.HOUR)
    return await world.stored(name)


async def test_a_wait_too_long_for_the_timers_ends_at_its_time(world: World) -> None:
    """The sweep sees it coming: only what nobody saw is up to a sweep late."""
    server = await world.server()
    await world.define(server, waiting("w", after(10 * limits.MINUTE + 333)))
    due = world.now() + 10 * limits.MINUTE + 333
    await world.start(server)
    workflow = await ended(world)
    assert due <= (workflow.end_time or 0) <= due + _LATE


async def test_timers_that_were_lost_are_set_again_before_their_time(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", after(5_333)))
    due = world.now() + 5_333
    await world.start(server)
    await world.settle()
    world.coordination.flush()
    workflow = await ended(world)
    assert due <= (workflow.end_time or 0) <= due + _LATE


async def test_more_than_a_window_that_fall_due_soon_are_all_on_time(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", after(5_333)))
    due = world.now() + 5_333
    for number in range(600):
        await world.start(server, f"k{number}")
    await world.settle()
    world.coordination.flush()
    await world.advance(5_333 + _LATE)
    for number in range(600):
        assert due <= ((await world.stored(f"k{number}")).end_time or 0) <= due + _LATE


async def test_timers_whose_words_are_lost_are_done_by_the_sweep(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", after(5_000)))
    await world.start(server)
    world.coordination.flush()
    world.coordination.deaf = True
    await world.advance(7_500)
    assert await world.completed()


async def test_a_timer_costs_one_write_and_no_read_where_its_workflow_is_known(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", after(5_000)))
    for number in range(300):
        await world.start(server, f"k{number}")
    await world.advance(4_000)
    writes, loads = world.writes, world.faults.calls["workflows.load"]
    await world.advance(10_000)
    assert (world.writes - writes, world.faults.calls["workflows.load"] - loads) == (300, 0)
    assert server.sweep.found == 0, "none was left to the sweep"


async def test_a_workflow_that_is_not_known_is_read_once_for_its_timer(world: World) -> None:
    first = await world.server()
    await world.define(first, waiting("w", after(5_000)))
    for number in range(300):
        await world.start(first, f"k{number}")
    await world.settle()
    for number in range(300):
        first.mailboxes.forget(world.key(f"k{number}").workflow_id)
    await world.advance(4_000)
    writes, loads = world.writes, world.faults.calls["workflows.load"]
    await world.advance(10_000)
    assert (world.writes - writes, world.faults.calls["workflows.load"] - loads) == (300, 300)


async def test_a_timer_of_what_has_ended_since_is_read_once_and_nothing_is_written(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", on_signal("go"), after(5_000)))
    await world.start(server)
    await server.cancel(world.ref(), "enough", "request-1")
    await world.settle()
    writes, loads = world.writes, world.faults.calls["workflows.load"]
    await world.advance(10_000)
    assert (world.writes - writes, world.faults.calls["workflows.load"] - loads) == (0, 1)


async def test_a_timer_that_is_slow_delays_no_other(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", after(5_000)))
    await world.start(server, "slow")
    await world.advance(100)
    await world.start(server, "quick")
    await world.advance(4_850)
    go_on = world.faults.hold("workflows.commit")
    await world.advance(100)
    world.faults.release("workflows.commit")
    await world.advance(200)
    assert (await world.step("w", "slow")).state is StepState.WAITING
    assert await world.completed("quick")
    go_on.set()
    await world.settle()
    assert await world.completed("slow")


async def test_timers_whose_workflows_could_not_be_read_fire_when_they_can(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", after(5_000)))
    await world.start(server)
    await world.settle()
    server.mailboxes.forget(world.key("k").workflow_id)
    world.faults.fail("workflows.load", Moment.BEFORE)
    await world.advance(5_000 + 1_200)
    assert await world.completed()
    assert server.supervisor.failures == 0

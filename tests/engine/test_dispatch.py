"""READY steps meet free slots: straight, through the queues, by the sweep alone."""

from functools import partial

import pytest

from perdure_server.kernel.workflow import StepState
from perdure_server.ports.store import Subscription
from tests.engine.harness import World
from tests.engine.workers import Worker, holding


async def test_a_step_that_waited_in_a_queue_is_granted_and_delivered(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server)
    await world.settle()
    assert (await world.step("a")).state is StepState.READY
    worker = await world.worker(server)
    await world.settle()
    assert [claim.plan.name for claim in worker.got] == ["a"]
    assert await world.completed()


async def test_c37_nothing_is_sent_without_credit_and_two_workers_share(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    first = await world.worker(server, script=holding, slots=2)
    second = await world.worker(server, script=holding, slots=2)
    for number in range(10):
        await world.start(server, f"k{number}")
    await world.advance(300)
    assert (len(first.held), len(second.held)) == (2, 2)
    await first.settle(next(iter(first.held.values())))
    await world.advance(300)
    assert (len(first.held), len(second.held)) == (2, 2)
    assert (first.most_held, second.most_held) == (2, 2)


async def test_a_pool_with_free_slots_does_not_look_for_work_whenever_one_more_comes_free(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a", "c: b")
    await world.worker(server, slots=4)
    looks = world.coordination.looks
    for number in range(5):
        await world.start(server, f"k{number}")
        await world.settle()
        assert await world.completed(f"k{number}")
    assert world.coordination.looks == looks
    assert world.credit(server) == 4


async def test_the_first_slot_that_comes_free_is_filled_from_the_queue_at_once(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, slots=1)
    for number in range(3):
        await world.start(server, f"k{number}")
        await world.settle()
    for number in range(1, 3):
        await worker.settle(next(iter(worker.held.values())))
        assert [claim.key.business_key for claim in worker.held.values()] == [f"k{number}"]


async def test_c76_the_sweep_alone_grants_what_is_ready(world: World) -> None:
    world.coordination.away = True
    server = await world.server()
    await world.define(server, "a", "b: a")
    for number in range(5):
        await world.start(server, f"k{number}")
    worker = await world.worker(server, slots=2, want_next=False)
    assert worker.got == []
    await world.until(lambda: len(worker.got) == 10, within=15_000)
    for number in range(5):
        assert await world.completed(f"k{number}")


async def test_a_flush_loses_hints_only(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    for number in range(5):
        await world.start(server, f"k{number}")
    await world.settle()
    world.coordination.flush()
    worker = await world.worker(server)
    assert await world.until(lambda: len(worker.got) == 5) <= 2_000


async def test_a_slot_is_served_at_once_while_another_pool_idles(world: World) -> None:
    server = await world.server()
    await world.define(server, "light", workflow_type="easy")
    await world.define(server, "heavy", workflow_type="hard")
    pools = (Subscription("light", "default", "easy", {}, 50), Subscription("heavy", "default", "hard", {}, 1))
    for number in range(20):
        await world.start(server, f"k{number}", workflow_type="hard")
    worker = await world.worker(server, pools=pools, slots=50)
    await world.until(lambda: len(worker.got) == 20, within=100)
    assert worker.most_held <= 1


@pytest.mark.parametrize("waiting", [3, 40])
async def test_no_more_is_taken_than_the_pool_of_that_queue_has_slots_for(world: World, waiting: int) -> None:
    server = await world.server()
    await world.define(server, "light", workflow_type="easy")
    await world.define(server, "heavy", workflow_type="hard")
    for number in range(waiting):
        await world.start(server, f"k{number}", workflow_type="hard")
    pools = (Subscription("light", "default", "easy", {}, 50), Subscription("heavy", "default", "hard", {}, 1))
    taken = world.coordination.taken
    await world.worker(server, pools=pools, slots=50, script=holding)
    await world.settle()
    assert world.coordination.taken - taken == 1


async def test_a_queue_that_was_longer_than_the_slots_is_looked_into_until_it_is_empty(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, slots=2)
    for number in range(5):
        await world.start(server, f"k{number}")
    await world.advance(2_000)  # the server has seen that steps wait
    for got in (2, 3, 4, 5):
        assert await world.until(partial(_has_got, worker, got)) == 0
        await worker.settle(next(iter(worker.held.values())))


def _has_got(worker: Worker, count: int) -> bool:
    return len(worker.got) == count

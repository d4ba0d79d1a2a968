"""Who comes first: priority, aging and fairness from the start of a workflow to the claim, by every road that a READY step can take."""

import asyncio
from collections.abc import Iterable

import pytest

from perdure_server.engine.service import Engine
from perdure_server.kernel import limits
from perdure_server.kernel.definition import StepDefinition
from perdure_server.ports.store import Subscription
from tests.engine.harness import World
from tests.engine.workers import Worker


async def started(world: World, server: Engine, names: Iterable[str], **fields: object) -> None:
    """Start many at once."""
    await asyncio.gather(*(world.start(server, name, **fields) for name in names))


def keys(worker: Worker) -> list[str]:
    """The business keys of the claims in the order in which they came."""
    return [claim.key.business_key for claim in worker.got]


def last_of(order: list[str], prefix: str) -> int:
    """How many claims came until the last one of a prefix had."""
    return max(place for place, key in enumerate(order) if key.startswith(prefix)) + 1


async def taken(world: World, worker: Worker, count: int, within: int = 60_000) -> list[str]:
    """The first claims."""
    await world.until(lambda: len(worker.got) >= count, within)
    return keys(worker)[:count]


async def test_c53_ten_steps_of_one_key_against_ten_thousand_of_another(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    world.definitions.clear()  # ten thousand checks of invariants would be most of this test's time
    await started(world, server, (f"big-{number}" for number in range(10_000)), fairness_key="big")
    await world.advance(20_000)
    await started(world, server, (f"small-{number}" for number in range(10)), fairness_key="small")
    worker = await world.worker(server, slots=4, script=None)
    while len(worker.got) < 60:
        for claim in list(worker.held.values()):
            await worker.settle(claim)
    order = keys(worker)
    assert sum(key.startswith("small") for key in order) == 10
    assert last_of(order, "small") <= 40


async def test_c53_the_sweep_rebuilds_a_flushed_queue_in_the_same_order(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await started(world, server, (f"big-{number}" for number in range(2_000)), fairness_key="big")
    await started(world, server, (f"small-{number}" for number in range(10)), fairness_key="small")
    await started(world, server, ["urgent"], priority=9)
    await world.advance(5_000)
    world.coordination.flush()
    worker = await world.worker(server, slots=4, script=None)
    await world.until(lambda: len(worker.got) == 4, within=20_000)
    await world.settle()
    rebuilt = world.coordination._queues[next(iter(world.coordination._queues))]
    assert len(rebuilt.places) >= 2_000, "one pass brought all back"
    held = keys(worker)
    order: list[str] = []
    while (item := rebuilt.pop()) is not None:
        found = await world.store.workflows.load(item.workflow_id)
        assert found is not None
        order.append(found.key.business_key)
    assert "urgent" in (held + order)[:5]
    assert last_of(held + order, "small") <= 40


async def test_c53_without_coordination_the_sweep_itself_goes_by_the_order(world: World) -> None:
    world.coordination.away = True
    server = await world.server()
    await world.define(server, "a", StepDefinition("b", priority=8))
    await started(world, server, (f"big-{number}" for number in range(100)), fairness_key="big")
    await started(world, server, (f"small-{number}" for number in range(10)), fairness_key="small")
    await started(world, server, ["urgent"], priority=9)
    await world.advance(2_000)
    pools = (Subscription("pool", "default", "note", {"a": ""}, 1),)
    worker = await world.worker(server, slots=1, want_next=False, pools=pools)
    order = await taken(world, worker, 40)
    assert order[0] == "urgent"
    assert last_of(order, "small") <= 40


@pytest.mark.parametrize(("ahead", "first"), [(29_000, "urgent"), (31_000, "plain")])
async def test_c53_a_level_of_priority_is_worth_thirty_seconds(world: World, ahead: int, first: str) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server, "plain")
    await world.advance(ahead)
    await world.start(server, "urgent", priority=limits.PRIORITY + 1)
    worker = await world.worker(server, slots=1)
    assert (await taken(world, worker, 2))[0] == first


async def test_an_explanation_counts_who_is_ahead_as_the_dispatcher_does(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    names = [f"k{number}" for number in range(24)]
    for number, name in enumerate(names):
        await world.start(server, name, priority=number % 7, fairness_key=("", "big", "small")[number % 3])
        await world.advance(3_000)
    told: dict[str, int | None] = {}
    for name in names:
        [facts] = (await server.explain(world.ref(name))).steps
        assert facts.queue is not None
        told[name] = facts.queue.ahead
    worker = await world.worker(server, slots=1)
    order = await taken(world, worker, len(names))
    assert {name: order.index(name) for name in names} == told


async def test_c53_the_priority_of_a_step_counts_before_that_of_its_workflow(world: World) -> None:
    server = await world.server()
    low, high = StepDefinition("a", priority=1), StepDefinition("a", priority=8)
    await world.define(server, low, workflow_type="low")
    await world.define(server, high, workflow_type="high")
    await world.start(server, "k", workflow_type="low", priority=9)
    await world.start(server, "k", workflow_type="high")
    await world.settle()
    offered = await world.coordination.take(list(world.coordination._queues), 10, 0)
    assert sorted((item.queue.split("/")[2], item.priority) for item in offered) == [("high", 8), ("low", 1)]


async def test_c53_an_old_step_of_low_priority_is_not_starved_by_a_steady_flow_of_high(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server, "old", priority=0)
    worker = await world.worker(server, slots=1, script=None)
    await world.start(server, "occupied", priority=9)
    begun = world.now()
    number = 0
    while "old" not in keys(worker):
        assert world.now() - begun <= 300_000, "starved"
        for _ in range(2):  # more than the worker can do
            number += 1
            await world.start(server, f"new-{number}", priority=9)
        await world.advance(1_000)
        for claim in list(worker.held.values()):
            await worker.settle(claim)
    assert number < 600


async def test_two_pools_never_starve_each_other(world: World) -> None:
    server = await world.server()
    await world.define(server, "light", workflow_type="easy")
    await world.define(server, "heavy", workflow_type="hard")
    await started(world, server, (f"e{number}" for number in range(300)), workflow_type="easy", priority=9)
    await started(world, server, (f"h{number}" for number in range(3)), workflow_type="hard", priority=0)
    pools = (Subscription("light", "default", "easy", {}, 5), Subscription("heavy", "default", "hard", {}, 1))
    worker = await world.worker(server, pools=pools, slots=5, script=None)
    assert sorted(claim.pool for claim in worker.got) == ["heavy", *["light"] * 5]
    for _ in range(3):
        await world.until(lambda: sum(claim.pool == "heavy" for claim in worker.held.values()) == 1, within=2_000)
        await worker.settle(next(claim for claim in worker.held.values() if claim.pool == "heavy"))
    assert sum(claim.pool == "heavy" for claim in worker.got) == 3
    assert worker.most_held <= 6


async def test_c37_slots_of_two_workers_go_round_and_none_waits_behind_a_full_one(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await started(world, server, (f"k{number}" for number in range(100)))
    first = await world.worker(server, slots=2, script=None)
    await world.advance(1_000)
    second = await world.worker(server, slots=2, script=None)
    for _ in range(24):
        assert (len(first.held), len(second.held)) == (2, 2)
        for worker in (first, second):
            for claim in list(worker.held.values()):
                await worker.settle(claim)
    assert abs(len(first.got) - len(second.got)) <= 4
    assert second.most_held == first.most_held == 2

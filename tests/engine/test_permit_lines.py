"""Lines before a resource that move fast: what is stored of a wait, and what is read for it."""

import pytest
from msgspec.structs import replace

from perdure_server.engine.desk import Pool, Slot
from perdure_server.engine.pace import Pace
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Completed
from perdure_server.kernel.resources import Waiting
from tests.engine.harness import World
from tests.engine.permits import Permits, limited
from tests.engine.workers import Worker, holding

WORKFLOWS = 40


@pytest.fixture
def permits(world: World) -> Permits:
    return Permits(world)


async def crowd(world: World, permits: Permits) -> Worker:
    """Forty steps before ten permits, and slots enough."""
    server = await world.server()
    await permits.put(server, capacity=10)
    await world.define(server, limited())
    worker = await world.worker(server, script=holding, slots=WORKFLOWS)
    for number in range(WORKFLOWS):
        await world.start(server, f"k{number}")
    await world.settle()
    return worker


async def end_all(world: World, worker: Worker) -> None:
    """Whatever runs ends, and those whose turn it is begin."""
    for claim in list(worker.held.values()):
        worker.send(claim, Completed())
    await world.settle()


def throttled(permits: Permits) -> int:
    """How many steps are stored as throttled."""
    return sum(step.throttled is not None for workflow in permits.workflows() for step in workflow.steps.values())


async def test_a_wait_that_is_nearly_over_is_not_stored(world: World, permits: Permits) -> None:
    worker = await crowd(world, permits)
    for _ in range(4):
        assert throttled(permits) == 0
        await world.advance(240)
        await end_all(world, worker)
    assert len(worker.got) == WORKFLOWS
    assert {workflow.revision for workflow in permits.workflows()} == {3}, "begun, claimed, completed: nothing else was written"
    permits.quiet()


async def test_a_wait_that_only_seemed_to_be_nearly_over_is_stored_at_last(world: World, permits: Permits) -> None:
    worker = await crowd(world, permits)
    await world.advance(240)
    await end_all(world, worker)
    await world.advance(limits.THROTTLED_AFTER)
    assert throttled(permits) == 10, "the last ten of twenty"
    await world.advance(limits.THROTTLED_AT_LAST)
    assert throttled(permits) == 20


async def test_a_line_that_moves_reads_nothing_for_it(world: World, permits: Permits) -> None:
    worker = await crowd(world, permits)
    before = world.faults.calls.copy()
    for _ in range(3):
        await world.advance(240)
        await end_all(world, worker)
    assert world.faults.calls["resources.stripe"] == before["resources.stripe"]
    assert world.faults.calls["resources.get"] == before["resources.get"]


async def test_a_step_whose_claim_is_being_written_takes_no_second_permit(world: World, permits: Permits) -> None:
    server = await world.server()
    await permits.put(server, capacity=2)
    await world.define(server, limited())
    worker = await world.worker(server, script=holding)
    await world.start(server, "warm")
    await world.settle()
    await worker.settle(worker.got[0])
    written = world.faults.hold("resources.commit")
    started = await world.start(server, "x")
    await world.settle()
    claim = world.faults.hold("workflows.commit")
    world.faults.release("resources.commit")
    written.set()
    await world.settle()
    assert permits.held() == 1
    server.permits.waiting.enter(started.workflow.workflow_id, "a", None)
    await world.settle()
    assert permits.held() == 1
    world.faults.release("workflows.commit")
    claim.set()
    await world.settle()
    assert len(worker.got) == 2
    permits.quiet()


async def test_steps_that_must_let_another_server_go_first_wait_without_slots_and_without_asking_on_and_on(
    world: World, permits: Permits, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await world.server()
    await permits.put(server, capacity=10)
    await world.define(server, limited())
    worker = await world.worker(server, script=holding, slots=3)
    await world.start(server, "first")
    await world.settle()
    stripe = permits.stripes()[0]
    word = Waiting("another", oldest=0, count=1, units=10, time=server.clock.unshifted())
    assert await world.store.resources.commit(stripe, replace(stripe, waiting=(word,), write_id="by another"))
    server.permits.waiting.line("default", "llm", "").look(stale=True)
    await world.settle()
    asked = 0
    reserve = server.desk.reserve

    def counted(queue: str, prefer: Pool | None = None) -> Slot | None:
        nonlocal asked
        asked += 1
        assert asked < 100, "for ever"
        return reserve(queue, prefer)

    monkeypatch.setattr(server.desk, "reserve", counted)  # a fuse: it counts, and goes on as before
    for number in range(6):
        await world.start(server, f"k{number}")
    await world.settle()
    assert len(worker.got) == 1
    await world.advance(limits.WAITING_FRESH_FOR + limits.SECOND)
    assert len(worker.got) == 3
    permits.quiet()


def test_pace_counts_the_second_before() -> None:
    pace = Pace()
    for now in range(5_000, 6_000, 100):
        pace.count(now)
    assert pace.lately(5_950) == 10
    pace.count(6_010)
    assert pace.lately(6_999) == 10
    assert pace.lately(7_000) == 1
    assert pace.lately(8_000) == 0

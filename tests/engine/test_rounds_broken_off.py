"""New rounds whose server, store or caller breaks off on the way: nothing stuck, nothing doubled, nothing lost."""

import pytest

from perdure_server.engine.values import Ref
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import LossCause
from perdure_server.kernel.workflow import StepState, WorkflowState
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.rounds import SUPERSEDE, Breaks, archived, crash, defined, supersede, superseding
from tests.engine.workers import holding


@pytest.mark.parametrize("moment", Moment)
@pytest.mark.parametrize("at", [2, 3, 4, 5])  # (the first would be round 1) the archived round, the new one, the activation, the duty
async def test_a_server_that_dies_at_any_write_leaves_nothing_stuck_or_doubled(world: World, at: int, moment: Moment) -> None:
    server, other = await world.server(), await world.server()
    await defined(world, server)
    await world.start(server)
    worker = await world.worker(other, script=holding)
    await world.until(lambda: worker.held)
    breaks = Breaks(world, at, moment)
    command = world.command(value=2, request_id="r", on_open=SUPERSEDE)
    starting = world.spawn(server.start(command))
    await world.settle()
    assert breaks.broken
    await crash(world, server)
    assert (starting.exception() is None) is (at > 3), "its own two writes are done"
    breaks.over()
    await world.advance(10_000)
    before = await world.stored()
    assert before.round == (1 if at == 2 or (at == 3 and moment is Moment.BEFORE) else 2)
    if before.round == 1:
        assert (await world.step("a")).state is StepState.RUNNING, "the old round goes on as if nothing had been"
    repeat = await other.start(world.command(value=2, request_id="r", on_open=SUPERSEDE))
    assert repeat.created is (before.round == 1)
    await world.advance(10_000)
    now = await world.stored()
    assert (now.round, now.duties, now.state) == (2, (), WorkflowState.RUNNING)
    old = await archived(world, 1)
    assert (old.inert, old.state, old.steps["tidy"].state) == (False, WorkflowState.CANCELLING, StepState.RUNNING)
    held = sorted((claim.round, claim.plan.name) for claim in worker.held.values())
    assert held == [(1, "tidy"), (2, "a")]


@pytest.mark.parametrize("moment", Moment)
@pytest.mark.parametrize("at", [1, 2])
async def test_c68_an_unknown_result_on_the_way_is_found_out(world: World, at: int, moment: Moment) -> None:
    server = await world.server()
    await defined(world, server)
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    breaks = Breaks(world, at, moment)
    starting = superseding(world, server)
    await world.settle()
    breaks.over()
    await world.until(starting.done)
    answer = await starting
    assert (answer.created, answer.workflow.round) == (True, 2)
    await world.settle()
    assert [item.cause for item in worker.lost] == [LossCause.SUPERSEDED], "what was lost with the answer is told again"
    assert sorted((claim.round, claim.plan.name) for claim in worker.held.values()) == [(1, "tidy"), (2, "a")]


async def test_a_call_that_is_cancelled_breaks_nothing_off(world: World) -> None:
    server = await world.server()
    await defined(world, server)
    await world.start(server)
    event = world.faults.hold("workflows.commit")
    starting = superseding(world, server)
    await world.settle()
    starting.cancel()
    await world.settle()
    world.faults.release("workflows.commit")
    event.set()
    await world.advance(2_000)
    assert (await world.stored()).round == 2
    assert not (await archived(world, 1)).inert


async def test_c39_an_older_copy_never_replaces_a_newer_one(world: World) -> None:
    """One server archives and is held up; the old round goes on; another begins the round: what the old round did meanwhile stays."""
    slow, quick = await world.server(), await world.server()
    await defined(world, slow)
    worker = await world.worker(quick, script=holding)
    await world.start(quick)
    await world.settle()
    loads = world.faults.hold("workflows.commit")
    first = superseding(world, slow, "slow")
    await world.settle()  # it has read the old round, and its copy is on the way
    world.faults.release("workflows.commit")
    await worker.settle(worker.claim("a"))
    second = superseding(world, quick, "quick")
    await world.until(second.done)
    assert (await second).workflow.round == 2
    loads.set()
    await world.until(first.done)
    assert (await first).workflow.round == 3
    await world.advance(5_000)
    assert (await archived(world, 1)).steps["a"].state is StepState.COMPLETED
    assert not (await archived(world, 2)).inert


async def test_an_abandoned_copy_of_a_round_that_went_on_is_replaced(world: World) -> None:
    server, other = await world.server(), await world.server()
    await defined(world, server)
    worker = await world.worker(other, script=holding)
    await world.start(other)
    await world.settle()
    breaks = Breaks(world, 3, Moment.BEFORE)
    superseding(world, server)
    await world.settle()
    await crash(world, server)
    breaks.over()
    left = await archived(world, 1)
    assert (left.inert, left.steps["a"].state, left.expire_time, left.wake_time) == (True, StepState.CANCELLED, None, None)
    await worker.settle(worker.claim("a"))
    await worker.settle(worker.claim("b"))
    assert await world.completed()
    assert len((await other.rounds.kept(world.key(), None, 10))[0]) == 1
    with pytest.raises(Rejection) as refused:
        await other.get(Ref(world.key(), round=2), with_payloads=False)
    assert refused.value.reason is Reason.WORKFLOW_NOT_FOUND
    await supersede(world, other, value=3)
    await world.settle()
    old = await archived(world, 1)
    assert (old.inert, old.state, old.steps["b"].state) == (False, WorkflowState.COMPLETED, StepState.COMPLETED)

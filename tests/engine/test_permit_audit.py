"""What an audit of holders may and may not conclude, and what a server with an old view of a stripe gives back."""

import asyncio

import pytest
from msgspec.structs import replace

from perdure_server.engine.people import Conditions
from perdure_server.kernel.definition import Hook, Hooks
from perdure_server.kernel.workflow import WorkflowState
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.permits import Permits, limited
from tests.engine.rounds import archived, supersede
from tests.engine.workers import Worker, holding


@pytest.fixture
def permits(world: World) -> Permits:
    return Permits(world)


async def acquiring(world: World, permits: Permits) -> tuple[Worker, asyncio.Event]:
    """A server that has taken the permit for `x`, and does not know it before the event: the claim is not written."""
    server = await world.server()
    await permits.put(server, capacity=1)
    await world.define(server, limited())
    worker = await world.worker(server, script=holding)
    await world.start(server, "warm")
    await world.settle()
    await worker.settle(worker.got[0])
    await world.settle()
    acquired = world.faults.hold("resources.commit", Moment.AFTER)
    await world.start(server, "x")
    await world.settle()
    assert (permits.held(), permits.claims()) == (1, 0)
    return worker, acquired


async def test_a_claim_that_is_written_while_its_holder_is_judged_keeps_its_permit(world: World, permits: Permits) -> None:
    worker, acquired = await acquiring(world, permits)
    other = await world.server()
    read = world.faults.hold("workflows.load", Moment.AFTER)
    audits = [world.spawn(other.permits.sweep.audit(stripe, older_than=0)) for stripe in permits.stripes()]
    await world.settle()
    world.faults.release("workflows.load", Moment.AFTER)
    acquired.set()
    world.faults.release("resources.commit", Moment.AFTER)
    await world.settle()
    assert len(worker.got) == 2, "the claim is written, and the audit knows the state before it"
    read.set()
    for audit in audits:
        await audit
    await world.settle()
    assert permits.held() == 1
    permits.quiet()


async def test_what_a_crash_left_is_free_though_nobody_else_touches_its_workflow(world: World, permits: Permits) -> None:
    worker, acquired = await acquiring(world, permits)
    await worker.engine.supervisor.close()
    worker.stop()
    acquired.set()
    world.faults.release("resources.commit", Moment.AFTER)
    before = await world.stored("x")
    other = await world.server()
    for stripe in permits.stripes():
        await other.permits.sweep.audit(stripe, older_than=0)
    await world.settle()
    assert permits.held() == 0
    assert (await world.stored("x")).revision == before.revision + 1, "so that the dead server's write can only lose"


async def test_a_finalizer_of_a_round_that_was_superseded_keeps_its_permit(world: World, permits: Permits) -> None:
    server, other = await world.server(), await world.server()
    await permits.put(server, capacity=1)
    await world.define(server, "a", limited("tidy", needs=()), hooks=Hooks(cancel_finalizer=Hook("tidy")))
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    await supersede(world, server)
    await world.until(lambda: permits.claims() == 1)
    assert (await archived(world, 1)).state is WorkflowState.CANCELLING
    assert (await world.stored()).round == 2
    for stripe in permits.stripes():
        await other.permits.sweep.audit(stripe, older_than=0)
    await world.settle()
    assert permits.held() == 1, "its run is stored apart from its key's"
    await worker.settle(next(claim for claim in worker.got if claim.plan.name == "tidy"))
    await world.settle()
    assert permits.held() == 0
    permits.quiet()


async def test_a_unit_that_another_server_took_is_given_back_at_once(world: World, permits: Permits) -> None:
    first = await world.server()
    await permits.put(first, capacity=3)
    await world.define(first, limited())
    second = await world.server()
    there = await world.worker(second, script=holding)
    await world.start(second, "warm")
    await world.settle()
    await there.settle(there.got[0])
    there.stop()
    await there.stream.close()
    await world.advance(1)
    assert permits.held() == 0, "the second server knows the stripe, and that there is room"
    here = await world.worker(first, script=holding)
    await world.start(first, "x")
    await world.settle()
    assert [claim.key.business_key for claim in here.got] == ["x"]
    await second.people.terminate(world.ref("x"), "enough", Conditions("t"))
    await world.settle()
    assert permits.held() == 0
    permits.quiet()


@pytest.mark.parametrize("key", ["", "tenant"])
async def test_a_step_that_waits_for_a_permit_is_found_when_nobody_knows_of_it(world: World, permits: Permits, key: str) -> None:
    server = await world.server()
    await permits.put(server, capacity=1, key_label=key)
    await world.define(server, limited())
    worker = await world.worker(server, script=holding)
    for name in ("x1", "x2"):
        await world.start(server, name, labels={"tenant": "x"})
    await world.advance(1_000)
    (waiting,) = [stripe for stripe in permits.stripes() if stripe.in_use]
    assert (await world.stored("x2")).steps["a"].throttled is not None
    await server.supervisor.close()
    worker.stop()
    assert await world.store.resources.commit(waiting, replace(waiting, waiting=(), write_id="silent")), "its server's word is lost, too"
    other = await world.server()
    there = await world.worker(other, script=holding)
    await world.until(lambda: there.got)
    await there.settle(there.got[0])
    await world.until(lambda: len(there.got) == 2, within=30_000)
    await there.settle(there.got[1])
    await world.until(lambda: world.is_completed("x1") and world.is_completed("x2"))
    permits.quiet()

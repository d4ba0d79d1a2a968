"""What another server did to a claim is told to its worker, though the store does not answer at first."""

from perdure_server.engine.values import Ref
from perdure_server.store.memory import Moment
from tests.engine.faults import FrailCoordination
from tests.engine.harness import World
from tests.engine.workers import holding


async def test_a_cancel_on_another_server_reaches_the_worker_after_reads_that_failed(world: World) -> None:
    here = await world.server()
    there = await world.server(coordination=FrailCoordination(world.clock))  # no hint comes from there
    await world.define(here, "a")
    worker = await world.worker(here, script=holding)
    await world.start(here)
    await world.advance(4_000)
    await there.cancel(Ref(world.key()), "enough", "")
    world.faults.fail("workflows.load", Moment.BEFORE, times=3)
    await world.advance(8_000)
    assert [cancel.reason for cancel in worker.cancels] == ["enough"]
    assert here.supervisor.failures == 0

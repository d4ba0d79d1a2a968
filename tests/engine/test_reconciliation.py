"""What another server did to a claim is told to its worker, though the store does not answer at first."""

from typing import Any

from perdure_server.engine.values import Ref
from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.ports.store import Read
from tests.engine.faults import FrailCoordination
from tests.engine.harness import World
from tests.engine.workers import holding


async def test_a_cancel_on_another_server_reaches_the_worker_after_reads_that_failed(world: World) -> None:
    here = await world.server()
    there = await world.server(coordination=FrailCoordination(world.clock))  # no hint comes from there
    await world.define(here, "a")
    worker = await world.worker(here, script=holding)
    await world.start(here)
    await world.advance(10_000)
    await there.cancel(Ref(world.key()), "enough", "")
    load, failed = world.store.workflows.load, list[bytes]()

    async def unlucky(workflow_id: bytes, read: Read = Read.LOCAL, **options: Any) -> Workflow | None:
        if read is Read.LINEARIZABLE and len(failed) < 3:
            failed.append(workflow_id)
            raise StoreUnavailable("not now")
        return await load(workflow_id, read, **options)

    world.store.workflows.load = unlucky  # type: ignore[method-assign]  # the reads that tell what to say
    await world.advance(7_000)
    assert len(failed) == 3
    assert [cancel.reason for cancel in worker.cancels] == ["enough"]
    assert here.supervisor.failures == 0

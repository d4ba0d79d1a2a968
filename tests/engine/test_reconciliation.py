"""What another server did to a claim is told to its worker, though the store does not answer at first."""

import asyncio
from typing import Any

from perdure_server.engine.values import Ref
from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.ports.store import Read
from tests.engine.faults import FrailCoordination
from tests.engine.harness import World
from tests.engine.workers import holding


async def test_a_claim_that_is_granted_while_the_answer_travels_is_left_alone(world: World) -> None:
    here = await world.server()
    await world.define(here, "a", "b")
    worker = await world.worker(here, script=holding, slots=1, want_next=False)
    await world.start(here)
    await world.advance(10_000)
    load, gate = world.store.workflows.load, asyncio.Event()

    async def slow(workflow_id: bytes, read: Read = Read.LOCAL, **options: Any) -> Workflow | None:
        found = await load(workflow_id, read, **options)
        if read is Read.LINEARIZABLE:
            await gate.wait()
        return found

    world.store.workflows.load = slow  # type: ignore[method-assign]  # an answer that comes late
    here.workers.reconciliation.ask(world.key().workflow_id)
    await world.advance(10)
    worker.credit(1)
    await world.advance(2_000)
    assert len(worker.held) == 2
    gate.set()
    await world.advance(1_000)
    assert (len(worker.held), worker.lost) == (2, [])


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
    assert [cancel.reason for cancel in worker.cancels] == ["WORKFLOW_CANCELLED"]
    assert here.supervisor.failures == 0

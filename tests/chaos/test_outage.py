"""Back after an outage that was longer than every lease and timeout: no storm, no silence, nobody punished for our absence (case C21)."""

import asyncio
import time

import pytest

from perdure.v1 import claim_pb2
from tests.chaos.conftest import Report
from tests.chaos.extent import extent
from tests.chaos.journal import Journal, Reader
from tests.chaos.scene import Scene
from tests.e2e.channels import COMPLETED, connected
from tests.e2e.servers import LEASE_MS
from tests.e2e.stream_worker import Result, StreamWorker, lapse

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(120)]

HELD = extent(25, long=40)  # claims that run when the servers go
WAITING = extent(25, long=60)  # workflows that wait for a slot
ATTEMPT_SECONDS = 4.0
AWAY_SECONDS = ATTEMPT_SECONDS + LEASE_MS / 1000  # longer than the lease, and than the time that an attempt may take
CATCH_UP = 40.0


async def test_c21_results_that_workers_held_through_an_outage_are_taken(scene: Scene, report: Report) -> None:
    journal = scene.directory / "outage.journal"
    go = asyncio.Event()

    async def work(claim: claim_pb2.Claim) -> Result:
        await go.wait()
        result = Result()
        result.completed.output.json = f"{claim.claim_no}"
        return result

    worker = StreamWorker(scene.addresses, "outage", work, Journal(journal, "stream"), slots=HELD)
    reader = Reader(journal)
    async with connected(scene.addresses[0], "outage") as perdure, asyncio.TaskGroup() as group:
        await perdure.register("a", "b: a", attempt_timeout=ATTEMPT_SECONDS)
        running = group.create_task(worker.run())
        for number in range(HELD + WAITING):
            await perdure.start(f"k{number}")
        async with asyncio.timeout(ATTEMPT_SECONDS):
            while reader.look().counts["begun"] < HELD:
                await lapse(0.02)
        for server in scene.servers:
            await scene.kill(server)
        go.set()  # they finish now, and nobody can be told
        await lapse(AWAY_SECONDS)
        for server in scene.servers:
            await scene.start(server)
        back = time.monotonic()
        async with asyncio.timeout(CATCH_UP):
            ended = [await perdure.ended(f"k{number}") for number in range(HELD + WAITING)]
        took = time.monotonic() - back
        worker.stop.set()
        await running
    reader.look()
    late = [fact for fact in reader.of("answered") if fact.reason]
    again = [step for workflow in ended for step in workflow.steps if step.attempt > 1]
    report(f"{len(ended)} workflows ended {took:.1f} s after the return; {len(late)} results fenced, {len(again)} steps attempted again")
    assert {workflow.state for workflow in ended} == {COMPLETED}
    assert not late, "a worker that comes back within a lease of the return is not fenced"
    assert not again
    assert reader.counts["begun"] == 2 * (HELD + WAITING)

"""What the engine measures of workflows, in virtual time."""

from perdure_server.kernel import limits
from perdure_server.ports.instruments import (
    CLAIMS_LOST,
    FIRST_CLAIM,
    PERMIT_TIME,
    QUEUE_TIME,
    RESULTS_REFUSED,
    STARTED,
    STEP_TIME,
    TIMER_LATENESS,
    WATCHERS,
    WORKERS,
    WORKFLOW_TIME,
    Instrument,
)
from perdure_server.ports.telemetry import Labels
from tests.engine.harness import World
from tests.engine.workers import failing, holding

NOTE = ("default", "note")


def total(world: World, instrument: Instrument, labels: Labels) -> float:
    """The sum (ms) of all points of a histogram."""
    return world.spans.snapshot().histograms[instrument][labels].total


async def test_a_workflow_that_waited_for_a_worker(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    await world.start(server, "k")
    await world.advance(3_000)
    await world.worker(server)
    await world.settle()
    assert world.is_completed("k")
    assert world.spans.counted(STARTED, NOTE) == 1
    assert total(world, FIRST_CLAIM, NOTE) == 3_000
    assert world.spans.counted(QUEUE_TIME, (*NOTE, "default")) == 2
    assert total(world, QUEUE_TIME, (*NOTE, "default")) == 3_000, "b was granted in the write that made it ready"
    assert world.spans.counted(STEP_TIME, (*NOTE, "a", "completed")) == 1
    assert total(world, WORKFLOW_TIME, (*NOTE, "completed")) == 3_000


async def test_a_back_off_is_no_queue_time_and_its_lateness_is_known(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.worker(server, script=failing)
    await world.start(server, "k")
    await world.until(lambda: world.has_failed("k"))
    assert world.spans.counted(STEP_TIME, (*NOTE, "a", "failed")) == 3
    assert total(world, QUEUE_TIME, (*NOTE, "default")) == 0, "what it backed off is not what it queued"
    assert world.spans.counted(TIMER_LATENESS) == 2
    assert world.spans.snapshot().histograms[TIMER_LATENESS][()].total < 2 * limits.SECOND
    assert world.spans.counted(WORKFLOW_TIME, (*NOTE, "failed")) == 1


async def test_lost_claims_and_results_that_come_too_late(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, renews=False)
    await world.start(server, "k")
    await world.settle()
    claim = worker.claim("a")
    worker.renew()
    await world.settle()
    await world.advance(2 * limits.SESSION_LEASE)
    assert world.spans.counted(CLAIMS_LOST, (*NOTE, "expired")) == 1
    assert world.spans.counted(STEP_TIME, (*NOTE, "a", "lost")) == 1
    assert world.spans.counted(RESULTS_REFUSED, ("CLAIM_LOST",)) == 0
    await worker.settle(claim)
    await world.settle()
    assert world.spans.counted(RESULTS_REFUSED, ("CLAIM_LOST",)) == 1


async def test_gauges_are_looked_at_when_somebody_reads(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.worker(server, script=holding)
    found = world.spans.snapshot().values
    assert found[WORKERS] == {(): 1}
    assert found[WATCHERS] == {(): 0}
    interest = server.hub.join(world.key("k").workflow_id)
    assert world.spans.snapshot().values[WATCHERS] == {(): 1}
    server.hub.leave(world.key("k").workflow_id, interest)
    assert PERMIT_TIME in world.spans.snapshot().histograms

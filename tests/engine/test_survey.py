"""The survey: what the metrics tell of queues, resources and people, asked of the store by one server of all."""

from perdure_server.engine.catalog import DefinitionName
from perdure_server.engine.people import Conditions
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Exhaustion
from perdure_server.kernel.resolving import Retried
from perdure_server.kernel.values import Paused, RetryPolicy
from perdure_server.ports.instruments import (
    HELD_OLDEST,
    HELD_STEPS,
    PARKED_OLDEST,
    PARKED_STEPS,
    PAUSED,
    PAUSED_OLDEST,
    QUEUE_OLDEST,
    QUEUE_READY,
    QUEUE_RUNNING,
    QUEUE_THROTTLED,
    RESOURCE_CAPACITY,
    RESOURCE_USED,
    RESOURCE_WAITING,
    Instrument,
)
from perdure_server.ports.telemetry import Labels
from tests.engine.harness import World
from tests.engine.permits import Permits, limited
from tests.engine.workers import completing, failing, holding
from tests.kernel.harness import activity

QUEUE = ("default", "default", "note", "a")
NOTE = ("default", "note")


def told(world: World, instrument: Instrument) -> dict[Labels, float]:
    return dict(world.spans.snapshot().values.get(instrument, {}))


async def test_the_age_of_the_oldest_and_that_nobody_serves_a_queue(world: World) -> None:
    world.spans.measured = True
    server = await world.server()
    await world.define(server, "a")
    await world.start(server, "k")
    await world.advance(30_000)
    await world.start(server, "l")
    await world.advance(60_000)
    assert told(world, QUEUE_READY) == {QUEUE: 2}
    assert 75_000 <= told(world, QUEUE_OLDEST)[QUEUE] <= 91_000
    assert told(world, PARKED_STEPS) == {(*QUEUE, "no_worker"): 2}
    assert 45_000 <= told(world, PARKED_OLDEST)[*QUEUE, "no_worker"] <= 91_000
    await world.worker(server, script=holding)
    await world.advance(2 * limits.SURVEY_INTERVAL)
    assert (told(world, QUEUE_READY)[QUEUE], told(world, QUEUE_RUNNING)[QUEUE], told(world, QUEUE_OLDEST)[QUEUE]) == (0, 2, 0)
    assert told(world, PARKED_STEPS) == {}


async def test_permits_used_and_waited_for(world: World) -> None:
    world.spans.measured = True
    server = await world.server()
    permits = Permits(world)
    await permits.put(server, capacity=2)
    await world.define(server, limited())
    await world.worker(server, script=holding)
    for number in range(5):
        await world.start(server, f"k{number}")
    await world.advance(2 * limits.SURVEY_INTERVAL)
    llm = ("default", "llm")
    assert (told(world, RESOURCE_USED)[llm], told(world, RESOURCE_CAPACITY)[llm], told(world, RESOURCE_WAITING)[llm]) == (2, 2, 3)
    assert told(world, QUEUE_THROTTLED)[QUEUE] == 3


async def test_what_waits_for_a_person_is_counted_until_somebody_decides(world: World) -> None:
    world.spans.measured = True
    server = await world.server()
    await world.define(server, activity("a", retry=RetryPolicy(max_attempts=1), on_exhausted=Exhaustion.HOLD))
    worker = await world.worker(server, script=failing)
    await world.start(server, "k")
    await world.advance(2 * limits.MINUTE)
    assert told(world, HELD_STEPS) == {NOTE: 1}
    assert limits.MINUTE <= told(world, HELD_OLDEST)[NOTE] <= 2 * limits.MINUTE
    worker.script = completing
    await server.people.resolve(world.ref(), "a", Retried(), Conditions("r"))
    await world.advance(2 * limits.SURVEY_INTERVAL)
    assert world.is_completed("k")
    assert told(world, HELD_STEPS) == {}


async def test_what_is_paused_is_counted_until_somebody_resumes_it(world: World) -> None:
    world.spans.measured = True
    server = await world.server()
    fingerprint = (await world.define(server, "a")).fingerprint
    await world.start(server, "k")
    await world.start(server, "l")
    await server.people.pause(world.ref("k"), Paused(0, "kim"), Conditions("r"))
    await world.advance(limits.MINUTE)
    await server.people.pause(world.ref("l"), Paused(0, "kim"), Conditions("r"))
    await server.pause_definitions(DefinitionName("default", "note", fingerprint), Paused(0, "kim"))
    await world.advance(2 * limits.SURVEY_INTERVAL)
    assert told(world, PAUSED) == {(*NOTE, "workflow"): 2, (*NOTE, "definition"): 1}
    oldest = told(world, PAUSED_OLDEST)
    assert limits.MINUTE <= oldest[*NOTE, "workflow"] <= limits.MINUTE + 2 * limits.SURVEY_INTERVAL, "of the first that was paused"
    assert limits.SECOND <= oldest[*NOTE, "definition"] <= 2 * limits.SURVEY_INTERVAL
    assert told(world, QUEUE_READY) == {}, "nothing is ready in a workflow that is paused"
    await server.people.resume(world.ref("k"), Conditions("r"))
    await server.pause_definitions(DefinitionName("default", "note", ""), None)
    await world.advance(2 * limits.SURVEY_INTERVAL)
    assert told(world, PAUSED) == {(*NOTE, "workflow"): 1}


async def test_of_two_servers_one_asks(world: World) -> None:
    world.spans.measured = True
    first, second = await world.server(), await world.server()
    await world.define(first, "a")
    await world.start(first, "k")
    await world.advance(2 * limits.SURVEY_INTERVAL)
    assert told(world, QUEUE_READY) == {QUEUE: 1}, "both tell the same meters here: two would have made it 2"
    assert second.supervisor.ages()["survey"] <= limits.SURVEY_INTERVAL


async def test_nobody_asks_where_nobody_reads(world: World) -> None:
    server = await world.server()
    assert "survey" not in server.supervisor.ages()

"""Which times of a workflow become spans, in virtual time: queue, permits, back-off, waits, signals, pauses, replays, rounds, children."""

import pytest

from perdure_server.engine.people import Conditions
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Exhaustion
from perdure_server.kernel.resolving import Retried
from perdure_server.kernel.start import OnClosed
from perdure_server.kernel.values import Paused, RetryPolicy, Trace
from perdure_server.ports.telemetry import StaySpan, children_span_id
from tests.engine.families import children_of, family, pools
from tests.engine.harness import EPOCH, World
from tests.engine.permits import Permits, limited
from tests.engine.workers import completing, failing, holding
from tests.kernel.families import childing, mapping
from tests.kernel.harness import activity, after, on_signal, signal, waiting

ONCE = RetryPolicy(max_attempts=1)


def told(stays: list[StaySpan]) -> list[tuple[str, str, int]]:
    """(step, kind, how long in ms) in the order in which they ended."""
    return [(stay.step, stay.kind, stay.ended - stay.began) for stay in stays]


async def test_queue_time_is_a_span_that_leads_to_its_claim(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    await world.start(server)
    await world.advance(3_000)
    await world.worker(server)
    await world.settle()
    assert told(world.spans.stays) == [("a", "queued", 3_000)], "b was granted in the write that made it ready"
    queued, attempt = world.spans.stays[0], world.spans.attempts[0]
    assert (queued.began, queued.claim_no, queued.follows) == (EPOCH, 1, attempt.span_id)
    assert queued.ended == attempt.granted


async def test_permit_waits_stand_in_the_queue_time_with_their_exact_times(world: World) -> None:
    server = await world.server()
    permits = Permits(world)
    await permits.put(server, capacity=1)
    await world.define(server, limited())
    worker = await world.worker(server, script=holding)
    await world.start(server, "k")
    await world.start(server, "l")
    await world.advance(5_000)
    await worker.settle(worker.claim("a"))
    await world.settle()
    queued = world.spans.stays[-1]
    assert told([queued]) == [("a", "queued", 5_000)]
    lacking, taken = queued.moments
    assert (lacking.name, lacking.attributes) == ("perdure.permits.lacking", {"perdure.resource": "llm"})
    assert 0 <= lacking.time - EPOCH < 1_000
    assert (taken.name, taken.time - EPOCH) == ("perdure.permits.taken", 5_000)


async def test_back_off_and_hold(world: World) -> None:
    server = await world.server()
    policy = RetryPolicy(max_attempts=2, jitter=0.0, initial_interval=2_000)
    await world.define(server, activity("a", retry=policy, on_exhausted=Exhaustion.HOLD))
    worker = await world.worker(server, script=failing)
    await world.start(server)
    await world.advance(10_000)
    worker.script = completing
    await server.people.resolve(world.ref(), "a", Retried(), Conditions("r"))
    await world.settle()
    assert await world.completed()
    found = told(world.spans.stays)
    assert [(step, kind) for step, kind, _ in found] == [("a", "backing off"), ("a", "held")]
    assert 2_000 <= found[0][2] <= 2_500
    assert [stay.cause for stay in world.spans.stays] == ["DUE", "RESOLVED"]


async def test_a_wait_tells_when_its_signal_was_stored(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", on_signal("go"), after(limits.DAY)), "a: w")
    await world.worker(server)
    await world.start(server)
    await world.advance(4_000)
    await server.signal(world.ref(), signal("go", "s-1"))
    await world.settle()
    assert await world.completed()
    waited = world.spans.stays[0]
    assert told([waited]) == [("w", "waiting", 4_000)]
    assert [(moment.name, moment.time - EPOCH, moment.attributes["perdure.signal"]) for moment in waited.moments] == [
        ("perdure.signal.stored", 4_000, "go")
    ]


async def test_a_delayed_start_a_pause_and_a_timer(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", after(5_000, name="tea")))
    await world.start(server, start_at=world.now() + 2_000)
    await world.until(lambda: not world.stored_types() or len(world.spans.stays) == 1)
    await server.people.pause(world.ref(), Paused(0), Conditions("r1"))
    await world.advance(1_000)
    await server.people.resume(world.ref(), Conditions("r2"))
    await world.until(world.is_completed)
    kinds = {stay.kind: stay for stay in world.spans.stays}
    assert list(kinds) == ["delayed", "paused", "waiting"]
    assert kinds["paused"].ended - kinds["paused"].began == 1_000
    assert [(moment.name, moment.attributes) for moment in kinds["waiting"].moments] == [
        ("perdure.timer.due", {"perdure.condition": "tea"})
    ]


async def test_a_replay_is_marked_and_its_end_is_another(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("a", retry=ONCE))
    worker = await world.worker(server, script=failing)
    await world.start(server)
    await world.settle()
    before = await world.stored()
    worker.script = completing
    await world.advance(1_000)
    await server.people.replay(world.ref(), (), Conditions("r"))
    await world.settle()
    assert await world.completed()
    [(mark, earlier)] = world.spans.replayed
    assert (earlier, mark.started - EPOCH, mark.replays) == (before.fence, 1_000, 1)
    assert [span.fence for span in world.spans.ended] == [before.fence, mark.fence]
    assert [span.trace.trace_id for span in world.spans.ended] == [before.trace.trace_id] * 2


async def test_a_new_round_is_linked_to_the_one_before(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.worker(server)
    await world.start(server, request_id="r1")
    await world.settle()
    await world.start(server, request_id="r2", on_closed=OnClosed.NEW_ROUND)
    await world.settle()
    first, second = (span.trace for span in world.spans.started)
    assert first.trace_id != second.trace_id
    assert (first.link, second.link) == ("", f"{first.trace_id}-{first.root_span_id}")
    assert (await world.stored()).trace.link == second.link


async def test_one_child_goes_on_in_its_parents_trace_below_the_step(world: World) -> None:
    server = await family(world, childing("c"))
    await world.worker(server, pools=pools(5))
    await world.start(server, value={"a": 1})
    await world.until(world.is_completed)
    parent = await world.stored()
    step = children_span_id(parent.run_id, "c", 0)
    [child] = await children_of(world, parent, 1, "c")
    assert (child.trace.trace_id, child.trace.parent_span_id, child.trace.link) == (parent.trace.trace_id, step, "")
    assert step in {stay.span_id for stay in world.spans.stays if stay.kind == "children"}


async def test_the_items_of_a_map_have_traces_of_their_own_linked_to_the_step(world: World) -> None:
    server = await family(world, mapping("m"))
    await world.worker(server, pools=pools(20))
    await world.start(server, value=[1, 2, 3])
    await world.until(world.is_completed)
    parent = await world.stored()
    [step] = [stay for stay in world.spans.stays if stay.kind == "children"]
    links = {span.trace.link for span in world.spans.started if span.key.workflow_type != "note"}
    assert links == {f"{parent.trace.trace_id}-{step.span_id}"}


@pytest.mark.parametrize("flags", [0, 1])
async def test_nothing_is_built_for_a_trace_that_is_not_sampled(world: World, flags: int) -> None:
    server = await world.server()
    await world.define(server, "a")
    trace = Trace("1" * 32, "2" * 16, flags=flags)
    command = world.command()
    await server.start(type(command)(**{name: getattr(command, name) for name in command.__struct_fields__} | {"trace": trace}))
    await world.advance(1_000)
    await world.worker(server)
    await world.settle()
    assert await world.completed()
    kept = world.spans
    assert [len(spans) for spans in (kept.started, kept.attempts, kept.stays, kept.ended)] == [flags] * 4


async def test_a_second_server_tells_what_the_first_began(world: World) -> None:
    first = await world.server()
    await world.define(first, waiting("w", on_signal("go")))
    await world.start(first)
    await world.advance(1_000)
    await first.close()
    second = await world.server()
    await second.signal(world.ref(), signal("go", "s-1"))
    await world.settle()
    assert told(world.spans.stays) == [("w", "waiting", 1_000)]

"""Batches: done once to each, counted once, whoever dies meanwhile; bounded in rate; stopped by a word."""

import asyncio
import itertools

import pytest

from perdure_server.engine.batch_verbs import ResolveArguments, SignalArguments, packed
from perdure_server.engine.batches import Plan, Work
from perdure_server.engine.selection import Selection
from perdure_server.engine.service import Engine
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Exhaustion
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.resolving import PassedOver
from perdure_server.kernel.values import RetryPolicy
from perdure_server.kernel.workflow import WorkflowState
from perdure_server.ports.audit import AuditQuery
from perdure_server.ports.batches import Batch, BatchState
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.ports.store import WorkflowQuery
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.workers import failing
from tests.kernel.harness import activity, payload

ALL = Selection(WorkflowQuery("default"))


def work(verb: str = "cancel", selection: Selection = ALL, arguments: bytes = b"", **fields: object) -> Work:
    given: dict[str, object] = {"request_id": "r", "actor": "kim", "reason": "enough"} | fields
    return Work("default", verb, Plan(selection, arguments), **given)  # type: ignore[arg-type]  # fields of the struct


async def running(world: World, server: Engine, count: int) -> None:
    await world.define(server, "a")
    for number in range(count):
        await world.start(server, f"k{number}")


async def begun(server: Engine, given: Work) -> Batch:
    found = await server.operations.batches.start(given)
    assert found is not None
    return found


async def end_of(world: World, server: Engine, batch: Batch) -> Batch:
    state = [batch]

    async def look() -> None:
        state[0] = await server.operations.batches.get("default", batch.batch_id)

    for _ in range(600):
        await look()
        if state[0].state is not BatchState.RUNNING:
            return state[0]
        await world.advance(500)
    pytest.fail("the batch does not end")


async def states(world: World, count: int) -> list[str]:
    return [(await world.stored(f"k{number}")).state.name for number in range(count)]


async def test_it_is_done_to_all_that_match_and_each_is_in_the_audit_trail(world: World) -> None:
    server = await world.server()
    await running(world, server, 5)
    await server.cancel(world.ref("k4"), "", "")
    batch = await begun(server, work())
    assert (batch.matched, batch.state) == (5, BatchState.RUNNING)
    done = await end_of(world, server, batch)
    assert (done.state, done.succeeded, done.failed, done.in_hand, done.plan) == (BatchState.COMPLETED, 4, 1, (), b"")
    (refusal,) = done.refusals
    assert (refusal.business_key, refusal.reason) == ("k4", "WORKFLOW_CLOSED")
    assert await states(world, 5) == ["CANCELLED"] * 5
    records = await server.audit.find(AuditQuery("default"), 10, None)
    assert {(record.method, record.actor, record.reason, record.facts["batch_id"]) for record in records} == {
        ("CancelWorkflow", "kim", "enough", batch.batch_id)
    }
    assert len(records) == 4


async def test_the_same_request_is_the_same_batch_and_another_is_refused(world: World) -> None:
    server = await world.server()
    await running(world, server, 1)
    batch = await begun(server, work())
    await end_of(world, server, batch)
    again = await begun(server, work())
    assert (again.batch_id, again.state) == (batch.batch_id, BatchState.COMPLETED)
    with pytest.raises(Rejection) as caught:
        await begun(server, work(max_per_second=3.0, content="another"))
    assert caught.value.reason is Reason.REQUEST_ID_REUSED
    assert (
        await server.operations.batches.start(work(request_id="none", selection=Selection(WorkflowQuery("nobody"))), only_if_any=True)
        is None
    )


@pytest.mark.parametrize("at", range(3))
async def test_another_server_takes_over_what_a_dead_one_had_in_hand(world: World, at: int) -> None:
    first = await world.server()
    await running(world, first, 150)
    dying = {"workflows.commit": 40 * at, "batches.change": 2}

    async def die(operation: str, moment: Moment) -> None:
        if operation in dying and moment is Moment.AFTER and not first.supervisor.closed:
            dying[operation] -= 1
            if min(dying.values()) < 0:
                first.supervisor.closed = True  # it does nothing more, and its lease stands
                raise StoreUnavailable("dead")
        if first.supervisor.closed and len(world.engines) == 1:
            raise StoreUnavailable("dead")

    before, world.store.faults = world.store.faults, die
    batch = await begun(first, work())
    await world.advance(2_000)
    world.store.faults = before
    assert first.supervisor.closed
    second = await world.server()
    done = await end_of(world, second, batch)
    assert (done.succeeded, done.failed, done.owner) == (150, 0, "")
    assert set(await states(world, 150)) == {"CANCELLED"}
    first.supervisor.closed = False


async def test_unknown_results_count_nothing_twice(world: World) -> None:
    server = await world.server()
    await running(world, server, 30)
    for operation in ("batches.change", "workflows.commit", "batches.change", "workflows.load", "audit.add"):
        world.faults.fail(operation, Moment.AFTER)
    done = await end_of(world, server, await begun(server, work("terminate")))
    assert (done.succeeded, done.failed) == (30, 0)


async def test_two_servers_never_work_on_one_batch(world: World) -> None:
    here, there = await world.server(), await world.server()
    await running(world, here, 250)
    batch = await begun(here, work(max_per_second=50.0))
    owners: set[str] = set()
    for _ in range(8):
        await world.advance(400)
        owners.add((await here.operations.batches.get("default", batch.batch_id)).owner)
    there.operations.batch_runner.wake()
    await world.advance(200)
    assert len(owners - {""}) == 1
    assert (await end_of(world, here, batch)).succeeded == 250


async def test_a_server_that_leaves_hands_over_at_once(world: World) -> None:
    here, there = await world.server(), await world.server()
    await running(world, here, 100)
    batch = await begun(here, work(max_per_second=10.0))
    await world.settle()
    owner = (await here.operations.batches.get("default", batch.batch_id)).owner
    leaving, staying = (here, there) if owner == here.settings.server_id else (there, here)
    await leaving.drain(0)
    await world.advance(1_500)
    after = await staying.operations.batches.get("default", batch.batch_id)
    assert (after.owner, after.state) == (staying.settings.server_id, BatchState.RUNNING)


async def test_a_server_that_leaves_counts_nothing_that_it_could_not_do(world: World) -> None:
    here, there = await world.server(), await world.server()
    await running(world, here, 30)
    usual, engines = world.store.faults, {engine.settings.server_id: engine for engine in (here, there)}
    batch = await begun(here, work("signal", arguments=packed(SignalArguments("go"))))

    async def leave_meanwhile(operation: str, moment: Moment) -> None:
        if operation == "workflows.commit":
            world.store.faults = usual
            await engines[(await here.operations.batches.get("default", batch.batch_id)).owner].drain(0)
        await usual(operation, moment)

    world.store.faults = leave_meanwhile
    await world.advance(3_000)
    staying = there if here.draining else here
    assert here.draining is not there.draining
    done = await end_of(world, staying, batch)
    assert (done.state, done.succeeded, done.failed) == (BatchState.COMPLETED, 30, 0)


async def test_the_rate_is_kept_and_a_stop_ends_it(world: World) -> None:
    server = await world.server()
    await running(world, server, 40)
    batch = await begun(server, work(max_per_second=2.0))
    await world.advance(5_000)
    stopped = await server.operations.batches.stop("default", batch.batch_id, "s")
    assert (stopped.state, stopped.owner) == (BatchState.STOPPED, "")
    assert 10 <= stopped.succeeded <= 12
    await world.advance(20_000)
    final = await server.operations.batches.get("default", batch.batch_id)
    assert (await states(world, 40)).count("CANCELLED") == final.succeeded
    assert await server.operations.batches.stop("default", batch.batch_id, "s") == final
    with pytest.raises(Rejection) as caught:
        await server.operations.batches.stop("default", batch.batch_id, "another")
    assert (caught.value.reason, caught.value.facts["state"]) == (Reason.BATCH_CLOSED, "STOPPED")


async def test_what_was_in_hand_at_a_stop_is_counted(world: World) -> None:
    server = await world.server()
    await running(world, server, 20)
    batch = await begun(server, work())
    held = world.store.faults

    async def stop_meanwhile(operation: str, moment: Moment) -> None:
        if operation == "workflows.commit" and moment is Moment.AFTER:
            world.store.faults = held
            await server.operations.batches.stop("default", batch.batch_id, "s")

    world.store.faults = stop_meanwhile
    await world.advance(5_000)
    final = await server.operations.batches.get("default", batch.batch_id)
    assert (final.state, final.succeeded, final.in_hand) == (BatchState.STOPPED, 20, ())


async def test_what_another_server_has_counted_is_not_counted_at_a_stop(world: World) -> None:
    slow = await world.server()
    await running(world, slow, 20)
    usual, gate, changes = world.store.faults, asyncio.Event(), itertools.count(1)

    async def third_waits(operation: str, moment: Moment) -> None:
        if operation == "batches.change" and moment is Moment.BEFORE and next(changes) == 3:
            await gate.wait()  # it has done what it had in hand, and its word of it is on the way
        await usual(operation, moment)

    world.store.faults = third_waits
    batch = await begun(slow, work(max_per_second=1.0))
    await world.advance(2_000)
    other = await world.server()
    await world.advance(limits.BATCH_LEASE + 3_500)
    counted = await other.operations.batches.stop("default", batch.batch_id, "s")
    assert 1 < counted.succeeded < 20, "the other server has taken it over, and counted the first one, too"
    gate.set()
    await world.advance(5_000)
    final = await other.operations.batches.get("default", batch.batch_id)
    assert final.succeeded >= counted.succeeded
    assert (await states(world, 20)).count("CANCELLED") == final.succeeded


async def test_a_purge_takes_ended_ones_and_is_idempotent_when_they_are_gone(world: World) -> None:
    server = await world.server()
    await running(world, server, 10)
    for number in range(5):
        await server.cancel(world.ref(f"k{number}"), "", "")
    ended = Selection(WorkflowQuery("default", states=(WorkflowState.CANCELLED,)))
    world.faults.fail("batches.change", Moment.BEFORE)
    done = await end_of(world, server, await begun(server, work("delete", ended)))
    assert (done.matched, done.succeeded, done.failed) == (5, 5, 0)
    assert (await server.listing.count(ALL, 100)).count == 5


async def test_signals_and_decisions(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("a", retry=RetryPolicy(max_attempts=1), on_exhausted=Exhaustion.HOLD))
    await world.worker(server, script=failing)
    await world.start(server)
    await world.settle()
    signal = packed(SignalArguments("go", payload(7)))
    assert (await end_of(world, server, await begun(server, work("signal", arguments=signal)))).succeeded == 1
    (stored,) = (await world.stored()).inbox
    assert (stored.name, stored.payload) == ("go", payload(7))
    decision = packed(ResolveArguments("a", PassedOver()))
    assert (await end_of(world, server, await begun(server, work("resolve_step", arguments=decision)))).succeeded == 1
    assert (await world.states())["a"] == "SKIPPED"
    for verb in ("pause", "resume", "replay"):
        done = await end_of(world, server, await begun(server, work(verb)))
        assert (done.succeeded, done.failed) == (0, 1) if verb != "replay" else done.succeeded + done.failed == 1


async def test_what_starts_later_is_none_of_it(world: World) -> None:
    server = await world.server()
    await running(world, server, 5)
    batch = await begun(server, work(max_per_second=1.0))
    await world.advance(2_000)
    await world.start(server, "later")
    assert (await end_of(world, server, batch)).succeeded == 5
    assert (await world.stored("later")).state is WorkflowState.RUNNING


async def test_a_batch_is_forgotten_after_its_retention(world: World) -> None:
    server = await world.server()
    batch = await begun(server, work())
    await end_of(world, server, batch)
    await server.close()
    await world.advance(limits.BATCH_RETENTION + limits.MINUTE)
    later = await world.server()
    await world.advance(limits.MINUTE)
    with pytest.raises(Rejection) as caught:
        await later.operations.batches.get("default", batch.batch_id)
    assert caught.value.reason is Reason.BATCH_NOT_FOUND

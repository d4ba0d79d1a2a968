"""What is left of a key when retention is over, or a person has deleted it; and how it begins again."""

from typing import Any

import pytest
from msgspec.structs import replace

from perdure_server.engine.people import Conditions
from perdure_server.engine.service import Engine
from perdure_server.engine.values import Ref, Started
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.start import OnClosed, OnOpen
from perdure_server.kernel.workflow import Workflow, WorkflowState
from perdure_server.ports.store import WorkflowQuery
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.rounds import AGAIN, Breaks, archived, crash, defined, stored, supersede
from tests.engine.watching import Watching
from tests.engine.workers import holding
from tests.kernel.harness import payload, signal


@pytest.fixture(autouse=True)
def short_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tombstones for a minute: the loops of a server make 30 days long, virtual or not."""
    monkeypatch.setattr(limits, "TOMBSTONE", limits.MINUTE)


RETENTION = 60_000
BIG = "x" * (limits.INLINE_PAYLOAD + 1)
MANY = WorkflowQuery("default", include_archived=True)


async def ended(world: World, **fields: Any) -> tuple[Engine, Started]:
    """A key whose first round has completed, with a large input."""
    server = await world.server()
    await world.define(server, "a")
    await world.worker(server)
    started = await world.start(server, value=BIG, retention=RETENTION, **fields)
    await world.settle()
    assert await world.completed()
    return server, started


async def left(world: World, name: str = "k") -> Workflow:
    """Its tombstone."""
    found = await world.store.workflows.load(world.key(name).workflow_id, tombstones=True)
    assert found is not None
    assert found.tombstone is not None
    return found


def payloads(world: World) -> dict[str, Any]:
    return {run: kept for run, kept in world.store.payloads._stored.items() if kept}  # type: ignore[attr-defined]  # the memory one


async def gone(world: World, ref: Ref, server: Engine) -> bool:
    try:
        await server.get(ref, with_payloads=False)
    except Rejection as error:
        return error.reason is Reason.WORKFLOW_NOT_FOUND
    return False


async def test_after_retention_a_tombstone_is_left_and_after_its_window_nothing(world: World) -> None:
    server, started = await ended(world, request_id="r1", labels={"a": "1"})
    assert payloads(world)
    await world.advance(RETENTION + 6_000)
    tombstone = await left(world)
    assert (tombstone.run_id, tombstone.round, tombstone.fence) == (started.workflow.run_id, 1, started.workflow.fence)
    assert (tombstone.state, tombstone.request_ids, tombstone.labels, tombstone.steps) == (WorkflowState.COMPLETED, ("r1",), {}, {})
    assert tombstone.duties == ()
    assert payloads(world) == {}
    assert await gone(world, world.ref(), server)
    assert await gone(world, Ref(world.key(), round=1), server)
    assert await world.store.workflows.count(MANY, 10) == 0
    for call in (server.signal(world.ref(), signal("go")), server.cancel(world.ref(), "", "")):
        with pytest.raises(Rejection) as refused:
            await call
        assert refused.value.reason is Reason.WORKFLOW_NOT_FOUND
    await world.advance(limits.TOMBSTONE + 6_000)
    assert await world.store.workflows.load(tombstone.workflow_id, tombstones=True) is None
    assert (await world.start(server)).workflow.round == 1


async def test_within_the_window_a_repeat_is_one_and_rounds_and_fences_go_on(world: World) -> None:
    server, started = await ended(world, request_id="r1")
    await world.advance(RETENTION + 6_000)
    for fields in ({"request_id": "r1"}, {}):
        repeat = await world.start(server, value=BIG, **fields)
        assert (repeat.created, repeat.workflow.run_id, repeat.workflow.state) == (False, started.workflow.run_id, WorkflowState.COMPLETED)
    with pytest.raises(Rejection) as refused:
        await world.start(server, value="other")
    assert refused.value.reason is Reason.START_INPUT_MISMATCH
    repeat = await world.start(server, value=BIG, on_closed=OnClosed.NEW_ROUND_IF_FAILED, request_id="r1", expected_fence=1)
    assert not repeat.created
    with pytest.raises(Rejection) as refused:
        await world.start(server, value=BIG, on_closed=AGAIN, request_id="r2", expected_fence=1)
    assert refused.value.reason is Reason.FENCED
    second = await world.start(server, value="other", on_closed=AGAIN, request_id="r2", expected_fence=started.workflow.fence)
    await world.settle()
    assert (second.created, second.workflow.round, second.superseded) == (True, 2, None)
    assert second.workflow.fence > started.workflow.fence
    assert await world.completed()
    now = await world.stored()
    assert (now.request_ids, now.past_runs, now.duties, now.tombstone) == (("r1", "r2"), (started.workflow.run_id,), (), None)
    assert await stored(world, 1) is None
    repeat = await world.start(server, value=BIG, request_id="r1", on_open=OnOpen.SUPERSEDE)
    assert (repeat.created, repeat.workflow.round) == (False, 2), "its own round is gone; what has the key answers"


async def test_archived_rounds_have_their_own_retention_and_the_tombstone_outlasts_them(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.worker(server)
    await world.start(server, value=BIG, retention=300_000)
    await world.settle()
    await world.start(server, value=2, retention=RETENTION, on_closed=AGAIN, request_id="r2")
    await world.settle()
    await world.advance(RETENTION + 6_000)
    await left(world)
    assert len(payloads(world)) == 1
    assert not await gone(world, Ref(world.key(), round=1), server)
    assert [kept.round for kept in (await server.rounds.kept(world.key(), None, 10))[0]] == [1]
    await world.advance(120_000)
    assert (await left(world)).expire_time == (await archived(world, 1)).expire_time, "or a first round would meet it"
    await world.advance(120_000)
    assert await stored(world, 1) is None
    assert payloads(world) == {}
    await world.advance(60_000)
    assert world.store.documents._stored == {}


async def test_a_deleted_key_is_free_but_what_was_asked_of_it_is_remembered(world: World) -> None:
    server, started = await ended(world, request_id="r1")
    await supersede(world, server, "r2", value=BIG + "2")
    await world.settle()
    assert len(payloads(world)) == 2
    fence = (await world.stored()).fence
    after, repeat = await server.remove(world.ref(), Conditions("d1"))
    assert (repeat, after.round) == (False, 2)
    assert payloads(world) == {}
    assert await stored(world, 1) is None
    assert await gone(world, world.ref(), server)
    assert (await server.remove(world.ref(), Conditions("d1")))[1] is True
    with pytest.raises(Rejection) as refused:
        await server.remove(world.ref(), Conditions("d2"))
    assert refused.value.reason is Reason.WORKFLOW_NOT_FOUND
    assert (await world.start(server, value=BIG, request_id="r1")).created is False, "a late repeat brings nothing back"
    third = await world.start(server, value=BIG)
    await world.settle()
    assert (third.created, third.workflow.round) == (True, 3)
    assert third.workflow.fence > fence > started.workflow.fence
    assert (await server.remove(world.ref(), Conditions("d1")))[1] is True, "nor does one of the delete remove the next round"
    assert await world.completed()


async def test_only_an_archived_round_that_has_ended_is_deleted_by_its_number(world: World) -> None:
    server = await world.server()
    await defined(world, server)
    worker = await world.worker(server, script=holding)
    await world.start(server, value=BIG)
    await world.settle()
    await supersede(world, server)
    await world.settle()
    first = Ref(world.key(), round=1)
    for ref, reason in ((first, Reason.WORKFLOW_NOT_CLOSED), (Ref(world.key(), round=3), Reason.WORKFLOW_NOT_FOUND)):
        with pytest.raises(Rejection) as refused:
            await server.remove(ref, Conditions("d"))
        assert refused.value.reason is reason
    held = {claim.plan.name: claim for claim in worker.held.values()}
    await worker.settle(held["a"])
    await worker.settle(worker.claim("b"))
    with pytest.raises(Rejection) as refused:
        await server.remove(world.ref(), Conditions("d"))
    assert (refused.value.reason, refused.value.facts["round"]) == (Reason.WORKFLOW_NOT_CLOSED, "1")
    await worker.settle(held["tidy"])
    assert (await server.remove(first, Conditions("d", validate_only=True)))[1] is False
    assert await stored(world, 1) is not None
    assert (await server.remove(first, Conditions("d")))[1] is False
    assert await stored(world, 1) is None
    assert payloads(world) == {}
    assert (await server.remove(first, Conditions("d")))[1] is True
    assert await world.completed()


@pytest.mark.parametrize("moment", Moment)
@pytest.mark.parametrize("at", [1, 2, 3])  # the tombstone, and what is known of its two duties
async def test_a_delete_that_breaks_off_is_finished(world: World, at: int, moment: Moment) -> None:
    server, _ = await ended(world)
    await supersede(world, server, value=BIG)
    await world.settle()
    other = await world.server()
    breaks = Breaks(world, at, moment)
    removing = world.spawn(server.remove(world.ref(), Conditions("d")))
    await world.settle()
    assert breaks.broken
    await crash(world, server)
    breaks.over()
    assert removing.done()
    again = world.spawn(other.remove(world.ref(), Conditions("d")))
    await world.until(again.done)
    assert (await again)[1] is ((at, moment) != (1, Moment.BEFORE))
    await world.advance(10_000)
    assert payloads(world) == {}
    assert await stored(world, 1) is None
    tombstone = await left(world)
    assert tombstone.duties == ()
    assert replace(tombstone, expire_time=None, actions=()).input is None


async def test_a_race_of_replay_and_retention_loses_nothing(world: World) -> None:
    server, started = await ended(world)
    await world.advance(RETENTION - 6_000)
    event = world.faults.hold("workflows.commit")
    await world.advance(12_000)  # the tombstone is on its way
    other = await world.server()
    replaying = world.spawn(other.people.replay(world.ref(), ("a",), Conditions()))
    await world.settle()
    world.faults.release("workflows.commit")
    event.set()
    await world.until(replaying.done)
    if replaying.exception() is None:
        assert (await server.get(world.ref(), with_payloads=True)).workflow.input == payload(BIG)
    else:
        assert (await left(world)).run_id == started.workflow.run_id


async def test_nobody_is_told_that_a_tombstone_is_the_end(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding)
    started = await world.start(server, retention=0)
    await world.settle()
    watching = Watching(world, server)
    watching.paused.clear()  # it reads the snapshot, and then not for long
    interest = server.hub.join(started.workflow.workflow_id, end_only=True)
    await world.settle()
    await worker.settle(worker.claim("a"))
    await world.settle()
    assert interest.take()[1] is not None, "whoever waits for the result has it"
    await world.advance(6_000)
    assert (await left(world)).duties == ()
    assert interest.take() == (True, None), "what is left is to be read, and there is nothing"
    watching.paused.set()
    await world.settle()
    assert not watching.ended
    assert isinstance(watching.error, Rejection)
    assert watching.error.reason is Reason.WORKFLOW_NOT_FOUND

"""Maps whose server, store or messages break off on the way: every child is created once, and its end is counted once."""

import random
from collections import Counter

import pytest

from perdure_server.engine.people import Conditions
from perdure_server.engine.values import Ref
from perdure_server.kernel import limits
from perdure_server.kernel.child_state import Closing, ParentClose
from perdure_server.kernel.definition import Join
from perdure_server.kernel.workflow import Duty, DutyKind, StepState, Workflow, WorkflowState
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.store.memory import Moment
from tests.engine.families import CHILD, child_key_of, child_of, children_of, drop, family, nested, pools
from tests.engine.harness import World
from tests.engine.rounds import Breaks, crash
from tests.engine.workers import completing, holding
from tests.kernel.families import mapping

S, W = StepState, WorkflowState
BEST = Join.BEST_EFFORT


async def everything_ended(world: World, count: int) -> None:
    """The map is done, each child ended well and was counted once, and nothing is left to do."""
    await world.until(world.is_completed, 200_000)
    await world.advance(2 * limits.DUTY_RETRY_CAP)
    parent = await world.stored()
    children = parent.steps["m"].children
    assert children is not None
    assert (children.completed, children.failed, children.cancelled, children.open) == (count, 0, 0, ())
    assert Counter(child.state for child in await children_of(world, parent)) == {W.COMPLETED: count}
    assert not parent.duties
    assert not any(child.duties for child in await children_of(world, parent))
    assert world.stored_types().count(CHILD) == count


@pytest.mark.parametrize("moment", Moment)
@pytest.mark.parametrize("at", range(2, 20))
async def test_a_server_that_dies_at_any_write_leaves_nothing_stuck_or_doubled(world: World, at: int, moment: Moment) -> None:
    server = await family(world, mapping("m", joined=BEST, max_in_flight=2))
    other = await world.server()
    worker = await world.worker(server, pools=pools(5))
    breaks = Breaks(world, at, moment)
    await world.start(server, value=[1, 2, 3])
    await world.settle()
    if breaks.broken:
        worker.stop()
        await crash(world, server)
    breaks.over()
    await world.worker(other, pools=pools(5))
    await everything_ended(world, 3)


@pytest.mark.parametrize("seed", range(8))
async def test_two_servers_with_lost_replies_and_races(world: World, seed: int) -> None:
    dice = random.Random(seed)
    server = await family(world, mapping("m", joined=BEST, max_in_flight=20))
    other = await world.server()
    for engine in (server, other):
        await world.worker(engine, pools=pools(10))
    world.faults.jitter(dice)
    starting = world.spawn(world.start(server, value=list(range(60))))
    await world.until(starting.done)
    for _ in range(40):
        operation = dice.choice(["workflows.commit", "workflows.load"])
        world.faults.fail(operation, dice.choice(list(Moment)), dice.randrange(1, 4))
        await world.advance(dice.randrange(1, 50))
        if dice.random() < 0.3:
            other.children.tend_soon(await world.stored(), "m")
    await everything_ended(world, 60)


async def test_children_are_created_by_their_duty_when_the_hint_is_lost(world: World) -> None:
    server = await family(world, mapping("m", joined=BEST))
    server._aftermath.on_children = lambda _workflow, _step: None
    await world.worker(server, pools=pools(5))
    await world.start(server, value=[1, 2])
    await world.settle()
    assert CHILD not in world.stored_types()
    await world.advance(limits.CHILDREN_MADE_WITHIN + 2_000)
    await everything_ended(world, 2)


async def test_an_audit_finds_the_end_that_nobody_reported(world: World) -> None:
    server = await family(world, mapping("m", joined=BEST))

    async def silent(_workflow: Workflow, _duty: Duty) -> bool:
        return True

    server.duties.register(DutyKind.TELL_PARENT, silent)
    await world.worker(server, pools=pools(5))
    await world.start(server, value=[1, 2])
    await world.advance(limits.CHILDREN_AUDIT - 10_000)
    assert len(stored_open(await world.stored())) == 2
    await world.advance(20_000)
    await everything_ended(world, 2)


async def test_an_audit_counts_a_child_that_was_deleted(world: World) -> None:
    server = await family(world, mapping("m", joined=BEST))
    worker = await world.worker(server, pools=pools(5), script=holding)
    await world.start(server, value=[1, 2])
    await world.settle()
    parent = await world.stored()
    drop(world, child_key_of(parent, 1))
    await worker.settle(worker.claim("work", child_key_of(parent, 0).business_key))
    await world.advance(limits.CHILDREN_AUDIT + 5_000)
    parent = await world.stored()
    children = parent.steps["m"].children
    assert children is not None
    assert (parent.state, children.completed, children.cancelled) == (W.COMPLETED, 1, 1)
    assert child_of(world, parent, 1) is None, "a child that is gone is not begun again"


async def test_a_child_that_is_deleted_before_it_told_its_parent_tells_it_from_its_tombstone(world: World) -> None:
    server = await family(world, mapping("m", joined=BEST))
    tell_parent = server.children._reports.tell_parent

    async def away(_workflow: Workflow, _duty: Duty) -> bool:
        raise StoreUnavailable("away")

    server.duties.register(DutyKind.TELL_PARENT, away)
    worker = await world.worker(server, pools=pools(5), script=holding)
    await world.start(server, value=[1, 2])
    await world.settle()
    key = child_key_of(await world.stored(), 0)
    await worker.settle(worker.claim("work", key.business_key))
    deleting = world.spawn(server.retention.delete(Ref(key), Conditions()))
    await world.until(deleting.done)
    await deleting
    assert stored_open(await world.stored()) == (0, 1)
    server.duties.register(DutyKind.TELL_PARENT, tell_parent)
    await world.advance(limits.DUTY_RETRY_CAP)
    children = (await world.stored()).steps["m"].children
    assert children is not None
    assert (children.open, children.completed) == ((1,), 1)


async def test_ends_that_are_reported_again_and_again_count_once(world: World) -> None:
    server = await family(world, mapping("m", joined=BEST))
    worker = await world.worker(server, pools=pools(5), script=holding)
    await world.start(server, value=[1, 2])
    await world.settle()
    parent = await world.stored()
    await worker.settle(worker.claim("work", child_key_of(parent, 0).business_key))
    child = child_of(world, parent, 0)
    assert child is not None
    assert child.parent is not None
    for _ in range(3):
        await world.spawn(server.children._reports.report(child, child.parent))
    children = (await world.stored()).steps["m"].children
    assert children is not None
    assert (children.completed, children.open) == (1, (1,))


async def test_many_ends_are_counted_in_few_writes_of_the_parent(world: World) -> None:
    server = await family(world, mapping("m", joined=BEST, max_in_flight=500))
    worker = await world.worker(server, pools=pools(500), slots=500, script=holding)
    await world.start(server, value=list(range(500)))
    await world.until(lambda: len(worker.held) == 500)
    before = (await world.stored()).revision
    for claim in list(worker.held.values()):
        worker.send(claim, completing(claim) or holding)  # type: ignore[arg-type]  # completing always has an outcome
    await everything_ended(world, 500)
    assert (await world.stored()).revision - before < 60


async def test_a_child_that_is_started_late_finds_that_it_was_cancelled(world: World) -> None:
    """The parent was cancelled while a slow server still had its children to create: none of them ever runs."""
    slow = await family(world, mapping("m", joined=BEST))
    quick = await world.server()
    slow._aftermath.on_children = lambda _workflow, _step: None
    worker = await world.worker(quick, pools=pools(5))
    await world.start(slow, value=[1, 2, 3])
    intended = await world.stored()
    await quick.cancel(world.ref(), "enough", "")
    await world.settle()
    definition = await slow.catalog.get("default", "note", intended.fingerprint)
    await world.spawn(slow.children._create(intended, definition.by_name["m"], (intended.run_id, "m", 0), [0, 1, 2]))
    await world.settle()
    parent = await world.stored()
    assert parent.state is W.CANCELLED
    assert [child.state for child in await children_of(world, parent)] == [W.CANCELLED] * 3
    assert not worker.got
    assert not parent.duties


@pytest.mark.parametrize("policy", [ParentClose.CANCEL, ParentClose.TERMINATE])
@pytest.mark.parametrize("after", [0, 1, 5, 40])
async def test_c41_a_cancel_in_the_middle_of_a_fan_out_reaches_every_child(world: World, after: int, policy: ParentClose) -> None:
    server = await family(world, mapping("m", max_in_flight=50, parent_close=policy))
    other = await world.server()
    await world.worker(other, pools=pools(20), script=holding)
    world.faults.jitter(random.Random(after))
    starting = world.spawn(world.start(server, value=list(range(200))))
    await world.until(starting.done)
    await world.advance(after)
    cancelling = world.spawn(other.cancel(world.ref(), "enough", ""))
    await world.until(cancelling.done)
    await world.advance(limits.CANCEL_GRACE + limits.SESSION_LEASE)
    parent = await world.stored()
    assert parent.state is W.CANCELLED
    assert not parent.duties
    expected = W.CANCELLED if policy is ParentClose.CANCEL else W.TERMINATED
    states = {child.state for child in await children_of(world, parent)}
    assert states <= {W.CANCELLED, expected}
    assert world.stored_types().count(CHILD) == 50, "every open one, and no other"


@pytest.mark.parametrize("seed", range(3))
async def test_c39_parents_with_nested_children_on_three_servers_all_end(world: World, seed: int) -> None:
    servers = [await world.server() for _ in range(3)]
    await world.define(servers[0], mapping("m", joined=BEST))
    await world.define(servers[0], mapping("inner", joined=BEST, child=nested()), workflow_type=CHILD)
    await world.define(servers[0], "work", workflow_type="grandchild")
    for server in servers:
        await world.worker(server, pools=pools(20, "grandchild"), script=completing)
    world.faults.jitter(random.Random(seed))
    for number in range(10):
        starting = world.spawn(world.start(servers[number % 3], f"k{number}", value=[[1, 2], [3]]))
        await world.until(starting.done)
    await world.until(lambda: all(world.is_completed(f"k{number}") for number in range(10)), 60_000)
    assert Counter(world.stored_types()) == {"note": 10, CHILD: 20, "grandchild": 30}


def stored_open(parent: Workflow) -> tuple[int, ...]:
    """The open children of `m`."""
    children = parent.steps["m"].children
    return children.open if children is not None else ()


async def test_closing_a_child_that_was_removed_is_done(world: World) -> None:
    server = await family(world, mapping("m", joined=BEST))
    await world.worker(server, pools=pools(5))
    await world.start(server, value=[1])
    await world.until(world.is_completed, 10_000)
    parent = await world.stored()
    for _ in range(2):  # first the child is there, then a tombstone
        what = Closing("m", parent.steps["m"].generation, parent.run_id, CHILD, ParentClose.TERMINATE, (0,))
        assert await server.children.close_children(parent, Duty(DutyKind.CLOSE_CHILDREN, 1, world.now(), subject=what.subject()))
        if child_of(world, parent, 0) is not None:
            await server.remove(Ref(child_key_of(parent, 0)), Conditions("d"))

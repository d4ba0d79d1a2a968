"""Starting: one workflow per key, whoever races, whatever the store says."""

import asyncio
import random

import pytest
from msgspec.structs import replace

from perdure_server.engine.service import Engine
from perdure_server.engine.values import Started
from perdure_server.kernel.canonical import payload_digest
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.values import Payload
from perdure_server.kernel.workflow import StepState, WorkflowState
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.workers import holding
from tests.kernel.harness import on_signal, signal, waiting


async def test_a_workflow_runs_to_its_end(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a", "c: b")
    worker = await world.worker(server)
    await world.start(server)
    await world.settle()
    assert (await world.stored()).state is WorkflowState.COMPLETED
    assert [claim.plan.name for claim in worker.got] == ["a", "b", "c"]


async def test_c01_200_simultaneous_starts_of_each_of_100_keys_on_two_servers(world: World, random_source: random.Random) -> None:
    servers = [await world.server(), await world.server()]
    await world.define(servers[0], "a", "b: a")
    workers = [await world.worker(server, script=holding, slots=200) for server in servers]
    calls = [(server, f"k{key}") for key in range(100) for server in servers for _ in range(100)]
    random_source.shuffle(calls)
    starting = world.spawn(_all(world, calls))
    await world.until(starting.done)
    answers = await starting
    assert len(answers) == 20_000
    for key in range(100):
        mine = [answer for answer in answers if answer.workflow.key.business_key == f"k{key}"]
        assert len(mine) == 200
        assert sum(answer.created for answer in mine) == 1
        assert len({answer.workflow.run_id for answer in mine}) == 1
    claimed = [claim for worker in workers for claim in worker.got]
    assert sorted(claim.key.business_key for claim in claimed) == sorted(f"k{key}" for key in range(100))
    assert world.writes == 100


async def _all(world: World, calls: list[tuple[Engine, str]]) -> list[Started]:
    return await asyncio.gather(*(world.start(server, key) for server, key in calls))


@pytest.mark.parametrize("moment", list(Moment))
async def test_c68_a_start_whose_result_is_unknown_is_found_or_made(world: World, moment: Moment) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, slots=1)
    world.faults.fail("workflows.commit", moment)
    starting = world.spawn(world.start(server))
    await world.until(starting.done)
    answer = await starting
    assert answer.created
    assert (await world.stored()).revision == 1
    assert [claim.plan.name for claim in worker.got] == ["a"], "delivered at once, not given back after 5 s"
    assert (await world.step("a")).claim_no == 1
    assert server.desk.idle_queues() == [], "its one slot is taken"


async def test_c68_found_after_others_wrote_too(world: World) -> None:
    here, there = await world.server(), await world.server()
    await world.define(here, "a", "b: a")
    worker = await world.worker(here, script=holding, slots=1)
    world.faults.fail("workflows.commit", Moment.AFTER)
    reached = world.faults.hold("workflows.load")
    starting = world.spawn(world.start(here))
    await world.advance(100)
    signalling = world.spawn(there.signal(world.ref(), signal("go")))
    await world.settle()
    world.faults.release("workflows.load")
    reached.set()
    await world.until(lambda: starting.done() and signalling.done())
    assert (await starting).created
    assert [claim.plan.name for claim in worker.got] == ["a"]
    assert world.credit(here) == 0


@pytest.mark.parametrize("moment", list(Moment))
async def test_c68_a_store_that_stays_away_is_said_so(world: World, moment: Moment) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, slots=1, renews=False)
    world.faults.fail("workflows.commit", moment)
    starting = world.spawn(world.start(server))
    await world.settle()
    world.faults.away = True
    await world.until(starting.done)
    with pytest.raises(StoreUnavailable):
        await starting
    world.faults.away = False
    again = world.spawn(world.start(server))
    await world.until(again.done)
    assert (await again).created is (moment is Moment.BEFORE), "another run id, so the first one's workflow is met"
    assert len(worker.got) == (1 if moment is Moment.BEFORE else 0)
    assert world.credit(server) == 1 - len(worker.got)


@pytest.mark.parametrize("when", ["waiting", "running", "ended"])
async def test_c03_same_key_other_input_is_refused_and_changes_nothing(world: World, when: str) -> None:
    server = await world.server()
    await world.define(server, "a")
    if when == "running":
        await world.worker(server, script=holding)
    await world.start(server, value={"x": 1, "y": [1, 2]})
    if when == "ended":
        await world.worker(server)
    await world.settle()
    before = await world.stored()
    with pytest.raises(Rejection) as refused:
        await world.start(server, value={"x": 2})
    assert refused.value.reason is Reason.START_INPUT_MISMATCH
    assert await world.stored() == before
    other = Payload(json='{ "y":[1,2],\n"x":1}')
    same = world.command(value=None)
    answer = await server.start(replace(same, input=other, input_digest=payload_digest("input", other)))
    assert not answer.created
    assert answer.workflow.run_id == before.run_id


async def test_c05_a_refused_start_leaves_nothing_behind(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    with pytest.raises(FieldViolation):
        await world.start(server, step_queues={"nonsense": "q"})
    with pytest.raises(Rejection) as missing:
        await server.start(world.command(workflow_type="unheard"))
    assert missing.value.reason is Reason.DEFINITION_NOT_FOUND
    with pytest.raises(Rejection) as unregistered:
        await server.start(world.command(), fingerprint="0" * 64)
    assert unregistered.value.reason is Reason.DEFINITION_NOT_FOUND
    assert world.writes == 0
    assert (await world.start(server)).created


async def test_c06_a_start_that_nobody_is_told_of_runs_by_the_sweep(world: World) -> None:
    world.coordination.deaf = True
    server = await world.server()
    await world.define(server, "a")
    await world.start(server)
    worker = await world.worker(server)
    assert worker.got == []
    assert await world.until(lambda: len(worker.got) == 1) <= 2_500


async def test_a_start_with_room_grants_in_the_same_write(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a", "c: b")
    await world.worker(server, slots=1)
    await world.start(server)
    await world.settle()
    assert await world.completed()
    assert world.writes == 4, "N + 1 for N steps"


async def test_a_cancelled_caller_cancels_nothing(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    gate = world.faults.hold("workflows.commit")
    starting = world.spawn(world.start(server))
    await world.settle()
    starting.cancel()
    await world.settle()
    gate.set()
    await world.settle()
    assert (await world.step("a")).state is StepState.READY


async def test_start_at_delays_the_first_step(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server)
    begun = world.now()
    await world.start(server, start_at=begun + 7_000)
    assert (await world.stored()).start_at == begun + 7_000
    await world.start(server, "past", start_at=begun - 1)
    assert (await world.stored("past")).start_at is None, "it was not held back"
    await world.settle()
    assert [claim.key.business_key for claim in worker.got] == ["past"]
    worker.got.clear()
    await world.advance(6_900)
    assert worker.got == []
    assert await world.until(lambda: worker.got) <= 350


async def test_c01_signals_that_ride_along_reach_the_open_workflow_that_the_start_meets(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", on_signal("go", count=3)))
    first = await world.start(server, signals=(signal("go", "1", "one"),))
    met = await asyncio.gather(*(world.start(server, signals=(signal("go", f"{n}", f"{n}" * 20_000),)) for n in "2332"))
    assert [(start.created, start.workflow.run_id) for start in met] == [(False, first.workflow.run_id)] * 4
    await world.settle()
    now = await world.stored()
    assert sorted(now.signal_ids) == ["1", "2", "3"], "each counts once, whoever brought it"
    assert now.state is WorkflowState.COMPLETED


async def test_c10_a_signal_that_rides_along_too_late_is_refused_and_a_repeat_is_none(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", on_signal("go")))
    await world.start(server, request_id="r", signals=(signal("go", "1", "one"),))
    await world.settle()
    assert (await world.stored()).state is WorkflowState.COMPLETED
    assert not (await world.start(server, request_id="r", signals=(signal("go", "1", "one"),))).created
    assert not (await world.start(server, signals=(signal("go", "1", "one"),))).created
    with pytest.raises(Rejection) as caught:
        await world.start(server, signals=(signal("go", "2", "two"),))
    assert caught.value.reason is Reason.WORKFLOW_CLOSED

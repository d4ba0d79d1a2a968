"""A large payload is acknowledged before the state that refers to it is written: at a start, a signal and a result."""

import pytest

from perdure_server.kernel.outcomes import Completed
from perdure_server.kernel.workflow import StepState
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.workers import holding
from tests.kernel.harness import payload, signal

LARGE = "x" * 20_000


async def test_a_start_waits_for_its_input(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    gate = world.faults.hold("payloads.put")
    start = world.spawn(world.start(server, "k", LARGE))
    await world.settle()
    assert await server.store.workflows.load(world.key("k").workflow_id) is None
    gate.set()
    assert (await start).created


async def test_a_start_whose_input_is_not_stored_leaves_nothing(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    world.faults.fail("payloads.put", Moment.BEFORE)
    with pytest.raises(StoreUnavailable):
        await world.start(server, "k", LARGE)
    assert await server.store.workflows.load(world.key("k").workflow_id) is None


async def test_signals_and_results_wait_for_theirs(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, script=holding)
    await world.start(server, "k")
    await world.settle()
    gate = world.faults.hold("payloads.put")
    sent = world.spawn(server.signal(world.ref("k"), signal("go", value=LARGE)))
    result = worker.send(worker.claim("a"), Completed(payload(LARGE)))
    await world.settle()
    before = await world.stored("k")
    assert (before.inbox, before.steps["a"].state) == ((), StepState.RUNNING)
    gate.set()
    await sent
    await world.settle()
    assert worker.settled[result].error is None
    after = await world.stored("k")
    assert after.steps["a"].output is not None
    assert after.steps["a"].output.ref is not None

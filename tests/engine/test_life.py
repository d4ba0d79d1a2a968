"""Start, drain, close, and loops that do not die unseen."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from perdure_server.engine.service import Engine
from perdure_server.engine.tasks import Supervisor
from perdure_server.engine.values import GoAwayOut, ResultIn
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Completed
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.ports.errors import CoordinationUnavailable, CorruptDocument, StoreUnavailable
from perdure_server.ports.store import WorkflowQuery
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.workers import holding
from tests.kernel.harness import after, on_signal, signal, waiting

ONE_OFF = [StoreUnavailable, CoordinationUnavailable, CorruptDocument, asyncio.CancelledError, MemoryError, ValueError, RecursionError]


async def test_drain_tells_everyone_and_refuses_new_work_but_takes_results(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    await server.drain(7_000)
    await world.settle()
    assert [(item.grace, item.reason) for item in worker.told if isinstance(item, GoAwayOut)] == [(7_000, Reason.DRAINING)]
    assert not server.ready
    refused: list[Callable[[], Any]] = [
        lambda: world.start(server, "other"),
        lambda: server.signal(world.ref(), signal("x")),
        lambda: world.worker(server),
    ]
    for call in refused:
        with pytest.raises(Rejection) as rejection:
            await call()
        assert rejection.value.reason is Reason.DRAINING
    worker.renew()
    assert (await worker.settle(worker.claim("a"))).error is None
    assert worker.renewed[-1].error is None
    assert await world.completed()


async def test_c60_close_lets_results_and_mailboxes_finish(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, script=holding)
    for number in range(5):
        await world.start(server, f"k{number}")
    await world.settle()
    await server.drain(1_000)
    gate = world.faults.hold("workflows.commit")
    numbers = [worker.send(claim, Completed()) for claim in list(worker.held.values())]
    closing = world.spawn(server.close())
    await world.advance(500)
    assert not closing.done()
    world.faults.release("workflows.commit")
    gate.set()
    await world.settle()
    assert closing.done()
    assert all(worker.settled[number].error is None for number in numbers)
    for number in range(5):
        assert (await world.states(f"k{number}"))["a"] == "COMPLETED"
    assert server.supervisor.running == []


async def test_c60_close_ends_though_the_store_hangs_and_says_that_nobody_knows(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    world.faults.hold("workflows.commit")
    call = world.spawn(server.complete(ResultIn(worker.claim("a").token, Completed())))
    await world.settle()
    closing = world.spawn(server.close())
    assert await world.until(closing.done) <= 2_100
    await world.settle()
    with pytest.raises(StoreUnavailable):
        await call
    with pytest.raises(StoreUnavailable):
        await server.cancel(world.ref(), "", "")
    await worker.stream.close()
    assert server.supervisor.running == []


async def test_what_a_closed_server_left_goes_on_elsewhere(world: World) -> None:
    here, there = await world.server(), await world.server()
    await world.define(here, "a", "b: a")
    worker = await world.worker(here, script=holding)
    await world.start(here)
    await world.settle()
    worker.renew()
    await world.settle()
    await here.drain(0)
    await worker.drop()
    await here.close()
    welcome = await worker.reconnect(there, close=False)
    assert welcome.resumed
    assert welcome.lost == ()
    await worker.settle(worker.claim("a"))
    await worker.settle(worker.claim("b"))
    assert await world.completed()


LOOPS = ["due", "timers", "retention", "expiry", "hold", "take", "await", "view", "ready", "refresh", "listen", "poll"]
LOOPS += ["schedules", "namespaces", "quotas", "batches", "queues", "permit audit", "permit pull", "permits", "throttled"]
SELDOM = ["audit retention", "batch retention", "orphans", "deleted definitions"]
LOOPS += SELDOM


async def test_every_loop_is_there_and_comes_round(world: World) -> None:
    server = await world.server()
    assert sorted(server.supervisor.ages()) == sorted(LOOPS)
    await world.advance(120_000)
    ages = server.supervisor.ages()
    assert max(age for name, age in ages.items() if name not in SELDOM) <= 5_200, ages
    assert max(ages.values()) <= limits.HOUSEKEEPING_INTERVAL + 200, ages
    assert server.ready


async def test_an_idle_server_asks_seldom_though_a_worker_and_many_workflows_wait(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", on_signal("go")), "a: w")
    await world.worker(server)
    for number in range(20):
        await world.start(server, f"k{number}")
    await world.advance(60_000)
    world.faults.calls.clear()
    await world.advance(60_000)
    assert world.faults.calls.total() <= 300, world.faults.calls  # the two questions of the sweep are 120 of them


@pytest.mark.parametrize("error", ONE_OFF)
async def test_c56_a_loop_survives_a_one_off_exception(world: World, error: type[BaseException]) -> None:
    server = await world.server()
    came: list[int] = []

    async def step() -> None:
        await server.clock.sleep(100)
        came.append(world.now())
        if len(came) == 2:
            raise error("once")

    supervisor = Supervisor(server.clock)
    supervisor.loop(step, "frail")
    await world.advance(1_000)
    assert len(came) >= 8
    assert supervisor.ages()["frail"] <= 100
    assert supervisor.failures == (0 if error in (StoreUnavailable, CoordinationUnavailable) else 1)
    await supervisor.close()
    assert supervisor.running == []


async def test_c56_a_loop_that_fails_for_ever_is_seen(world: World) -> None:
    server = await world.server()

    async def step() -> None:
        raise ValueError("always")

    server.supervisor.loop(step, "broken")
    ready = []
    for duration in (59_000, 2_000):
        await world.advance(duration)
        ready.append(server.ready)
    assert ready == [True, False]
    assert server.supervisor.ages()["broken"] > 60_000
    assert server.supervisor.failures < 80, "it pauses"


@pytest.mark.parametrize(
    "operation",
    [
        "workflows.due",
        "workflows.ready",
        "workflows.expired",
        "workflows.revisions",
        "sessions.expired",
        "workflows.commit",
        "workflows.load",
    ],
)
async def test_c56_the_engine_survives_one_failure_of_each_operation(world: World, operation: str) -> None:
    server = await world.server()
    await world.define(server, "a", waiting("w: a", after(2_000)), "b: w")
    await world.worker(server)
    world.faults.fail(operation, Moment.BEFORE)
    world.faults.fail(operation, Moment.AFTER)
    starting = world.spawn(world.start(server))
    await world.advance(20_000)
    assert starting.done()
    assert await world.completed()
    assert server.ready


async def test_coordination_that_is_away_costs_nothing_but_time(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", waiting("w: a", after(1_000)), "b: w")
    worker = await world.worker(server)
    world.coordination.away = True
    await world.advance(3_000)
    assert server.ready
    await world.start(server)
    await world.advance(6_000)
    assert await world.completed()
    assert [claim.plan.name for claim in worker.got] == ["a", "b"]
    world.coordination.away = False
    await world.advance(2_000)
    assert server.ready
    assert server.supervisor.failures == 0


async def test_a_subscription_that_ends_is_begun_again_without_a_storm(world: World) -> None:
    server = await world.server()
    subscribed = 0
    subscribe = world.coordination.subscribe

    def counted() -> Any:
        nonlocal subscribed
        subscribed += 1
        subscription = subscribe()
        subscription.close()  # type: ignore[attr-defined]  # the in-process one
        return subscription

    world.coordination.subscribe = counted  # type: ignore[method-assign]  # ends at once, every time
    world.coordination._close_subscriptions()
    await world.advance(10_000)
    assert 5 <= subscribed <= 20
    world.coordination.subscribe = subscribe  # type: ignore[method-assign]  # and now it lasts
    other = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.advance(3_000)
    await other.cancel(world.ref(), "", "")
    await world.settle()
    assert len(worker.cancels) == 1


async def test_c27_a_document_that_does_not_decode_stops_nobody(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", after(2_000)))
    for number in range(5):
        await world.start(server, f"k{number}")
    for number in (1, 3):
        workflow_id = world.key(f"k{number}").workflow_id
        world.store.workflows.overwrite(workflow_id, {"state": "NO_SUCH_STATE"})  # type: ignore[attr-defined]  # the memory store's
        server.mailboxes.forget(workflow_id)
    await world.advance(6_000)
    for number in (0, 2, 4):
        assert await world.completed(f"k{number}")
    assert server.ready
    with pytest.raises(CorruptDocument):
        await server.get(world.ref("k1"), with_payloads=False)


async def test_a_workflow_whose_definition_is_gone_stops_nobody(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", after(2_000)))
    await world.start(server, "fine")
    other = await world.define(server, waiting("v", after(2_000)), workflow_type="orphan")
    await world.start(server, "orphan", workflow_type="orphan")
    del world.store.definitions._stored[("default", "orphan", other.fingerprint)]  # type: ignore[attr-defined]  # the memory store's
    server.catalog.forget()
    await world.advance(6_000)
    assert await world.completed("fine")
    assert server.ready
    assert server.supervisor.failures == 0


async def test_retention_removes_what_has_ended_and_only_that(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", retention=60_000)
    worker = await world.worker(server, script=holding, slots=300)
    for number in range(260):
        await world.start(server, f"k{number}")
    await world.settle()
    for claim in list(worker.held.values())[:-1]:
        worker.send(claim, Completed())
    await world.settle()
    await world.advance(59_000)
    assert await world.store.workflows.count(WorkflowQuery("default"), 1_000) == 260
    await world.advance(7_000)
    assert await world.store.workflows.count(WorkflowQuery("default"), 1_000) == 1
    assert not (await world.start(server, "k0")).created, "a tombstone remembers it"


async def test_nothing_grows_with_the_work_that_is_done(world: World) -> None:
    server: Engine = await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, slots=20)
    for number in range(200):
        await world.start(server, f"k{number}")
        if number % 10 == 0:
            call = world.spawn(server.wait_for_result(world.ref(f"k{number}"), 60_000))
            await world.settle()
            assert call.done()
    await world.advance(10_000)
    assert len(worker.got) == 400
    assert (len(server.mailboxes), len(server.claims), server.hub.watching) == (0, 0, 0)
    assert len(server.hub._interests) == len(server.hub._revisions) == 0
    assert len(server.workers._turns) == len(server.dispatch._granting) == len(server.sweep._unset) == 0
    assert len(worker.stream._let_go) == len(worker.stream._out) == 0
    assert server.supervisor.running == LOOPS or sorted(server.supervisor.running) == sorted(LOOPS)


async def test_the_cache_of_instances_is_bounded(world: World) -> None:
    server = await world.server(cache_size=50)
    await world.define(server, waiting("w", after(limits.DAY)))
    for number in range(500):
        await world.start(server, f"k{number}")
    assert len(server.mailboxes) <= 51
    assert server.mailboxes.busy == 0


async def test_the_share_of_a_server_that_left_is_taken_over(world: World) -> None:
    servers = [await world.server() for _ in range(3)]
    await world.define(servers[0], waiting("w", after(30_000)))
    for number in range(30):
        await world.start(servers[0], f"k{number}")
    world.coordination.flush()
    await world.advance(25_000)
    await servers[1].close()
    await servers[2].close()
    await world.advance(5_100 + 3_000 + 1_200)
    for number in range(30):
        assert await world.completed(f"k{number}")

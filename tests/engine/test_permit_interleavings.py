"""Every interleaving that design/2 and 4 name, each on its own, and case C51."""

import pytest

from perdure_server.engine.people import Conditions
from perdure_server.engine.values import Ref
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Permit
from perdure_server.kernel.outcomes import Completed, Failed
from perdure_server.kernel.values import Failure
from perdure_server.kernel.workflow import Paused
from perdure_server.store.memory import Moment
from tests.engine.faults import FrailCoordination
from tests.engine.harness import World
from tests.engine.permits import Permits, limited
from tests.engine.workers import Worker, holding


@pytest.fixture
def permits(world: World) -> Permits:
    return Permits(world)


async def one_running(world: World, permits: Permits, capacity: int = 1, *more: str) -> Worker:
    """A server on which `x` runs with its permit of `llm`, and the workflows of `more` wait."""
    server = await world.server()
    await permits.put(server, capacity=capacity)
    await world.define(server, limited())
    worker = await world.worker(server, script=holding)
    for name in ("x", *more):
        await world.start(server, name)
        await world.settle()
        await world.advance(1)
    return worker


def keys(worker: Worker) -> list[str]:
    """The business keys of all claims that came."""
    return [claim.key.business_key for claim in worker.got]


class TestGrant:
    async def test_a_claim_that_loses_its_race_keeps_its_permits(self, world: World, permits: Permits) -> None:
        server = await world.server()
        await permits.put(server, capacity=1)
        await world.define(server, limited())
        worker = await world.worker(server, script=holding)
        gate = world.faults.hold("workflows.commit")
        start = world.spawn(world.start(server, "x"))
        await world.settle()
        gate.set()
        world.faults.release("workflows.commit")
        await start
        await world.settle()
        other = await world.server()
        gate = world.faults.hold("resources.commit", Moment.AFTER)
        await worker.settle(worker.got[0], Failed(Failure("again")))
        await world.settle()
        await world.advance(1_000)  # the back-off is over, and the permit is taken, but nobody is told
        permits.check()
        await other.people.pause(Ref(world.key("x")), Paused(0, "kim"), Conditions("p1"))
        await other.people.resume(Ref(world.key("x")), Conditions("r1"))
        gate.set()
        world.faults.release("resources.commit", Moment.AFTER)
        await world.advance(2_000)
        assert len(worker.got) == 2
        permits.quiet()

    async def test_an_audit_comes_before_the_claim(self, world: World, permits: Permits) -> None:
        server = await world.server()
        await permits.put(server, capacity=1)
        await world.define(server, limited())
        worker = await world.worker(server, script=holding)
        await world.start(server, "warm")
        await world.settle()
        await worker.settle(worker.got[0])
        gate = world.faults.hold("workflows.commit")
        start = world.spawn(world.start(server, "x"))
        await world.settle()
        gate.set()
        world.faults.release("workflows.commit")
        gate = world.faults.hold("resources.commit", Moment.AFTER)
        await start
        await world.settle()
        assert permits.held() == 1
        other = await world.server()
        for stripe in permits.stripes():
            await other.permits.sweep.audit(stripe, older_than=0)
        gate.set()
        world.faults.release("resources.commit", Moment.AFTER)
        await world.advance(3_000)
        assert keys(worker) == ["warm", "x"], "it took its permit again"
        permits.quiet()

    async def test_a_crash_between_acquire_and_grant(self, world: World, permits: Permits) -> None:
        worker = await one_running(world, permits, 1)
        await worker.settle(worker.got[0])
        gate = world.faults.hold("resources.commit", Moment.AFTER)
        await world.start(worker.engine, "y")
        await world.settle()
        assert (permits.held(), permits.claims()) == (1, 0)
        await worker.engine.supervisor.close()
        worker.stop()
        gate.set()
        world.faults.release("resources.commit", Moment.AFTER)
        before = await world.stored("y")
        second = await world.worker(await world.server(), script=holding)
        await permits.audited()
        assert keys(second) == ["y"], "the leaked unit came back"
        assert (await world.stored("y")).revision > before.revision + 1, "an equal revision was raised first"
        permits.quiet()

    async def test_a_lost_reply_of_the_resource(self, world: World, permits: Permits) -> None:
        worker = await one_running(world, permits, 2)
        for moment in (Moment.AFTER, Moment.BEFORE):
            world.faults.fail("resources.commit", moment)
            await world.start(worker.engine, moment.value)
            await world.advance(500)
            permits.check()
            assert keys(worker)[-1] == moment.value
            await worker.settle(worker.got[-1])
            await world.advance(500)
        assert permits.held() == 1
        permits.quiet()

    async def test_a_lost_reply_of_the_claim(self, world: World, permits: Permits) -> None:
        worker = await one_running(world, permits, 1)
        await worker.settle(worker.got[0])
        await world.start(worker.engine, "w")
        await worker.settle(worker.got[-1], Failed(Failure("again")))
        world.faults.fail("workflows.commit", Moment.AFTER, 2)
        await world.advance(3_000)
        permits.quiet()
        assert permits.held() == 1

    async def test_a_store_that_is_away_grants_nothing_and_loses_nothing(self, world: World, permits: Permits) -> None:
        worker = await one_running(world, permits, 1, "y")
        world.faults.away = True
        worker.send(worker.got[0], Completed())
        await world.advance(8_000)
        world.faults.away = False
        await world.advance(30_000)
        assert keys(worker) == ["x", "y"]
        permits.quiet()


class TestRelease:
    async def test_a_crash_between_grant_and_release(self, world: World, permits: Permits) -> None:
        worker = await one_running(world, permits, 1, "y")
        gate = world.faults.hold("resources.commit")
        worker.send(worker.got[0], Completed())
        await world.settle()
        assert await world.completed("x")
        assert permits.held() == 1
        await worker.engine.supervisor.close()
        worker.stop()
        gate.set()
        world.faults.release("resources.commit")
        second = await world.worker(await world.server(), script=holding)
        await permits.audited()
        assert keys(second) == ["y"]
        permits.quiet()

    async def test_a_session_that_expires(self, world: World, permits: Permits) -> None:
        worker = await one_running(world, permits, 1, "y")
        worker.stop()
        second = await world.worker(worker.engine, script=holding)
        await world.advance(limits.SESSION_LEASE + 5_000)
        assert len(second.held) == 1
        permits.quiet()

    async def test_a_zombie_gives_nothing_back_twice(self, world: World, permits: Permits) -> None:
        worker = await one_running(world, permits, 1, "y")
        claim = worker.got[0]
        worker.stop()
        second = await world.worker(worker.engine, script=holding)
        await world.advance(limits.SESSION_LEASE + 5_000)
        assert permits.held() == 1
        await worker.reconnect()
        worker.send(claim, Completed())
        await world.advance(2_000)
        assert permits.held() == permits.claims() == 1
        assert len(second.held) + len(worker.held) >= 1
        permits.quiet()

    async def test_cancel_terminate_and_delete(self, world: World, permits: Permits) -> None:
        worker = await one_running(world, permits, 1, "y", "z", "w")
        await worker.engine.cancel(Ref(world.key("x")), "", "")
        await world.settle()
        assert keys(worker) == ["x"], "asked to stop, it still holds its permit"
        await world.advance(limits.CANCEL_GRACE + 2_000)
        assert keys(worker) == ["x", "y"]
        await worker.engine.people.terminate(Ref(world.key("y")), "", Conditions())
        await world.settle()
        assert keys(worker) == ["x", "y", "z"]
        permits.quiet()

    async def test_c51_a_deleted_workflow_holds_nothing(self, world: World, permits: Permits) -> None:
        worker = await one_running(world, permits, 1, "y")
        stored = await world.stored("x")
        await world.store.workflows.delete(stored)  # as a purge would, without a word to anybody
        worker.engine.mailboxes.forget(stored.workflow_id)
        await permits.audited()
        await world.advance(2_000)
        assert "y" in keys(worker)
        permits.quiet()

    async def test_a_replay_takes_permits_anew(self, world: World, permits: Permits) -> None:
        worker = await one_running(world, permits, 1)
        await worker.settle(worker.got[0], Failed(Failure("broken", non_retryable=True)))
        permits.quiet()
        await worker.engine.people.replay(Ref(world.key("x")), (), Conditions())
        await world.settle()
        assert keys(worker) == ["x", "x"]
        assert permits.held() == 1
        permits.quiet()


class TestSeveralServers:
    async def test_a_unit_freed_here_wakes_a_waiter_there(self, world: World, permits: Permits) -> None:
        worker = await one_running(world, permits, 1)
        other = await world.server()
        second = await world.worker(other, script=holding)
        await world.advance(5_000)  # they know of one another
        await world.start(other, "y")
        await world.advance(10)
        assert not second.got
        await worker.settle(worker.got[0])
        passed = await world.until(lambda: second.got or len(worker.got) > 1)
        assert passed <= 100
        permits.quiet()

    async def test_without_wake_ups_within_the_poll(self, world: World, permits: Permits) -> None:
        worker = await one_running(world, permits, 1)
        other = await world.server(coordination=FrailCoordination(world.clock))
        second = await world.worker(other, script=holding)
        await world.start(other, "y")
        await world.advance(3_000)
        await worker.settle(worker.got[0])
        passed = await world.until(lambda: second.got or len(worker.got) > 1)
        assert passed <= 1_200
        permits.quiet()

    async def test_newcomers_queue_behind_the_waiters_of_another_server(self, world: World, permits: Permits) -> None:
        worker = await one_running(world, permits, 1)
        other = await world.server()
        second = await world.worker(other, script=holding)
        await world.advance(5_000)
        await world.start(other, "older")
        await world.advance(1_000)
        await world.start(worker.engine, "newer")
        await world.advance(10)
        await worker.settle(worker.got[0])
        await world.advance(100)
        got = [*keys(worker)[1:], *keys(second)]
        assert got == ["older"]
        permits.quiet()

    async def test_c51_all_servers_restart_while_all_is_held(self, world: World, permits: Permits) -> None:
        waiting = tuple(f"w{number}" for number in range(20))
        running = tuple(f"r{number}" for number in range(4))
        worker = await one_running(world, permits, 5, *running, *waiting)
        await world.advance(2_000)
        assert len(worker.held) == permits.held() == 5
        await worker.engine.supervisor.close()
        worker.stop()
        world.coordination.flush()
        fresh = await world.server()
        await worker.reconnect(fresh, close=False)
        await world.advance(3_000)
        assert len(worker.held) == permits.held() == 5
        for _ in range(60):
            if not worker.held:
                break
            await worker.settle(next(iter(worker.held.values())))
            await world.advance(1_100)
        assert sorted(set(keys(worker))) == sorted({"x", *running, *waiting})
        await permits.audited()
        permits.quiet()
        assert permits.held() == 0


class TestChanges:
    async def test_lowering_drains_and_raising_acts_at_once(self, world: World, permits: Permits) -> None:
        worker = await one_running(world, permits, 3, *"abcde")
        assert len(worker.held) == 3
        await permits.put(worker.engine, capacity=1)
        for expected in (2, 1):
            await worker.settle(next(iter(worker.held.values())))
            await world.advance(50)
            assert len(worker.held) == expected
        await permits.put(worker.engine, capacity=4)
        await world.advance(50)
        assert len(worker.held) == 4
        permits.quiet()

    async def test_lowering_across_stripes_counts_all_of_them(self, world: World, permits: Permits) -> None:
        server = await world.server()
        await permits.put(server, capacity=600)
        await world.define(server, limited(permits=(Permit("llm", 100),)))
        worker = await world.worker(server, script=holding)
        for number in range(9):
            await world.start(server, f"k{number}")
        await world.advance(2_000)
        assert permits.held() == 600
        await permits.put(server, capacity=200)
        while permits.held() > 100:
            await worker.settle(next(iter(worker.held.values())))
            before = permits.held()
            await world.advance(2_500)
            assert permits.held() <= max(200, before), "nothing is granted while others still drain"
            if len(worker.got) == 9:
                break
        await world.advance(2_500)
        permits.quiet()

    async def test_waits_are_counted_and_cost_no_attempt(self, world: World, permits: Permits) -> None:
        worker = await one_running(world, permits, 1, "y")
        await world.advance(4_000)
        waits = await world.step("a", "y")
        assert (waits.state.name, waits.permit_waits, waits.throttled is not None) == ("READY", 1, True)
        assert (await world.stored("y")).ready == ("P//default/llm",)
        await worker.settle(worker.got[0])
        step = await world.step("a", "y")
        assert (step.attempt, step.permit_waits, step.throttled) == (1, 1, None)
        assert 3_900 <= step.permit_wait_time <= 4_100

    async def test_a_throttled_step_goes_back_to_its_queue_when_only_a_worker_lacks(self, world: World, permits: Permits) -> None:
        worker = await one_running(world, permits, 1, "y")
        await world.advance(2_000)
        await worker.settle(worker.got[0], want_next=False)
        await world.settle()
        worker.stream.drain()
        assert len(worker.held) <= 1
        await world.advance(20_000)
        second = await world.worker(worker.engine, script=holding)
        await world.advance(3_000)
        assert "y" in keys(worker) + keys(second)
        permits.quiet()

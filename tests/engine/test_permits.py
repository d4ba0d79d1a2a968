"""Permits on the bench: limits are kept, waits are seen, freed units go on."""

import pytest

from perdure_server.engine.queue_list import QueueQuery
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Permit
from perdure_server.ports.store import Subscription
from tests.engine.harness import World
from tests.engine.permits import Permits, limited
from tests.engine.workers import holding


@pytest.fixture
def permits(world: World) -> Permits:
    return Permits(world)


class TestLimits:
    async def test_one_at_a_time(self, world: World, permits: Permits) -> None:
        server = await world.server()
        await permits.put(server, capacity=1)
        await world.define(server, limited())
        worker = await world.worker(server, script=holding)
        for name in "xyz":
            await world.start(server, name)
        await world.settle()
        assert [claim.key.business_key for claim in worker.got] == ["x"]
        assert permits.held() == 1
        assert worker.got[0].stop_at_lease_end
        # Else a worker that is stopped before it acknowledges would run on with a permit that another one gets.
        assert worker.got[0].begin_after_renewed
        for expected in (["x", "y"], ["x", "y", "z"]):
            await worker.settle(worker.got[-1])
            assert [claim.key.business_key for claim in worker.got] == expected
        await worker.settle(worker.got[-1])
        permits.quiet()
        assert permits.held() == 0

    async def test_capacity_bounds_what_runs(self, world: World, permits: Permits) -> None:
        server = await world.server()
        await permits.put(server, capacity=3)
        await world.define(server, limited())
        worker = await world.worker(server, script=holding, slots=20)
        for number in range(12):
            await world.start(server, f"k{number}")
        await world.settle()
        assert len(worker.held) == 3
        assert world.credit(server) == 17, "who waits for permits holds no slot"
        while worker.held:
            await worker.settle(next(iter(worker.held.values())))
        assert len(worker.got) == 12
        permits.quiet()
        assert permits.most == {"llm": 3}

    async def test_several_resources_all_or_none(self, world: World, permits: Permits) -> None:
        server = await world.server()
        await permits.put(server, "a", capacity=5)
        await permits.put(server, "b", capacity=1)
        await world.define(server, limited(permits=(Permit("b"), Permit("a", 2))))
        worker = await world.worker(server, script=holding)
        for name in "xyz":
            await world.start(server, name)
        await world.settle()
        assert len(worker.held) == 1
        assert (permits.held("a"), permits.held("b")) == (2, 1), "what waits for b holds nothing of a"
        for number in range(3):
            await worker.settle(worker.got[number])
            await world.advance(50)
        permits.quiet()
        assert (permits.held("a"), permits.held("b")) == (0, 0)

    async def test_per_key(self, world: World, permits: Permits) -> None:
        server = await world.server()
        await permits.put(server, capacity=1, key_label="tenant")
        await world.define(server, limited())
        worker = await world.worker(server, script=holding)
        for name, tenant in (("x1", "x"), ("x2", "x"), ("y1", "y"), ("none", "")):
            await world.start(server, name, labels={"tenant": tenant} if tenant else {})
        await world.settle()
        assert sorted(claim.key.business_key for claim in worker.got) == ["none", "x1", "y1"]
        await world.advance(1_000)
        assert (await world.stored("x2")).ready == ("P//default/llm/x",)
        await worker.settle(worker.claim("a", "x1"))
        assert worker.got[-1].key.business_key == "x2"
        permits.quiet()

    async def test_queues_tell_how_many_lack_permits_and_lines_are_no_queues(
        self, world: World, permits: Permits, caplog: pytest.LogCaptureFixture
    ) -> None:
        server = await world.server()
        await permits.put(server, capacity=1, key_label="tenant")
        await world.define(server, limited())
        await world.worker(server, script=holding)
        for name in ("one", "two", "three"):
            await world.start(server, name, labels={"tenant": "a/b"})  # a line with as many parts as a queue id
        await world.advance(1_000)
        rows, _ = await server.operations.queues.page(QueueQuery("default", "", "", lambda _fact, _ready: True), 10, "")
        assert [(row.place.step, row.ready, row.throttled, row.running) for row in rows] == [("a", 0, 2, 1)]
        await world.advance(limits.MINUTE)
        assert "NO_WORKER" not in caplog.text

    async def test_per_fairness_key(self, world: World, permits: Permits) -> None:
        server = await world.server()
        await permits.put(server, capacity=1, by_fairness_key=True)
        await world.define(server, limited())
        worker = await world.worker(server, script=holding)
        for name, key in (("x1", "x"), ("x2", "x"), ("y1", "y")):
            await world.start(server, name, fairness_key=key)
        await world.settle()
        assert sorted(claim.key.business_key for claim in worker.got) == ["x1", "y1"]

    async def test_a_rate_lets_go_on_time(self, world: World, permits: Permits) -> None:
        server = await world.server()
        await permits.put(server, rate=(2, 1_000, 2))
        await world.define(server, limited())
        worker = await world.worker(server, script=holding, slots=20)
        for number in range(6):
            await world.start(server, f"k{number}")
        await world.settle()
        assert len(worker.got) == 2
        assert not worker.got[0].stop_at_lease_end, "nothing is held"
        for _ in range(4):
            before = len(worker.got)
            passed = await world.until(lambda before=before: len(worker.got) > before)  # type: ignore[misc]  # bound at once
            assert 450 <= passed <= 550
        permits.quiet()

    async def test_more_units_than_there_ever_are_keep_nobody_up(self, world: World, permits: Permits) -> None:
        server = await world.server()
        await permits.put(server, capacity=2)
        await world.define(server, limited("a", permits=(Permit("llm", 3),)), workflow_type="large")
        await world.define(server, limited())
        worker = await world.worker(server, script=holding)
        large = await world.worker(server, script=holding, pools=(Subscription("pool", "default", "large", {}, 5),))
        await world.start(server, "too large", workflow_type="large")
        await world.advance(1)
        await world.start(server, "small")
        await world.settle()
        assert len(worker.held) == 1
        await permits.put(server, capacity=4)
        await world.advance(1_500)
        assert len(large.held) == 1

    async def test_an_unknown_resource_is_waited_for(self, world: World, permits: Permits) -> None:
        server = await world.server()
        await world.define(server, limited())
        worker = await world.worker(server, script=holding)
        await world.start(server)
        await world.advance(2_000)
        step = await world.step("a")
        assert (step.state.name, step.throttled and step.throttled.resource) == ("READY", "llm")
        assert world.credit(server) == 10
        await permits.put(server, capacity=1)
        await world.settle()
        assert len(worker.held) == 1

    async def test_stripes_share_a_large_capacity(self, world: World, permits: Permits) -> None:
        server = await world.server()
        await permits.put(server, capacity=600)
        await world.define(server, limited(permits=(Permit("llm", 100),)))
        worker = await world.worker(server, script=holding)
        for number in range(8):
            await world.start(server, f"k{number}")
        await world.settle()
        await world.advance(2_000)
        assert len(worker.held) == 6, "units of several stripes are joined"
        assert permits.held() == 600
        while worker.held:
            await worker.settle(next(iter(worker.held.values())))
            await world.advance(1_100)
        assert len(worker.got) == 8
        await world.advance(1_100)
        permits.quiet()

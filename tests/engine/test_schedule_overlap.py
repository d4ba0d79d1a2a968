"""What a firing does while the workflow of the one before is open."""

from typing import Any

from perdure_server.engine.calendar import time_text
from perdure_server.engine.people import Conditions
from perdure_server.engine.values import Ref
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Hook, Hooks
from perdure_server.kernel.schedule import Interval, Overlap
from perdure_server.kernel.workflow import WorkflowState
from tests.engine.harness import EPOCH, World
from tests.engine.schedules import MINUTE, NAME, begun, end, keys, minute, put, settings, stored, workflows
from tests.engine.workers import failing, holding


class TestOverlap:
    async def test_skip(self, world: World) -> None:
        server = await begun(world, worker=False)
        await put(server, settings())
        await world.advance(2 * MINUTE + 2_000)
        assert keys(world) == [minute(1)]
        assert stored(world).skipped_count == 1
        await end(world, server, minute(1))
        await world.advance(MINUTE)
        assert keys(world) == [minute(1), minute(3)]

    async def test_buffer_one(self, world: World) -> None:
        server = await begun(world, worker=False)
        await put(server, settings(overlap=Overlap.BUFFER_ONE))
        await world.advance(4 * MINUTE + 2_000)
        assert keys(world) == [minute(1)]
        assert stored(world).skipped_count == 2
        await end(world, server, minute(1))
        await world.advance(limits.FIRING_RETRY + 1_100)
        assert keys(world) == [minute(1), minute(2)]

    async def test_buffer_all_keeps_the_order_and_a_hundred(self, world: World) -> None:
        server = await begun(world, worker=False)
        await put(server, settings(Interval(1_000), overlap=Overlap.BUFFER_ALL))
        await world.advance(104_100)
        await put(server, settings(Interval(limits.DAY), overlap=Overlap.BUFFER_ALL))
        assert len(stored(world).waiting) == 100
        assert stored(world).skipped_count == 3
        for number in range(1, 4):
            await end(world, server, keys(world)[-1])
            await world.advance(limits.FIRING_RETRY + 1_100)
            assert keys(world)[-1] == f"{NAME}@{time_text(EPOCH + (number + 1) * 1_000)}"

    async def test_cancel_other_waits_for_its_end(self, world: World) -> None:
        # A running step is told, and waited for.
        server = await world.server()
        await world.define(server, "a", cancel_grace=20_000)
        await world.worker(server, script=holding)
        await put(server, settings(overlap=Overlap.CANCEL_OTHER))
        await world.advance(2 * MINUTE + 2_000)
        assert keys(world) == [minute(1)]
        assert workflows(world)[minute(1)].state is WorkflowState.CANCELLING
        await world.advance(30_000)
        assert workflows(world)[minute(1)].state is WorkflowState.CANCELLED
        assert keys(world) == [minute(1), minute(2)]
        assert stored(world).skipped_count == 0

    async def test_cancel_other_lets_the_newest_win(self, world: World) -> None:
        server = await world.server()
        await world.define(server, "a", cancel_grace=limits.HOUR)
        await world.worker(server, script=holding)
        await put(server, settings(overlap=Overlap.CANCEL_OTHER))
        await world.advance(4 * MINUTE + 2_000)
        assert [firing.planned for firing in stored(world).waiting] == [EPOCH + 4 * MINUTE]
        assert stored(world).skipped_count == 2
        assert workflows(world)[minute(1)].state is WorkflowState.CANCELLING

    async def test_cancel_other_waits_for_one_that_fails_already(self, world: World) -> None:
        server = await world.server()
        hooks = Hooks(failure_finalizer=Hook("undo"))
        await world.define(server, "a", "undo", hooks=hooks)
        await world.worker(server, script=_fails_then_holds)
        await put(server, settings(overlap=Overlap.CANCEL_OTHER))
        await world.advance(2 * MINUTE + 5_000)
        assert workflows(world)[minute(1)].state is WorkflowState.FAILING
        assert keys(world) == [minute(1)]
        assert server.supervisor.failures == 0

    async def test_terminate_other(self, world: World) -> None:
        server = await begun(world, worker=False)
        await put(server, settings(overlap=Overlap.TERMINATE_OTHER))
        await world.advance(3 * MINUTE + 2_000)
        assert {key: workflow.state.name for key, workflow in workflows(world).items()} == {
            minute(1): "TERMINATED",
            minute(2): "TERMINATED",
            minute(3): "RUNNING",
        }

    async def test_allow(self, world: World) -> None:
        server = await begun(world, worker=False)
        await put(server, settings(overlap=Overlap.ALLOW))
        await world.advance(3 * MINUTE + 2_000)
        assert keys(world) == [minute(1), minute(2), minute(3)]

    async def test_a_deleted_workflow_is_not_open(self, world: World) -> None:
        server = await begun(world)
        await put(server, settings())
        await world.advance(MINUTE + 2_000)
        await server.remove(Ref(workflows(world)[minute(1)].key), Conditions())
        await world.advance(MINUTE)
        assert keys(world) == [minute(2)]


def _fails_then_holds(claim: Any) -> Any:
    return failing(claim) if claim.plan.name == "a" else None

"""What people do to schedules: put, pause, trigger, delete."""

from typing import Any, cast

import pytest

from perdure_server.engine.people import Conditions
from perdure_server.engine.service import Engine
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.schedule import Firing, Interval, Overlap, Schedule, ScheduleSettings
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.store.memory import Moment
from perdure_server.store.schedules import MemorySchedules
from tests.engine.harness import EPOCH, World
from tests.engine.schedules import MINUTE, NAME, begun, keys, minute, put, settings, stored


class TestPeople:
    async def test_pause_and_resume(self, world: World) -> None:
        server = await begun(world)
        await put(server, settings())
        await world.advance(MINUTE + 2_000)
        await put(server, settings(paused=True, note="it does harm"))
        assert stored(world).due is None
        await world.advance(5 * MINUTE)
        assert keys(world) == [minute(1)]
        await put(server, settings())
        await world.advance(2_000)
        assert keys(world) == [minute(1)], "what came due in the rest is not made up for"
        await world.advance(MINUTE)
        assert keys(world) == [minute(1), minute(7)]
        assert stored(world).missed_count == 0

    async def test_a_put_loses_no_firing_that_is_due(self, world: World) -> None:
        server = await begun(world)
        await put(server, settings(overlap=Overlap.ALLOW))
        await world.advance(MINUTE - 1_000)
        held = world.faults.hold("schedules.due")  # no sweep comes
        await world.advance(2_000)
        await put(server, settings(Interval(7 * MINUTE), overlap=Overlap.ALLOW))
        assert keys(world) == [minute(1)]
        world.faults.release("schedules.due")
        held.set()
        await world.advance(14 * MINUTE)
        assert stored(world).fired_count == 3

    async def test_the_etag_is_of_the_settings(self, world: World) -> None:
        server = await begun(world)
        made = await put(server, settings())
        await world.advance(2 * MINUTE + 2_000)
        assert stored(world).etag == made.etag, "firing does not change it"
        changed = await put(server, settings(note="x"), etag=made.etag)
        assert changed.etag != made.etag
        with pytest.raises(Rejection) as refused:
            await put(server, settings(note="y"), etag=made.etag)
        assert refused.value.reason is Reason.REVISION_CONFLICT
        with pytest.raises(Rejection):
            await put(server, settings(), "unknown", etag="1-1")

    async def test_a_repeated_put_is_one(self, world: World) -> None:
        server = await begun(world)

        def change(_: Schedule | None) -> ScheduleSettings:
            return settings()

        world.faults.fail("schedules.put", Moment.AFTER)
        with pytest.raises(StoreUnavailable):
            await server.schedules.put("default", NAME, change, Conditions("r"))
        assert (await server.schedules.put("default", NAME, change, Conditions("r")))[1], "it was this request that made it"
        assert not (await server.schedules.put("default", NAME, change, Conditions("other")))[1]

    async def test_validate_only_stores_nothing(self, world: World) -> None:
        server = await begun(world)
        made = await put(server, settings(), validate_only=True)
        assert server.schedules.next_times(made, 1) == [EPOCH + number * MINUTE for number in range(1, 11)]
        assert await server.schedules.get("default", NAME) is None

    async def test_trigger_fires_now_and_a_repeat_answers_the_same(self, world: World) -> None:
        server = await begun(world)
        await put(server, settings(Interval(limits.DAY), paused=True))
        firing = Firing(world.now(), world.now(), "r")
        fired = await server.schedules.trigger("default", NAME, firing)
        await world.advance(500)
        again = await server.schedules.trigger("default", NAME, Firing(world.now(), world.now(), "r"))
        assert fired == again
        assert fired.run is not None
        assert keys(world) == [f"{NAME}@2027-01-15T08:00:00Z"]

    @pytest.mark.parametrize("moment", list(Moment))
    @pytest.mark.parametrize("operation", ["schedules.put", "workflows.commit"])
    async def test_trigger_with_a_lost_reply_is_one_firing(self, world: World, operation: str, moment: Moment) -> None:
        server = await begun(world)
        await put(server, settings(Interval(limits.DAY)))
        for lost in range(3):  # at the first write, the second, the third
            await world.advance(1_500)
            firing = Firing(world.now(), world.now(), f"r{lost}")
            world.faults.fail(operation, Moment.BEFORE if lost else moment)
            error: BaseException | None = StoreUnavailable()
            while error is not None:
                assert isinstance(error, StoreUnavailable)
                call = world.spawn(server.schedules.trigger("default", NAME, firing))
                await world.advance(1_500)
                error = call.exception()
        assert len(keys(world)) == 3
        assert stored(world).fired_count == 3

    async def test_trigger_obeys_overlap_and_says_so(self, world: World) -> None:
        server = await begun(world, worker=False)
        await put(server, settings(Interval(limits.DAY)))
        answers = [await self._trigger(world, server, number, None) for number in range(2)]
        assert [(fired.run is not None, fired.reason) for fired in answers] == [(True, ""), (False, "WORKFLOW_NOT_CLOSED")]
        waits = await self._trigger(world, server, 2, Overlap.BUFFER_ONE)
        assert (waits.run, waits.reason) == (None, "WORKFLOW_NOT_CLOSED")
        beside = await self._trigger(world, server, 3, Overlap.ALLOW)
        assert beside.run is not None

    async def _trigger(self, world: World, server: Engine, number: int, overlap: Overlap | None) -> Any:
        return await server.schedules.trigger("default", NAME, Firing(EPOCH - number * MINUTE, world.now(), f"r{number}", overlap))

    async def test_many_triggers_at_once_on_two_servers(self, world: World) -> None:
        server = await begun(world)
        other = await world.server()
        await put(server, settings(Interval(limits.DAY), overlap=Overlap.ALLOW))
        calls = [
            side.schedules.trigger("default", NAME, Firing(EPOCH - number * MINUTE, EPOCH, f"r{number}"))
            for number in range(5)
            for side in (server, other)
        ]
        tasks = [world.spawn(call) for call in calls]
        await world.advance(1_000)
        assert len({task.result().run for task in tasks} - {None}) == 5
        assert all(task.result().run is not None for task in tasks)
        assert stored(world).fired_count == 5

    async def test_delete_and_its_repeat(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("perdure_server.engine.schedules._DELETED_FOR", 3 * MINUTE)
        server = await begun(world)
        await put(server, settings())
        with pytest.raises(Rejection) as stale:
            await server.schedules.delete("default", NAME, Conditions(etag="0-0"))
        assert stale.value.reason is Reason.REVISION_CONFLICT
        await server.schedules.delete("default", NAME, Conditions("r"))
        await server.schedules.delete("default", NAME, Conditions("r"))
        for request_id in ("", "other"):
            with pytest.raises(Rejection) as gone:
                await server.schedules.delete("default", NAME, Conditions(request_id))
            assert gone.value.reason is Reason.SCHEDULE_NOT_FOUND
        assert list(await server.schedules.list("default", "", "", 10)) == []
        await world.advance(2 * MINUTE)
        assert keys(world) == []
        made = await put(server, settings())
        assert made.fired_count == 0
        await world.advance(4 * MINUTE)
        assert await server.schedules.get("default", NAME) is not None, "what is remembered of the old one takes nothing with it"

    async def test_a_deleted_one_is_forgotten(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("perdure_server.engine.schedules._DELETED_FOR", MINUTE)
        server = await begun(world)
        await put(server, settings())
        await server.schedules.delete("default", NAME, Conditions("r"))
        await world.advance(MINUTE + 5_000)
        assert cast("MemorySchedules", world.store.schedules)._stored == {}

    async def test_unknown_schedules_are_not_found(self, world: World) -> None:
        server = await begun(world)
        with pytest.raises(Rejection) as unknown:
            await server.schedules.trigger("default", "x", Firing(0, 0, "r"))
        assert unknown.value.reason is Reason.SCHEDULE_NOT_FOUND

    async def test_a_draining_server_leaves_it_to_others(self, world: World) -> None:
        server = await begun(world)
        await put(server, settings())
        await server.drain(1_000)
        await world.advance(MINUTE + 3_000)
        assert keys(world) == []
        assert stored(world).recent == ()
        other = await world.server()
        await world.advance(10_000)
        assert keys(world) == [minute(1)]
        assert other.supervisor.failures == 0

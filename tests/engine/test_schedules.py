"""Schedules by virtual time: every firing once, whoever dies, whatever is lost; and after downtime neither a storm nor silence."""

from datetime import UTC, datetime
from typing import cast

import pytest

from perdure_server.engine.calendar import key_of, time_text
from perdure_server.kernel import limits
from perdure_server.kernel.schedule import Cron, Interval, Overlap, Schedule, ScheduledStart
from perdure_server.kernel.workflow import Workflow
from perdure_server.store.memory import Moment
from perdure_server.store.schedules import MemorySchedules
from tests.engine.harness import EPOCH, TYPE, World
from tests.engine.schedules import MINUTE, NAME, begun, keys, minute, put, settings, stored, workflows


class TestFiring:
    async def test_each_planned_time_starts_one_workflow(self, world: World) -> None:
        server = await begun(world)
        await put(server, settings(start=ScheduledStart(TYPE, labels={"team": "m"}, priority=7)))
        await world.advance(3 * MINUTE + 2_000)
        assert keys(world) == [minute(1), minute(2), minute(3)]
        first = workflows(world)[minute(1)]
        assert (first.schedule_id, first.labels, first.priority) == (NAME, {"team": "m"}, 7)
        assert EPOCH + MINUTE <= first.start_time <= EPOCH + MINUTE + 1_100, "never early, at most a sweep late"
        found = stored(world)
        assert (found.fired_count, found.skipped_count, found.missed_count) == (3, 0, 0)
        assert [fired.planned for fired in found.recent] == [EPOCH + number * MINUTE for number in (3, 2, 1)]

    async def test_cron_in_a_time_zone(self, world: World) -> None:
        server = await begun(world, worker=False)
        made = await put(server, settings(Cron("5 9 * * *", "Europe/Berlin")))  # it is 09:00 in Berlin
        assert made.due == EPOCH + 5 * MINUTE
        await world.advance(6 * MINUTE)
        assert keys(world) == [minute(5)]

    async def test_triggers_are_united_and_coincide_once(self, world: World) -> None:
        server = await begun(world)
        await put(server, settings(Interval(2 * MINUTE), Interval(3 * MINUTE), Cron("*/6 * * * *")))
        await world.advance(6 * MINUTE + 2_000)
        assert keys(world) == [minute(2), minute(3), minute(4), minute(6)]

    async def test_a_template_names_the_key(self, world: World) -> None:
        server = await begun(world)
        await put(server, settings(start=ScheduledStart(TYPE, "report-{fire_time}-a")))
        await world.advance(MINUTE + 1_500)
        assert keys(world) == ["report-2027-01-15T08:01:00Z-a"]

    async def test_from_and_to_time_bound_it(self, world: World) -> None:
        server = await begun(world)
        await put(server, settings(from_time=EPOCH + 2 * MINUTE, to_time=EPOCH + 4 * MINUTE))
        await world.advance(6 * MINUTE)
        assert keys(world) == [minute(2), minute(3)]
        assert stored(world).due is None

    async def test_jitter_delays_and_keeps_the_key(self, world: World) -> None:
        server = await begun(world)
        await put(server, settings(jitter=30_000))
        await world.advance(20 * MINUTE + 31_000)
        assert keys(world) == [minute(number) for number in range(1, 21)]
        delays = [fired.start_time - (EPOCH + number * MINUTE) for number, fired in enumerate(_in_order(world), 1)]
        assert all(0 <= delay <= 31_100 for delay in delays)
        assert max(delays) > 10_000, "a delay is drawn"

    async def test_a_refused_start_is_told_and_the_next_one_tried(self, world: World) -> None:
        server = await world.server()
        await put(server, settings())
        await world.advance(MINUTE + 2_000)
        found = stored(world)
        assert [(fired.reason, fired.run) for fired in found.recent] == [("DEFINITION_NOT_FOUND", None)]
        await world.define(server, "a")
        await world.advance(MINUTE)
        assert keys(world) == [minute(2)]

    async def test_c56_one_that_cannot_go_on_stops_no_other(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        server = await begun(world)
        await put(server, settings(), "bad")
        await put(server, settings(), NAME)

        def broken(schedule: Schedule, planned: int) -> str:
            if schedule.schedule_id == "bad":
                raise ZeroDivisionError
            return key_of(schedule, planned)

        monkeypatch.setattr("perdure_server.engine.schedules.key_of", broken)
        await world.advance(2 * MINUTE + 2_000)
        assert keys(world) == [minute(1), minute(2)]


def _in_order(world: World) -> list[Workflow]:
    found = workflows(world)
    return [found[key] for key in sorted(found)]


class TestOnce:
    async def test_many_servers_start_each_firing_once(self, world: World) -> None:
        server = await begun(world)
        for _ in range(3):
            await world.server()
        await put(server, settings())
        await world.advance(5 * MINUTE + 5_000)
        assert keys(world) == [minute(number) for number in range(1, 6)]
        assert stored(world).fired_count == 5

    @pytest.mark.parametrize("moment", list(Moment))
    @pytest.mark.parametrize("operation", ["schedules.put", "workflows.commit", "schedules.due", "workflows.load"])
    async def test_a_lost_reply_doubles_nothing(self, world: World, operation: str, moment: Moment) -> None:
        server = await begun(world)
        await put(server, settings())
        await world.advance(MINUTE - 10)
        for _ in range(4):  # at each of the writes of one firing
            world.faults.fail(operation, moment)
            await world.advance(MINUTE)
        await world.advance(10_000)
        assert keys(world) == [minute(number) for number in range(1, 6)]
        found = stored(world)
        assert (found.fired_count, found.missed_count, found.skipped_count) == (5, 0, 0)

    async def test_a_server_that_dies_between_decision_and_start_leaves_it_to_another(self, world: World) -> None:
        first = await begun(world, worker=False)
        await put(first, settings(start=ScheduledStart(TYPE)))
        held = world.faults.hold("workflows.commit")
        await world.advance(MINUTE + 1_500)
        assert stored(world).starting is not None
        assert keys(world) == []
        world.faults.release("workflows.commit")  # calls from now on pass; the one of the first server hangs
        second = await world.server()
        await world.advance(10_000)
        assert keys(world) == [minute(1)]
        assert stored(world).fired_count == 1
        held.set()  # the dead one wakes
        await world.advance(5_000)
        assert keys(world) == [minute(1)]
        assert stored(world).fired_count == 1
        assert second.supervisor.failures == first.supervisor.failures == 0

    async def test_settings_do_not_change_under_a_start(self, world: World) -> None:
        server = await begun(world, worker=False)
        await put(server, settings())
        world.faults.fail("workflows.commit", Moment.AFTER)  # started, and nobody knows
        world.faults.fail("workflows.load", Moment.BEFORE, 1_000)
        await world.advance(MINUTE + 1_500)
        assert stored(world).starting is not None
        other = settings(start=ScheduledStart(TYPE, "other-{fire_time}"))
        world.faults._planned.clear()
        changing = world.spawn(put(server, other))
        await world.advance(2_000)
        await changing
        assert keys(world) == [minute(1)], "the old start, once"
        await world.advance(MINUTE)
        assert stored(world).recent[0].reason == "WORKFLOW_NOT_CLOSED", "the last one is known to be open"

    async def test_a_refusal_for_now_after_a_try_that_nobody_knows_of_keeps_the_firing_decided(self, world: World) -> None:
        first = await begun(world, worker=False)
        await put(first, settings())
        held = world.faults.hold("workflows.commit")
        await world.advance(MINUTE + 1_500)
        assert stored(world).starting is not None
        world.faults.release("workflows.commit")  # calls from now on pass; the one of the first server hangs
        second = await world.server()
        second.draining = True
        await world.advance(10_000)
        await second.schedules.fire_due()  # it had begun when it was told to leave
        assert stored(world).starting is not None, "it may happen yet: nothing else may take its turn"
        held.set()
        second.draining = False
        await world.advance(10_000)
        assert (keys(world), stored(world).fired_count) == ([minute(1)], 1)

    async def test_a_key_that_somebody_else_used_is_told(self, world: World) -> None:
        server = await begun(world)
        await put(server, settings(start=ScheduledStart(TYPE, input=world.command(value="mine").input)))
        await world.start(server, minute(1), value="theirs")
        await world.advance(MINUTE + 2_000)
        assert [fired.reason for fired in stored(world).recent] == ["START_INPUT_MISMATCH"]
        assert stored(world).fired_count == 0


class TestDowntime:
    """C21: after downtime neither a storm nor silence."""

    async def _down_for(self, world: World, duration: int) -> None:
        server = world.engines.pop()
        closing = world.spawn(server.close())
        await world.advance(5_000)
        await closing
        await world.advance(duration - 5_000)

    async def test_c21_what_was_missed_for_long_is_counted_and_dropped(self, world: World) -> None:
        server = await begun(world, worker=False)
        await put(server, settings(overlap=Overlap.ALLOW))
        await self._down_for(world, 120 * MINUTE + 30_000)
        await world.server()
        await world.advance(5_000)
        found = stored(world)
        assert keys(world) == [minute(120)], "the one within the window of a minute"
        assert found.missed_count == 119
        assert [fired.reason for fired in found.recent] == ["", "MISSED"]

    async def test_c21_within_the_window_all_are_made_up_for_in_order(self, world: World) -> None:
        server = await begun(world, worker=False)
        await put(server, settings(overlap=Overlap.ALLOW, catch_up_window=limits.DAY))
        await self._down_for(world, 100 * MINUTE + 30_000)
        await world.server()
        started: list[int] = []
        for _ in range(12):
            await world.advance(1_000)
            started.append(len(keys(world)))
        assert started[-1] == 100
        assert max(after - before for before, after in zip([0, *started], started, strict=False)) <= limits.FIRING_STEPS
        times = [workflow.start_time for workflow in _in_order(world)]
        assert times == sorted(times)
        assert stored(world).missed_count == 0

    async def test_c21_skip_starts_one_of_those_that_were_missed(self, world: World) -> None:
        server = await begun(world, worker=False)
        await put(server, settings(catch_up_window=limits.DAY))
        await self._down_for(world, 30 * MINUTE)
        await world.server()
        await world.advance(10_000)
        assert keys(world) == [minute(1)]
        assert stored(world).skipped_count == 29

    async def test_c21_years_of_seconds_do_not_block(self, world: World) -> None:
        server = await begun(world, worker=False)
        made = await put(server, settings(Interval(1_000), Cron("* * * * *")))
        schedules = cast("MemorySchedules", world.store.schedules)
        long_ago = made.cursor - 3 * 366 * limits.DAY
        schedules._stored["default", NAME] = Schedule("default", NAME, made.settings, long_ago, made.update_time, due=long_ago)
        await world.advance(70_000)
        found = stored(world)
        assert found.missed_count == limits.MISSED_COUNTED
        assert found.cursor > EPOCH + 60_000
        assert len(keys(world)) == 1, "the others found it open"

    async def test_c17_a_server_whose_clock_is_ahead_skips_nothing(self, world: World) -> None:
        server = await begun(world)
        await put(server, settings())
        await world.advance(MINUTE + 2_000)
        assert server.clock.now() == world.now(), "store time decides, whatever a machine says"
        assert keys(world) == [minute(1)]


def test_planned_times_are_rfc_3339() -> None:
    assert time_text(EPOCH + 5) == "2027-01-15T08:00:00.005Z"
    assert datetime.fromtimestamp(EPOCH / 1_000, UTC).isoformat() == "2027-01-15T08:00:00+00:00"

"""Schedules: no firing is lost, doubled or early, whoever decides and whoever dies; one workflow at a time unless they may overlap."""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar, cast

from msgspec.structs import replace

from perdure_server.engine.calendar import key_of
from perdure_server.engine.people import Conditions
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.schedule import MISSED, Fired, Firing, Interval, Overlap, Schedule, ScheduledStart, ScheduleSettings
from perdure_server.kernel.workflow import Workflow
from perdure_server.store.schedules import MemorySchedules
from tests.engine.virtual_loop import pause
from tests.simulation.callers import Caller
from tests.simulation.ingredients import Ingredient
from tests.simulation.plans import CHILD

if TYPE_CHECKING:
    from tests.simulation.world import Simulation

K = TypeVar("K")
V = TypeVar("V")

NAME = "tick"
CLOCKS = 1_000  # ms that the clock of a server may be ahead
CAUGHT_UP = 10_000  # a firing that is later than this was made up for


class Told(dict[K, V]):
    """A dict of the store, whose every change is told: what was there, and what is (None = nothing)."""

    def __init__(self, told: Callable[[V | None, V | None], None]) -> None:
        super().__init__()
        self._told = told

    def __setitem__(self, key: K, value: V) -> None:
        before = self.get(key)
        super().__setitem__(key, value)
        self._told(before, value)

    def __delitem__(self, key: K) -> None:
        before = self[key]
        super().__delitem__(key)
        self._told(before, None)


class Schedules(Ingredient):
    """One schedule, and the person who looks after it."""

    name = "schedules"
    share = 0.15

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self._store = cast("MemorySchedules", simulation.store.schedules)
        self._store._stored = Told(self._changed)
        self._fired: dict[tuple[int, str], Fired] = {}
        self._answers: dict[str, Fired] = {}
        self._caller = Caller(simulation, "scheduler")
        source = self.source
        self._settings = ScheduleSettings(
            (Interval(source.choice((1_000, 2_000, 5_000)), source.randrange(1_000)),),
            ScheduledStart(CHILD),
            jitter=source.choice((0, 0, 700)),
            overlap=source.choice(tuple(Overlap)),
            # Hours of downtime are caught up within it, a workflow per firing: more than this would be a seed of thousands.
            catch_up_window=source.choice((2_000, 10_000, limits.MINUTE, 3 * limits.MINUTE)),
        )
        simulation.oracle.witnesses.append(self._workflow_changed)

    # ------------------------------------------------------------------------------------------------------------ what people do

    async def prepare(self) -> None:
        """Put it."""
        await self._put(self._settings)

    async def live(self, until: float) -> None:
        """Rest it, wake it, fire it by hand."""
        loop = self.simulation.loop
        while loop.time() < until:
            await pause(0.5 + self.source.random() * 4.0)
            if self.source.random() < 0.5:
                await self._trigger()
            else:
                await self._put(replace(self._settings, paused=not self._settings.paused))

    async def heal(self) -> None:
        """It rests."""
        await self._put(replace(self._settings, paused=True))

    async def _put(self, settings: ScheduleSettings) -> None:
        conditions = Conditions(request_id=self._caller.mint())
        stored, _ = await self._caller.call(lambda engine: engine.schedules.put("default", NAME, lambda _: settings, conditions))
        self._settings = settings
        self.count("schedules put")
        if stored.settings != settings:
            self._breach("a put was answered with other settings")

    async def _trigger(self) -> None:
        request_id = self._caller.mint()
        for _ in range(self.source.choice((1, 1, 2))):
            now = self.simulation.now()
            fired = await self._caller.call(lambda engine: engine.schedules.trigger("default", NAME, Firing(now, now, request_id)))  # noqa: B023 -- awaited in its round
            self.count("schedules triggered")
            known = self._answers.setdefault(request_id, fired)
            if known.run is not None and known.run != fired.run:
                self._breach(f"one trigger was answered by {known.run} and by {fired.run}")
            self._answers[request_id] = fired

    # -------------------------------------------------------------------------------------------------------------- what must be true

    @property
    def quiet(self) -> bool:
        """Nothing waits, nothing is being started."""
        stored = self._store._stored.get(("default", NAME))
        return stored is None or (stored.starting is None and not stored.waiting)

    def _changed(self, before: Schedule | None, after: Schedule | None) -> None:
        if before is None or after is None or after.deleted:
            return
        with self.simulation.oracle.judging():
            added = [fired for fired in after.recent if fired not in before.recent]
            for fired in added:
                self._check_fired(after, fired)
            refused = sum(fired.run is None and fired.reason not in {MISSED, Reason.WORKFLOW_NOT_CLOSED.name} for fired in added)
            self.count("firings refused", refused)
            new = _total(after) + refused - _total(before)
            if before.version != after.version:
                assert new == 0, f"a change of settings made or lost {new} firings"
                return
            passed = _planned_until(after, after.cursor) - _planned_until(after, before.cursor)
            asked = len(_by_hand(after) - _by_hand(before) - {fired.request_id for fired in (*before.by_hand, *added)})
            missed = after.missed_count - before.missed_count
            self.count("firings missed", missed)
            self.count("firings skipped", after.skipped_count - before.skipped_count)
            if missed >= limits.MISSED_COUNTED:
                return  # the rest of a long outage is jumped over
            assert new == passed + asked, f"{passed} planned times passed and {asked} were asked for, {new} firings came of it"
            late = self.simulation.now() - after.settings.catch_up_window + CLOCKS
            may_miss = _planned_until(after, late) - _planned_until(after, before.cursor)
            assert missed <= max(0, may_miss), f"{missed} firings were dropped, {may_miss} were beyond the window"

    def _check_fired(self, schedule: Schedule, fired: Fired) -> None:
        if fired.reason == MISSED:
            return
        name = (fired.planned, fired.request_id)
        assert name not in self._fired, f"a firing was settled twice: {self._fired[name]}, {fired}"
        self._fired[name] = fired
        if fired.run is None:
            return
        self.count("firings")
        now = self.simulation.now()
        assert now + CLOCKS >= fired.planned, f"it fired {fired.planned - now} ms early"
        self.count("firings caught up", not fired.request_id and now - fired.planned > CAUGHT_UP)
        assert fired.run.key.business_key == key_of(schedule, fired.planned)
        found = self.simulation.oracle.history[fired.run.key.workflow_id]
        assert any(version.workflow is not None and version.workflow.run_id == fired.run.run_id for version in found), "never stored"
        if not fired.request_id:
            every, phase = _interval(schedule)
            assert (fired.planned - phase) % every == 0, "no planned time"

    def _workflow_changed(self, _before: Workflow | None, after: Workflow) -> None:
        if after.schedule_id != NAME or self._settings.overlap is Overlap.ALLOW:
            return
        open_ = [workflow.key.business_key for workflow in self._started() if not workflow.is_ended]
        assert len(open_) <= 1, f"{open_} are open at once under {self._settings.overlap.name}"

    def _started(self) -> list[Workflow]:
        return [workflow for workflow in self.simulation.oracle.workflows() if workflow.schedule_id == NAME]

    async def at_the_end(self) -> None:
        """What was started is what was noted."""
        noted = {fired.run.run_id for fired in self._fired.values() if fired.run is not None}
        started = {
            version.workflow.run_id
            for versions in self.simulation.oracle.history.values()
            for version in versions
            if version.workflow is not None and version.workflow.schedule_id == NAME
        }
        if started - noted:
            self._breach(f"{len(started - noted)} workflows were started, and are noted nowhere")
        with suppress(Rejection):  # a repeat after an unknown result
            await self._caller.call(lambda engine: engine.schedules.delete("default", NAME, Conditions(request_id="delete-it")))

    def _breach(self, text: str) -> None:
        self.simulation.oracle.breach(f"schedule: {text}")


def _interval(schedule: Schedule) -> tuple[int, int]:
    trigger = schedule.settings.triggers[0]
    assert isinstance(trigger, Interval)
    return trigger.every, trigger.phase


def _planned_until(schedule: Schedule, time: int) -> int:
    every, phase = _interval(schedule)
    return (time - phase) // every


def _total(schedule: Schedule) -> int:
    open_ = len(schedule.waiting) + (schedule.starting is not None)
    return schedule.fired_count + schedule.skipped_count + schedule.missed_count + open_


def _by_hand(schedule: Schedule) -> set[str]:
    open_ = schedule.waiting if schedule.starting is None else (schedule.starting, *schedule.waiting)
    return {firing.request_id for firing in open_ if firing.request_id}

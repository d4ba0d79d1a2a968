"""Lets time pass in a test, from due time to due time: what falls due first is done before what falls due later, as if it had passed."""

import asyncio
from typing import TYPE_CHECKING

from msgspec import Struct

from perdure_server.engine.idleness import Idleness, Scope
from perdure_server.engine.scripted_worker import ScriptedWorkers
from perdure_server.engine.shifted_clock import ShiftedClock
from perdure_server.kernel import limits
from perdure_server.kernel.timing import is_due
from perdure_server.kernel.workflow import Workflow

if TYPE_CHECKING:
    from perdure_server.engine.service import Engine

_WINDOW = 500
_WINDOWS = 20
_IN_ALL = 10 * limits.SECOND


class Advanced(Struct, frozen=True):
    """It is `now`, `passed` ms later than before the call, and `fired` due times were fired on the way."""

    now: int
    passed: int
    fired: int
    next_due: int | None


class TimeTravel:
    """Moves the clock of a test server."""

    def __init__(self, engine: "Engine", clock: ShiftedClock, idleness: Idleness, scripts: ScriptedWorkers) -> None:
        self._engine = engine
        self._clock = clock
        self._idleness = idleness
        self._scripts = scripts
        self._one_at_a_time = asyncio.Lock()

    async def advance_by(self, duration: int, waits: bool = True) -> Advanced:
        """`duration` ms pass. Raises StoreUnavailable."""
        async with self._one_at_a_time:
            begun = self._clock.now()
            return await self._advance(begun, min(begun + duration, limits.TIME), waits)

    async def advance_to(self, time: int, waits: bool = True) -> Advanced:
        """Up to a time. `waits`: for what became due to be done, before the next due time and at the end. Raises StoreUnavailable.

        What workers had in hand before is not waited for. After 10 s of unshifted time the rest passes at once.
        """
        async with self._one_at_a_time:
            return await self._advance(self._clock.now(), min(time, limits.TIME), waits)

    async def advance_to_next_due(self, waits: bool = True) -> Advanced:
        """To the next due time of any workflow; none = no change. Raises StoreUnavailable."""
        async with self._one_at_a_time:
            due = await self._idleness.next_due(limits.TIME)
            begun = self._clock.now()
            return await self._advance(begun, begun if due is None else due, waits)

    async def _advance(self, begun: int, target: int, waits: bool) -> Advanced:
        await self._engine.judge.expire()  # until its first pass nothing is held against workers
        scope = Scope(ignoring=await self._idleness.claims())
        patience = self._clock.unshifted() + _IN_ALL
        fired = 0
        while True:
            due = await self._idleness.next_due(target) if self._clock.unshifted() < patience else None
            self._clock.advance_to(target if due is None else due)
            fired += await self._fire()
            left = patience - self._clock.unshifted()
            if waits and left > 0:
                await self._idleness.wait(scope, left)
            if due is None:
                break
        await self._engine.retention.now()
        now = self._clock.now()
        return Advanced(now, now - begun, fired, await self._idleness.next_due(limits.TIME))

    async def _fire(self) -> int:
        """Do what is due; returns how many scripts and schedules acted, and in how many workflows something happened."""
        fired = self._scripts.play() + await self._fire_schedules()
        for _ in range(_WINDOWS):
            now = self._clock.now()
            rows = await self._engine.store.workflows.due(now, _WINDOW)
            due = {row.workflow_id: workflow for row in rows if (workflow := await self._due(row.workflow_id, now)) is not None}
            if not due:
                break
            await self._engine.sweep.advance(list(due))
            moved = [workflow for workflow_id, workflow in due.items() if await self._has_moved(workflow_id, workflow)]
            fired += len(moved)
            if not moved:
                break
        return fired

    async def _fire_schedules(self) -> int:
        before = await self._engine.store.schedules.due(self._clock.now(), _WINDOW)
        if not before:
            return 0
        await self._engine.schedules.fire_due()
        return max(0, len(before) - len(await self._engine.store.schedules.due(self._clock.now(), _WINDOW)))

    async def _due(self, workflow_id: bytes, now: int) -> Workflow | None:
        workflow = await self._idleness.load(workflow_id)
        return workflow if workflow is not None and is_due(workflow, now) else None

    async def _has_moved(self, workflow_id: bytes, before: Workflow) -> bool:
        after = await self._idleness.load(workflow_id)
        return after is None or (after.run_id, after.event_seq) != (before.run_id, before.event_seq)

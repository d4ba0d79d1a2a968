"""Where a test breaks in: the store's fault seam, coordination that loses everything, coordination that is away."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence

from perdure_server.coordination.local import LocalCoordination
from perdure_server.ports.clock import Clock
from perdure_server.ports.coordination import Frame, FrameBatch, ReadyItem, WakeUp
from perdure_server.ports.errors import CoordinationUnavailable, StoreUnavailable
from perdure_server.store.memory import Moment, no_faults


class StoreFaults:
    """The memory store's `faults`: the whole store away, single operations failing, delays. `calls` counts operations that began."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.away = False
        self._planned: list[tuple[str, Moment, int]] = []
        self._held: dict[tuple[str, Moment], asyncio.Event] = {}
        self._delays: random.Random | None = None

    def fail(self, operation: str, moment: Moment, times: int = 1) -> None:
        """The next `times` calls of an operation raise StoreUnavailable: BEFORE = not done, AFTER = done, and nobody knows."""
        self._planned.append((operation, moment, times))

    def hold(self, operation: str, moment: Moment = Moment.BEFORE) -> asyncio.Event:
        """Calls of an operation wait until the event is set."""
        event = self._held[operation, moment] = asyncio.Event()
        return event

    def release(self, operation: str, moment: Moment = Moment.BEFORE) -> None:
        """Calls of an operation that come from now on do not wait any more; those that wait go on by their event."""
        self._held.pop((operation, moment), None)

    def jitter(self, source: random.Random) -> None:
        """From now on every operation takes 0 to 5 ms."""
        self._delays = source

    async def __call__(self, operation: str, moment: Moment) -> None:
        if moment is Moment.BEFORE:
            self.calls[operation] += 1
        await no_faults(operation, moment)
        if self._delays is not None:
            await _pause(self._delays.random() * 0.0025)
        held = self._held.get((operation, moment))
        if held is not None:
            await held.wait()
        if self.away:
            raise StoreUnavailable(f"{operation}: away")
        for index, (name, when, left) in enumerate(self._planned):
            if name == operation and when is moment:
                if left == 1:
                    del self._planned[index]
                else:
                    self._planned[index] = (name, when, left - 1)
                raise StoreUnavailable(f"{operation}: planned, {moment.value}")


async def _pause(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()
    handle = loop.call_later(seconds, future.set_result, None)
    try:
        await future
    finally:
        handle.cancel()


class FrailCoordination(LocalCoordination):
    """The in-process coordination behind switches.

    `away`: every call raises; `unread`: reads of frames do; `deaf`: what is offered is lost without a word.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.away = False
        self.deaf = False
        self.unread = False
        self.append_gate: asyncio.Event | None = None
        self.published: list[WakeUp] = []
        self.taken = 0
        self.looks = 0
        """Calls of `take` that do not wait."""

    def _reach(self) -> None:
        if self.away:
            raise CoordinationUnavailable("away")

    async def drop_frames(self, run_id: str) -> None:
        self._reach()
        await super().drop_frames(run_id)

    async def announce(self, items: Sequence[ReadyItem]) -> None:
        self._reach()
        if not self.deaf:
            await super().announce(items)

    async def take(self, queues: Sequence[str], limit: int, wait: int) -> Sequence[ReadyItem]:
        self._reach()
        self.looks += wait == 0
        items = await super().take(queues, limit, wait)
        self.taken += len(items)
        return items

    async def backlog(self, queues: Sequence[str]) -> Mapping[str, int]:
        self._reach()
        return await super().backlog(queues)

    async def ahead(self, item: ReadyItem) -> int:
        self._reach()
        return await super().ahead(item)

    async def set_timers(self, due: Mapping[bytes, int]) -> None:
        self._reach()
        if not self.deaf:
            await super().set_timers(due)

    async def due_timers(self, now: int, limit: int) -> Sequence[bytes]:
        self._reach()
        return await super().due_timers(now, limit)

    async def next_timer(self) -> int | None:
        self._reach()
        return await super().next_timer()

    async def publish(self, wakeups: Sequence[WakeUp]) -> None:
        self._reach()
        self.published += wakeups
        if not self.deaf:
            await super().publish(wakeups)

    def subscribe(self) -> AsyncIterator[WakeUp]:
        self._reach()
        return super().subscribe()

    async def append_frames(self, run_id: str, frames: Sequence[Frame]) -> None:
        self._reach()
        if self.append_gate is not None:
            await self.append_gate.wait()
        if not self.deaf:
            await super().append_frames(run_id, frames)

    async def read_frames(self, run_id: str, after: str, limit: int) -> FrameBatch:
        self._reach()
        if self.unread:
            raise CoordinationUnavailable("too slow")
        return await super().read_frames(run_id, after, limit)

    def flush(self) -> None:
        """As FLUSHALL would."""
        self._queues.clear()
        self._due.clear()
        self._heap.clear()
        for run_id in list(self._runs):
            self._forget(run_id)

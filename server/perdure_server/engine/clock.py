"""Store time: taken from the store's own clock, carried on this machine's monotonic one, never going back."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

_SAMPLES = 8
_UNCERTAIN = 1_000
_LONGEST_SLEEP = 60_000
_BEAT = 1_000  # one wake-up a second for all loops; shorter waits keep their time
_LATE = 5  # so much later than asked still counts as together: a timer may go off a little early


async def happened(event: asyncio.Event, within: int) -> bool:
    """Whether the event is set within so many ms; returns as soon as it is."""
    if event.is_set():
        return True
    try:
        async with asyncio.timeout(within / 1000):
            await event.wait()
    except TimeoutError:
        return event.is_set()
    return True


def elapsed() -> int:
    """The running loop's own time in ms: for waiting, not for deciding."""
    return round(asyncio.get_running_loop().time() * 1000)


def monotonic() -> int:
    """This machine's monotonic clock in ms."""
    return time.monotonic_ns() // 1_000_000


class StoreClock:
    """The production Clock. `measure` takes one sample; the one with the shortest round trip of the last few counts."""

    def __init__(
        self, measure: Callable[[], Awaitable[tuple[int, int]]], monotonic: Callable[[], int] = monotonic, phase: int | None = None
    ) -> None:
        """`phase`: at which ms of a second the loops of this process wake together (see the port); None: each by itself."""
        self._measure = measure
        self._phase = phase
        self._monotonic = monotonic  # ms
        self._samples: deque[tuple[int, int]] = deque(maxlen=_SAMPLES)  # (round trip, offset)
        self._offset = time.time_ns() // 1_000_000 - self._monotonic()
        self._last = 0
        self.last_contact = -(10**9)  # on the monotonic clock
        self.reachable_since = 0

    async def sync(self) -> None:
        """Take one sample. Raises StoreUnavailable."""
        try:
            store_time, round_trip = await self._measure()
        except Exception:
            self.reachable_since = 0
            raise
        now = self._monotonic()
        self._samples.append((round_trip, store_time + round_trip // 2 - now))
        self._offset = min(self._samples)[1]
        self.last_contact = now
        if not self.reachable_since:
            self.reachable_since = self.now()

    @property
    def certain(self) -> bool:
        """Whether store time is known to within a second."""
        return bool(self._samples) and min(self._samples)[0] <= _UNCERTAIN

    @property
    def uncertainty(self) -> int:
        """Half of the shortest round trip of the last few, in ms; before the first nobody knows."""
        return (min(self._samples)[0] + 1) // 2 if self._samples else _UNCERTAIN

    def may_judge(self, lease: int) -> bool:
        """Whether the store has been reached for one full lease: before that, nobody is expired for the store's absence."""
        return self.certain and bool(self.reachable_since) and self.now() - self.reachable_since >= lease

    def now(self) -> int:
        """Store time in ms."""
        now = self._monotonic() + self._offset
        if now <= self._last:
            return self._last
        self._last = now
        return now

    unshifted = now  # nobody moves this clock

    def unshifted_at(self, time: int) -> int:
        """The same time."""
        return time

    async def sleep(self, duration: int) -> None:
        """Wait `duration` ms."""
        await asyncio.sleep(max(0, duration) / 1000)

    def together(self, duration: int) -> int:
        """As the port says; without a phase and below a second: `duration`."""
        if self._phase is None or duration < _BEAT:
            return duration
        now = self._monotonic() - self._phase
        return min(duration, max(duration // 2, (now + duration + _LATE) // _BEAT * _BEAT - now))

    async def sleep_until(self, time: int) -> None:
        """Wait until store time is `time`; long waits are cut, so that a corrected clock counts (and none exceeds 24 days, case C14)."""
        while (left := time - self.now()) > 0:
            await self.sleep(min(left, _LONGEST_SLEEP))

"""The clock of a test server: workflows live in a time that a test moves forward, processes go on in store time."""

import asyncio

from perdure_server.engine.clock import StoreClock

_LONGEST_SLEEP = 60_000


class ShiftedClock:
    """The Clock port over a StoreClock. Both times run; `advance_to` makes `now` jump ahead, `unshifted` knows nothing of it."""

    def __init__(self, clock: StoreClock) -> None:
        self._clock = clock
        self._jumps: list[tuple[int, int]] = []  # (when, unshifted; how far ahead from then on), oldest first
        self._jumped = asyncio.Event()

    @property
    def shift(self) -> int:
        """How far ahead `now` is, in ms."""
        return self._jumps[-1][1] if self._jumps else 0

    def advance_to(self, time: int) -> int:
        """Make `now` at least `time`; returns how many ms that skipped, 0 if it is that late already."""
        now = self._clock.now()
        skipped = time - now - self.shift
        if skipped <= 0:
            return 0
        self._jumps.append((now, self.shift + skipped))
        self._jumped.set()
        self._jumped = asyncio.Event()
        return skipped

    def now(self) -> int:
        """The time of workflows, in ms."""
        return self._clock.now() + self.shift

    def unshifted(self) -> int:
        """Store time, in ms."""
        return self._clock.now()

    def unshifted_at(self, time: int) -> int:
        """What store time was when `now` was `time`; for a time within a jump, when the jump was."""
        for place in range(len(self._jumps) - 1, -1, -1):
            when, shift = self._jumps[place]
            if time >= when + shift:
                return time - shift
            before = self._jumps[place - 1][1] if place else 0
            if time > when + before:
                return when
        return time

    @property
    def uncertainty(self) -> int:
        """As the store clock says."""
        return self._clock.uncertainty

    def may_judge(self, lease: int) -> bool:
        """As the store clock says."""
        return self._clock.may_judge(lease)

    async def sleep(self, duration: int) -> None:
        """Wait `duration` ms of unshifted time."""
        await self._clock.sleep(duration)

    def together(self, duration: int) -> int:
        """As the store clock says."""
        return self._clock.together(duration)

    async def sleep_until(self, time: int) -> None:
        """Wait until `now` is `time`, by its running or by a jump."""
        while (left := time - self.now()) > 0:
            try:
                async with asyncio.timeout(min(left, _LONGEST_SLEEP) / 1000):
                    await self._jumped.wait()
            except TimeoutError:
                continue

"""An event loop whose time only a test moves: everything that is ready runs, then the loop is idle, then perhaps time jumps.

`settle` returns when nothing is left to run; `advance` lets time pass from timer to timer, settling before each. Code under test keeps
asyncio.timeout and loop.call_later. A test that waits for what only time can bring fails at once instead of hanging.
"""

import asyncio
import selectors
from collections.abc import Callable
from selectors import SelectorKey


class _IdleSelector(selectors.DefaultSelector):
    """Never waits: a loop with nothing to run asks `idle` what happens next. `timeout` is how far its next timer is."""

    def __init__(self) -> None:
        super().__init__()
        self.idle: Callable[[float | None], None] = lambda _timeout: None

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        events = super().select(0)
        if not events and timeout != 0:
            self.idle(timeout)
        return events


class Stuck(RuntimeError):
    """Nothing is left to run and time does not move."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """Starts at 0 s."""

    def __init__(self) -> None:
        selector = _IdleSelector()
        self._now = 0.0
        self._until = 0.0
        self._settling: list[asyncio.Future[None]] = []
        self._advancing: asyncio.Future[None] | None = None
        super().__init__(selector)
        selector.idle = self._idle

    def time(self) -> float:
        """Virtual seconds."""
        return self._now

    @property
    def milliseconds(self) -> int:
        """Virtual milliseconds since the start."""
        return round(self._now * 1_000)

    async def settle(self) -> None:
        """Return when nothing is left to run at this time."""
        future: asyncio.Future[None] = self.create_future()
        self._settling.append(future)
        await future

    async def advance(self, duration: int) -> None:
        """Let `duration` ms pass, all that falls due on the way included."""
        await self.settle()
        assert self._advancing is None, "one test moves the time"
        self._until = round(self._now + duration / 1_000, 6)
        self._advancing = self.create_future()
        await self._advancing
        await self.settle()

    async def step(self) -> int:
        """Let time pass up to the next timer; returns ms passed."""
        await self.settle()
        timers = [handle.when() for handle in self._scheduled if not handle.cancelled()]  # type: ignore[attr-defined]  # asyncio's own heap
        if not timers:
            raise Stuck("no timer is set")
        before = self.milliseconds
        await self.advance(max(0, round((min(timers) - self._now) * 1_000)) or 1)
        return self.milliseconds - before

    def _idle(self, timeout: float | None) -> None:
        if self._settling:
            settling, self._settling = self._settling, []
            for future in settling:
                if not future.done():
                    future.set_result(None)
            return
        if self._advancing is None:
            raise Stuck("the test waits for what only time can bring: advance it")
        if timeout is not None and self._now + timeout <= self._until + 1e-9:
            self._now += timeout
            return
        self._now = self._until
        advancing, self._advancing = self._advancing, None
        if not advancing.done():
            advancing.set_result(None)


async def pause(seconds: float) -> None:
    """Let so much time pass; with 0 every other task has one turn."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()
    handle = loop.call_later(seconds, _wake, future) if seconds > 0 else loop.call_soon(_wake, future)
    try:
        await future
    finally:
        handle.cancel()


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)

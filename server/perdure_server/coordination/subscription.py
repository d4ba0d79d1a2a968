"""One listener's wake-ups: a bounded buffer between whoever receives them and whoever reads them."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence

from perdure_server.coordination.limits import WAKEUPS_WAITING
from perdure_server.ports.coordination import RE_READ, WakeUp


class Subscription(AsyncIterator[WakeUp]):
    """An async iterator over wake-ups; ends when closed. A reader that is too slow gets one RE_READ instead of what it missed."""

    def __init__(self) -> None:
        self._waiting: deque[WakeUp] = deque()
        self._arrived = asyncio.Event()
        self._closed = False

    def offer(self, wakeups: Sequence[WakeUp]) -> None:
        """Adds these; never waits."""
        if self._closed:
            return
        if len(self._waiting) + len(wakeups) > WAKEUPS_WAITING:
            self._waiting.clear()
            wakeups = (RE_READ,)
        self._waiting.extend(wakeups)
        self._arrived.set()

    def close(self) -> None:
        """Ends the iteration after what is already there."""
        self._closed = True
        self._arrived.set()

    async def aclose(self) -> None:
        """The same, so that contextlib.aclosing works."""
        self.close()

    async def __anext__(self) -> WakeUp:
        while not self._waiting:
            if self._closed:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        return self._waiting.popleft()

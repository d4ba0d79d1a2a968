"""How late the event loop comes to a timer: what every call waits for when something blocks it."""

import asyncio

from perdure_server.kernel.limits import SECOND
from perdure_server.ports.instruments import LOOP_LAG
from perdure_server.telemetry import limits
from perdure_server.telemetry.meters import Meters


class LoopLag:
    """A timer that measures itself; `open` in the loop to be measured."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def open(self) -> None:
        """Begin."""
        self._again()

    def close(self) -> None:
        """End."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _again(self) -> None:
        loop = asyncio.get_running_loop()
        self._due = loop.time() + limits.LAG_INTERVAL / SECOND
        self._timer = loop.call_at(self._due, self._measure)

    def _measure(self) -> None:
        self._meters.record(LOOP_LAG, max(0.0, (asyncio.get_running_loop().time() - self._due) * SECOND))
        self._again()

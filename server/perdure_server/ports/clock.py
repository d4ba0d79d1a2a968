"""Time: store time as this server estimates it."""

from typing import Protocol


class Clock(Protocol):
    """Never goes back within one process."""

    def now(self) -> int:
        """Store time in ms since the epoch."""

    def may_judge(self, lease: int) -> bool:
        """Whether the store has been reached for one full `lease` (ms), so that sessions and timeouts may be judged."""

    async def sleep_until(self, time: int) -> None:
        """Return once now() >= time."""

    async def sleep(self, duration: int) -> None:
        """Return after `duration` ms of unshifted time."""

"""Time: store time as this server estimates it.

There are two of it. `now` is the time of workflows: due times, timeouts, schedules, retention; a test may move it forward. `unshifted` is
the time of processes: leases, acknowledgement windows, silence, caches; nobody moves it. Outside of `perdure dev --test` they are one.
"""

from typing import Protocol


class Clock(Protocol):
    """Never goes back within one process."""

    def now(self) -> int:
        """The time of workflows, in ms since the epoch."""

    def unshifted(self) -> int:
        """The time of processes, in ms since the epoch: store time without what a test moved."""

    def unshifted_at(self, time: int) -> int:
        """What `unshifted` was when `now` was `time`. A time that was jumped over: when it was."""

    @property
    def uncertainty(self) -> int:
        """How far store time may be off, in ms."""

    def may_judge(self, lease: int) -> bool:
        """Whether the store has been reached for one full `lease` (ms), so that sessions and timeouts may be judged."""

    async def sleep_until(self, time: int) -> None:
        """Return once now() >= time."""

    async def sleep(self, duration: int) -> None:
        """Return after `duration` ms of unshifted time."""

    def together(self, duration: int) -> int:
        """How long a loop waits that is to come round every `duration` ms, so that the loops of a process wake at the same moments.

        At most that, and at least half of it.
        """

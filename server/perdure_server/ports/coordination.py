"""Coordination: Redis is speed. Everything here is a hint; the sweep is what makes it true.

Every method may raise CoordinationUnavailable, which callers count and pass over.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final, Protocol

from msgspec import Struct

from perdure_server.kernel.values import Payload


class ReadyItem(Struct, frozen=True, omit_defaults=True):
    """A READY step on offer: `queue`, `workflow_id` and `step` say which, the other fields its place.

    Served by score (kernel/ordering.py): ready time - 30 s x priority, never before the last of its fairness key plus its share,
    which is the smaller the larger its `fairness_weight`. As taken it has no fairness key, and the ready time and priority of its place:
    announced again, it goes back to that place.
    """

    queue: str
    workflow_id: bytes
    step: str
    ready_time: int
    priority: int = 5
    fairness_key: str = ""
    fairness_weight: float = 1.0


class WakeUp(Struct, frozen=True, array_like=True):
    """Something changed: `topic` is "w" (workflow_id), "q" (a queue got an item) or "*" (RE_READ)."""

    topic: str
    key: bytes
    revision: int = 0


# First of every subscription, and again whenever wake-ups may have been missed: read again whatever you wait for.
RE_READ: Final = WakeUp("*", b"")


class Frame(Struct, frozen=True, array_like=True):
    """A progress frame: `seq` from 1 without holes per (step, claim_no); `kind` as in the wire (1 text, 2 progress, 3 log)."""

    step: str
    claim_no: int
    seq: int
    kind: int
    time: int
    payload: Payload | None


class FrameBatch(Struct, frozen=True):
    """Frames in the order in which they were appended, and the cursor after the last of them (the one given, if there are none).

    `restarted`: the cursor was not known here (expired, dropped, flushed, or from before a fail-over): these frames begin at the
    oldest retained, so drop those whose seq was seen; `cursor` is "" if nothing is retained. Without it a trimmed or flushed
    stretch shows only as a hole in seq.
    """

    frames: tuple[Frame, ...]
    cursor: str
    restarted: bool = False


class ReadyQueues(Protocol):
    """Sorted sets of READY steps, one per queue id."""

    async def announce(self, items: Sequence[ReadyItem]) -> None:
        """Offer each once: an item that is there already keeps its place."""

    async def take(self, queues: Sequence[str], limit: int, wait: int) -> Sequence[ReadyItem]:
        """Remove and return up to `limit` items, lowest score first within a queue, queues served in rotation.

        Waits up to `wait` ms for the first, then answers with none. An item taken and lost (crash) comes back by the sweep; one taken
        for a call that was cancelled meanwhile is put back.
        """

    async def backlog(self, queues: Sequence[str]) -> Mapping[str, int]:
        """How many items each queue holds."""

    async def ahead(self, item: ReadyItem) -> int:
        """How many items of its queue are served before it: by its place there, or, while it is not there, by the place it would get."""

    async def remove(self, items: Sequence[ReadyItem]) -> None:
        """Withdraw items that were granted another way."""


class Timers(Protocol):
    """Due times of the next five minutes."""

    async def set_timers(self, due: Mapping[bytes, int]) -> None:
        """Note that these workflows fall due at these times (ms); the earliest of several stands."""

    async def due_timers(self, now: int, limit: int) -> Sequence[bytes]:
        """Remove and return workflows due at `now`, oldest first; each goes to one caller only."""

    async def next_timer(self) -> int | None:
        """When the next one falls due."""


class WakeUps(Protocol):
    """Publish and subscribe; a message may be lost."""

    async def publish(self, wakeups: Sequence[WakeUp]) -> None:
        """Tell every server, this one included."""

    def subscribe(self) -> AsyncIterator[WakeUp]:
        """One subscription per server. Begins with RE_READ when it is in place, and again after each reconnect; ends only when closed."""


class Frames(Protocol):
    """A capped, expiring stream of progress frames per run."""

    async def append_frames(self, run_id: str, frames: Sequence[Frame]) -> None:
        """Append in order. A frame whose seq is not above the last stored one of its (step, claim_no) is ignored."""

    async def read_frames(self, run_id: str, after: str, limit: int) -> FrameBatch:
        """What is retained after the cursor ("" = from the oldest retained)."""

    async def drop_frames(self, run_id: str) -> None:
        """Forget a run's frames."""


class Coordination(ReadyQueues, Timers, WakeUps, Frames, Protocol):
    """All of it, plus its life."""

    async def open(self) -> None:
        """Connect. Does not raise when the server is away: it keeps trying, and every method says CoordinationUnavailable meanwhile."""

    async def close(self) -> None:
        """Disconnect and end the subscription."""

    def description(self) -> Mapping[str, str]:
        """Kind, version, health; for GetServerInfo. No host, no credentials."""

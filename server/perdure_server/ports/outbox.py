"""Outboxes: collections in which teams leave start commands, written in their own transactions. The format is docs/outbox.md's."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from perdure_server.kernel.outbox import OutboxStart


class OutboxEntry(Struct, frozen=True):
    """One document that waits. `handle` is what its outbox finds it by; `start` None: it cannot be read, for `faults` (field, what)."""

    handle: bytes
    request_id: str
    start: OutboxStart | None
    faults: tuple[tuple[str, str], ...] = ()
    tries: int = 0


class Outbox(Protocol):
    """One collection. Every method may raise StoreUnavailable; all may be repeated."""

    name: str
    """Database and collection, for people."""

    async def open(self) -> None:
        """Ensure what polling needs, if the collection is ours."""

    async def close(self) -> None:
        """Disconnect."""

    async def pending(self, now: int, limit: int) -> Sequence[OutboxEntry]:
        """At most `limit` documents that were never tried, or whose next try has come; each known to be committed by a majority."""

    async def remove(self, entry: OutboxEntry) -> None:
        """It was accepted."""

    async def postpone(self, entry: OutboxEntry, reason: str, message: str, times: tuple[int, int]) -> None:
        """It could not be done now: note why; `times` = (now, next try), ms."""

    async def refuse(self, entry: OutboxEntry, reason: str, message: str, now: int) -> None:
        """It will never be done as it is: note why. It stays, and is not tried again until somebody removes the note."""

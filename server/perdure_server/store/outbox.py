"""An outbox on MongoDB, and one in memory. No transaction is used here: every write is one command on one document."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import bson

from perdure_server.ports.outbox import OutboxEntry
from perdure_server.store import limits
from perdure_server.store.driver import MAJORITY, Connection
from perdure_server.store.memory_records import Around
from perdure_server.store.outbox_documents import NOTE, decode_anyhow, read_entry
from perdure_server.store.replies import confirmed

NEXT_TRY: Final = f"{NOTE}.next_try"
REFUSED: Final = "REFUSED"
RETRYING: Final = "RETRYING"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER: Final = datetime(9999, 12, 31, tzinfo=UTC)

Document = dict[str, Any]


class MongoOutbox:
    """The port's Outbox on a connection of its own, or on the store's.

    On the store's the collection belongs to Perdure's own database, so its index is built by us.
    """

    def __init__(self, connection: Connection, collection: str, is_ours: bool = False) -> None:
        """`is_ours`: `connection` is the store's, which closes it."""
        self.name = f"{connection.database}.{collection}"
        self._connection = connection
        self._collection = collection
        self._is_ours = is_ours

    async def open(self) -> None:
        """As the port says."""
        if self._is_ours:
            index = {"key": {NEXT_TRY: 1}, "name": "perdure_next_try"}
            await self._connection.command({"createIndexes": self._collection, "indexes": [index], "writeConcern": {"w": "majority"}})

    async def close(self) -> None:
        """As the port says."""
        if not self._is_ours:
            await self._connection.close()

    async def pending(self, now: int, limit: int) -> Sequence[OutboxEntry]:
        """As the port says. One that is not there equals null, so that one index serves both."""
        command = {
            "find": self._collection,
            "filter": {"$or": [{NEXT_TRY: None}, {NEXT_TRY: {"$lte": _date(now)}}]},
            "limit": limit,
            "batchSize": limit,
            "singleBatch": True,
            "readConcern": {"level": "majority"},
            "maxTimeMS": limits.READ_TIMEOUT_MS,
        }
        return [read_entry(raw) for raw in await self._connection.read_raw(command)]

    async def remove(self, entry: OutboxEntry) -> None:
        """As the port says."""
        command = {"delete": self._collection, "deletes": [{"q": _identity(entry), "limit": 1}], "writeConcern": MAJORITY}
        confirmed(await self._connection.command(command))

    async def postpone(self, entry: OutboxEntry, reason: str, message: str, times: tuple[int, int]) -> None:
        """As the port says."""
        await self._set(entry, note(RETRYING, entry, (reason, message), (_date(times[0]), _date(times[1]))))

    async def refuse(self, entry: OutboxEntry, reason: str, message: str, now: int) -> None:
        """As the port says."""
        await self._set(entry, note(REFUSED, entry, (reason, message), (_date(now), _NEVER)))

    async def _set(self, entry: OutboxEntry, value: Document) -> None:
        update = {"q": _identity(entry), "u": {"$set": {NOTE: value}}, "multi": False}
        confirmed(await self._connection.command({"update": self._collection, "updates": [update], "writeConcern": MAJORITY}))


class MemoryOutbox:
    """The port's Outbox over raw BSON documents, by the BSON of their `_id`."""

    name = "memory"

    def __init__(self, around: Around) -> None:
        self._around = around
        self.documents: dict[bytes, bytes] = {}

    def add(self, document: Document) -> None:
        """What a team's transaction does."""
        self.documents[bson.encode({"_id": document["_id"]})] = bson.encode(document)

    async def open(self) -> None:
        """Nothing to connect."""

    async def close(self) -> None:
        """Nothing is in flight."""

    async def pending(self, now: int, limit: int) -> Sequence[OutboxEntry]:
        """As the port says."""

        def apply() -> list[OutboxEntry]:
            return [read_entry(raw) for raw in self.documents.values() if _waits(raw, now)][:limit]

        return await self._around("outbox.pending", apply)

    async def remove(self, entry: OutboxEntry) -> None:
        """As the port says."""
        await self._around("outbox.remove", lambda: self.documents.pop(entry.handle, None))

    async def postpone(self, entry: OutboxEntry, reason: str, message: str, times: tuple[int, int]) -> None:
        """As the port says."""
        value = note(RETRYING, entry, (reason, message), (_date(times[0]), _date(times[1])))
        await self._around("outbox.postpone", lambda: self._set(entry, value))

    async def refuse(self, entry: OutboxEntry, reason: str, message: str, now: int) -> None:
        """As the port says."""
        value = note(REFUSED, entry, (reason, message), (_date(now), _NEVER))
        await self._around("outbox.refuse", lambda: self._set(entry, value))

    def _set(self, entry: OutboxEntry, value: Document) -> None:
        if entry.handle in self.documents:
            self.documents[entry.handle] = bson.encode({**decode_anyhow(self.documents[entry.handle]), NOTE: value})


def note(state: str, entry: OutboxEntry, why: tuple[str, str], times: tuple[datetime, datetime]) -> Document:
    """What is written into the document: (reason, message), (now, next try)."""
    found: Document = {
        "state": state,
        "reason": why[0],
        "message": why[1],
        "tries": entry.tries + 1,
        "time": times[0],
        "next_try": times[1],
    }
    if entry.faults:
        found["faults"] = [{"field": field, "text": text} for field, text in entry.faults]
    return found


def _identity(entry: OutboxEntry) -> Document:
    found: Document = bson.decode(entry.handle)
    return found


def _waits(raw: bytes, now: int) -> bool:
    value = decode_anyhow(raw).get(NOTE)
    due = value.get("next_try") if isinstance(value, dict) else None
    return due is None or int(due) <= now


def _date(time: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=time)

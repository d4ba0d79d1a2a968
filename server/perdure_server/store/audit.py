"""The `audit` collection, and the same in memory. `_id` is the record's id."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import to_builtins

from perdure_server.ports.audit import AuditKey, AuditQuery, AuditRecord
from perdure_server.store.collection import Collection
from perdure_server.store.driver import Connection
from perdure_server.store.memory_records import Around

AUDIT: Final = "audit"
NEWEST_FIRST: Final = {"namespace": 1, "time": -1, "_id": -1}
OF_WORKFLOW: Final = {"workflow": 1, "time": -1}
OLDEST: Final = {"time": 1}

Document = dict[str, Any]


class MongoAudit:
    """The port's AuditTrail on MongoDB."""

    def __init__(self, connection: Connection, linearizable: str) -> None:
        self._records = Collection(connection, AUDIT, linearizable)

    async def add(self, record: AuditRecord) -> None:
        """As the port says."""
        await self._records.insert(_encode(record))

    async def find(self, query: AuditQuery, limit: int, after: AuditKey | None) -> Sequence[AuditRecord]:
        """As the port says; answered from one of the indexes that begin with namespace or workflow."""
        return [_decode(found) for found in await self._records.find(_condition(query, after), limit, {"time": -1, "_id": -1})]

    async def forget(self, until: int, limit: int) -> int:
        """As the port says; answered from the index on time."""
        found = await self._records.find({"time": {"$lte": until}}, limit, dict(OLDEST), {"_id": 1})
        return await self._records.remove({"_id": {"$in": [document["_id"] for document in found]}}) if found else 0


class MemoryAudit:
    """The port's AuditTrail in memory."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self.stored: dict[str, Document] = {}

    async def add(self, record: AuditRecord) -> None:
        """As the port says."""
        await self._around("audit.add", lambda: self.stored.setdefault(record.record_id, _encode(record)))

    async def find(self, query: AuditQuery, limit: int, after: AuditKey | None) -> Sequence[AuditRecord]:
        """As the port says."""

        def apply() -> list[AuditRecord]:
            found = [document for document in self.stored.values() if _matches(document, query, after)]
            return [_decode(document) for document in sorted(found, key=_order, reverse=True)[:limit]]

        return await self._around("audit.find", apply)

    async def forget(self, until: int, limit: int) -> int:
        """As the port says."""

        def apply() -> int:
            old = sorted((document for document in self.stored.values() if document["time"] <= until), key=_order)[:limit]
            for document in old:
                del self.stored[document["_id"]]
            return len(old)

        return await self._around("audit.forget", apply)


def _encode(record: AuditRecord) -> Document:
    document: Document = to_builtins(record)
    found: Document = {"_id": document.pop("record_id"), **document}
    if record.facts:
        found["facts"] = [[name, value] for name, value in record.facts.items()]  # a name may hold what a field name may not
    if record.business_key:
        found["workflow"] = _workflow(record.namespace, record.workflow_type, record.business_key)
    return found


def _decode(document: Document) -> AuditRecord:
    document = {**document, "record_id": document["_id"], "facts": dict(document.get("facts", ()))}
    return msgspec.convert(document, AuditRecord)


def _workflow(namespace: str, workflow_type: str, business_key: str) -> list[str]:
    return [namespace, workflow_type, business_key]


def _condition(query: AuditQuery, after: AuditKey | None) -> Document:
    condition: Document = {"namespace": query.namespace}
    if query.business_key:
        condition = {"workflow": {"$eq": _workflow(query.namespace, query.workflow_type, query.business_key)}}
    if query.actor:
        condition["actor"] = query.actor
    if query.methods:
        condition["method"] = {"$in": list(query.methods)}
    times: Document = {}
    if query.from_time is not None:
        times["$gte"] = query.from_time
    if query.to_time is not None:
        times["$lt"] = query.to_time
    if times:
        condition["time"] = times
    if after is not None:
        older = {"$or": [{"time": {"$lt": after.time}}, {"_id": {"$lt": after.record_id}}]}
        condition["$and"] = [{"time": {"$lte": after.time}}, older]
    return condition


def _matches(document: Document, query: AuditQuery, after: AuditKey | None) -> bool:
    return (
        document["namespace"] == query.namespace
        and (not query.business_key or document.get("workflow") == _workflow(query.namespace, query.workflow_type, query.business_key))
        and (not query.actor or document.get("actor") == query.actor)
        and (not query.methods or document["method"] in query.methods)
        and (query.from_time is None or document["time"] >= query.from_time)
        and (query.to_time is None or document["time"] < query.to_time)
        and (after is None or _order(document) < (after.time, after.record_id))
    )


def _order(document: Document) -> tuple[int, str]:
    return document["time"], document["_id"]

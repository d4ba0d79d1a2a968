"""The `batches` collection, and the same in memory. `_id` = namespace and batch id."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import to_builtins
from msgspec.structs import replace

from perdure_server.ports.batches import Batch, BatchKey, BatchState
from perdure_server.store.collection import Collection
from perdure_server.store.driver import Connection
from perdure_server.store.memory_records import Around
from perdure_server.store.step_documents import AS_IS

BATCHES: Final = "batches"
NEWEST_FIRST: Final = {"namespace": 1, "start_time": -1, "_id": -1}
BY_STATE: Final = {"state": 1, "start_time": 1}
BY_END: Final = {"end_time": 1}

Document = dict[str, Any]


class MongoBatches:
    """The port's Batches on MongoDB."""

    def __init__(self, connection: Connection, linearizable: str) -> None:
        self._batches = Collection(connection, BATCHES, linearizable)

    async def add(self, batch: Batch) -> bool:
        """As the port says."""
        return await self._batches.insert(_encode(batch))

    async def get(self, namespace: str, batch_id: str) -> Batch | None:
        """As the port says."""
        found = await self._batches.get(_id_of(namespace, batch_id))
        return _decode(found) if found is not None else None

    async def change(self, batch: Batch) -> bool:
        """As the port says."""
        document = _encode(batch)
        before = {"_id": document.pop("_id"), "revision": batch.revision - 1}
        return await self._batches.change(before, document, [name for name in _OPTIONAL if name not in document])

    async def running(self, limit: int) -> Sequence[Batch]:
        """As the port says."""
        found = await self._batches.find({"state": BatchState.RUNNING.name}, limit, {"start_time": 1})
        return [_decode(document) for document in found]

    async def list(self, namespace: str, states: Sequence[BatchState], limit: int, after: BatchKey | None) -> Sequence[Batch]:
        """As the port says."""
        condition: Document = {"namespace": namespace}
        if states:
            condition["state"] = {"$in": [state.name for state in states]}
        if after is not None:
            older = [{"start_time": {"$lt": after.start_time}}, {"_id": {"$lt": _id_of(namespace, after.batch_id)}}]
            condition["$and"] = [{"start_time": {"$lte": after.start_time}}, {"$or": older}]
        found = await self._batches.find(condition, limit, {"start_time": -1, "_id": -1})
        return [_decode(document) for document in found]

    async def forget(self, until: int, limit: int) -> int:
        """As the port says."""
        found = await self._batches.find({"end_time": {"$lte": until}}, limit, dict(BY_END), {"_id": 1})
        return await self._batches.remove({"_id": {"$in": [document["_id"] for document in found]}}) if found else 0


class MemoryBatches:
    """The port's Batches in memory."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self.stored: dict[str, Document] = {}

    async def add(self, batch: Batch) -> bool:
        """As the port says."""
        document = _encode(batch)
        return await self._around("batches.add", lambda: self.stored.setdefault(document["_id"], document) is document)

    async def get(self, namespace: str, batch_id: str) -> Batch | None:
        """As the port says."""

        def apply() -> Batch | None:
            found = self.stored.get(_id_of(namespace, batch_id))
            return _decode(found) if found is not None else None

        return await self._around("batches.get", apply)

    async def change(self, batch: Batch) -> bool:
        """As the port says."""
        document = _encode(batch)

        def apply() -> bool:
            found = self.stored.get(document["_id"])
            if found is None or found["revision"] != batch.revision - 1:
                return False
            self.stored[document["_id"]] = document
            return True

        return await self._around("batches.change", apply)

    async def running(self, limit: int) -> Sequence[Batch]:
        """As the port says."""

        def apply() -> Sequence[Batch]:
            found = [_decode(document) for document in self.stored.values() if document["state"] == BatchState.RUNNING.name]
            return sorted(found, key=lambda batch: batch.start_time)[:limit]

        return await self._around("batches.running", apply)

    async def list(self, namespace: str, states: Sequence[BatchState], limit: int, after: BatchKey | None) -> Sequence[Batch]:
        """As the port says."""

        def apply() -> Sequence[Batch]:
            found = [batch for document in self.stored.values() if (batch := _decode(document)).namespace == namespace]
            found = [batch for batch in found if not states or batch.state in states]
            found.sort(key=lambda batch: (batch.start_time, batch.batch_id), reverse=True)
            bound = None if after is None else (after.start_time, after.batch_id)
            return [batch for batch in found if bound is None or (batch.start_time, batch.batch_id) < bound][:limit]

        return await self._around("batches.list", apply)

    async def forget(self, until: int, limit: int) -> int:
        """As the port says."""

        def apply() -> int:
            old = [key for key, document in self.stored.items() if document.get("end_time", until + 1) <= until][:limit]
            for key in old:
                del self.stored[key]
            return len(old)

        return await self._around("batches.forget", apply)


_OPTIONAL: Final = tuple(field.name for field in msgspec.structs.fields(Batch) if not field.required)


def _id_of(namespace: str, batch_id: str) -> str:
    return f"{namespace}/{batch_id}"


def _encode(batch: Batch) -> Document:
    document: Document = to_builtins(batch, builtin_types=AS_IS)
    return {"_id": _id_of(batch.namespace, batch.batch_id), **document, "state": batch.state.name, "revision": batch.revision}


def _decode(document: Document) -> Batch:
    batch = msgspec.convert({**document, "state": BatchState[document["state"]]}, Batch, builtin_types=AS_IS)
    return replace(batch, start_time=int(batch.start_time))

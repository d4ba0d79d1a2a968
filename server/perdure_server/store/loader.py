"""Loads that wait together share one query; a document that does not decode is quarantined and stops nobody."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from bson.errors import BSONError

from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.errors import CorruptDocument, StoreError, StoreUnavailable
from perdure_server.store import documents, limits
from perdure_server.store.driver import MAJORITY, Connection

log = logging.getLogger(__name__)


Document = dict[str, Any]
_Waiter = asyncio.Future[Workflow | None]
_Found = Workflow | StoreError | None


class Loader:
    """Reads instances by `_id`. `read_concern` is what this store offers for LINEARIZABLE."""

    def __init__(self, connection: Connection, collection: str, linearizable: str) -> None:
        self.queries = 0
        self.loads = 0
        self.quarantined = 0
        self._connection = connection
        self._collection = collection
        self._linearizable = linearizable
        self._waiting: dict[bytes, list[_Waiter]] = {}
        self._in_flight: set[asyncio.Task[None]] = set()
        self._pump_is_due = False

    async def load(self, workflow_id: bytes) -> Workflow | None:
        """A local read from the primary, begun after this call."""
        waiter: _Waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(workflow_id, []).append(waiter)
        self._pump_soon()
        return await waiter

    async def load_linearizable(self, workflow_id: bytes) -> Workflow | None:
        """One document; the server confirms with the majority that it still is the primary."""
        self.loads += 1
        return await self._load_alone(workflow_id, self._linearizable)

    async def close(self) -> None:
        """Waits for the queries in flight."""
        while self._in_flight:
            await asyncio.wait(set(self._in_flight))

    def _pump_soon(self) -> None:
        if not self._pump_is_due and len(self._in_flight) < limits.BATCHES_IN_FLIGHT:
            self._pump_is_due = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        self._pump_is_due = False
        loop = asyncio.get_running_loop()
        while self._waiting and len(self._in_flight) < limits.BATCHES_IN_FLIGHT:
            ids = list(self._waiting)[: limits.LOADS_TOGETHER]
            batch = {workflow_id: self._waiting.pop(workflow_id) for workflow_id in ids}
            # Not the engine's tasks: a caller that goes must not take the query from the others.
            task = loop.create_task(self._run(batch), name="load batch")
            self._in_flight.add(task)
            task.add_done_callback(self._landed)

    def _landed(self, task: asyncio.Task[None]) -> None:
        self._in_flight.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a %s failed; its callers were told that the result is unknown", task.get_name(), exc_info=error)
        if self._waiting:
            self._pump_soon()

    async def _run(self, batch: dict[bytes, list[_Waiter]]) -> None:
        self.loads += len(batch)
        try:
            found = await self._load_together(list(batch))
            for workflow_id, waiters in batch.items():
                _answer(waiters, found[workflow_id])
        except StoreError as error:
            for waiters in batch.values():
                _answer(waiters, error)
        finally:
            for waiters in batch.values():
                _answer(waiters, StoreUnavailable("the load was broken off"))

    async def _load_together(self, ids: Sequence[bytes]) -> dict[bytes, _Found]:
        self.queries += 1
        condition: object = ids[0] if len(ids) == 1 else {"$in": ids}
        try:
            reply = await self._connection.read(self._query(condition, len(ids), "local"))
        except BSONError:
            # One of them is no BSON at all: alone it fails alone.
            return {workflow_id: await self._outcome(workflow_id, None) for workflow_id in ids}
        documents_by_id = {document["_id"]: document for document in reply["cursor"]["firstBatch"]}
        is_whole = reply["cursor"]["id"] == 0
        if not is_whole:
            await self._kill(reply["cursor"]["id"])
        found: dict[bytes, _Found] = {}
        for workflow_id in ids:
            document = documents_by_id.get(workflow_id)
            # More than one reply holds: the rest is read one by one.
            found[workflow_id] = None if document is None and is_whole else await self._outcome(workflow_id, document)
        return found

    async def _outcome(self, workflow_id: bytes, document: Document | None) -> _Found:
        try:
            return await self._load_alone(workflow_id, "local") if document is None else await self._decode(document)
        except StoreError as error:
            return error

    async def _load_alone(self, workflow_id: bytes, level: str) -> Workflow | None:
        self.queries += 1
        try:
            reply = await self._connection.read(self._query(workflow_id, 1, level))
        except BSONError as error:
            await self._quarantine({"_id": workflow_id}, error)
            raise CorruptDocument("a stored workflow is no valid BSON") from error
        batch = reply["cursor"]["firstBatch"]
        return await self._decode(batch[0]) if batch else None

    def _query(self, condition: object, count: int, level: str) -> Document:
        return {
            "find": self._collection,
            "filter": {"_id": condition},
            "batchSize": count,
            "limit": count,
            "readConcern": {"level": level},
            "maxTimeMS": limits.READ_TIMEOUT_MS,
        }

    async def _kill(self, cursor_id: int) -> None:
        try:
            await self._connection.command({"killCursors": self._collection, "cursors": [cursor_id]})
        except StoreError as error:
            log.debug("an unread cursor was left to time out", exc_info=error)

    async def _decode(self, document: Document) -> Workflow:
        as_read = {"_id": document["_id"], "revision": document.get("revision")}
        try:
            return documents.decode(document)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            await self._quarantine(as_read, error)
            raise CorruptDocument("a stored workflow does not decode") from error

    async def _quarantine(self, as_read: Document, error: Exception) -> None:
        """Flags the document, if it still is as it was read, so that sweeps pass it by; what it holds is left for inspection."""
        self.quarantined += 1
        log.error("workflow document %s does not decode and is quarantined: %s", as_read["_id"].hex(), type(error).__name__, exc_info=error)
        flag = {"format": documents.FORMAT, "reason": type(error).__name__}
        update = {"q": as_read, "u": {"$set": {documents.QUARANTINED: flag}}, "multi": False}
        try:
            await self._connection.command({"update": self._collection, "updates": [update], "writeConcern": MAJORITY})
        except StoreError as failure:
            log.warning("the quarantine could not be written; the next reader tries again", exc_info=failure)


def _answer(waiters: Sequence[_Waiter], outcome: _Found) -> None:
    for waiter in waiters:
        if waiter.done():
            continue
        if isinstance(outcome, StoreError):
            own = type(outcome)(str(outcome)) if isinstance(outcome, StoreUnavailable | CorruptDocument) else StoreError(str(outcome))
            own.__cause__ = outcome
            waiter.set_exception(own)
        else:
            waiter.set_result(outcome)

"""The `workflows` collection: one document per workflow. Writes go through the committer, loads through the loader, the rest is queries."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.store import Due, PageKey, Read, ReadyStep, WorkflowQuery, WorkflowRows
from perdure_server.store import documents, limits
from perdure_server.store.committer import Committer, Road
from perdure_server.store.driver import MAJORITY, Connection
from perdure_server.store.loader import Loader
from perdure_server.store.outlines import left_out, outline
from perdure_server.store.payloads import delete_payloads
from perdure_server.store.ready_rows import ready_fields, ready_row
from perdure_server.store.replies import confirmed
from perdure_server.store.rows import NOT_IN_ROWS, filter_of, page, rows_of
from perdure_server.store.transactions import Transactions

WORKFLOWS: Final = "workflows"

Document = dict[str, Any]
_NOT_QUARANTINED: Final = {"$exists": False}


class MongoWorkflows:
    """The port's Workflows on MongoDB."""

    def __init__(self, connection: Connection, road: Road, linearizable: str, transactions: Transactions | None = None) -> None:
        self.committer = Committer(connection, WORKFLOWS, road, connection.meter, transactions)
        self.loader = Loader(connection, WORKFLOWS, linearizable)
        self._connection = connection
        self._linearizable = linearizable
        self._lists = asyncio.Semaphore(limits.LISTS_IN_FLIGHT)

    async def close(self) -> None:
        """Sends what was accepted and waits for it."""
        await self.committer.close()
        await self.loader.close()

    async def commit(self, old: Workflow | None, new: Workflow) -> bool:
        """As the port says."""
        return await self.committer.commit(old, new)

    async def load(self, workflow_id: bytes, read: Read = Read.LOCAL, *, tombstones: bool = False) -> Workflow | None:
        """As the port says."""
        load = self.loader.load_linearizable if read is Read.LINEARIZABLE else self.loader.load
        found = await load(workflow_id)
        return found if tombstones or found is None or found.tombstone is None else None

    async def due(self, until: int, limit: int) -> Sequence[Due]:
        """As the port says; answered from the sparse index on `wake_time`."""
        condition = {"wake_time": {"$lte": until}, documents.QUARANTINED: _NOT_QUARANTINED}
        found = await self._find(condition, {"wake_time": 1}, limit, {"wake_time": 1})
        return [Due(document["_id"], int(document["wake_time"])) for document in found]  # BSON has an integer of its own

    async def ready(self, queues: Sequence[str], limit: int, skip: int = 0) -> Sequence[ReadyStep]:
        """As the port says; answered from the sparse multikey index on `ready`, by equality."""
        condition = {"ready": {"$in": list(queues)}, documents.QUARANTINED: _NOT_QUARANTINED}
        return [ready_row(document) for document in await self._find(condition, ready_fields(queues), limit, skip=skip)]

    async def ready_queues(self) -> Sequence[str]:
        """As the port says; a seek of the sparse index on `ready` per queue."""
        command = {"distinct": WORKFLOWS, "key": "ready", "query": {"ready": {"$gt": ""}}, "maxTimeMS": limits.READ_TIMEOUT_MS}
        reply = await self._connection.read({**command, "readConcern": {"level": "local"}})
        queues: list[str] = reply["values"]
        return queues

    async def ready_count(self, queue: str, at_most: int) -> int:
        """As the port says; counted in the index."""
        command = {"count": WORKFLOWS, "query": {"ready": queue}, "limit": at_most, "maxTimeMS": limits.READ_TIMEOUT_MS}
        reply = await self._connection.read({**command, "readConcern": {"level": "local"}})
        return int(reply["n"])

    async def claimed_by(self, session_ids: Sequence[str], limit: int, read: Read = Read.LOCAL) -> Sequence[bytes]:
        """As the port says; answered from the sparse multikey index on `sessions`."""
        condition = {"sessions": {"$in": list(session_ids)}, documents.QUARANTINED: _NOT_QUARANTINED}
        return [document["_id"] for document in await self._find(condition, {"_id": 1}, limit, level=self._level(read))]

    async def revisions(self, workflow_ids: Sequence[bytes], read: Read = Read.LOCAL) -> Mapping[bytes, tuple[str, int]]:
        """As the port says."""
        if len(workflow_ids) > limits.REVISIONS_TOGETHER:
            raise ValueError(f"at most {limits.REVISIONS_TOGETHER} ids a call")
        condition = {"_id": {"$in": list(workflow_ids)}}
        found = await self._find(condition, {"run_id": 1, "revision": 1}, len(workflow_ids), level=self._level(read))
        return {document["_id"]: (document["run_id"], document["revision"]) for document in found}

    async def find(self, query: WorkflowQuery, limit: int, after: PageKey | None) -> WorkflowRows:
        """As the port says. One row more than asked tells whether there is another page."""
        direction = -1 if query.descending else 1
        async with self._lists:
            if not query.workflow_types:
                # Equality on every field before the times lets the index give the order; without it the server sorts all that match.
                query = replace(query, workflow_types=tuple(await self._types_of(query.namespace)))
                if not query.workflow_types:
                    return WorkflowRows((), None)
            condition = filter_of(query, after)
            order = {"start_time": direction, "_id": direction}
            found, is_whole = await self._find_large(condition, dict.fromkeys(NOT_IN_ROWS, 0), limit + 1, order)
        return page(found, limit, is_whole)

    async def outlines(self, workflow_ids: Sequence[bytes], steps: Sequence[str]) -> Mapping[bytes, Workflow]:
        """As the port says. A full reply is gone on from."""
        left, found = set(workflow_ids), dict[bytes, Workflow]()
        projection = dict.fromkeys(left_out(steps), 0)
        async with self._lists:
            while left:
                asked = list(left)[: limits.OUTLINES_TOGETHER]
                documents_read, is_whole = await self._find_large({"_id": {"$in": asked}}, projection, len(asked))
                left -= set(asked) if is_whole or not documents_read else {document["_id"] for document in documents_read}
                found.update((row.workflow_id, outline(row)) for row in rows_of(documents_read) if row.tombstone is None)
        return found

    async def types(self, namespace: str) -> Sequence[str]:
        """As the port says."""
        async with self._lists:
            return await self._types_of(namespace)

    async def count(self, query: WorkflowQuery, at_most: int, read: Read = Read.LOCAL) -> int:
        """As the port says."""
        async with self._lists:
            if query.business_keys and not query.workflow_types:
                query = replace(query, workflow_types=tuple(await self._types_of(query.namespace)))
            command = {"count": WORKFLOWS, "query": filter_of(query), "limit": at_most, "maxTimeMS": limits.READ_TIMEOUT_MS}
            reply = await self._connection.read({**command, "readConcern": {"level": self._level(read)}})
        return int(reply["n"])

    def document_bytes(self, workflow: Workflow) -> int:
        """As the port says."""
        return documents.size_of(workflow)

    async def delete(self, workflow: Workflow) -> bool:
        """As the port says. The revision is confirmed first, so that a workflow that lives on keeps its payloads."""
        stored = await self.load(workflow.workflow_id, Read.LINEARIZABLE, tombstones=True)
        if stored is None or (stored.run_id, stored.revision) != (workflow.run_id, workflow.revision):
            return False
        await delete_payloads(self._connection, workflow.run_id)
        condition = {"_id": workflow.workflow_id, "run_id": workflow.run_id, "revision": workflow.revision}
        reply = await self._connection.command({"delete": WORKFLOWS, "deletes": [{"q": condition, "limit": 1}], "writeConcern": MAJORITY})
        return confirmed(reply) == 1

    async def expired(self, until: int, limit: int) -> Sequence[bytes]:
        """As the port says; answered from the sparse index on `expire_time`."""
        condition = {"expire_time": {"$lte": until}, documents.QUARANTINED: _NOT_QUARANTINED}
        return [document["_id"] for document in await self._find(condition, {"_id": 1}, limit, {"expire_time": 1})]

    async def _types_of(self, namespace: str) -> list[str]:
        # One seek of the index per type.
        command = {"distinct": WORKFLOWS, "key": "workflow_type", "query": {"namespace": namespace}, "maxTimeMS": limits.READ_TIMEOUT_MS}
        reply = await self._connection.read({**command, "readConcern": {"level": "local"}})
        types: list[str] = reply["values"]
        return types

    async def _find_large(
        self, condition: Document, projection: Document, limit: int, sort: Document | None = None
    ) -> tuple[list[Document], bool]:
        # A reply holds 16 MiB: False = it was full before `limit`, and there may be more.
        command: Document = {
            "find": WORKFLOWS,
            "filter": condition,
            "projection": projection,
            "limit": limit,
            "batchSize": limit,
            "readConcern": {"level": "local"},
            "maxTimeMS": limits.READ_TIMEOUT_MS,
        }
        if sort is not None:
            command["sort"] = sort
        cursor = (await self._connection.read(command))["cursor"]
        if cursor["id"]:
            await self._connection.command({"killCursors": WORKFLOWS, "cursors": [cursor["id"]]})
        return cursor["firstBatch"], not cursor["id"]

    def _level(self, read: Read) -> str:
        # Of many documents a linearizable read shows no one moment; but that the answer comes from the primary is confirmed after it.
        return self._linearizable if read is Read.LINEARIZABLE else "local"

    async def _find(
        self, condition: Document, projection: Document, limit: int, sort: Document | None = None, **options: Any
    ) -> list[Document]:
        command: Document = {
            "find": WORKFLOWS,
            "filter": condition,
            "projection": projection,
            "limit": limit,
            "batchSize": limit,
            "singleBatch": True,
            "readConcern": {"level": options.get("level", "local")},
            "maxTimeMS": limits.READ_TIMEOUT_MS,
        }
        if sort is not None:
            command["sort"] = sort
        if options.get("skip"):
            command["skip"] = options["skip"]
        reply = await self._connection.read(command)
        found: list[Document] = reply["cursor"]["firstBatch"]
        return found

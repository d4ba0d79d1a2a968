"""How much is stored in a namespace: the documents of its workflows, and the large payloads beside them."""

from typing import Any, Final

from perdure_server.ports.store import PageKey, WorkflowQuery
from perdure_server.store import limits
from perdure_server.store.driver import Connection
from perdure_server.store.payloads import PAYLOADS
from perdure_server.store.rows import filter_of
from perdure_server.store.workflows import WORKFLOWS

OWNED: Final = {"owner": 1, "bytes": 1}

Document = dict[str, Any]


async def stored_bytes(connection: Connection, namespace: str) -> int:
    """Bytes of all its workflows and rounds, and of their payloads; tombstones are not counted.

    What changes meanwhile counts once, twice, or not at all.

    Asked page by page, so that no command takes long: each page of documents is read for its size, payloads are summed up from the
    index on their owner and size. Raises StoreUnavailable.
    """
    command: Document = {"distinct": WORKFLOWS, "key": "workflow_type", "query": {"namespace": namespace}}
    types = (await connection.read({**command, **_LOCAL}))["values"]
    total = 0
    for name in types:
        query = WorkflowQuery(namespace, (name,), descending=False, include_archived=True, include_inert=True)
        after: PageKey | None = None
        while True:
            found = await _page(connection, filter_of(query, after))
            total += sum(int(document["bytes"]) for document in found) + await _of_payloads(connection, [each["_id"] for each in found])
            if len(found) < limits.MEASURED_TOGETHER:
                break
            after = PageKey(found[-1]["start_time"], found[-1]["_id"])
    return total


_LOCAL: Final[Document] = {"readConcern": {"level": "local"}, "maxTimeMS": limits.READ_TIMEOUT_MS}


async def _page(connection: Connection, condition: Document) -> list[Document]:
    pipeline: list[Document] = [
        {"$match": condition},
        {"$sort": {"start_time": 1, "_id": 1}},
        {"$limit": limits.MEASURED_TOGETHER},
        {"$project": {"start_time": 1, "bytes": {"$bsonSize": "$$ROOT"}}},
    ]
    return await _aggregate(connection, WORKFLOWS, pipeline)


async def _of_payloads(connection: Connection, owners: list[bytes]) -> int:
    if not owners:
        return 0
    pipeline: list[Document] = [{"$match": {"owner": {"$in": owners}}}, {"$group": {"_id": None, "bytes": {"$sum": "$bytes"}}}]
    found = await _aggregate(connection, PAYLOADS, pipeline)
    return int(found[0]["bytes"]) if found else 0


async def _aggregate(connection: Connection, collection: str, pipeline: list[Document]) -> list[Document]:
    cursor = {"batchSize": limits.MEASURED_TOGETHER + 1}
    reply = await connection.read({"aggregate": collection, "pipeline": pipeline, "cursor": cursor, **_LOCAL})
    batch: list[Document] = reply["cursor"]["firstBatch"]
    return batch

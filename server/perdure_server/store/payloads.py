"""The `payloads` collection: large payloads, `_id` = run_id + digest of the content, so that all of a run lie side by side."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import msgpack

from perdure_server.kernel.values import Payload, PayloadRef
from perdure_server.ports.errors import StoreError
from perdure_server.ports.store import OldPayloads
from perdure_server.store import limits
from perdure_server.store.driver import MAJORITY, Connection
from perdure_server.store.replies import confirmed, is_duplicate

PAYLOADS: Final = "payloads"
RUN_ID: Final = 24  # hex digits before the digest

Document = dict[str, Any]


def payload_id_of(payload: Payload) -> str:
    """40 hex digits of the SHA-256 of the whole value, metadata included: equal ids mean equal payloads."""
    return hashlib.sha256(msgpack.encode(payload)).hexdigest()[:40]


def reference_to(payload: Payload, payload_id: str) -> Payload:
    """The same payload with a ref in place of its content."""
    size = len(payload.json.encode()) if payload.json is not None else len(payload.binary or b"")
    return Payload(
        ref=PayloadRef(payload_id, size),
        content_type=payload.content_type,
        encoding=payload.encoding,
        digest=payload.digest,
        metadata=payload.metadata,
    )


class MongoPayloads:
    """The port's Payloads on MongoDB."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def put(self, run_id: str, payloads: Sequence[Payload], now: int, owner: bytes = b"") -> Sequence[Payload]:
        """As the port says. One that exists is touched with `now`, so that no collection of orphans takes it before it is referred to."""
        if any(payload.ref is not None for payload in payloads):
            raise ValueError("a payload that is a ref is stored already")
        named = [(payload_id_of(payload), payload) for payload in payloads]
        for updates in _parted([_put(run_id + payload_id, payload, now, owner) for payload_id, payload in dict(named).items()]):
            await self._write(updates)
        return [reference_to(payload, payload_id) for payload_id, payload in named]

    async def get(self, run_id: str, payload_ids: Sequence[str]) -> Mapping[str, Payload]:
        """As the port says. A local read: a ref is stored only after its payload was acknowledged."""
        found: dict[str, Payload] = {}
        left = set(payload_ids)
        while left:
            read, is_whole = await self._read(run_id, left)
            found.update(read)
            left -= read.keys()
            # A reply is full at 16 MiB: what it left out is asked for again.
            if is_whole or not read:
                break
        return found

    async def delete(self, run_id: str) -> None:
        """As the port says."""
        await delete_payloads(self._connection, run_id)

    async def remove(self, run_id: str, payload_ids: Sequence[str], put_until: int | None = None) -> None:
        """As the port says."""
        condition: Document = {"_id": {"$in": [run_id + payload_id for payload_id in payload_ids]}}
        await self._delete(condition if put_until is None else {**condition, "touched": {"$lte": put_until}})

    async def retain(self, run_id: str, payload_ids: Sequence[str], put_until: int) -> None:
        """As the port says."""
        others = {"$gte": run_id, "$lt": run_id + "g", "$nin": [run_id + payload_id for payload_id in payload_ids]}
        await self._delete({"_id": others, "touched": {"$lte": put_until}})

    async def old(self, after: str, put_until: int, limit: int) -> OldPayloads:
        """As the port says; goes along `_id`."""
        command: Document = {
            "find": PAYLOADS,
            "filter": {"_id": {"$gt": after}},
            "projection": {"touched": 1, "owner": 1},
            "sort": {"_id": 1},
            "limit": limit,
            "batchSize": limit,
            "singleBatch": True,
            "readConcern": {"level": "local"},
            "maxTimeMS": limits.READ_TIMEOUT_MS,
        }
        found = (await self._connection.read(command))["cursor"]["firstBatch"]
        return old_payloads([(document["_id"], document["touched"], document.get("owner", b"")) for document in found], put_until, limit)

    async def _delete(self, condition: Document) -> None:
        command = {"delete": PAYLOADS, "deletes": [{"q": condition, "limit": 0}], "writeConcern": MAJORITY}
        confirmed(await self._connection.command(command))

    async def _write(self, updates: list[Document]) -> None:
        command = {"update": PAYLOADS, "updates": updates, "ordered": False, "writeConcern": MAJORITY}
        try:
            confirmed(await self._connection.command(command))
        except StoreError as error:
            if not is_duplicate(error):
                raise
            # Two upserts of one `_id` met: now it exists, and the same command finds it (cases C02).
            confirmed(await self._connection.command(command))

    async def _read(self, run_id: str, payload_ids: set[str]) -> tuple[dict[str, Payload], bool]:
        reply = await self._connection.read(
            {
                "find": PAYLOADS,
                "filter": {"_id": {"$in": [run_id + payload_id for payload_id in payload_ids]}},
                "batchSize": len(payload_ids),
                "readConcern": {"level": "local"},
                "maxTimeMS": limits.READ_TIMEOUT_MS,
            }
        )
        cursor = reply["cursor"]
        if cursor["id"]:
            await self._connection.command({"killCursors": PAYLOADS, "cursors": [cursor["id"]]})
        read = {document["_id"][len(run_id) :]: _decode(document) for document in cursor["firstBatch"]}
        return read, not cursor["id"]


def old_payloads(rows: Sequence[tuple[str, int, bytes]], put_until: int, limit: int) -> OldPayloads:
    """A page out of rows of (`_id`, when it was put last, its owner)."""
    by_run: dict[tuple[bytes, str], list[str]] = {}
    for identity, touched, owner in rows:
        if owner and touched <= put_until:
            by_run.setdefault((owner, identity[:RUN_ID]), []).append(identity[RUN_ID:])
    return OldPayloads(by_run, rows[-1][0] if len(rows) == limit else "")


async def delete_payloads(connection: Connection, run_id: str) -> None:
    """Removes every payload of a run. Raises StoreUnavailable; repeating it is harmless."""
    condition = {"_id": {"$gte": run_id, "$lt": run_id + "g"}}  # ids go on with hex digits
    confirmed(await connection.command({"delete": PAYLOADS, "deletes": [{"q": condition, "limit": 0}], "writeConcern": MAJORITY}))


def _put(identity: str, payload: Payload, now: int, owner: bytes) -> Document:
    content: Document = {"json": payload.json} if payload.json is not None else {"binary": payload.binary or b""}
    for name in ("content_type", "encoding", "digest"):
        if getattr(payload, name):
            content[name] = getattr(payload, name)
    if payload.metadata:
        content["metadata"] = [[key, value] for key, value in payload.metadata.items()]
    if owner:
        content["owner"] = owner
    content["bytes"] = payload.inline_size
    return {"q": {"_id": identity}, "u": {"$setOnInsert": content, "$max": {"touched": now}}, "upsert": True, "multi": False}


def _decode(document: Document) -> Payload:
    return Payload(
        json=document.get("json"),
        binary=document.get("binary"),
        content_type=document.get("content_type", ""),
        encoding=document.get("encoding", ""),
        digest=document.get("digest", ""),
        metadata=dict(document.get("metadata", ())),
    )


def _parted(updates: Sequence[Document]) -> Iterator[list[Document]]:
    part: list[Document] = []
    size = 0
    for update in updates:
        content = update["u"]["$setOnInsert"]
        length = len(content.get("json") or content.get("binary") or b"")
        if part and size + length > limits.PAYLOAD_BATCH_BYTES:
            yield part
            part, size = [], 0
        part.append(update)
        size += length
    if part:
        yield part

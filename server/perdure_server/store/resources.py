"""The `resources` and `stripes` collections. Every change is one conditional write; holders are packed: they are rewritten together."""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import msgpack, to_builtins

from perdure_server.kernel.resources import Holder, Rate, Resource, Stripe, Waiting
from perdure_server.ports.errors import CorruptDocument, StoreError
from perdure_server.ports.resources import StripeKey, key_of
from perdure_server.store import limits
from perdure_server.store.definitions import identity
from perdure_server.store.driver import MAJORITY, Connection
from perdure_server.store.replies import confirmed, is_duplicate

RESOURCES: Final = "resources"
STRIPES: Final = "stripes"

Document = dict[str, Any]
_read_holders: Final = msgpack.Decoder(tuple[Holder, ...])
_read_waiting: Final = msgpack.Decoder(tuple[Waiting, ...])


def stripe_id(key: StripeKey) -> bytes:
    """The `_id` of a stripe."""
    return hashlib.sha256(identity(key.namespace, key.resource, key.key) + key.number.to_bytes(4, "big")).digest()[:16]


def encode_resource(resource: Resource) -> Document:
    """The document of a resource."""
    document: Document = to_builtins(resource)
    return {"_id": identity(resource.namespace, resource.name), **document}


def decode_resource(document: Document) -> Resource:
    """The resource in a stored document. Raises CorruptDocument."""
    del document["_id"]
    try:
        return msgspec.convert(document, Resource)
    except ValueError as error:
        raise CorruptDocument("a stored resource does not decode") from error


def encode_stripe(stripe: Stripe) -> Document:
    """The document of a stripe. `in_use` and `waiting_count` are there while they are above 0: sparse indexes go by them."""
    document: Document = {
        "_id": stripe_id(key_of(stripe)),
        "namespace": stripe.namespace,
        "resource": stripe.resource,
        "key": stripe.key,
        "number": stripe.number,
        "resource_revision": stripe.resource_revision,
        "capacity": stripe.capacity,
        "write_id": stripe.write_id,
    }
    if stripe.rate is not None:
        document |= {"rate": to_builtins(stripe.rate), "level": stripe.level, "level_time": stripe.level_time}
    if stripe.holders:
        document |= {"holders": msgpack.encode(stripe.holders), "in_use": stripe.in_use}
    if stripe.waiting:
        document |= {"waiting": msgpack.encode(stripe.waiting), "waiting_count": sum(found.count for found in stripe.waiting)}
    return document


def decode_stripe(document: Document) -> Stripe:
    """The stripe in a stored document. Raises CorruptDocument."""
    try:
        rate = document.get("rate")
        return Stripe(
            document["namespace"],
            document["resource"],
            document["key"],
            document["number"],
            int(document["resource_revision"]),
            None if document["capacity"] is None else int(document["capacity"]),
            msgspec.convert(rate, Rate) if rate is not None else None,
            int(document.get("level", 0)),
            int(document.get("level_time", 0)),
            _read_holders.decode(document["holders"]) if "holders" in document else (),
            _read_waiting.decode(document["waiting"]) if "waiting" in document else (),
            document["write_id"],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptDocument("a stored stripe does not decode") from error


class MongoResources:
    """The port's Resources on MongoDB."""

    def __init__(self, connection: Connection, linearizable: str) -> None:
        self._connection = connection
        self._linearizable = linearizable

    async def get(self, namespace: str, name: str) -> Resource | None:
        """As the port says."""
        found = await self._find(RESOURCES, {"_id": identity(namespace, name)}, 1, level=self._linearizable)
        return decode_resource(found[0]) if found else None

    async def put(self, old: Resource | None, new: Resource) -> bool:
        """As the port says."""
        document = encode_resource(new)
        condition = None if old is None else {"_id": document["_id"], "revision": old.revision}
        if await self._write(RESOURCES, condition, document):
            return True
        return await self.get(new.namespace, new.name) == new

    async def delete(self, resource: Resource) -> bool:
        """As the port says."""
        return await self._remove(RESOURCES, {"_id": identity(resource.namespace, resource.name), "revision": resource.revision})

    async def stripe(self, key: StripeKey) -> Stripe | None:
        """As the port says."""
        found = await self._find(STRIPES, {"_id": stripe_id(key)}, 1)
        return decode_stripe(found[0]) if found else None

    async def stripes(self, namespace: str, name: str, key: str | None, limit: int, *, linearizable: bool = False) -> Sequence[Stripe]:
        """As the port says."""
        condition: Document = {"namespace": namespace, "resource": name} | ({} if key is None else {"key": key})
        level = self._linearizable if linearizable else "local"
        return [decode_stripe(document) for document in await self._find(STRIPES, condition, limit, level=level)]

    async def commit(self, old: Stripe | None, new: Stripe) -> bool:
        """As the port says."""
        document = encode_stripe(new)
        condition = None if old is None else {"_id": document["_id"], "write_id": old.write_id}
        if await self._write(STRIPES, condition, document):
            return True
        stored = await self.stripe(key_of(new))
        return stored is not None and stored.write_id == new.write_id

    async def remove(self, stripe: Stripe) -> bool:
        """As the port says."""
        return await self._remove(STRIPES, {"_id": stripe_id(key_of(stripe)), "write_id": stripe.write_id})

    async def held(self, after: bytes, limit: int) -> Sequence[tuple[bytes, Stripe]]:
        """As the port says; answered from the sparse index on `in_use`."""
        condition: Document = {"in_use": {"$gt": 0}} | ({"_id": {"$gt": after}} if after else {})
        found = await self._find(STRIPES, condition, limit, {"_id": 1})
        return [(document["_id"], decode_stripe(document)) for document in found]

    async def waited(self, limit: int) -> Sequence[Stripe]:
        """As the port says; answered from the sparse index on `waiting_count`."""
        return [decode_stripe(document) for document in await self._find(STRIPES, {"waiting_count": {"$gt": 0}}, limit)]

    async def _write(self, collection: str, condition: Document | None, document: Document) -> bool:
        if condition is None:
            try:
                confirmed(await self._connection.command({"insert": collection, "documents": [document], "writeConcern": MAJORITY}))
            except StoreError as error:
                if is_duplicate(error):
                    return False
                raise
            return True
        absent = {name: "" for name in _OPTIONAL[collection] if name not in document}
        change: Document = {"$set": {name: value for name, value in document.items() if name != "_id"}}
        if absent:
            change["$unset"] = absent
        update = {"q": condition, "u": change, "multi": False}
        return confirmed(await self._connection.command({"update": collection, "updates": [update], "writeConcern": MAJORITY})) == 1

    async def _remove(self, collection: str, condition: Document) -> bool:
        command = {"delete": collection, "deletes": [{"q": condition, "limit": 1}], "writeConcern": MAJORITY}
        return confirmed(await self._connection.command(command)) == 1

    async def _find(
        self, collection: str, condition: Document, limit: int, sort: Document | None = None, level: str = "local"
    ) -> list[Document]:
        command: Document = {
            "find": collection,
            "filter": condition,
            "limit": limit,
            "batchSize": limit,
            "singleBatch": True,
            "readConcern": {"level": level},
            "maxTimeMS": limits.READ_TIMEOUT_MS,
        }
        if sort is not None:
            command["sort"] = sort
        found: list[Document] = (await self._connection.read(command))["cursor"]["firstBatch"]
        return found

    async def list(self, namespace: str, after: str, limit: int) -> Sequence[Resource]:
        """As the port says."""
        found = await self._find(RESOURCES, {"namespace": namespace, "name": {"$gt": after}}, limit, {"name": 1})
        return [decode_resource(document) for document in found]


_OPTIONAL: Final = {
    RESOURCES: (),
    STRIPES: ("rate", "level", "level_time", "holders", "in_use", "waiting", "waiting_count"),
}

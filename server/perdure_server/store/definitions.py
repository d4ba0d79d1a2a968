"""The `definitions` and `active_definitions` collections.

`_id` = 16 bytes of a digest over the length-prefixed identity, whose parts are stored and compared, too.
"""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
from msgspec import to_builtins

from perdure_server.kernel.definition import Definition, StepKind
from perdure_server.kernel.values import Deletion, Paused
from perdure_server.ports.errors import CorruptDocument, StoreError, StoreUnavailable
from perdure_server.ports.store import ActiveDefinition
from perdure_server.store import limits
from perdure_server.store.driver import MAJORITY, Connection
from perdure_server.store.replies import confirmed, is_duplicate

DEFINITIONS: Final = "definitions"
ACTIVE: Final = "active_definitions"

_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_BESIDE: Final = ("paused", "deleted", "registered")  # kept beside the plan, so that they are no change of a policy
_UNMARKED: Final = {"deleted": {"$exists": False}}

Document = dict[str, Any]


def identity(*parts: str) -> bytes:
    """16 bytes that stand for the parts in this order; no two lists of parts run together."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(4, "big"))
        digest.update(encoded)
    return digest.digest()[:16]


def encode_definition(definition: Definition) -> Document:
    """The document of a definition: what it is found by, and the plan. Step kinds are names."""
    plan: Document = to_builtins(definition)
    for name in _BESIDE:
        plan.pop(name, None)
    for step in plan["steps"]:
        if "kind" in step:
            step["kind"] = StepKind(step["kind"]).name
    return {
        "_id": identity(definition.namespace, definition.workflow_type, definition.fingerprint),
        "namespace": definition.namespace,
        "workflow_type": definition.workflow_type,
        "fingerprint": definition.fingerprint,
        "policy_revision": definition.policy_revision,
        "plan": plan,
    }


def decode_definition(document: Document) -> Definition:
    """The plan in a stored document. Raises CorruptDocument."""
    try:
        plan = document["plan"]
        for step in plan["steps"]:
            if "kind" in step:
                step["kind"] = StepKind[step["kind"]]
        beside = {name: document[name] for name in _BESIDE if name in document}
        if "registered" in beside:
            beside["registered"] = _milliseconds(beside["registered"])
        definition = msgspec.convert(plan | beside, Definition)
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptDocument("a stored definition does not decode") from error
    if identity(definition.namespace, definition.workflow_type, definition.fingerprint) != document["_id"]:
        raise CorruptDocument("the identity in a stored definition is not that of its _id")
    return definition


def with_policy_revision(definition: Definition, policy_revision: int) -> Definition:
    """The same plan under another policy revision, with nothing beside it: not paused, not deleted, not registered."""
    return msgspec.structs.replace(definition, policy_revision=policy_revision, paused=None, deleted=None, registered=None)


def offered_over(definition: Definition, stored: Definition) -> Definition | None:
    """What a definition becomes over the stored one of its fingerprint; None = nothing changes."""
    if definition.offers_the_same(stored):
        return None if stored.deleted is None else msgspec.structs.replace(stored, deleted=None)
    offered = with_policy_revision(definition, stored.policy_revision + 1)
    return msgspec.structs.replace(offered, paused=stored.paused, registered=stored.registered)


class MongoDefinitions:
    """The port's Definitions on MongoDB."""

    def __init__(self, connection: Connection, linearizable: str) -> None:
        self._connection = connection
        self._linearizable = linearizable

    async def put(self, definition: Definition) -> Definition:
        """As the port says."""
        for _ in range(limits.LOST_RACES):
            stored = await self.get(definition.namespace, definition.workflow_type, definition.fingerprint)
            if stored is None:
                offered = with_policy_revision(definition, 1)
                registered = (await self._connection.admin_command({"hello": 1}))["localTime"]
                if await self._insert(DEFINITIONS, {**encode_definition(offered), "registered": registered}):
                    return msgspec.structs.replace(offered, registered=_milliseconds(registered))
                continue
            changed = offered_over(definition, stored)
            if changed is None:
                return stored
            offered = changed
            document = encode_definition(offered)
            change: Document = {"$set": {"plan": document["plan"], "policy_revision": offered.policy_revision}}
            if stored.deleted is not None:
                change["$unset"] = {"deleted": ""}
            if await self._update(DEFINITIONS, _as_read(stored), change):
                return offered
        raise StoreUnavailable("the definition is being registered by too many at once")

    async def change(self, definition: Definition, over: int) -> Definition | None:
        """As the port says."""
        document = encode_definition(with_policy_revision(definition, over + 1))
        changes = {"plan": document["plan"], "policy_revision": over + 1}
        if not await self._set(DEFINITIONS, {"_id": document["_id"], "policy_revision": over} | _UNMARKED, changes):
            return None
        return await self.get(definition.namespace, definition.workflow_type, definition.fingerprint)

    async def get(self, namespace: str, workflow_type: str, fingerprint: str) -> Definition | None:
        """As the port says."""
        found = await self._find(DEFINITIONS, {"_id": identity(namespace, workflow_type, fingerprint)}, level=self._linearizable)
        return decode_definition(found[0]) if found else None

    async def pause(self, namespace: str, workflow_type: str, fingerprint: str, paused: Paused | None) -> Definition | None:
        """As the port says."""
        condition: Document = {"_id": identity(namespace, workflow_type, fingerprint)}
        if paused is None:
            await self._update(DEFINITIONS, condition, {"$unset": {"paused": ""}})
        else:
            await self._update(DEFINITIONS, condition | {"paused": {"$exists": False}}, {"$set": {"paused": to_builtins(paused)}})
        return await self.get(namespace, workflow_type, fingerprint)

    async def paused(self) -> Sequence[Definition]:
        """As the port says. No index has it; definitions are few."""
        return [decode_definition(document) for document in await self._find(DEFINITIONS, {"paused": {"$exists": True}})]

    async def versions(self, namespace: str, workflow_type: str) -> Sequence[Definition]:
        """As the port says."""
        condition = {"namespace": namespace, "workflow_type": workflow_type}
        found = await self._find(DEFINITIONS, condition, {"registered": -1, "_id": -1})
        return [decode_definition(document) for document in found]

    async def active(self, namespace: str, workflow_type: str) -> ActiveDefinition | None:
        """As the port says."""
        found = await self._find(ACTIVE, {"_id": identity(namespace, workflow_type)}, level=self._linearizable)
        return _decode_active(found[0]) if found else None

    async def activate(self, namespace: str, workflow_type: str, fingerprint: str, only_if_none: bool) -> ActiveDefinition:
        """As the port says."""
        for _ in range(limits.LOST_RACES):
            stored = await self.active(namespace, workflow_type)
            if stored is None:
                wanted = ActiveDefinition(namespace, workflow_type, fingerprint, 1)
                if await self._insert(ACTIVE, {"_id": identity(namespace, workflow_type), **to_builtins(wanted)}):
                    return wanted
                continue
            if only_if_none or stored.fingerprint == fingerprint:
                return stored
            wanted = ActiveDefinition(namespace, workflow_type, fingerprint, stored.revision + 1)
            condition = {"_id": identity(namespace, workflow_type), "revision": stored.revision}
            if await self._set(ACTIVE, condition, {"fingerprint": fingerprint, "revision": wanted.revision}):
                return wanted
        raise StoreUnavailable("the definition is being activated by too many at once")

    async def mark(self, known: Definition, deletion: Deletion) -> bool:
        """As the port says."""
        if known.deleted is not None:
            return False
        condition = _as_read(known) | {"paused": {"$exists": known.paused is not None}}
        return await self._set(DEFINITIONS, condition, {"deleted": to_builtins(deletion)})

    async def unmark(self, marked: Definition) -> bool:
        """As the port says."""
        return marked.deleted is not None and await self._update(DEFINITIONS, _marked(marked), {"$unset": {"deleted": ""}})

    async def marked(self) -> Sequence[Definition]:
        """As the port says. No index has it; definitions are few."""
        return [decode_definition(document) for document in await self._find(DEFINITIONS, {"deleted": {"$exists": True}})]

    async def delete(self, marked: Definition) -> bool:
        """As the port says."""
        if marked.deleted is None:
            return False
        deletes = [{"q": _marked(marked), "limit": 1}]
        return confirmed(await self._connection.command({"delete": DEFINITIONS, "deletes": deletes, "writeConcern": MAJORITY})) == 1

    async def _insert(self, collection: str, document: Document) -> bool:
        try:
            confirmed(await self._connection.command({"insert": collection, "documents": [document], "writeConcern": MAJORITY}))
        except StoreError as error:
            if is_duplicate(error):
                return False
            raise
        return True

    async def _set(self, collection: str, condition: Document, changes: Document) -> bool:
        return await self._update(collection, condition, {"$set": changes})

    async def _update(self, collection: str, condition: Document, change: Document) -> bool:
        update = {"q": condition, "u": change, "multi": False}
        return confirmed(await self._connection.command({"update": collection, "updates": [update], "writeConcern": MAJORITY})) == 1

    async def _find(self, collection: str, condition: Document, sort: Document | None = None, level: str = "local") -> list[Document]:
        command: Document = {
            "find": collection,
            "filter": condition,
            "limit": limits.LISTED_DEFINITIONS,
            "batchSize": limits.LISTED_DEFINITIONS,
            "singleBatch": True,
            "readConcern": {"level": level},
            "maxTimeMS": limits.READ_TIMEOUT_MS,
        }
        if sort is not None:
            command["sort"] = sort
        found: list[Document] = (await self._connection.read(command))["cursor"]["firstBatch"]
        return found

    async def list(self, namespace: str) -> Sequence[ActiveDefinition]:
        """As the port says."""
        found = await self._find(ACTIVE, {"namespace": namespace}, {"workflow_type": 1})
        return [_decode_active(document) for document in found]


def _milliseconds(time: datetime) -> int:
    return (time.replace(tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)  # the driver's times are UTC without saying so


def _as_read(stored: Definition) -> Document:
    """The condition that neither its policies nor its deletion are others by now."""
    condition = {"_id": identity(stored.namespace, stored.workflow_type, stored.fingerprint), "policy_revision": stored.policy_revision}
    return condition | (_UNMARKED if stored.deleted is None else _marked(stored))


def _marked(stored: Definition) -> Document:
    assert stored.deleted is not None, "the caller has looked"
    deletion = {f"deleted.{name}": value for name, value in to_builtins(stored.deleted).items()}
    return {"_id": identity(stored.namespace, stored.workflow_type, stored.fingerprint), **deletion}


def _decode_active(document: Document) -> ActiveDefinition:
    return ActiveDefinition(document["namespace"], document["workflow_type"], document["fingerprint"], document["revision"])

"""The `schedules` and `namespaces` collections, and the same in memory."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec import to_builtins
from msgspec.structs import astuple

from perdure_server.kernel.namespace import Measure, Namespace, Tally
from perdure_server.kernel.schedule import Overlap, Schedule
from perdure_server.ports.errors import CorruptDocument
from perdure_server.store.collection import Collection
from perdure_server.store.definitions import identity
from perdure_server.store.driver import Connection
from perdure_server.store.memory_records import Around
from perdure_server.store.stored_bytes import stored_bytes

SCHEDULES: Final = "schedules"
NAMESPACES: Final = "namespaces"
TALLIES: Final = "namespace_tallies"

Document = dict[str, Any]

logger = logging.getLogger(__name__)


def encode_schedule(schedule: Schedule) -> Document:
    """The document of a schedule. Maps by a caller's names become pairs; what `overlap` says is a name."""
    document: Document = to_builtins(schedule, builtin_types=(bytes,))
    document.setdefault("revision", schedule.revision)
    document["workflow_type"] = schedule.settings.start.workflow_type
    start = document["settings"]["start"]
    if "labels" in start:
        start["labels"] = [[key, value] for key, value in start["labels"].items()]
    if "metadata" in start.get("input", {}):
        start["input"]["metadata"] = [[key, value] for key, value in start["input"]["metadata"].items()]
    for holder in (document["settings"], document.get("starting"), *document.get("waiting", ())):
        if holder and holder.get("overlap") is not None:
            holder["overlap"] = Overlap(holder["overlap"]).name
    return {"_id": identity(schedule.namespace, schedule.schedule_id), **document}


def decode_schedule(document: Document) -> Schedule:
    """The schedule in a stored document, which is taken over. Raises CorruptDocument."""
    try:
        stored_id = document.pop("_id")
        del document["workflow_type"]
        start = document["settings"]["start"]
        if "labels" in start:
            start["labels"] = dict(start["labels"])
        if "metadata" in start.get("input", {}):
            start["input"]["metadata"] = dict(start["input"]["metadata"])
        for holder in (document["settings"], document.get("starting"), *document.get("waiting", ())):
            if holder and holder.get("overlap") is not None:
                holder["overlap"] = Overlap[holder["overlap"]]
        schedule = msgspec.convert(document, Schedule, builtin_types=(bytes,))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptDocument("a stored schedule does not decode") from error
    if stored_id != identity(schedule.namespace, schedule.schedule_id):
        raise CorruptDocument("the identity in a stored schedule is not that of its _id")
    return schedule


def encode_namespace(namespace: Namespace) -> Document:
    """The document of a namespace; `_id` is its name."""
    document: Document = to_builtins(namespace)
    document.setdefault("revision", namespace.revision)
    settings = document["settings"]
    if "labels" in settings:
        settings["labels"] = [[key, value] for key, value in settings["labels"].items()]
    return {"_id": document.pop("name"), **document}


def decode_namespace(document: Document) -> Namespace:
    """The namespace in a stored document, which is taken over. Raises CorruptDocument."""
    try:
        document["name"] = document.pop("_id")
        settings = document["settings"]
        if "labels" in settings:
            settings["labels"] = dict(settings["labels"])
        return msgspec.convert(document, Namespace)
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptDocument("a stored namespace does not decode") from error


class MongoSchedules:
    """The port's Schedules on MongoDB."""

    def __init__(self, connection: Connection, linearizable: str) -> None:
        self._schedules = Collection(connection, SCHEDULES, linearizable)

    async def get(self, namespace: str, schedule_id: str) -> Schedule | None:
        """As the port says."""
        found = await self._schedules.get(identity(namespace, schedule_id))
        return decode_schedule(found) if found is not None else None

    async def put(self, old: Schedule | None, new: Schedule) -> bool:
        """As the port says."""
        return await _put(self._schedules, encode_schedule(old) if old is not None else None, encode_schedule(new))

    async def delete(self, schedule: Schedule) -> bool:
        """As the port says."""
        condition = {"_id": identity(schedule.namespace, schedule.schedule_id), "revision": schedule.revision}
        return await self._schedules.remove(condition, 1) == 1

    async def due(self, until: int, limit: int) -> Sequence[Schedule]:
        """As the port says."""
        found = await self._schedules.find({"due": {"$lte": until}}, limit, {"due": 1})
        return [schedule for document in found if (schedule := _readable(document)) is not None]

    async def list(self, namespace: str, workflow_type: str, after: str, limit: int) -> Sequence[Schedule]:
        """As the port says."""
        condition: Document = {"namespace": namespace, "schedule_id": {"$gt": after}, "deleted": {"$exists": False}}
        if workflow_type:
            condition["workflow_type"] = workflow_type
        return [decode_schedule(document) for document in await self._schedules.find(condition, limit, {"schedule_id": 1})]


class MongoNamespaces:
    """The port's Namespaces on MongoDB."""

    def __init__(self, connection: Connection, linearizable: str) -> None:
        self._namespaces = Collection(connection, NAMESPACES, linearizable)
        self._tallies = Collection(connection, TALLIES, linearizable)
        self._connection = connection

    async def get(self, name: str) -> Namespace | None:
        """As the port says."""
        found = await self._namespaces.get(name)
        return decode_namespace(found) if found is not None else None

    async def put(self, old: Namespace | None, new: Namespace) -> bool:
        """As the port says."""
        return await _put(self._namespaces, encode_namespace(old) if old is not None else None, encode_namespace(new))

    async def tally(self, name: str) -> Tally | None:
        """As the port says."""
        found = await self._tallies.get(name)
        return _decode_tally(found) if found is not None else None

    async def put_tally(self, old: Tally | None, new: Tally) -> bool:
        """As the port says."""
        return await _put(self._tallies, _encode_tally(old) if old is not None else None, _encode_tally(new))

    async def stored_bytes(self, name: str) -> int:
        """As the port says."""
        return await stored_bytes(self._connection, name)

    async def list(self, after: str, limit: int) -> Sequence[Namespace]:
        """As the port says."""
        return [decode_namespace(document) for document in await self._namespaces.find({"_id": {"$gt": after}}, limit, {"_id": 1})]


def _encode_tally(tally: Tally) -> Document:
    watchers = [[server, *said] for server, said in tally.watchers.items()]
    document = {"_id": tally.namespace, "revision": tally.revision, "window": tally.window, "taken": tally.taken, "watchers": watchers}
    if tally.measure is not None:
        document["measure"] = list(astuple(tally.measure))
    return document


def _decode_tally(document: Document) -> Tally:
    try:
        watchers = {server: (count, time) for server, count, time in document["watchers"]}
        measure = Measure(*document["measure"]) if "measure" in document else None
        return Tally(document["_id"], document["revision"], document["window"], document["taken"], watchers, measure)
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptDocument("a stored tally does not decode") from error


async def _put(collection: Collection, old: Document | None, new: Document) -> bool:
    if old is None:
        return await collection.insert(new)
    changes = {name: value for name, value in new.items() if name not in old or old[name] != value}
    removed = [name for name in old if name not in new]
    return await collection.change({"_id": old["_id"], "revision": old["revision"]}, changes, removed)


def _readable(document: Document) -> Schedule | None:
    # One that does not decode must not keep the others from firing.
    try:
        return decode_schedule(document)
    except CorruptDocument:
        logger.exception("a stored schedule does not decode; it does not fire")
        return None


class MemorySchedules:
    """The port's Schedules, kept as the documents that MongoDB would keep."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._stored: dict[tuple[str, str], Schedule] = {}

    async def get(self, namespace: str, schedule_id: str) -> Schedule | None:
        """As the port says."""
        return await self._around("schedules.get", lambda: self._stored.get((namespace, schedule_id)))

    async def put(self, old: Schedule | None, new: Schedule) -> bool:
        """As the port says."""
        kept = decode_schedule(encode_schedule(new))
        return await self._around("schedules.put", lambda: _replace(self._stored, (new.namespace, new.schedule_id), old, kept))

    async def delete(self, schedule: Schedule) -> bool:
        """As the port says."""
        return await self._around("schedules.delete", lambda: self._delete(schedule))

    async def due(self, until: int, limit: int) -> Sequence[Schedule]:
        """As the port says."""

        def apply() -> list[Schedule]:
            found = [schedule for schedule in self._stored.values() if schedule.due is not None and schedule.due <= until]
            return sorted(found, key=lambda schedule: schedule.due or 0)[:limit]

        return await self._around("schedules.due", apply)

    async def list(self, namespace: str, workflow_type: str, after: str, limit: int) -> Sequence[Schedule]:
        """As the port says."""

        def apply() -> list[Schedule]:
            found = [schedule for key, schedule in self._stored.items() if key[0] == namespace and key[1].encode() > after.encode()]
            wanted = [
                schedule for schedule in found if workflow_type in {"", schedule.settings.start.workflow_type} and not schedule.deleted
            ]
            return sorted(wanted, key=lambda schedule: schedule.schedule_id.encode())[:limit]

        return await self._around("schedules.list", apply)

    def _delete(self, schedule: Schedule) -> bool:
        key = (schedule.namespace, schedule.schedule_id)
        if key not in self._stored or self._stored[key].revision != schedule.revision:
            return False
        del self._stored[key]
        return True


class MemoryNamespaces:
    """The port's Namespaces, kept as the documents that MongoDB would keep."""

    def __init__(self, around: Around, stored_bytes: Callable[[str], int]) -> None:
        self._around = around
        self._stored_bytes = stored_bytes
        self._stored: dict[str, Namespace] = {}
        self._tallies: dict[str, Tally] = {}

    async def tally(self, name: str) -> Tally | None:
        """As the port says."""
        return await self._around("namespaces.tally", lambda: self._tallies.get(name))

    async def put_tally(self, old: Tally | None, new: Tally) -> bool:
        """As the port says."""
        kept = _decode_tally(_encode_tally(new))
        return await self._around("namespaces.put_tally", lambda: _replace(self._tallies, new.namespace, old, kept))

    async def stored_bytes(self, name: str) -> int:
        """As the port says."""
        return await self._around("namespaces.stored_bytes", lambda: self._stored_bytes(name))

    async def get(self, name: str) -> Namespace | None:
        """As the port says."""
        return await self._around("namespaces.get", lambda: self._stored.get(name))

    async def put(self, old: Namespace | None, new: Namespace) -> bool:
        """As the port says."""
        kept = decode_namespace(encode_namespace(new))
        return await self._around("namespaces.put", lambda: _replace(self._stored, new.name, old, kept))

    async def list(self, after: str, limit: int) -> Sequence[Namespace]:
        """As the port says."""

        def apply() -> list[Namespace]:
            return [self._stored[name] for name in sorted(self._stored) if name > after][:limit]

        return await self._around("namespaces.list", apply)


K = TypeVar("K")
R = TypeVar("R", Schedule, Namespace, Tally)


def _replace(stored: dict[K, R], key: K, old: R | None, new: R) -> bool:
    found = stored.get(key)
    if (found is None) != (old is None) or (found is not None and old is not None and found.revision != old.revision):
        return False
    stored[key] = new
    return True

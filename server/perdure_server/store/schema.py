"""Indexes and numbered online migrations. Servers of the version before must be able to work while a migration runs and after it."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from msgspec import Struct

from perdure_server.ports.errors import StoreError
from perdure_server.store import batches, documents, limits
from perdure_server.store.audit import AUDIT, NEWEST_FIRST, OF_WORKFLOW, OLDEST
from perdure_server.store.definitions import ACTIVE, DEFINITIONS
from perdure_server.store.driver import MAJORITY, Connection
from perdure_server.store.payloads import PAYLOADS
from perdure_server.store.replies import confirmed, is_duplicate
from perdure_server.store.resources import RESOURCES, STRIPES
from perdure_server.store.schedules import SCHEDULES
from perdure_server.store.sessions import SESSIONS
from perdure_server.store.stored_bytes import OWNED
from perdure_server.store.workflows import WORKFLOWS

log = logging.getLogger(__name__)

MIGRATIONS_COLLECTION: Final = "migrations"

Keys = dict[str, int]

# Collection -> (key, sparse). A field that most documents lack has a sparse index, so that fast workflows touch `_id` alone.
INDEXES: Final[dict[str, tuple[tuple[Keys, bool], ...]]] = {
    WORKFLOWS: (
        ({"wake_time": 1}, True),
        ({"ready": 1}, True),
        ({"sessions": 1}, True),
        ({"namespace": 1, "workflow_type": 1, "state": 1, "start_time": 1, "_id": 1}, False),
        ({"labels": 1}, True),
        ({"expire_time": 1}, True),
    ),
    PAYLOADS: ((OWNED, True),),
    SESSIONS: (({"alive": 1, "lease_until": 1}, False),),
    DEFINITIONS: (({"namespace": 1, "workflow_type": 1}, False),),
    ACTIVE: (({"namespace": 1, "workflow_type": 1}, False),),
    RESOURCES: (({"namespace": 1, "name": 1}, False),),
    STRIPES: (({"namespace": 1, "resource": 1, "key": 1}, False), ({"in_use": 1}, True), ({"waiting_count": 1}, True)),
    batches.BATCHES: ((batches.NEWEST_FIRST, False), (batches.BY_STATE, False), (batches.BY_END, True)),
    SCHEDULES: (({"due": 1}, True), ({"namespace": 1, "schedule_id": 1}, False)),
    AUDIT: ((NEWEST_FIRST, False), (OF_WORKFLOW, True), (OLDEST, False)),
}


class Migration(Struct, frozen=True):
    """One step of the stored format. `run` must be safe to repeat and to race, since several servers may start at once."""

    number: int
    name: str
    run: Callable[[Connection], Awaitable[None]]


async def _nothing(connection: Connection) -> None:
    """The first format needs no change."""


MIGRATIONS: Final = (Migration(1, "first format", _nothing),)


async def ensure_indexes(connection: Connection) -> None:
    """Creates what is missing. Raises StoreError if an index of that name exists with another definition.

    On a collection that is large already this takes longer than a command may: then StoreUnavailable, while the server goes on
    building, and the next try finds more of it done.
    """
    for collection, indexes in INDEXES.items():
        specifications = [_specification(keys, sparse) for keys, sparse in indexes]
        await connection.command({"createIndexes": collection, "indexes": specifications, "writeConcern": {"w": "majority"}})


async def migrate(connection: Connection) -> int:
    """Runs every migration that is not recorded as done, in order; returns the number of the stored format."""
    command = {"find": MIGRATIONS_COLLECTION, "filter": {}, "singleBatch": True, "maxTimeMS": limits.READ_TIMEOUT_MS}
    reply = await connection.read({**command, "readConcern": {"level": "majority"}})
    done = {document["_id"] for document in reply["cursor"]["firstBatch"]}
    for migration in MIGRATIONS:
        if migration.number in done:
            continue
        await migration.run(connection)
        await _record(connection, migration)
        log.info("migration %d (%s) done", migration.number, migration.name)
    newest = MIGRATIONS[-1].number
    if done and max(done) > newest:
        log.warning("the stored format is %d, newer than this server's %d: a newer server has been here", max(done), newest)
    return max(done | {newest})


async def release_quarantined(connection: Connection) -> None:
    """Frees the documents that a server of another format could not decode: this one tries for itself."""
    update = {
        "q": {f"{documents.QUARANTINED}.format": {"$exists": True, "$ne": documents.FORMAT}},
        "u": {"$unset": {documents.QUARANTINED: ""}},
        "multi": True,
    }
    confirmed(await connection.command({"update": WORKFLOWS, "updates": [update], "writeConcern": MAJORITY}))


async def _record(connection: Connection, migration: Migration) -> None:
    document = {"_id": migration.number, "name": migration.name}
    try:
        confirmed(await connection.command({"insert": MIGRATIONS_COLLECTION, "documents": [document], "writeConcern": MAJORITY}))
    except StoreError as error:
        if not is_duplicate(error):
            raise


def index_name(keys: Keys) -> str:
    """What an index of these keys is called."""
    return "_".join(name.strip("_") for name in keys)


def _specification(keys: Keys, sparse: bool) -> dict[str, Any]:
    specification: dict[str, Any] = {"key": keys, "name": index_name(keys)}
    if sparse:
        specification["sparse"] = True
    return specification

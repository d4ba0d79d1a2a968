"""What a deployment can do, found by doing it: features are tried with a write rather than read off a version."""

import logging
import secrets
from typing import Any, Final

from msgspec import Struct

from perdure_server.ports.errors import StoreError
from perdure_server.store.committer import Road
from perdure_server.store.driver import COMMAND_NOT_FOUND, MAJORITY, CommandRefusedError, Connection
from perdure_server.store.replies import confirmed, value_of

log = logging.getLogger(__name__)

PROBES: Final = "probes"
SECANTUS: Final = "SecantusDB"

NO_REPLICA_SET: Final = (
    "this MongoDB runs without a replica set, so it cannot promise that an acknowledged write survives. "
    "One member will do: start mongod with --replSet rs0 and run `rs.initiate()` in mongosh once."
)

Document = dict[str, Any]


class Abilities(Struct, frozen=True):
    """What was found. `linearizable` is the read concern to use where linearizable is asked."""

    kind: str
    version: str
    topology: str
    road: Road
    linearizable: str
    arbiters: bool


async def probe(connection: Connection, road: Road | None = None) -> Abilities:
    """Tries everything that the store relies on; `road` forces one instead of trying it.

    Raises StoreUnavailable, or StoreError with the remedy.
    """
    hello = await connection.admin_command({"hello": 1})
    topology = _topology(hello)
    build = await connection.admin_command({"buildInfo": 1})
    key = f"probe-{secrets.token_hex(8)}"
    await _conditional_writes(connection, key)
    await _atomic_pipelines(connection, key)
    linearizable = await _linearizable(connection, key)
    kind = SECANTUS if "secantusVersion" in build else "MongoDB"
    if road is Road.TRANSACTION and kind != SECANTUS:
        raise StoreError("store-transactions is for SecantusDB; MongoDB needs no transactions to store a batch quickly: leave it out")
    road = road or await _road(connection, key, kind)
    await connection.command({"delete": PROBES, "deletes": [{"q": {"_id": key}, "limit": 1}], "writeConcern": MAJORITY})
    return Abilities(
        kind=kind,
        version=str(build.get("secantusVersion", build["version"])),
        topology=topology,
        road=road,
        linearizable=linearizable,
        arbiters=bool(hello.get("arbiters")),
    )


def _topology(hello: Document) -> str:
    if hello.get("msg") == "isdbgrid":
        return "sharded cluster"
    if "setName" in hello:
        return "replica set"
    raise StoreError(NO_REPLICA_SET)


async def _conditional_writes(connection: Connection, key: str) -> None:
    try:
        document = {"_id": key, "revision": 1, "held": []}
        confirmed(await connection.command({"insert": PROBES, "documents": [document], "writeConcern": MAJORITY}))
        stale = {"q": {"_id": key, "revision": 7}, "u": {"$set": {"revision": 8}}, "multi": False}
        current = {"q": {"_id": key, "revision": 1}, "u": {"$set": {"revision": 2}}, "multi": False}
        command = {"update": PROBES, "updates": [stale, current], "ordered": False, "writeConcern": MAJORITY}
        matched = confirmed(await connection.command(command))
    except CommandRefusedError as error:
        raise StoreError(
            f"this store refuses writes acknowledged by majority and journal (code {error.code}); Perdure needs them, and the "
            "readWrite and dbAdmin roles on its database"
        ) from error
    if matched != 1:
        raise StoreError("this store does not keep the condition of a conditional write; Perdure cannot run on it")


async def _atomic_pipelines(connection: Connection, key: str) -> None:
    update = [{"$set": {"held": {"$setUnion": ["$held", {"$setDifference": [["a", "b"], ["b"]]}]}}}]
    command = {"findAndModify": PROBES, "query": {"_id": key}, "update": update, "new": True, "writeConcern": MAJORITY}
    try:
        stored = value_of(await connection.command(command))
    except CommandRefusedError as error:
        raise StoreError(f"this store refuses updates with a pipeline (code {error.code}); MongoDB 6, 7 and 8 have them") from error
    if stored is None or stored["held"] != ["a"]:
        raise StoreError("this store computes updates with a pipeline wrongly; Perdure cannot run on it")


async def _linearizable(connection: Connection, key: str) -> str:
    for level in ("linearizable", "majority"):
        try:
            concern = {"level": level}
            await connection.read({"find": PROBES, "filter": {"_id": key}, "limit": 1, "singleBatch": True, "readConcern": concern})
        except CommandRefusedError as error:
            log.warning("this store refuses reads of level %s (code %d)", level, error.code)
        else:
            return level
    return "local"


async def _road(connection: Connection, key: str, kind: str) -> Road:
    operation = {"update": 0, "filter": {"_id": key}, "updateMods": {"$set": {"revision": 3}}, "multi": False}
    command = {
        "bulkWrite": 1,
        "ops": [operation, {**operation, "filter": {"_id": key, "revision": -1}}],
        "nsInfo": [{"ns": f"{connection.database}.{PROBES}"}],
        "ordered": False,
        "errorsOnly": False,
        "writeConcern": MAJORITY,
    }
    try:
        reply = await connection.admin_command(command)
    except CommandRefusedError as error:
        if error.code != COMMAND_NOT_FOUND:
            log.warning("bulkWrite exists but was refused (code %d)", error.code)
        return Road.INSERT_AND_UPDATE
    told = [result["n"] for result in reply["cursor"]["firstBatch"]]
    if told != [1, 0]:
        return Road.INSERT_AND_UPDATE
    # SecantusDB passes over the `j` of a bulkWrite: unless it runs with --sync-on-commit, kill -9 would lose acknowledged writes.
    return Road.INSERT_AND_UPDATE if kind == SECANTUS else Road.BULK_WRITE

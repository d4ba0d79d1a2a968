"""A look at a MongoDB without a server: what it is, what it promises, its indexes and its clock. Changes nothing but a probe's document."""

import time
from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from perdure_server.ports.errors import StoreError, StoreUnavailable
from perdure_server.store import limits
from perdure_server.store.driver import CommandRefusedError, Connection
from perdure_server.store.mongo import MongoStore
from perdure_server.store.probe import SECANTUS, probe
from perdure_server.store.schema import INDEXES, index_name

_SAMPLES: Final = 3
_CLOCK_APART: Final = limits.CLOCK_APART_MS


class Finding(NamedTuple):
    """One thing that was looked at; severity is OK, WARNING or ERROR."""

    name: str
    severity: str
    finding: str
    remedy: str = ""


async def examine_store(url: str, database: str) -> AsyncIterator[Finding]:
    """All findings. Never raises for what is wrong with the store."""
    try:
        store = MongoStore(url, database)
    except StoreError as error:
        yield Finding("store.url", "ERROR", str(error), "mongodb://HOST:PORT/ or mongodb+srv://HOST/")
        return
    try:
        async for finding in _looked(store):
            yield finding
    except StoreUnavailable as error:
        yield Finding("store.reachable", "ERROR", str(error), "is it running, and is the address right? A firewall, a password, TLS?")
    except StoreError as error:
        yield Finding("store.usable", "ERROR", str(error))
    finally:
        await store.close()


async def _looked(store: MongoStore) -> AsyncIterator[Finding]:
    connection = store.connection
    samples = [await store.time() for _ in range(_SAMPLES)]
    told, trip = min(samples, key=lambda sample: sample[1])
    yield Finding("store.reachable", "OK", f"answers within {trip} ms")
    abilities = await probe(connection)
    yield Finding("store.usable", "OK", f"{abilities.kind} {abilities.version}, {abilities.topology}; the writes that are needed work")
    if abilities.kind == SECANTUS:
        yield Finding("store.write_concern", "WARNING", "journalled only if it runs with --sync-on-commit", "see to that")
    else:
        yield Finding("store.write_concern", "OK", "majority and journal are accepted")
    if abilities.arbiters:
        yield Finding("store.topology", "WARNING", "has arbiters", "replace the arbiter by a member that keeps data")
    if abilities.linearizable != "linearizable":
        yield Finding(
            "store.read_concern", "WARNING", f"reads of level {abilities.linearizable} at best", "after a failover one may be old"
        )
    else:
        yield Finding("store.read_concern", "OK", "linearizable reads work")
    apart = abs(time.time_ns() // 1_000_000 - told)
    if apart > _CLOCK_APART:
        yield Finding("store.clock", "WARNING", f"its clock and this machine's are {apart} ms apart", "run NTP on both")
    else:
        yield Finding("store.clock", "OK", f"its clock and this machine's are {apart} ms apart")
    yield await _indexes(connection)


async def _indexes(connection: Connection) -> Finding:
    missing: list[str] = []
    for collection, indexes in INDEXES.items():
        there = await _names(connection, collection)
        missing += [f"{collection}.{name}" for keys, _ in indexes if (name := index_name(keys)) not in there]
    if missing:
        return Finding("store.indexes", "WARNING", f"missing: {', '.join(missing)}", "a server makes them when it starts; start one")
    return Finding("store.indexes", "OK", "all are there")


async def _names(connection: Connection, collection: str) -> set[str]:
    try:
        reply = await connection.command({"listIndexes": collection, "cursor": {}})
    except CommandRefusedError:
        return set()  # no such collection yet
    return {str(index["name"]) for index in reply["cursor"]["firstBatch"]}

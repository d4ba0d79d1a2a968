"""Batches as transactions, for the stand-in store only: SecantusDB with --sync-on-commit, where it costs a third of the processor time.

There, a client that dies between a batch and its commit leaves the documents of the batch locked for ever (docs/notes-secantus.md). So a
server registers the sessions that it uses, says every second that it lives, and whoever finds a registration that is three seconds old
kills the session, which undoes the transaction and unlocks its documents. A session whose transaction ended nobody knows how is used no
more, and its registration lapses, so it is killed in the same way. MongoDB needs none of this and never goes this way.
"""

import asyncio
import logging
import time
from datetime import timedelta
from typing import Any, Final

from bson import Binary
from bson.binary import UUID_SUBTYPE

from perdure_server.ports.errors import StoreError
from perdure_server.store import limits
from perdure_server.store.driver import MAJORITY, Connection, Session, TransactionUndoneError

log = logging.getLogger(__name__)

REGISTRY: Final = "flush_sessions"

Document = dict[str, Any]


class Transactions:
    """The registered sessions of this server. `close` ends them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._free: list[Session] = []
        self._ids: list[bytes] = []
        self._lives_until = 0.0  # on the monotonic clock: others may kill our sessions from then on
        self._next: asyncio.TimerHandle | None = None
        self._renewal: asyncio.Task[None] | None = None
        self._closed = False

    async def open(self) -> None:
        """Registers the sessions, and kills those of servers that have died. Raises StoreError."""
        await self._live()
        self._wait()

    async def close(self) -> None:
        """Unregisters; what was under way has ended."""
        self._closed = True
        if self._next is not None:
            self._next.cancel()
        if self._renewal is not None:
            await asyncio.wait([self._renewal])
        try:
            await self._forget(self._ids)
        except StoreError:
            log.info("the sessions of this server stay registered for a while: the store is not reached")

    async def send(self, command: Document) -> Document:
        """Sends an admin command as one transaction.

        Raises TransactionUndoneError: nothing is stored, go the other road; StoreUnavailable: unknown.
        """
        if not self._free or time.monotonic() > self._lives_until:
            raise TransactionUndoneError
        session = self._free.pop()
        try:
            reply = await self._connection.admin_transaction(session, command)
        except TransactionUndoneError:
            self._free.append(session)
            raise
        except BaseException:
            self._ids.remove(_id_of(session))
            raise
        self._free.append(session)
        return reply

    def _wait(self) -> None:
        if self._closed:
            return
        self._next = asyncio.get_running_loop().call_later(limits.REGISTRATION_RENEWED_MS / 1_000, self._start)

    def _start(self) -> None:
        # Not the engine's task: nobody above the store knows of it, and `close` ends it.
        self._renewal = asyncio.get_running_loop().create_task(self._renew(), name="registration of flush sessions")

    async def _renew(self) -> None:
        try:
            await self._live()
        except StoreError as error:
            log.warning("the sessions of this server could not be registered anew: batches go out one write at a time", exc_info=error)
        self._wait()

    async def _live(self) -> None:
        fresh = [await self._connection.new_session() for _ in range(limits.BATCHES_IN_FLIGHT - len(self._ids))]
        began = time.monotonic()
        now = (await self._connection.admin_command({"hello": 1}))["localTime"]
        until = now + timedelta(milliseconds=limits.REGISTRATION_MS)
        updates = [
            {"q": {"_id": identity}, "u": {"$set": {"until": until}}, "upsert": True} for identity in [*self._ids, *map(_id_of, fresh)]
        ]
        await self._connection.command({"update": REGISTRY, "updates": updates, "ordered": False, "writeConcern": MAJORITY})
        # A second less than others grant: a batch that begins in time is committed in time.
        self._lives_until = began + limits.REGISTRATION_USED_MS / 1_000
        self._free += fresh
        self._ids += map(_id_of, fresh)
        reply = await self._connection.read({"find": REGISTRY, "filter": {"until": {"$lt": now}}, "projection": {"_id": 1}})
        dead = [bytes(document["_id"]) for document in reply["cursor"]["firstBatch"]]
        if dead:
            await self._connection.admin_command({"killSessions": [{"id": Binary(identity, UUID_SUBTYPE)} for identity in dead]})
            await self._forget(dead)
            log.warning("killed %d sessions of servers that have died, or of batches whose end nobody knows", len(dead))

    async def _forget(self, ids: list[bytes]) -> None:
        deletes = [{"q": {"_id": identity}, "limit": 1} for identity in ids]
        await self._connection.command({"delete": REGISTRY, "deletes": deletes, "ordered": False, "writeConcern": MAJORITY})


def _id_of(session: Session) -> bytes:
    return bytes(session.session_id["id"])

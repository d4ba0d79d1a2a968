"""Batches as transactions, for the stand-in store only: SecantusDB with --sync-on-commit, where it costs a third of the processor time.

There, a client that dies between a batch and its commit leaves the documents of the batch locked for ever (docs/notes-secantus.md). So a
server registers the sessions that it uses, says every second that it lives, and whoever finds a registration that is three seconds old
kills the session, which undoes the transaction and unlocks its documents. A session whose transaction ended nobody knows how is used no
more, and its registration lapses, so it is killed in the same way. A server that sends no transactions for a while is not registered, and
looks only as often as a registration of another one can end; its next batch goes the other road. MongoDB needs none of this and never
goes this way.
"""

import asyncio
import logging
import time
from datetime import datetime, timedelta
from typing import Any, Final

from bson import Binary
from bson.binary import UUID_SUBTYPE

from perdure_server.ports.errors import StoreError
from perdure_server.store import limits
from perdure_server.store.driver import MAJORITY, Connection, Session, TransactionUndoneError

log = logging.getLogger(__name__)

REGISTRY: Final = "flush_sessions"
_REGISTERED_FOR: Final = timedelta(milliseconds=limits.REGISTRATION_MS)

Document = dict[str, Any]


class Transactions:
    """The registered sessions of this server. `close` ends them."""

    def __init__(self, connection: Connection, idle_after: float = limits.REGISTRATION_IDLE_MS / 1_000) -> None:
        """`idle_after`: seconds without a transaction until it unregisters."""
        self._connection = connection
        self._idle_after = idle_after
        self._sent_at = time.monotonic()
        self._free: list[Session] = []
        self._ids: list[bytes] = []
        self._lives_until = 0.0  # on the monotonic clock: others may kill our sessions from then on
        self._next: asyncio.TimerHandle | None = None
        self._renewal: asyncio.Task[None] | None = None
        self._wanted = False  # a batch came while there was no registration
        self._closed = False

    async def open(self) -> None:
        """Registers the sessions, and kills those of servers that have died. Raises StoreError."""
        await self._live()
        self._wait(limits.REGISTRATION_RENEWED_MS)

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
        """Sends a command as one transaction.

        Raises TransactionUndoneError: nothing is stored, go the other road; StoreUnavailable: unknown.
        """
        self._sent_at = time.monotonic()
        if not self._free or self._sent_at > self._lives_until:
            if not self._lives_until:
                self._hurry()
            raise TransactionUndoneError
        session = self._free.pop()
        try:
            reply = await self._connection.transaction(session, command)
        except TransactionUndoneError:
            self._free.append(session)
            raise
        except BaseException:
            self._ids.remove(_id_of(session))
            raise
        self._free.append(session)
        return reply

    def _wait(self, rest: int) -> None:
        if not self._closed:
            self._next = asyncio.get_running_loop().call_later(rest / 1_000, self._start)

    def _hurry(self) -> None:
        """Register again, now, or right after what is under way."""
        self._wanted = True
        if self._next is not None and not self._closed:
            self._next.cancel()
            self._start()

    def _start(self) -> None:
        self._next = None
        # Not the engine's task: nobody above the store knows of it, and `close` ends it.
        self._renewal = asyncio.get_running_loop().create_task(self._renew(), name="registration of flush sessions")

    async def _renew(self) -> None:
        rest = limits.REGISTRATION_RENEWED_MS
        wanted, self._wanted = self._wanted, False
        try:
            if wanted or time.monotonic() - self._sent_at < self._idle_after or len(self._free) < len(self._ids):
                await self._live()
            else:
                rest = await self._idle()
        except StoreError as error:
            log.warning("the sessions of this server could not be registered anew: batches go out one write at a time", exc_info=error)
        self._wait(0 if self._wanted else rest)

    async def _idle(self) -> int:
        """Unregister; returns after how many ms another server's registration may have ended."""
        if self._lives_until:
            self._lives_until = 0.0
            await self._forget(self._ids)
        reply = await self._connection.read({"find": REGISTRY, "projection": {"until": 1}})
        others = [document["until"] for document in reply["cursor"]["firstBatch"]]
        if not others:
            return limits.REGISTRATION_MS
        now = (await self._connection.admin_command({"hello": 1}))["localTime"]
        await self._kill_dead(now)
        soonest = min((until - now for until in others if until >= now), default=_REGISTERED_FOR)
        return min(soonest, _REGISTERED_FOR) // timedelta(milliseconds=1) + 1

    async def _live(self) -> None:
        fresh = [await self._connection.new_session() for _ in range(limits.BATCHES_IN_FLIGHT - len(self._ids))]
        began = time.monotonic()
        now = (await self._connection.admin_command({"hello": 1}))["localTime"]
        until = now + _REGISTERED_FOR
        updates = [
            {"q": {"_id": identity}, "u": {"$set": {"until": until}}, "upsert": True} for identity in [*self._ids, *map(_id_of, fresh)]
        ]
        await self._connection.command({"update": REGISTRY, "updates": updates, "ordered": False, "writeConcern": MAJORITY})
        # A second less than others grant: a batch that begins in time is committed in time.
        self._lives_until = began + limits.REGISTRATION_USED_MS / 1_000
        self._free += fresh
        self._ids += map(_id_of, fresh)
        await self._kill_dead(now)

    async def _kill_dead(self, now: datetime) -> None:
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

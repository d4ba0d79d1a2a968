"""The `sessions` collection: small documents, every change one atomic command."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import to_builtins

from perdure_server.ports.errors import StoreError
from perdure_server.ports.store import Session
from perdure_server.store import limits
from perdure_server.store.driver import MAJORITY, Connection
from perdure_server.store.replies import confirmed, is_duplicate, value_of

SESSIONS: Final = "sessions"

Document = dict[str, Any]


def encode_session(session: Session) -> Document:
    """Every field, so that conditions may name them; maps by caller's names become pairs."""
    document: Document = to_builtins({name: getattr(session, name) for name in session.__struct_fields__}, builtin_types=(bytes,))
    document["_id"] = document.pop("session_id")
    for pool in document["pools"]:
        pool["step_contracts"] = [[step, contract] for step, contract in pool["step_contracts"].items()]
    document["labels"] = [[name, value] for name, value in document["labels"].items()]
    return document


def decode_session(document: Document) -> Session:
    """The session in a stored document."""
    document["session_id"] = document.pop("_id")
    for pool in document["pools"]:
        pool["step_contracts"] = dict(pool["step_contracts"])
    document["labels"] = dict(document.get("labels", ()))
    return msgspec.convert(document, Session)


class MongoSessions:
    """The port's Sessions on MongoDB."""

    def __init__(self, connection: Connection, linearizable: str) -> None:
        self._connection = connection
        self._linearizable = linearizable

    async def open(self, session: Session) -> None:
        """As the port says; repeated after an unknown result it finds its own."""
        command = {"insert": SESSIONS, "documents": [encode_session(session)], "writeConcern": MAJORITY}
        try:
            confirmed(await self._connection.command(command))
        except StoreError as error:
            if not is_duplicate(error):
                raise
            stored = await self.get(session.session_id)
            if stored is None or stored.secret != session.secret:
                raise

    async def get(self, session_id: str) -> Session | None:
        """As the port says."""
        reply = await self._connection.read(
            {
                "find": SESSIONS,
                "filter": {"_id": session_id},
                "limit": 1,
                "singleBatch": True,
                "readConcern": {"level": self._linearizable},
                "maxTimeMS": limits.READ_TIMEOUT_MS,
            }
        )
        batch = reply["cursor"]["firstBatch"]
        return decode_session(batch[0]) if batch else None

    async def reconnect(self, known: Session, lease_until: int, server_id: str, peer: str) -> Session | None:
        """As the port says."""
        condition = {"_id": known.session_id, "secret": known.secret, "connection_no": known.connection_no, "alive": True}
        place = {"connection_no": known.connection_no + 1, "server_id": server_id, "peer": peer, "draining": False}
        update = {"$set": place, "$max": {"lease_until": lease_until}}
        stored = await self._modify(condition, update)
        return decode_session(stored) if stored is not None else None

    async def renew(self, session_id: str, connection_no: int, lease_until: int, held: Sequence[str]) -> bool:
        """As the port says. A renewal that arrives late neither shortens the lease nor drops what a later one named."""
        named = {"$literal": list(held)}
        is_newer = {"$gt": [lease_until, "$lease_until"]}
        changes = {
            "lease_until": {"$max": ["$lease_until", lease_until]},
            "held": {"$setDifference": [{"$cond": [is_newer, named, {"$setUnion": ["$held", named]}]}, "$refused"]},
        }
        condition = {"_id": session_id, "connection_no": connection_no, "alive": True}
        update = {"q": condition, "u": [{"$set": changes}], "multi": False}
        return confirmed(await self._connection.command({"update": SESSIONS, "updates": [update], "writeConcern": MAJORITY})) == 1

    async def hold(self, session_id: str, nonces: Sequence[str]) -> Sequence[str]:
        """As the port says."""
        added = {"$setDifference": [{"$literal": list(nonces)}, "$refused"]}
        stored = await self._modify({"_id": session_id, "alive": True}, [{"$set": {"held": {"$setUnion": ["$held", added]}}}])
        held = frozenset(stored["held"]) if stored is not None else frozenset()
        return [nonce for nonce in nonces if nonce in held]

    async def refuse(self, session_id: str, nonce: str) -> bool:
        """As the port says: one command decides, whatever `hold` does meanwhile. What a dead session held it has held."""
        literal = {"$literal": nonce}
        is_known = {"$or": [{"$in": [literal, "$held"]}, {"$in": [literal, "$refused"]}]}
        added = {"$slice": [{"$concatArrays": ["$refused", [literal]]}, -limits.REFUSED_KEPT]}
        refused = {"$cond": [is_known, "$refused", added]}
        stored = await self._modify({"_id": session_id}, [{"$set": {"refused": refused}}])
        return stored is None or nonce not in stored["held"]

    async def expired(self, until: int, emptied_until: int, limit: int) -> Sequence[Session]:
        """As the port says."""
        dead = {"alive": False, "emptied": {"$not": {"$gt": emptied_until}}}  # documents of older servers do not have the field
        return await self._find({"$or": [dead, {"alive": True, "lease_until": {"$lte": until}}]}, limit)

    async def mark_dead(self, session_id: str, lease_until: int) -> Session | None:
        """As the port says; an already dead session of that lease is returned again, so that a repeated call is harmless."""
        stored = await self._modify({"_id": session_id, "lease_until": lease_until}, {"$set": {"alive": False}})
        return decode_session(stored) if stored is not None else None

    async def end(self, session_id: str, connection_no: int) -> bool:
        """As the port says."""
        return await self._modify({"_id": session_id, "connection_no": connection_no}, {"$set": {"alive": False}}) is not None

    async def note_draining(self, session_id: str) -> None:
        """As the port says."""
        update = {"q": {"_id": session_id, "alive": True}, "u": {"$set": {"draining": True}}, "multi": False}
        confirmed(await self._connection.command({"update": SESSIONS, "updates": [update], "writeConcern": MAJORITY}))

    async def note_empty(self, session_id: str, now: int) -> None:
        """As the port says."""
        update = {"q": {"_id": session_id, "alive": False}, "u": {"$max": {"emptied": now}}, "multi": False}
        confirmed(await self._connection.command({"update": SESSIONS, "updates": [update], "writeConcern": MAJORITY}))

    async def delete(self, session_id: str) -> None:
        """As the port says."""
        command = {"delete": SESSIONS, "deletes": [{"q": {"_id": session_id, "alive": False}, "limit": 1}], "writeConcern": MAJORITY}
        confirmed(await self._connection.command(command))

    async def _modify(self, condition: Document, update: Document | list[Document]) -> Document | None:
        command = {"findAndModify": SESSIONS, "query": condition, "update": update, "new": True, "writeConcern": MAJORITY}
        return value_of(await self._connection.command(command))

    async def _find(self, condition: Document, limit: int) -> Sequence[Session]:
        reply = await self._connection.read(
            {
                "find": SESSIONS,
                "filter": condition,
                "sort": {"lease_until": 1},
                "limit": limit,
                "batchSize": limit,
                "singleBatch": True,
                "readConcern": {"level": "local"},
                "maxTimeMS": limits.READ_TIMEOUT_MS,
            }
        )
        return [decode_session(document) for document in reply["cursor"]["firstBatch"]]

    async def list(self, namespace: str, limit: int) -> Sequence[Session]:
        """As the port says."""
        found: dict[str, Session] = {}
        since, at_once = 0, min(limit, limits.SESSIONS_AT_ONCE)
        while True:  # a session that is renewed meanwhile moves on, so it may come twice, and none is passed by
            page = await self._find({"alive": True, "namespace": namespace, "lease_until": {"$gte": since}}, at_once)
            found.update((session.session_id, session) for session in page)
            if len(page) < at_once or len(found) >= limit:
                return list(found.values())[:limit]
            if page[-1].lease_until == since:
                at_once *= 2
            since = page[-1].lease_until

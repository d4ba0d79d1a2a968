"""Sessions in memory."""

from collections.abc import Sequence

from msgspec import convert, to_builtins
from msgspec.structs import replace

from perdure_server.ports.errors import StoreError
from perdure_server.ports.store import Session
from perdure_server.store import limits
from perdure_server.store.memory_records import Around


class MemorySessions:
    """The port's Sessions."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._stored: dict[str, Session] = {}

    async def open(self, session: Session) -> None:
        """As the port says."""

        def apply() -> None:
            stored = self._stored.setdefault(session.session_id, convert(to_builtins(session), Session))
            if stored.secret != session.secret:
                raise StoreError("the session id is taken")

        await self._around("sessions.open", apply)

    async def get(self, session_id: str) -> Session | None:
        """As the port says."""
        return await self._around("sessions.get", lambda: self._stored.get(session_id))

    async def reconnect(self, known: Session, lease_until: int, server_id: str, peer: str) -> Session | None:
        """As the port says."""

        def apply() -> Session | None:
            stored = self._alive(known.session_id)
            if stored is None or (stored.secret, stored.connection_no) != (known.secret, known.connection_no):
                return None
            changed = replace(stored, connection_no=known.connection_no + 1, lease_until=max(stored.lease_until, lease_until))
            return self._keep(replace(changed, server_id=server_id, peer=peer, draining=False))

        return await self._around("sessions.reconnect", apply)

    async def renew(self, session_id: str, connection_no: int, lease_until: int, held: Sequence[str]) -> bool:
        """As the port says."""

        def apply() -> bool:
            stored = self._alive(session_id)
            if stored is None or stored.connection_no != connection_no:
                return False
            named = held if lease_until > stored.lease_until else (*stored.held, *held)
            kept = tuple(dict.fromkeys(nonce for nonce in named if nonce not in stored.refused))
            self._keep(replace(stored, lease_until=max(stored.lease_until, lease_until), held=kept))
            return True

        return await self._around("sessions.renew", apply)

    async def hold(self, session_id: str, nonces: Sequence[str]) -> Sequence[str]:
        """As the port says."""

        def apply() -> list[str]:
            stored = self._alive(session_id)
            if stored is None:
                return []
            added = [nonce for nonce in nonces if nonce not in stored.refused]
            changed = self._keep(replace(stored, held=tuple(dict.fromkeys((*stored.held, *added)))))
            return [nonce for nonce in nonces if nonce in changed.held]

        return await self._around("sessions.hold", apply)

    async def refuse(self, session_id: str, nonce: str) -> bool:
        """As the port says."""

        def apply() -> bool:
            stored = self._stored.get(session_id)
            if stored is None:
                return True
            if nonce in stored.held:
                return False
            self._keep(replace(stored, refused=tuple(dict.fromkeys((*stored.refused, nonce)))[-limits.REFUSED_KEPT :]))
            return True

        return await self._around("sessions.refuse", apply)

    async def expired(self, until: int, emptied_until: int, limit: int) -> Sequence[Session]:
        """As the port says."""

        def is_due(session: Session) -> bool:
            return session.lease_until <= until if session.alive else session.emptied <= emptied_until

        def apply() -> list[Session]:
            found = [session for session in self._stored.values() if is_due(session)]
            return sorted(found, key=lambda session: session.lease_until)[:limit]

        return await self._around("sessions.expired", apply)

    async def mark_dead(self, session_id: str, lease_until: int) -> Session | None:
        """As the port says."""

        def apply() -> Session | None:
            stored = self._stored.get(session_id)
            if stored is None or stored.lease_until != lease_until:
                return None
            return self._keep(replace(stored, alive=False))

        return await self._around("sessions.mark_dead", apply)

    async def end(self, session_id: str, connection_no: int) -> bool:
        """As the port says."""

        def apply() -> bool:
            stored = self._stored.get(session_id)
            if stored is None or connection_no != stored.connection_no:
                return False
            return not self._keep(replace(stored, alive=False)).alive

        return await self._around("sessions.end", apply)

    async def note_draining(self, session_id: str) -> None:
        """As the port says."""

        def apply() -> None:
            stored = self._alive(session_id)
            if stored is not None:
                self._keep(replace(stored, draining=True))

        await self._around("sessions.note_draining", apply)

    async def note_empty(self, session_id: str, now: int) -> None:
        """As the port says."""

        def apply() -> None:
            stored = self._stored.get(session_id)
            if stored is not None and not stored.alive:
                self._keep(replace(stored, emptied=max(stored.emptied, now)))

        await self._around("sessions.note_empty", apply)

    async def delete(self, session_id: str) -> None:
        """As the port says."""

        def apply() -> None:
            if session_id in self._stored and not self._stored[session_id].alive:
                del self._stored[session_id]

        await self._around("sessions.delete", apply)

    def _alive(self, session_id: str) -> Session | None:
        stored = self._stored.get(session_id)
        return stored if stored is not None and stored.alive else None

    def _keep(self, session: Session) -> Session:
        self._stored[session.session_id] = session
        return session

    async def list(self, namespace: str, limit: int) -> Sequence[Session]:
        """As the port says."""

        def apply() -> Sequence[Session]:
            found = (session for session in self._stored.values() if session.alive and session.namespace == namespace)
            return sorted(found, key=lambda session: session.lease_until)[:limit]

        return await self._around("sessions.list", apply)

"""Namespaces: what people set for them, and what the rules need of it without asking the store."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from perdure_server.engine.locks import KeyedLocks
from perdure_server.engine.parts import Parts
from perdure_server.engine.people import Conditions
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.namespace import Namespace, NamespaceLimits, NamespaceSettings
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.requests import is_known, with_request
from perdure_server.kernel.start import Start
from perdure_server.kernel.workflow import ENDED, WorkflowState
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.ports.store import WorkflowQuery

DEFAULT: Final = "default"

_PUT = "put"
_LOST_RACES = 20
_READ_AT_ONCE = 1_000
_COUNTED = 10_000

Change = Callable[[NamespaceSettings], NamespaceSettings]


class Usage(Struct, frozen=True):
    """What a namespace uses: open workflows (counted up to 10,000), starts per second in the last minute, worker sessions.

    Watchers and stored bytes are counted only where they are limited.
    """

    open_workflows: int
    starts_per_second: float
    sessions: int
    watchers: int = 0
    stored_bytes: int = 0


class Namespaces:
    """A namespace that nobody has put works with the defaults. Changes reach the other servers within limits.NAMESPACE_REFRESH."""

    def __init__(self, parts: Parts) -> None:
        self._store = parts.store.namespaces
        self._workflows = parts.store.workflows
        self._sessions = parts.store.sessions
        self._clock = parts.clock
        self._locks = KeyedLocks()
        self._known: dict[str, NamespaceSettings] = {}
        self.byte_limits: dict[str, int] = {}  # of those namespaces that have this limit
        self._usages: dict[str, tuple[int, Usage]] = {}

    async def refresh_step(self) -> None:
        """Read all of them anew, after a while."""
        await self._clock.sleep(self._clock.together(limits.NAMESPACE_REFRESH))
        await self.refresh()

    async def refresh(self) -> None:
        """Read all of them. Raises StoreUnavailable."""
        found: dict[str, NamespaceSettings] = {}
        after = ""
        while page := await self._store.list(after, _READ_AT_ONCE):
            found |= {namespace.name: namespace.settings for namespace in page}
            after = page[-1].name
        self._keep(found)

    def _keep(self, found: dict[str, NamespaceSettings]) -> None:
        self._known = found
        most = {name: settings.limits.stored_bytes for name, settings in found.items() if settings.limits is not None}
        self.byte_limits = {name: limit for name, limit in most.items() if limit is not None}

    def limited(self, name: str) -> NamespaceLimits | None:
        """Its limits; None: it has none."""
        settings = self._known.get(name)
        return None if settings is None else settings.limits

    def retention(self, name: str) -> int:
        """How long an ended workflow is kept there where nothing else says."""
        settings = self._known.get(name)
        return limits.RETENTION if settings is None or settings.retention is None else settings.retention

    def tombstone_retention(self, name: str) -> int:
        """How long identity and fence are remembered after that."""
        settings = self._known.get(name)
        return limits.TOMBSTONE if settings is None or settings.tombstone_retention is None else settings.tombstone_retention

    def completed(self, command: Start, definition: Definition) -> Start:
        """The start with what the namespace decides where neither it nor the definition does."""
        if command.retention is not None or definition.retention is not None or command.key.namespace not in self._known:
            return command
        return replace(command, retention=self.retention(command.key.namespace))

    async def put(self, name: str, change: Change, conditions: Conditions) -> tuple[Namespace, bool]:
        """Make it, or change its settings. True = it is new.

        Raises Rejection REVISION_CONFLICT, REQUEST_ID_REUSED; FieldViolation, StoreUnavailable.
        """
        async with self._locks.of(name):
            return await self._put(name, change, conditions)

    async def _put(self, name: str, change: Change, conditions: Conditions) -> tuple[Namespace, bool]:
        for _ in range(_LOST_RACES):
            stored = await self._store.get(name)
            if stored is not None and is_known(stored.requests, _PUT, conditions.request_id, conditions.content):
                return stored, stored.first_request == conditions.request_id
            if conditions.etag and (stored is None or stored.etag != conditions.etag):
                raise Rejection(Reason.REVISION_CONFLICT, "The namespace has changed since it was read: read it again.")
            settings = change(stored.settings if stored is not None else NamespaceSettings())
            now = self._clock.now()
            requests = stored.requests if stored is not None else ()
            new = Namespace(
                name,
                settings,
                now,
                revision=stored.revision + 1 if stored is not None else 1,
                requests=with_request(requests, _PUT, conditions.request_id, conditions.content),
                first_request=stored.first_request if stored is not None else conditions.request_id,
            )
            if conditions.validate_only or await self._store.put(stored, new):
                if not conditions.validate_only:
                    self._keep({**self._known, name: settings})
                return new, stored is None
        raise StoreUnavailable("the namespace is being changed by too many at once")

    async def get(self, name: str) -> Namespace | None:
        """One namespace; `default` is always there. Raises StoreUnavailable."""
        found = await self._store.get(name)
        return Namespace(name, NamespaceSettings(), 0, revision=0) if found is None and name == DEFAULT else found

    async def list(self, after: str, limit: int) -> Sequence[Namespace]:
        """By name, `default` among them. Raises StoreUnavailable."""
        found = list(await self._store.list(after, limit))
        if after < DEFAULT and all(namespace.name != DEFAULT for namespace in found):
            unset = await self.get(DEFAULT)
            assert unset is not None, "it is always there"
            found = sorted([*found, unset], key=lambda namespace: namespace.name)[:limit]
        return found

    async def usage(self, name: str) -> Usage:
        """What it uses; at most half a minute old. Raises StoreUnavailable."""
        now = self._clock.now()
        asked, known = self._usages.get(name, (0, None))
        if known is not None and now - asked < limits.NAMESPACE_USAGE:
            return known
        open_states = tuple(state for state in WorkflowState if state not in ENDED)
        open_workflows = await self._workflows.count(WorkflowQuery(name, states=open_states), _COUNTED)
        started = await self._workflows.count(WorkflowQuery(name, start_from=now - limits.MINUTE), _COUNTED)
        sessions = await self._sessions.list(name, limits.SESSIONS_LISTED)
        tally = await self._store.tally(name)
        fresh = self._clock.unshifted() - limits.QUOTA_FORGET
        watchers = sum(count for count, said in tally.watchers.values() if said >= fresh) if tally is not None else 0
        stored = tally.measure.bytes if name in self.byte_limits and tally is not None and tally.measure is not None else 0
        usage = Usage(open_workflows, started / (limits.MINUTE / limits.SECOND), len(sessions), watchers, stored)
        if len(self._usages) > _READ_AT_ONCE:
            self._usages.clear()
        self._usages[name] = now, usage
        return usage

"""Definitions, cached: structure never changes under a fingerprint; the active one is at most a second old, policies ten.

A wake-up brings changes at once; these are for when it is lost.
"""

from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from perdure_server.engine.shared_reads import SharedReads
from perdure_server.kernel.contracts import with_contracts
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.options import as_run
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.reserved import reserved_names
from perdure_server.kernel.validation import validate
from perdure_server.kernel.values import Paused
from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.clock import Clock
from perdure_server.ports.store import ActiveDefinition, Definitions

CACHED = 2_000  # of each kind; the oldest go first
_FRESH_FOR = 1_000
_POLICY_FRESH_FOR = 10 * _FRESH_FOR

K = TypeVar("K")
V = TypeVar("V")


class DefinitionName(Struct, frozen=True):
    """One registered definition, or all of a type: "" as the fingerprint."""

    namespace: str
    workflow_type: str
    fingerprint: str = ""


class _Recent(Generic[K, V]):
    """Values that are fresh for a while; more than CACHED are not kept."""

    def __init__(self, clock: Clock, fresh_for: int) -> None:
        self._clock = clock
        self._fresh_for = fresh_for
        self._kept: dict[K, tuple[int, V]] = {}

    def get(self, key: K) -> V | None:
        found = self._kept.get(key)
        return found[1] if found is not None and self._clock.unshifted() - found[0] < self._fresh_for else None

    def put(self, key: K, value: V, asked: int) -> V:
        """`asked`: when the store was asked. What was forgotten meanwhile is not kept."""
        self._kept.pop(key, None)
        self._kept[key] = (asked, value)
        if len(self._kept) > CACHED:
            del self._kept[next(iter(self._kept))]
        return value

    def drop(self, key: K) -> None:
        self._kept.pop(key, None)

    def clear(self) -> None:
        self._kept.clear()

    def __len__(self) -> int:
        return len(self._kept)


class Catalog:
    """Reads through to the store. `forget` drops what another server may have changed."""

    def __init__(self, definitions: Definitions, clock: Clock, renew_interval: int) -> None:
        self._store = definitions
        self._clock = clock
        self._renew_interval = renew_interval
        self._by_fingerprint: _Recent[tuple[str, str, str], Definition] = _Recent(clock, _POLICY_FRESH_FOR)
        self._active: _Recent[tuple[str, str], ActiveDefinition] = _Recent(clock, _FRESH_FOR)
        self._versions: _Recent[tuple[str, str], tuple[Definition, ...]] = _Recent(clock, _FRESH_FOR)
        self._definition_reads: SharedReads[tuple[str, str, str], Definition | None] = SharedReads()
        self._active_reads: SharedReads[tuple[str, str], ActiveDefinition | None] = SharedReads()
        self._forgotten = 0  # how often; an answer that was under way meanwhile is not kept

    def __len__(self) -> int:
        return len(self._by_fingerprint) + len(self._active) + len(self._versions)

    def forget(self) -> None:
        """Read again what may have changed."""
        self._forgotten += 1
        self._active.clear()
        self._by_fingerprint.clear()
        self._versions.clear()
        self._definition_reads.clear()
        self._active_reads.clear()

    async def get(self, namespace: str, workflow_type: str, fingerprint: str) -> Definition:
        """One definition. Raises Rejection DEFINITION_NOT_FOUND, StoreUnavailable."""
        key = (namespace, workflow_type, fingerprint)
        found = self._by_fingerprint.get(key)
        if found is not None:
            return found
        asked, epoch = self._clock.unshifted(), self._forgotten
        definition = await self._definition_reads.read(key, lambda: self._store.get(namespace, workflow_type, fingerprint))
        if definition is None:
            raise _not_found(workflow_type, fingerprint)
        return self._by_fingerprint.put(key, definition, asked) if epoch == self._forgotten else definition

    async def usable(self, namespace: str, workflow_type: str, fingerprint: str) -> Definition:
        """One definition for a new use, which a deleted one is not for. Raises Rejection DEFINITION_NOT_FOUND, StoreUnavailable."""
        found = await self.get(namespace, workflow_type, fingerprint)
        if found.deleted is not None:  # a refusal goes by a fresh read only: it may be registered again
            self._by_fingerprint.drop((namespace, workflow_type, fingerprint))
            found = await self.get(namespace, workflow_type, fingerprint)
            if found.deleted is not None:
                raise _not_found(workflow_type, fingerprint)
        return found

    async def of(self, workflow: Workflow) -> Definition:
        """The definition as this workflow runs it, with its own options. Raises Rejection DEFINITION_NOT_FOUND, StoreUnavailable."""
        key = workflow.key
        return as_run(await self.get(key.namespace, key.workflow_type, workflow.fingerprint), workflow)

    def of_at_hand(self, workflow: Workflow) -> Definition | None:
        """The same, if it need not be read; spares the busiest road a coroutine."""
        key = workflow.key
        found = self._by_fingerprint.get((key.namespace, key.workflow_type, workflow.fingerprint))
        return as_run(found, workflow) if found is not None else None

    async def active(self, namespace: str, workflow_type: str) -> Definition:
        """The definition that serves new starts. Raises Rejection DEFINITION_NOT_FOUND, StoreUnavailable."""
        key = (namespace, workflow_type)
        found = self._active.get(key)
        if found is None:
            asked, epoch = self._clock.unshifted(), self._forgotten
            found = await self._active_reads.read(key, lambda: self._store.active(namespace, workflow_type))
            if found is None:
                raise _not_found(workflow_type, "")
            if epoch == self._forgotten:
                self._active.put(key, found, asked)
        return await self.get(namespace, workflow_type, found.fingerprint)

    async def versions(self, namespace: str, workflow_type: str) -> tuple[Definition, ...]:
        """All fingerprints of a type, newest first; deleted ones, too, which may have workflows. Raises StoreUnavailable."""
        key = (namespace, workflow_type)
        found = self._versions.get(key)
        if found is not None:
            return found
        asked, epoch = self._clock.unshifted(), self._forgotten
        found = tuple(await self._store.versions(namespace, workflow_type))
        return self._versions.put(key, found, asked) if epoch == self._forgotten else found

    def prepare(self, definition: Definition) -> Definition:
        """Validate and compute contracts. Raises FieldViolation with every fault."""
        validate(definition, self._renew_interval)
        return with_contracts(definition)

    async def admit(self, definition: Definition) -> Definition:
        """Prepare one for registration. Reserved words as step names are refused, unless it is registered, from before they were.

        Raises FieldViolation with every fault, StoreUnavailable.
        """
        reserved = reserved_names(definition)
        try:
            prepared = self.prepare(definition)
        except FieldViolation as error:
            raise FieldViolation([*error.violations, *reserved], error.reason) from error
        if reserved and await self._store.get(prepared.namespace, prepared.workflow_type, prepared.fingerprint) is None:
            raise FieldViolation(reserved, Reason.DEFINITION_INVALID)
        return prepared

    async def register(self, definition: Definition, activate: bool, only_if_none: bool) -> tuple[Definition, ActiveDefinition | None]:
        """Store a prepared definition; perhaps make it the active one. Raises StoreUnavailable."""
        stored = await self._store.put(definition)
        active: ActiveDefinition | None = None
        if activate:
            active = await self._activate(stored.namespace, stored.workflow_type, stored.fingerprint, only_if_none)
        else:
            active = await self._store.active(stored.namespace, stored.workflow_type)
        self.forget()
        return stored, active

    async def change(self, known: Definition, prepared: Definition) -> Definition | None:
        """Store other policies over those of `known`. None = others are stored by now. Raises StoreUnavailable."""
        stored = known if prepared.offers_the_same(known) else await self._store.change(prepared, known.policy_revision)
        self.forget()
        return stored

    async def activate(self, namespace: str, workflow_type: str, fingerprint: str) -> ActiveDefinition:
        """Make a registered fingerprint the active one. Raises Rejection DEFINITION_NOT_FOUND, StoreUnavailable."""
        await self.usable(namespace, workflow_type, fingerprint)
        active = await self._activate(namespace, workflow_type, fingerprint, only_if_none=False)
        self.forget()
        return active

    async def _activate(self, namespace: str, workflow_type: str, fingerprint: str, only_if_none: bool) -> ActiveDefinition:
        # Whoever deletes marks first, then looks what is active. This does it the other way round, so that one sees the other.
        active = await self._store.activate(namespace, workflow_type, fingerprint, only_if_none)
        stored = await self._store.get(namespace, workflow_type, fingerprint) if active.fingerprint == fingerprint else None
        if stored is not None and stored.deleted is not None:
            await self._store.unmark(stored)
        return active

    async def pause(self, name: DefinitionName, paused: Paused | None) -> list[tuple[Definition, bool]]:
        """Pause them, or end their pause; a repeat changes nothing. It is stored with them, so it survives restarts.

        Returns each with whether it is the active one. Raises Rejection DEFINITION_NOT_FOUND, StoreUnavailable.
        """
        namespace, workflow_type, fingerprint = name.namespace, name.workflow_type, name.fingerprint
        versions = await self._store.versions(namespace, workflow_type)
        wanted = [version.fingerprint for version in versions if fingerprint in {"", version.fingerprint} and version.deleted is None]
        if not wanted:
            text = "No such definition is registered."
            raise Rejection(Reason.DEFINITION_NOT_FOUND, text, workflow_type=workflow_type, fingerprint=fingerprint)
        active = await self._store.active(namespace, workflow_type)
        since = replace(paused, since=self._clock.now()) if paused is not None else None
        try:
            found = [await self._store.pause(namespace, workflow_type, each, since) for each in wanted]
        finally:
            self.forget()
        return [(one, active is not None and active.fingerprint == one.fingerprint) for one in found if one is not None]


def _not_found(workflow_type: str, fingerprint: str) -> Rejection:
    if fingerprint:
        return Rejection(
            Reason.DEFINITION_NOT_FOUND,
            "No definition with this fingerprint is registered.",
            workflow_type=workflow_type,
            fingerprint=fingerprint,
        )
    text = f"No definition of type {workflow_type!r} is active. A worker that connects registers its own."
    return Rejection(Reason.DEFINITION_NOT_FOUND, text, workflow_type=workflow_type)

"""Definitions, cached: structure never changes under a fingerprint; policies and the active one are at most a second old."""

from perdure_server.kernel.contracts import with_contracts
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.validation import validate
from perdure_server.ports.clock import Clock
from perdure_server.ports.store import ActiveDefinition, Definitions

_FRESH_FOR = 1_000


class Catalog:
    """Reads through to the store. `forget` drops what another server may have changed."""

    def __init__(self, definitions: Definitions, clock: Clock, renew_interval: int) -> None:
        self._store = definitions
        self._clock = clock
        self._renew_interval = renew_interval
        self._by_fingerprint: dict[tuple[str, str, str], tuple[int, Definition]] = {}
        self._active: dict[tuple[str, str], tuple[int, ActiveDefinition]] = {}

    def forget(self) -> None:
        """Read again what may have changed."""
        self._active.clear()
        self._by_fingerprint.clear()

    def cached(self, namespace: str, workflow_type: str, fingerprint: str) -> Definition | None:
        """The definition if it is at hand, however old its policies."""
        found = self._by_fingerprint.get((namespace, workflow_type, fingerprint))
        return found[1] if found is not None else None

    async def get(self, namespace: str, workflow_type: str, fingerprint: str) -> Definition:
        """One definition. Raises Rejection DEFINITION_NOT_FOUND, StoreUnavailable."""
        key = (namespace, workflow_type, fingerprint)
        found = self._by_fingerprint.get(key)
        if found is not None and self._clock.now() - found[0] < _FRESH_FOR * 10:
            return found[1]
        definition = await self._store.get(namespace, workflow_type, fingerprint)
        if definition is None:
            raise _not_found(workflow_type, fingerprint)
        self._by_fingerprint[key] = (self._clock.now(), definition)
        return definition

    async def active(self, namespace: str, workflow_type: str) -> Definition:
        """The definition that serves new starts. Raises Rejection DEFINITION_NOT_FOUND, StoreUnavailable."""
        found = self._active.get((namespace, workflow_type))
        if found is None or self._clock.now() - found[0] >= _FRESH_FOR:
            active = await self._store.active(namespace, workflow_type)
            if active is None:
                raise _not_found(workflow_type, "")
            found = (self._clock.now(), active)
            self._active[(namespace, workflow_type)] = found
        return await self.get(namespace, workflow_type, found[1].fingerprint)

    async def versions(self, namespace: str, workflow_type: str) -> tuple[Definition, ...]:
        """All registered fingerprints of a type, newest first. Raises StoreUnavailable."""
        return tuple(await self._store.versions(namespace, workflow_type))

    def prepare(self, definition: Definition) -> Definition:
        """Validate and compute contracts. Raises FieldViolation with every fault."""
        validate(definition, self._renew_interval)
        return with_contracts(definition)

    async def register(self, definition: Definition, activate: bool, only_if_none: bool) -> tuple[Definition, ActiveDefinition | None]:
        """Store a prepared definition; perhaps make it the active one. Raises StoreUnavailable."""
        stored = await self._store.put(definition)
        active: ActiveDefinition | None = None
        if activate:
            active = await self._store.activate(stored.namespace, stored.workflow_type, stored.fingerprint, only_if_none)
        else:
            active = await self._store.active(stored.namespace, stored.workflow_type)
        self.forget()
        return stored, active

    async def activate(self, namespace: str, workflow_type: str, fingerprint: str) -> ActiveDefinition:
        """Make a registered fingerprint the active one. Raises Rejection DEFINITION_NOT_FOUND, StoreUnavailable."""
        await self.get(namespace, workflow_type, fingerprint)
        active = await self._store.activate(namespace, workflow_type, fingerprint, only_if_none=False)
        self.forget()
        return active


def _not_found(workflow_type: str, fingerprint: str) -> Rejection:
    if fingerprint:
        return Rejection(
            Reason.DEFINITION_NOT_FOUND,
            "No definition with this fingerprint is registered.",
            workflow_type=workflow_type,
            fingerprint=fingerprint,
        )
    text = f"No definition of type {workflow_type!r} is active. Register one: perdure definitions apply FILE --activate"
    return Rejection(Reason.DEFINITION_NOT_FOUND, text, workflow_type=workflow_type)

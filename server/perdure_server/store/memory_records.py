"""Payloads and definitions of the in-memory store."""

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Protocol, TypeVar

from msgspec.structs import replace

from perdure_server.kernel.definition import Definition
from perdure_server.kernel.values import Deletion, Paused, Payload
from perdure_server.ports.store import ActiveDefinition, OldPayloads
from perdure_server.store.definitions import decode_definition, encode_definition, offered_over, with_policy_revision
from perdure_server.store.payloads import old_payloads, payload_id_of, reference_to

T = TypeVar("T")


class Around(Protocol):
    """Runs one operation where the store's faults can break in."""

    async def __call__(self, operation: str, apply: Callable[[], T]) -> T:
        """Applies it at one moment and returns what it returned."""


class MemoryPayloads:
    """The port's Payloads."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._stored: dict[str, dict[str, Payload]] = {}
        self._facts: dict[str, tuple[int, bytes]] = {}  # by run id + payload id: when it was put last, and its owner

    async def put(self, run_id: str, payloads: Sequence[Payload], now: int, owner: bytes = b"") -> Sequence[Payload]:
        """As the port says."""
        if any(payload.ref is not None for payload in payloads):
            raise ValueError("a payload that is a ref is stored already")

        def apply() -> list[Payload]:
            named = [(payload_id_of(payload), payload) for payload in payloads]
            self._stored.setdefault(run_id, {}).update(named)
            for payload_id, _ in named:
                before = self._facts.get(run_id + payload_id, (0, owner))
                self._facts[run_id + payload_id] = (max(now, before[0]), before[1])
            return [reference_to(payload, payload_id) for payload_id, payload in named]

        return await self._around("payloads.put", apply)

    async def get(self, run_id: str, payload_ids: Sequence[str]) -> Mapping[str, Payload]:
        """As the port says."""

        def apply() -> dict[str, Payload]:
            stored = self._stored.get(run_id, {})
            return {payload_id: stored[payload_id] for payload_id in payload_ids if payload_id in stored}

        return await self._around("payloads.get", apply)

    async def delete(self, run_id: str) -> None:
        """As the port says."""
        await self._around("payloads.delete", lambda: self.forget(run_id))

    async def remove(self, run_id: str, payload_ids: Sequence[str], put_until: int | None = None) -> None:
        """As the port says."""
        await self._around("payloads.remove", lambda: self._remove(run_id, lambda name: name in payload_ids, put_until))

    async def retain(self, run_id: str, payload_ids: Sequence[str], put_until: int) -> None:
        """As the port says."""
        await self._around("payloads.retain", lambda: self._remove(run_id, lambda name: name not in payload_ids, put_until))

    async def old(self, after: str, put_until: int, limit: int) -> OldPayloads:
        """As the port says."""

        def apply() -> OldPayloads:
            rows = sorted((identity, *facts) for identity, facts in self._facts.items() if identity > after)[:limit]
            return old_payloads(rows, put_until, limit)

        return await self._around("payloads.old", apply)

    def owned_bytes(self, owners: Container[bytes]) -> int:
        """Bytes of the payloads of these workflows."""
        found = (
            payload
            for run_id, stored in self._stored.items()
            for name, payload in stored.items()
            if self._facts[run_id + name][1] in owners
        )
        return sum(payload.inline_size for payload in found)

    def forget(self, run_id: str) -> None:
        """Removes all of a run, when its workflow is removed."""
        self._remove(run_id, lambda _: True, None)

    def _remove(self, run_id: str, chosen: Callable[[str], bool], put_until: int | None) -> None:
        stored = self._stored.get(run_id, {})
        for name in [name for name in stored if chosen(name)]:
            if put_until is None or self._facts[run_id + name][0] <= put_until:
                del stored[name], self._facts[run_id + name]
        if not stored:
            self._stored.pop(run_id, None)


class MemoryDefinitions:
    """The port's Definitions; kept as the documents that MongoDB would keep."""

    def __init__(self, around: Around, clock: Callable[[], int]) -> None:
        self._around = around
        self._clock = clock
        self._stored: dict[tuple[str, str, str], Definition] = {}
        self._active: dict[tuple[str, str], ActiveDefinition] = {}

    async def put(self, definition: Definition) -> Definition:
        """As the port says."""

        def apply() -> Definition:
            key = (definition.namespace, definition.workflow_type, definition.fingerprint)
            stored = self._stored.get(key)
            offered = self._fresh(definition) if stored is None else offered_over(definition, stored)
            if offered is None:
                assert stored is not None, "nothing changes only over a stored one"
                return stored
            self._stored[key] = replace(decode_definition(encode_definition(offered)), paused=offered.paused, registered=offered.registered)
            return offered

        return await self._around("definitions.put", apply)

    async def change(self, definition: Definition, over: int) -> Definition | None:
        """As the port says."""

        def apply() -> Definition | None:
            key = (definition.namespace, definition.workflow_type, definition.fingerprint)
            stored = self._stored.get(key)
            if stored is None or stored.policy_revision != over or stored.deleted is not None:
                return None
            offered = encode_definition(with_policy_revision(definition, over + 1))
            self._stored[key] = replace(decode_definition(offered), paused=stored.paused, registered=stored.registered)
            return self._stored[key]

        return await self._around("definitions.change", apply)

    async def get(self, namespace: str, workflow_type: str, fingerprint: str) -> Definition | None:
        """As the port says."""
        return await self._around("definitions.get", lambda: self._stored.get((namespace, workflow_type, fingerprint)))

    async def pause(self, namespace: str, workflow_type: str, fingerprint: str, paused: Paused | None) -> Definition | None:
        """As the port says."""

        def apply() -> Definition | None:
            stored = self._stored.get((namespace, workflow_type, fingerprint))
            if stored is None:
                return None
            if (stored.paused is None) != (paused is None):
                self._stored[namespace, workflow_type, fingerprint] = replace(stored, paused=paused)
            return self._stored[namespace, workflow_type, fingerprint]

        return await self._around("definitions.pause", apply)

    async def paused(self) -> Sequence[Definition]:
        """As the port says."""
        return await self._around("definitions.paused", lambda: [found for found in self._stored.values() if found.paused is not None])

    async def versions(self, namespace: str, workflow_type: str) -> Sequence[Definition]:
        """As the port says."""

        def apply() -> Sequence[Definition]:
            return [found for key, found in reversed(self._stored.items()) if key[:2] == (namespace, workflow_type)]

        return await self._around("definitions.versions", apply)

    async def active(self, namespace: str, workflow_type: str) -> ActiveDefinition | None:
        """As the port says."""
        return await self._around("definitions.active", lambda: self._active.get((namespace, workflow_type)))

    async def activate(self, namespace: str, workflow_type: str, fingerprint: str, only_if_none: bool) -> ActiveDefinition:
        """As the port says."""

        def apply() -> ActiveDefinition:
            stored = self._active.get((namespace, workflow_type))
            if stored is not None and (only_if_none or stored.fingerprint == fingerprint):
                return stored
            wanted = ActiveDefinition(namespace, workflow_type, fingerprint, 1 if stored is None else stored.revision + 1)
            self._active[namespace, workflow_type] = wanted
            return wanted

        return await self._around("definitions.activate", apply)

    async def list(self, namespace: str) -> Sequence[ActiveDefinition]:
        """As the port says."""

        def apply() -> Sequence[ActiveDefinition]:
            return [found for key, found in sorted(self._active.items()) if key[0] == namespace]

        return await self._around("definitions.list", apply)

    async def mark(self, known: Definition, deletion: Deletion) -> bool:
        """As the port says."""

        def apply() -> bool:
            stored = self._stored.get(_key_of(known))
            if stored is None or stored.deleted is not None or known.deleted is not None:
                return False
            if (stored.policy_revision, stored.paused is None) != (known.policy_revision, known.paused is None):
                return False
            self._stored[_key_of(known)] = replace(stored, deleted=deletion)
            return True

        return await self._around("definitions.mark", apply)

    async def unmark(self, marked: Definition) -> bool:
        """As the port says."""

        def apply() -> bool:
            stored = self._same_deletion(marked)
            if stored is not None:
                self._stored[_key_of(marked)] = replace(stored, deleted=None)
            return stored is not None

        return await self._around("definitions.unmark", apply)

    async def marked(self) -> Sequence[Definition]:
        """As the port says."""
        return await self._around("definitions.marked", lambda: [found for found in self._stored.values() if found.deleted is not None])

    async def delete(self, marked: Definition) -> bool:
        """As the port says."""

        def apply() -> bool:
            stored = self._same_deletion(marked)
            if stored is not None:
                del self._stored[_key_of(marked)]
            return stored is not None

        return await self._around("definitions.delete", apply)

    def _fresh(self, definition: Definition) -> Definition:
        return replace(with_policy_revision(definition, 1), registered=self._clock())

    def _same_deletion(self, marked: Definition) -> Definition | None:
        stored = self._stored.get(_key_of(marked))
        return stored if stored is not None and marked.deleted is not None and stored.deleted == marked.deleted else None


def _key_of(definition: Definition) -> tuple[str, str, str]:
    return definition.namespace, definition.workflow_type, definition.fingerprint

"""A store in the memory of one process, for simulations and tests: the same contract, no durability.

Instances are kept as the BSON bytes that MongoDB would keep, so `documents.py` is exercised by everything that runs on it.
Several servers of one simulation may share one MemoryStore. Every operation is atomic; `faults` is where a simulation breaks in.
"""

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar

import bson
from msgspec import Struct

from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.audit import AuditTrail
from perdure_server.ports.batches import Batches
from perdure_server.ports.errors import CorruptDocument, DocumentTooLarge
from perdure_server.ports.resources import Resources
from perdure_server.ports.schedules import Namespaces, Schedules
from perdure_server.ports.store import (
    Definitions,
    Due,
    PageKey,
    Payloads,
    Read,
    ReadyStep,
    Sessions,
    WorkflowQuery,
    WorkflowRows,
    Workflows,
)
from perdure_server.store import documents, limits
from perdure_server.store.audit import MemoryAudit
from perdure_server.store.batches import MemoryBatches
from perdure_server.store.driver import encoded
from perdure_server.store.memory_records import Around, MemoryDefinitions, MemoryPayloads
from perdure_server.store.memory_resources import MemoryResources
from perdure_server.store.memory_sessions import MemorySessions
from perdure_server.store.outlines import left_out, outline
from perdure_server.store.ready_rows import ready_row
from perdure_server.store.rows import NOT_IN_ROWS, page, rows_of
from perdure_server.store.schedules import MemoryNamespaces, MemorySchedules
from perdure_server.store.step_layout import Update

Document = dict[str, Any]
T = TypeVar("T")


class Moment(Enum):
    """When a fault is asked for: an error raised BEFORE means not done, AFTER means done and unknown to the caller."""

    BEFORE = "before"
    AFTER = "after"


Faults = Callable[[str, Moment], Awaitable[None]]
"""Awaited around every operation with its name ("workflows.commit"): may raise StoreUnavailable, wait, or let others pass."""


class _OneTurn:
    def __await__(self) -> Generator[None]:
        yield


async def no_faults(_operation: str, moment: Moment) -> None:
    """Gives every other task one turn, as a real store would: what must not depend on luck shows without it, too."""
    if moment is Moment.BEFORE:
        await _OneTurn()


class _Stored(Struct):
    """A document twice: the bytes that loads decode, and a decoded one that only queries read."""

    raw: bytes
    document: Document


class MemoryStore:
    """The port's Store. `clock` gives store time in ms; `document_bytes` bounds a document."""

    workflows: Workflows
    payloads: Payloads
    sessions: Sessions
    definitions: Definitions
    resources: Resources
    audit: AuditTrail
    batches: Batches
    schedules: Schedules
    namespaces: Namespaces

    def __init__(self, clock: Callable[[], int], faults: Faults = no_faults, document_bytes: int = limits.DOCUMENT_BYTES) -> None:
        self.faults = faults
        self._clock = clock
        payloads = MemoryPayloads(self._around)
        self.payloads = payloads
        self.workflows = self.documents = MemoryWorkflows(self._around, payloads, document_bytes)
        self.sessions = MemorySessions(self._around)
        self.definitions = MemoryDefinitions(self._around, clock)
        self.resources = MemoryResources(self._around)
        self.audit = MemoryAudit(self._around)
        self.batches = MemoryBatches(self._around)
        self.schedules = MemorySchedules(self._around)
        self.namespaces = MemoryNamespaces(self._around, self.documents.stored_bytes)

    async def open(self) -> None:
        """Nothing to connect."""

    async def close(self) -> None:
        """Nothing is in flight. What was stored stays, so that another server may open it."""

    async def time(self) -> tuple[int, int]:
        """The clock, at no distance."""
        return await self._around("time", lambda: (self._clock(), 0))

    def counters(self) -> Mapping[str, int]:
        """Nothing is counted."""
        return {}

    def description(self) -> Mapping[str, str]:
        """As the port says."""
        return {"kind": "memory", "version": "1", "durability": "none: lost with the process", "group_commit": "none"}

    async def _around(self, operation: str, apply: Callable[[], T]) -> T:
        # Read at each call, so that a simulation may exchange `faults` while servers run.
        await self.faults(operation, Moment.BEFORE)
        result = apply()
        await self.faults(operation, Moment.AFTER)
        return result


class MemoryWorkflows:
    """The port's Workflows."""

    def __init__(self, around: Around, payloads: MemoryPayloads, document_bytes: int) -> None:
        self._around = around
        self._payloads = payloads
        self._document_bytes = document_bytes
        self._stored: dict[bytes, _Stored] = {}

    def stored_bytes(self, namespace: str) -> int:
        """Bytes of the documents and payloads of a namespace."""
        mine = ((key, stored) for key, stored in self._stored.items() if stored.document["namespace"] == namespace)
        found = {key: len(stored.raw) for key, stored in mine if "tombstone" not in stored.document}
        return sum(found.values()) + self._payloads.owned_bytes(found)

    async def commit(self, old: Workflow | None, new: Workflow) -> bool:
        """As the port says. What is written is settled before the first await, as in the real one."""
        written = documents.encode(new) if old is None else documents.encode_change(old, new)
        return await self._around("workflows.commit", lambda: self._commit(old, new, written))

    async def load(self, workflow_id: bytes, read: Read = Read.LOCAL, *, tombstones: bool = False) -> Workflow | None:
        """As the port says; there is no staleness to avoid."""
        found = await self._around("workflows.load", lambda: self._load(workflow_id))
        return found if tombstones or found is None or found.tombstone is None else None

    async def due(self, until: int, limit: int) -> Sequence[Due]:
        """As the port says."""

        def apply() -> list[Due]:
            found = [(int(document["wake_time"]), key) for key, document in self._visible("wake_time") if document["wake_time"] <= until]
            return [Due(key, wake_time) for wake_time, key in sorted(found)[:limit]]

        return await self._around("workflows.due", apply)

    async def ready(self, queues: Sequence[str], limit: int, skip: int = 0) -> Sequence[ReadyStep]:
        """As the port says."""
        wanted = frozenset(queues)

        def apply() -> list[ReadyStep]:
            found = [document for _, document in self._visible("ready") if not wanted.isdisjoint(document["ready"])]
            return [ready_row(document) for document in found[skip : skip + limit]]

        return await self._around("workflows.ready", apply)

    async def ready_queues(self) -> Sequence[str]:
        """As the port says."""
        return await self._around(
            "workflows.ready_queues", lambda: sorted({queue for _, document in self._visible("ready") for queue in document["ready"]})
        )

    async def ready_count(self, queue: str, at_most: int) -> int:
        """As the port says."""
        return await self._around(
            "workflows.ready_count", lambda: min(at_most, sum(queue in document["ready"] for _, document in self._visible("ready")))
        )

    async def claimed_by(self, session_ids: Sequence[str], limit: int, _read: Read = Read.LOCAL) -> Sequence[bytes]:
        """As the port says."""
        wanted = frozenset(session_ids)

        def apply() -> list[bytes]:
            return [key for key, document in self._visible("sessions") if not wanted.isdisjoint(document["sessions"])][:limit]

        return await self._around("workflows.claimed_by", apply)

    async def revisions(self, workflow_ids: Sequence[bytes], _read: Read = Read.LOCAL) -> Mapping[bytes, tuple[str, int]]:
        """As the port says."""

        def apply() -> dict[bytes, tuple[str, int]]:
            found = {key: self._stored[key].document for key in workflow_ids if key in self._stored}
            return {key: (document["run_id"], document["revision"]) for key, document in found.items()}

        return await self._around("workflows.revisions", apply)

    async def find(self, query: WorkflowQuery, limit: int, after: PageKey | None) -> WorkflowRows:
        """As the port says."""
        return await self._around("workflows.find", lambda: self._page(query, limit, after))

    async def outlines(self, workflow_ids: Sequence[bytes], steps: Sequence[str]) -> Mapping[bytes, Workflow]:
        """As the port says."""

        def apply() -> dict[bytes, Workflow]:
            kept = [bson.decode(self._stored[key].raw) for key in workflow_ids if key in self._stored]
            rows = rows_of([_without(document, left_out(steps)) for document in kept])
            return {row.workflow_id: outline(row) for row in rows if row.tombstone is None}

        return await self._around("workflows.outlines", apply)

    async def types(self, namespace: str) -> Sequence[str]:
        """As the port says."""

        def apply() -> list[str]:
            return sorted(
                {stored.document["workflow_type"] for stored in self._stored.values() if stored.document["namespace"] == namespace}
            )

        return await self._around("workflows.types", apply)

    async def count(self, query: WorkflowQuery, at_most: int, _read: Read = Read.LOCAL) -> int:
        """As the port says."""

        def apply() -> int:
            return min(at_most, sum(_matches(stored.document, query) for stored in self._stored.values()))

        return await self._around("workflows.count", apply)

    def document_bytes(self, workflow: Workflow) -> int:
        """As the port says."""
        return documents.size_of(workflow)

    async def delete(self, workflow: Workflow) -> bool:
        """As the port says."""

        def apply() -> bool:
            stored = self._stored.get(workflow.workflow_id)
            if stored is None or _revision_of(stored.document) != (workflow.run_id, workflow.revision):
                return False
            self._payloads.forget(workflow.run_id)
            del self._stored[workflow.workflow_id]
            return True

        return await self._around("workflows.delete", apply)

    async def expired(self, until: int, limit: int) -> Sequence[bytes]:
        """As the port says."""

        def apply() -> list[bytes]:
            found = [(document["expire_time"], key) for key, document in self._visible("expire_time") if document["expire_time"] <= until]
            return [key for _, key in sorted(found)[:limit]]

        return await self._around("workflows.expired", apply)

    def overwrite(self, workflow_id: bytes, changes: Document) -> None:
        """Damages a stored document, as a test's `$set` of top-level fields would."""
        self._keep(workflow_id, {**bson.decode(self._stored[workflow_id].raw), **changes})

    def _commit(self, old: Workflow | None, new: Workflow, written: Document | Update) -> bool:
        stored = self._stored.get(new.workflow_id)
        if isinstance(written, dict):
            if stored is not None:
                return False
            self._keep(new.workflow_id, written)
            return True
        if stored is None or old is None or _revision_of(stored.document) != (old.run_id, old.revision):
            return False
        document = bson.decode(stored.raw)
        for path, value in written.set.items():
            _set(document, path, value)
        for path in written.unset:
            _unset(document, path)
        self._keep(new.workflow_id, document)
        return True

    def _keep(self, workflow_id: bytes, document: Document) -> None:
        raw = bytes(encoded(document).raw)
        if len(raw) > self._document_bytes:
            raise DocumentTooLarge(f"{len(raw)} bytes")
        self._stored[workflow_id] = _Stored(raw, bson.decode(raw))

    def _load(self, workflow_id: bytes) -> Workflow | None:
        stored = self._stored.get(workflow_id)
        if stored is None:
            return None
        try:
            return documents.decode(bson.decode(stored.raw))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            flag = {"format": documents.FORMAT, "reason": type(error).__name__}
            self.overwrite(workflow_id, {documents.QUARANTINED: flag})
            raise CorruptDocument("a stored workflow does not decode") from error

    def _visible(self, field: str) -> list[tuple[bytes, Document]]:
        found = ((key, stored.document) for key, stored in self._stored.items())
        return [(key, document) for key, document in found if field in document and documents.QUARANTINED not in document]

    def _page(self, query: WorkflowQuery, limit: int, after: PageKey | None) -> WorkflowRows:
        found = [(stored.document["start_time"], key) for key, stored in self._stored.items() if _matches(stored.document, query)]
        found.sort(reverse=query.descending)
        if after is not None:
            bound = (after.start_time, after.workflow_id)
            found = [row for row in found if (row < bound if query.descending else row > bound)]
        return page([_without(bson.decode(self._stored[key].raw)) for _, key in found[: limit + 1]], limit)


def _revision_of(document: Document) -> tuple[str, int]:
    return document["run_id"], document["revision"]


def _matches(document: Document, query: WorkflowQuery) -> bool:
    labels = {documents.label(key, value) for key, value in query.labels.items()}
    return (
        document["namespace"] == query.namespace
        and (not query.workflow_types or document["workflow_type"] in query.workflow_types)
        and (not query.business_keys or document["business_key"] in query.business_keys)
        and document["state"] in documents.state_names(query)
        and query.fingerprint in {"", document["fingerprint"]}
        and labels <= set(document.get("labels", ()))
        and (query.start_from is None or document["start_time"] >= query.start_from)
        and (query.start_before is None or document["start_time"] < query.start_before)
    )


def _set(document: Document, path: str, value: Any) -> None:
    *parents, name = path.split(".")
    for parent in parents:
        document = document.setdefault(parent, {})
    document[name] = value


def _unset(document: Document, path: str) -> None:
    *parents, name = path.split(".")
    for parent in parents:
        document = document.get(parent, {})
    document.pop(name, None)


def _without(document: Document, paths: Sequence[str] = NOT_IN_ROWS) -> Document:
    for path in paths:
        _unset(document, path)
    return document

"""Deleting a definition: first it is marked, so that no server uses it any more; its document goes a day later.

A start that read it just before may be stored just after. Such a workflow goes on as if nothing had happened: what runs is read, served and
listed by the marked document, which stays while anything refers to it.
"""

from collections.abc import Callable

from perdure_server.engine.catalog import Catalog, DefinitionName
from perdure_server.engine.entropy import own_request_id
from perdure_server.engine.parts import Parts
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import Deletion
from perdure_server.kernel.workflow import ENDED, WorkflowState
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.ports.store import Read, WorkflowQuery

_OPEN = tuple(state for state in WorkflowState if state not in ENDED)


class DefinitionRemoval:
    """`tell` is called after a change, so that all servers read again. All methods raise StoreUnavailable."""

    def __init__(self, parts: Parts, catalog: Catalog) -> None:
        self._definitions = parts.store.definitions
        self._workflows = parts.store.workflows
        self._catalog = catalog
        self._clock = parts.clock
        self._entropy = parts.entropy
        self.tell: Callable[[], None] = _nobody

    async def look(self, name: DefinitionName, request_id: str) -> tuple[Definition, bool] | None:
        """The definition as stored, and whether it is active. None = this request has deleted it. Rejection DEFINITION_NOT_FOUND."""
        stored = await self._definitions.get(name.namespace, name.workflow_type, name.fingerprint)
        if stored is not None and stored.deleted is not None and stored.deleted.request_id == request_id:
            return None
        active = await self._is_active(name)
        if stored is None or (stored.deleted is not None and not active):
            text = "No definition with this fingerprint is registered."
            raise Rejection(Reason.DEFINITION_NOT_FOUND, text, workflow_type=name.workflow_type, fingerprint=name.fingerprint)
        return stored, active

    async def open_count(self, name: DefinitionName) -> int:
        """Open workflows that run by it; at most limits.COUNT_ROWS, which means: at least so many."""
        return await self._workflows.count(_users(name, _OPEN), limits.COUNT_ROWS)

    async def check(self, name: DefinitionName) -> None:
        """Raise Rejection DEFINITION_IN_USE if it is active, or a workflow is kept that runs or ran by it, an earlier round too."""
        if await self._is_active(name):
            raise Rejection(Reason.DEFINITION_IN_USE, "It is the active definition of its type: activate another one first.", active="true")
        query = _users(name)
        kept = await self._workflows.count(query, limits.COUNT_ROWS)
        if not kept:
            return
        some = (await self._workflows.find(query, limits.IN_USE_LISTED, None)).rows
        raise Rejection(
            Reason.DEFINITION_IN_USE,
            "Workflows that run by it, or ended by it and may be replayed, are still kept: delete them, or migrate the open ones.",
            open_count=str(await self.open_count(name)),
            kept_count=str(kept),
            workflows=", ".join(f"{row.key.business_key} (round {row.round})" for row in some),
        )

    async def delete(self, known: Definition, request_id: str) -> bool:
        """Delete what `look` has found. False = it has changed since: look again. Rejection DEFINITION_IN_USE."""
        name = DefinitionName(known.namespace, known.workflow_type, known.fingerprint)
        await self.check(name)
        deletion = Deletion(self._clock.now(), request_id or own_request_id(self._entropy))
        if not await self._marked(known, deletion):
            return False
        self._changed()
        try:
            await self.check(name)  # what came in between
        except Rejection:
            stored = await self._definitions.get(*_identity(known))
            if stored is not None and stored.deleted == deletion:
                await self._definitions.unmark(stored)
            self._changed()
            raise
        return True

    async def step(self) -> None:
        """Remove documents of what was deleted a day ago and has no workflow; what was activated at that moment is not deleted."""
        await self._clock.sleep(self._clock.together(limits.HOUSEKEEPING_INTERVAL))
        for marked in await self._definitions.marked():
            name = DefinitionName(marked.namespace, marked.workflow_type, marked.fingerprint)
            assert marked.deleted is not None, "so asked"
            if await self._is_active(name):
                changed = await self._definitions.unmark(marked)
            elif marked.deleted.since > self._clock.now() - limits.DELETED_DEFINITION_KEPT:
                continue
            else:
                unused = not await self._workflows.count(_users(name), 1, Read.LINEARIZABLE)
                changed = unused and await self._definitions.delete(marked)
            if changed:
                self._changed()

    def _changed(self) -> None:
        self._catalog.forget()
        self.tell()

    async def _marked(self, known: Definition, deletion: Deletion) -> bool:
        try:
            return await self._definitions.mark(known, deletion)
        except StoreUnavailable:
            stored = await self._definitions.get(*_identity(known))
            if stored is None or stored.deleted != deletion:
                raise
            return True

    async def _is_active(self, name: DefinitionName) -> bool:
        active = await self._definitions.active(name.namespace, name.workflow_type)
        return active is not None and active.fingerprint == name.fingerprint


def _identity(definition: Definition) -> tuple[str, str, str]:
    return definition.namespace, definition.workflow_type, definition.fingerprint


def _users(name: DefinitionName, states: tuple[WorkflowState, ...] = ()) -> WorkflowQuery:
    types = (name.workflow_type,)
    return WorkflowQuery(name.namespace, types, states, include_archived=True, include_inert=True, fingerprint=name.fingerprint)


def _nobody() -> None:
    """Until the engine is wired."""

"""Reads: one workflow, its result, payloads, definitions. Nothing is answered from a cache."""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from perdure_server.engine.addresses import address_of
from perdure_server.engine.catalog import Catalog
from perdure_server.engine.commands import require_ref
from perdure_server.engine.grants import fetch, inline
from perdure_server.engine.hub import Hub, Interest
from perdure_server.engine.queues import QueueBook
from perdure_server.engine.values import Ref, View
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.redaction import outside_bytes
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import Payload
from perdure_server.kernel.workflow import Step, Workflow, round_id
from perdure_server.ports.store import Read, Store


class Queries:
    """All methods raise Rejection and StoreUnavailable."""

    def __init__(self, store: Store, catalog: Catalog, hub: Hub, queues: QueueBook) -> None:
        self._store = store
        self._catalog = catalog
        self._hub = hub
        self._queues = queues

    async def load(self, workflow_id: bytes, ref: Ref | None) -> Workflow:
        """The stored instance, linearizable; an archived one if `ref` names its round. Rejection WORKFLOW_NOT_FOUND, FENCED."""
        workflow = await self._store.workflows.load(workflow_id, Read.LINEARIZABLE)
        if ref is not None and ref.round is not None and (workflow is None or ref.round < workflow.round):
            workflow = await self._load_archived(ref, workflow)
        if workflow is None:
            raise Rejection(Reason.WORKFLOW_NOT_FOUND, "There is no workflow with this key.")
        require_ref(workflow, ref)
        return workflow

    async def _load_archived(self, ref: Ref, current: Workflow | None) -> Workflow | None:
        assert ref.round is not None, "asked for by its number"
        found = await self._store.workflows.load(round_id(ref.key.workflow_id, ref.round), Read.LINEARIZABLE)
        if found is not None and found.inert and current is None:
            return None  # the copy of a round that was not followed by another
        return found

    async def get(self, ref: Ref, with_payloads: bool) -> View:
        """The instance; with payloads up to limits.READ_INLINE in all, the rest as refs."""
        workflow = await self.load(ref.key.workflow_id, ref)
        sizes = self._store.workflows.document_bytes(workflow), outside_bytes(workflow)
        view = replace(await self.view(workflow), sizes=sizes)
        return await self.resolve(view) if with_payloads else view

    async def wait_for_result(self, ref: Ref, within: int) -> View:
        """The instance once it has ended, or as it is after `within` ms."""
        open_here = self._open_here(ref)
        workflow_id = ref.key.workflow_id
        if open_here is None and ref.round is not None:
            workflow_id = (await self.load(workflow_id, ref)).workflow_id
        interest = self._hub.join(workflow_id, end_only=True)
        try:
            workflow = open_here or await self.load(ref.key.workflow_id, ref)
            self._hub.saw(workflow)
            async with asyncio.timeout(min(within, limits.RESULT_WAIT_MAX) / 1000):
                while not workflow.is_ended:
                    workflow = await self._newer(workflow, ref, interest)
        except TimeoutError:
            workflow = await self.load(ref.key.workflow_id, ref)
        finally:
            self._hub.leave(workflow_id, interest)
        return await self.resolve(await self.view(workflow))

    def _open_here(self, ref: Ref) -> Workflow | None:
        """The instance as this server knows it, perhaps stale, if it is the one that is meant and was open: enough to wait by.

        Its end is answered by what this server stores, or by a read: what other servers do to it is heard, or polled for.
        """
        known = self._hub.known(ref.key.workflow_id)
        if known is None or known.is_ended:
            return None
        return known if ref.round in (None, known.round) and ref.expected_fence in (None, known.fence) else None

    async def _newer(self, workflow: Workflow, ref: Ref, interest: Interest) -> Workflow:
        await interest.news.wait()
        changed, here = interest.take()
        if here is not None and ref.round in (None, here.round):  # stored by this server, so known to last
            require_ref(here, ref)
            return here
        return await self.load(ref.key.workflow_id, ref) if changed else workflow

    async def fetch_payload(self, holder: Ref | str, payload_id: str) -> Payload:
        """One large payload, by a workflow or by a claim token (str)."""
        run_id = await self._run_of(holder)
        found = (await self._store.payloads.get(run_id, [payload_id])).get(payload_id)
        if found is None:
            raise Rejection(Reason.PAYLOAD_NOT_FOUND, "There is no such payload in this run.", payload_id=payload_id)
        return found

    async def definition(self, namespace: str, workflow_type: str, fingerprint: str = "") -> tuple[Definition, bool]:
        """A definition ("" = the active one), and whether it is the active one."""
        active = await self._store.definitions.active(namespace, workflow_type)
        wanted = fingerprint or (active.fingerprint if active is not None else "")
        if active is not None and active.fingerprint == wanted:
            return await self._catalog.get(namespace, workflow_type, wanted), True
        return await self._catalog.usable(namespace, workflow_type, wanted), False

    async def versions(self, namespace: str, workflow_type: str) -> Sequence[Definition]:
        """All registered fingerprints of a type, newest first."""
        return tuple(version for version in await self._catalog.versions(namespace, workflow_type) if version.deleted is None)

    async def resolve(self, view: View) -> View:
        """The view with refs replaced by values, as far as a read may carry."""
        workflow = view.workflow
        values = [workflow.input, workflow.output, *(v for step in workflow.steps.values() for v in (step.output, step.checkpoint))]
        found = await fetch(self._store.payloads, workflow.run_id, [value for value in values if value is not None], limits.READ_INLINE)
        if not found:
            return view
        steps: dict[str, Step] = {
            name: replace(step, output=inline(step.output, found), checkpoint=inline(step.checkpoint, found))
            for name, step in workflow.steps.items()
        }
        resolved = replace(workflow, input=inline(workflow.input, found), output=inline(workflow.output, found), steps=steps)
        return replace(view, workflow=resolved)

    async def _run_of(self, holder: Ref | str) -> str:
        if isinstance(holder, str):
            return address_of(holder).run_id
        return (await self.load(holder.key.workflow_id, holder)).run_id

    async def view(self, workflow: Workflow) -> View:
        """The instance with its definition."""
        facts = await self._queues.facts(workflow.ready) if workflow.ready else {}
        return View(workflow, await self._catalog.of(workflow), facts)

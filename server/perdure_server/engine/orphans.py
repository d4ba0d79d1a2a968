"""Large payloads that nothing refers to: of starts that were refused or given up, of results that lost, of redactions that broke off.

Slowly round and round over all payloads, a page at a time. One goes when it was last put more than 24 h ago and a linearizable read of
the workflow that it was put for shows that its run is gone, or does not refer to it.
"""

from perdure_server.engine.parts import Parts
from perdure_server.kernel import limits
from perdure_server.kernel.redaction import refs_in
from perdure_server.kernel.rounds import archived_id
from perdure_server.ports.errors import CorruptDocument
from perdure_server.ports.instruments import ORPHANS
from perdure_server.ports.store import Read


class Orphans:
    """One pass is begun where the last page ended."""

    def __init__(self, parts: Parts) -> None:
        self._payloads = parts.store.payloads
        self._workflows = parts.store.workflows
        self._clock = parts.clock
        self._telemetry = parts.telemetry
        self._after = ""

    async def step(self) -> None:
        """The next page."""
        await self._clock.sleep(self._clock.together(limits.HOUSEKEEPING_INTERVAL))
        before = self._clock.now() - limits.ORPHAN_AFTER
        page = await self._payloads.old(self._after, before, limits.HOUSEKEEPING_BATCH)
        self._after = page.after
        for (workflow_id, run_id), payload_ids in page.by_run.items():
            try:
                kept = await self._kept(workflow_id, run_id)
            except CorruptDocument:
                kept = None
            gone = [] if kept is None else [payload_id for payload_id in payload_ids if payload_id not in kept]
            if gone:
                await self._payloads.remove(run_id, gone, before)
                self._telemetry.count(ORPHANS, (), len(gone))

    async def _kept(self, workflow_id: bytes, run_id: str) -> set[str] | None:
        """What the run refers to; None = nobody can tell."""
        root = await self._workflows.load(workflow_id, Read.LINEARIZABLE, tombstones=True)
        if root is None:
            return set()
        if root.run_id == run_id:  # a tombstone refers to nothing, but rounds before it may not be removed yet
            return refs_in(root)
        place = archived_id(root, run_id)
        if place is None:  # of a start that lost, or of a round longer ago than is remembered
            return set() if root.round <= len(root.past_runs) + 1 else None
        archived = await self._workflows.load(place, Read.LINEARIZABLE)
        return refs_in(archived) if archived is not None and archived.run_id == run_id else set()

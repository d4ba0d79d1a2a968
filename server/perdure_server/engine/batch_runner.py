"""Doing batches: one server at a time by a lease in the batch's document, which any other takes over when it ends.

Intent first: the workflows of a round are stored as `in_hand`, then it is done to them, then what came of it is counted and the lease
prolonged in one conditional write. Who takes over begins with what is in hand; done twice, each is counted once.
"""

import asyncio
import logging
from collections.abc import Sequence

import msgspec
from msgspec import msgpack
from msgspec.structs import replace

from perdure_server.engine.audit import Audit, Deed
from perdure_server.engine.batch_verbs import Item, Verb
from perdure_server.engine.batches import Plan, ended
from perdure_server.engine.clock import happened
from perdure_server.engine.listing import Listing
from perdure_server.engine.parts import Parts
from perdure_server.engine.pause import Pause
from perdure_server.engine.schedules import LATER
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.ports.batches import Batch, BatchRefusal, BatchState
from perdure_server.ports.errors import CorruptDocument, DocumentTooLarge, StoreUnavailable
from perdure_server.ports.store import PageKey, Read

logger = logging.getLogger(__name__)

_LOOK = 1 * limits.SECOND
_LOOK_SELDOM = 5 * limits.SECOND  # while no batch runs anywhere; one that is started here is begun at once
_RENEW = limits.BATCH_LEASE // 3


class BatchRunner:
    """The background half of batches. `verbs` may be added to: a batch whose verb is unknown here waits for a server that knows it."""

    def __init__(self, parts: Parts, listing: Listing, audit: Audit) -> None:
        self._batches = parts.store.batches
        self._workflows = parts.store.workflows
        self._listing = listing
        self._audit = audit
        self._clock = parts.clock
        self._supervisor = parts.supervisor
        self._me = parts.settings.server_id
        self._here: set[tuple[str, str]] = set()
        self._new = asyncio.Event()
        self._pause = Pause(_LOOK, _LOOK_SELDOM)
        self._leaving = asyncio.Event()
        self.verbs: dict[str, Verb] = {}

    def wake(self) -> None:
        """A batch was started."""
        self._new.set()

    def leave(self) -> None:
        """Take nothing more in hand; what is in hand is finished and counted."""
        self._leaving.set()
        self._new.set()

    async def look_step(self) -> None:
        """Take what nobody has."""
        await happened(self._new, self._clock.together(self._pause.next))
        if self._leaving.is_set():
            await self._clock.sleep(_LOOK)
            return
        self._new.clear()
        running = await self._batches.running(limits.BATCHES_RUNNING)
        self._pause.found(bool(running))
        for batch in running:
            key = (batch.namespace, batch.batch_id)
            free = batch.owner in {"", self._me} or batch.owned_until <= self._clock.now()
            if free and batch.verb in self.verbs and key not in self._here:
                self._here.add(key)
                self._supervisor.run(self._run(batch), "batch")

    async def _run(self, batch: Batch) -> None:
        try:
            plan = msgpack.decode(batch.plan, type=Plan)
            owned: Batch | None = await self._change(batch)
            while owned is not None and not self._leaving.is_set():
                owned = await self._round(owned, plan)
            if owned is not None:
                await self._batches.change(replace(owned, owner="", owned_until=0, revision=owned.revision + 1))
        except msgspec.DecodeError:
            logger.exception("batch %s does not decode and has failed", batch.batch_id)
            await self._batches.change(ended(batch, BatchState.FAILED, self._clock.now()))
        finally:
            self._here.discard((batch.namespace, batch.batch_id))

    async def _round(self, batch: Batch, plan: Plan) -> Batch | None:
        """What is in hand, or else the next; None = it has ended, or another has it."""
        rate = min(batch.max_per_second or limits.BATCH_PER_SECOND, limits.BATCH_PER_SECOND)
        begun = self._clock.now()
        if not batch.in_hand:
            taken = await self._take(batch, plan, max(1, min(limits.BATCH_ITEMS, int(rate))))
            if taken is None or not taken.in_hand:
                return taken
            batch = taken
        verb, in_hand = self.verbs[batch.verb], batch.in_hand
        refusals = [found for found in await self._all(batch, plan, verb) if found is not None]
        counted = replace(
            batch,
            in_hand=(),
            succeeded=batch.succeeded + len(in_hand) - len(refusals),
            failed=batch.failed + len(refusals),
            refusals=(*batch.refusals, *refusals)[: limits.BATCH_REFUSALS],
        )
        changed = await self._change(counted)
        if changed is None:
            await self._count_in_stopped(counted, in_hand)
            return None
        return await self._pace(changed, begun + round(len(in_hand) / rate * limits.SECOND))

    async def _take(self, batch: Batch, plan: Plan, size: int) -> Batch | None:
        query = plan.selection.query
        before = min(query.start_before or batch.start_time + 1, batch.start_time + 1)  # what starts later is none of it
        selection = replace(plan.selection, query=replace(query, start_before=before, descending=False))
        after = PageKey(batch.place[0], bytes.fromhex(batch.place[1])) if batch.place[1] else None
        page = await self._listing.page(selection, size, after)
        if not page.views and page.after is None:
            await self._batches.change(ended(batch, BatchState.COMPLETED, self._clock.now()))
            return None
        ids = [view.workflow.workflow_id.hex() for view in page.views]
        last = page.after or PageKey(page.views[-1].workflow.start_time, page.views[-1].workflow.workflow_id)
        return await self._change(replace(batch, in_hand=tuple(ids), place=(int(last.start_time), last.workflow_id.hex())))

    async def _all(self, batch: Batch, plan: Plan, verb: Verb) -> Sequence[BatchRefusal | None]:
        gate = asyncio.Semaphore(limits.BATCH_AT_ONCE)

        async def one(workflow_id: str) -> BatchRefusal | None:
            async with gate:
                return await self._one(batch, plan, verb, bytes.fromhex(workflow_id))

        found = await asyncio.gather(*(one(workflow_id) for workflow_id in batch.in_hand), return_exceptions=True)
        for outcome in found:
            if isinstance(outcome, BaseException):
                raise outcome  # the store is away: all of these stay in hand
        return [outcome for outcome in found if not isinstance(outcome, BaseException)]

    async def _one(self, batch: Batch, plan: Plan, verb: Verb, workflow_id: bytes) -> BatchRefusal | None:
        try:
            workflow = await self._workflows.load(workflow_id, Read.LOCAL)
        except CorruptDocument:
            return BatchRefusal("", "", 0, Reason.DOCUMENT_QUARANTINED.name, f"{workflow_id.hex()} does not decode and is set aside.")
        if workflow is None:
            return None if verb.removes else BatchRefusal("", "", 0, Reason.WORKFLOW_NOT_FOUND.name, f"{workflow_id.hex()} is gone.")
        key, request_id = workflow.key, f"batch.{batch.batch_id}"
        try:
            await verb.perform(Item(workflow, request_id, batch.actor, batch.reason), plan.arguments)
        except StoreUnavailable:
            raise
        except Exception as error:  # one workflow must not stop the batch; what is a bug is logged
            reason, message = _words(error)
            if isinstance(error, Rejection) and error.reason in LATER:
                raise StoreUnavailable(message) from error  # it says nothing about the workflow, which stays in hand
            if not (verb.removes and reason == Reason.WORKFLOW_NOT_FOUND.name):
                return BatchRefusal(key.workflow_type, key.business_key, workflow.round, reason, message)
        deed = Deed(verb.method, key.namespace, batch.actor, key=key, round=workflow.round, reason=batch.reason, request_id=request_id)
        await self._audit.record(replace(deed, facts={"batch_id": batch.batch_id}))
        return None

    async def _pace(self, batch: Batch, until: int) -> Batch | None:
        current: Batch | None = batch
        while current is not None and not self._leaving.is_set() and (left := until - self._clock.now()) > 0:
            await happened(self._leaving, min(left, _RENEW))
            if left > _RENEW:
                current = await self._change(current)
        return current

    async def _change(self, batch: Batch) -> Batch | None:
        """Store it as its owner; None = it was stopped, or another has it."""
        owned_until = self._clock.now() + limits.BATCH_LEASE
        changed = replace(batch, owner=self._me, owned_until=owned_until, revision=batch.revision + 1)
        return changed if await self._batches.change(changed) else None

    async def _count_in_stopped(self, counted: Batch, in_hand: tuple[str, ...]) -> None:
        # A person stopped it while these were in hand: what is done stays done, and is told.
        stored = await self._batches.get(counted.namespace, counted.batch_id)
        if stored is not None and stored.state is BatchState.STOPPED and stored.in_hand == in_hand:
            counts = {"succeeded": counted.succeeded, "failed": counted.failed, "refusals": counted.refusals}
            await self._batches.change(replace(stored, in_hand=(), revision=stored.revision + 1, **counts))


def _words(error: Exception) -> tuple[str, str]:
    if isinstance(error, Rejection):
        return error.reason.name, error.message
    if isinstance(error, FieldViolation):
        return error.reason.name, str(error)
    if isinstance(error, DocumentTooLarge):
        return "DOCUMENT_FULL", "The workflow's document has no room for it."
    if isinstance(error, CorruptDocument):
        return Reason.DOCUMENT_QUARANTINED.name, "The stored document does not decode and is set aside."
    logger.error("a batch met an unexpected error", exc_info=error)
    return Reason.INTERNAL.name, "A bug in the server; its log has more."

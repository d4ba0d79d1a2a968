"""Batches: started, told, stopped here; done by engine/batch_runner.py on whichever server has it."""

import hashlib
from collections.abc import Callable, Sequence

from msgspec import Struct, msgpack
from msgspec.structs import replace

from perdure_server.engine.listing import Listing, Tally
from perdure_server.engine.parts import Parts
from perdure_server.engine.selection import Selection
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.ports.batches import Batch, BatchKey, BatchState

_COUNTED = 10_000
_encode = msgpack.Encoder(order="deterministic").encode


class Plan(Struct, frozen=True):
    """What is done, and to which workflows; stored with the batch."""

    selection: Selection
    arguments: bytes = b""


class Work(Struct, frozen=True, omit_defaults=True):
    """What a caller wants done. `verb` is one of the runner's; `told` is shown to people as it is, so it holds no payloads.

    `max_per_second` 0 = the server's limit. `content`: a digest of all that is asked for, payloads, too.
    """

    namespace: str
    verb: str
    plan: Plan
    told: bytes = b""
    reason: str = ""
    actor: str = ""
    request_id: str = ""
    max_per_second: float = 0.0
    content: str = ""


class Batches:
    """Every method raises StoreUnavailable."""

    def __init__(self, parts: Parts, listing: Listing) -> None:
        self._stored = parts.store.batches
        self._clock = parts.clock
        self._supervisor = parts.supervisor
        self._listing = listing
        self.on_new: Callable[[], None] = lambda: None  # there is work

    async def start(self, work: Work, only_if_any: bool = False) -> Batch | None:
        """Store a batch; a repeat of its request answers the same. None = nothing matches and it was not to be started then.

        Raises Rejection REQUEST_ID_REUSED.
        """
        batch = self._made(work, Tally(0, estimate=False))
        stored = await self._stored.get(work.namespace, batch.batch_id)
        if stored is None:
            tally = await self.count(work.plan.selection)
            if only_if_any and not tally.count:
                return None
            batch = self._made(work, tally)
            stored = batch if await self._stored.add(batch) else await self.get(work.namespace, batch.batch_id)
        if stored.content != batch.content:
            raise Rejection(Reason.REQUEST_ID_REUSED, "This request_id was used before for another batch.", batch_id=batch.batch_id)
        self.on_new()
        return stored

    def shown(self, work: Work, tally: Tally) -> Batch:
        """A batch that is not started: without an id."""
        return replace(self._made(work, tally), batch_id="")

    async def count(self, selection: Selection) -> Tally:
        """How many match now."""
        return await self._listing.count(selection, _COUNTED)

    async def get(self, namespace: str, batch_id: str) -> Batch:
        """As it is now. Raises Rejection BATCH_NOT_FOUND."""
        found = await self._stored.get(namespace, batch_id)
        if found is None:
            raise Rejection(Reason.BATCH_NOT_FOUND, "There is no such batch in this namespace.", batch_id=batch_id)
        return found

    async def list(self, namespace: str, states: Sequence[BatchState], limit: int, after: BatchKey | None) -> Sequence[Batch]:
        """Newest first."""
        return await self._stored.list(namespace, states, limit, after)

    async def stop(self, namespace: str, batch_id: str, request_id: str) -> Batch:
        """No more of it is done. Raises Rejection BATCH_NOT_FOUND, BATCH_CLOSED."""
        while True:
            batch = await self.get(namespace, batch_id)
            if batch.state is BatchState.STOPPED and request_id and batch.stop_request_id == request_id:
                return batch
            if batch.state is not BatchState.RUNNING:
                raise Rejection(Reason.BATCH_CLOSED, "The batch has ended.", state=batch.state.name)
            stopped = ended(replace(batch, stop_request_id=request_id), BatchState.STOPPED, self._clock.now())
            if await self._stored.change(stopped):
                return stopped

    async def retention_step(self) -> None:
        """Forget what ended longer ago than limits.BATCH_RETENTION."""
        await self._clock.sleep(self._clock.together(limits.HOUSEKEEPING_INTERVAL))
        while await self._stored.forget(self._clock.now() - limits.BATCH_RETENTION, limits.HOUSEKEEPING_BATCH) == limits.HOUSEKEEPING_BATCH:
            self._supervisor.beat("batch retention")

    def _made(self, work: Work, tally: Tally) -> Batch:
        return Batch(
            namespace=work.namespace,
            batch_id=_id_of(work),
            state=BatchState.RUNNING,
            start_time=self._clock.now(),
            verb=work.verb,
            plan=_encode(work.plan),
            told=work.told,
            reason=work.reason,
            actor=work.actor,
            request_id=work.request_id,
            content=work.content,
            matched=tally.count,
            matched_estimate=tally.estimate,
            max_per_second=work.max_per_second,
        )


def _id_of(work: Work) -> str:
    return hashlib.sha256(f"{work.namespace} {work.verb} {work.request_id}".encode()).hexdigest()[:24]


def ended(batch: Batch, state: BatchState, now: int) -> Batch:
    """The next revision of a batch: ended, without its plan, which may hold a payload. What is in hand may still be counted."""
    return replace(batch, state=state, end_time=now, plan=b"", owner="", owned_until=0, revision=batch.revision + 1)

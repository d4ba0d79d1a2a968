"""The audit trail: `await engine.audit.record(Deed(...))` after the effect is stored.

Calls over gRPC need no line of their own: rpc/audited.py records every RPC in its table. What works in the background calls this.
"""

import asyncio
import hashlib
import logging
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from perdure_server.engine.parts import Parts
from perdure_server.kernel import limits
from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.ports.audit import AuditKey, AuditQuery, AuditRecord
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.ports.instruments import AUDIT_DROPPED, AUDIT_LOST

logger = logging.getLogger(__name__)

T = TypeVar("T")

_PAUSE_FIRST = 100
_PAUSE_CAP = 5 * limits.SECOND


class Deed(Struct, frozen=True, omit_defaults=True):
    """What was done. `method` is the RPC's name, such as `TerminateWorkflow`; `key` and `round` name the workflow, `target` anything else.

    `refusal` (a reason's name) and `refusal_text` say why it was refused; empty: it was done. `facts` never hold payloads or secrets.
    """

    method: str
    namespace: str
    actor: str = ""
    peer: str = ""
    key: WorkflowKey | None = None
    round: int = 0
    target: str = ""
    reason: str = ""
    request_id: str = ""
    refusal: str = ""
    refusal_text: str = ""
    facts: Mapping[str, str] = {}


class Audit:
    """Records deeds and reads them."""

    def __init__(self, parts: Parts) -> None:
        self._trail = parts.store.audit
        self._clock = parts.clock
        self._supervisor = parts.supervisor
        self._telemetry = parts.telemetry
        self._entropy = parts.entropy
        self._refusals = 0

    async def record(self, deed: Deed) -> None:
        """Store a deed whose effect is stored. Returns once it is, or after limits.AUDIT_WITHIN, while a task goes on trying.

        With a request id a repeat of the deed is the same record. Never raises for the store's sake: the deed is done.
        """
        stored = asyncio.Event()
        self._supervisor.run(self._store(self._made(deed), stored), "audit")
        if not self._supervisor.closed:
            try:
                async with asyncio.timeout(limits.AUDIT_WITHIN / limits.SECOND):
                    await stored.wait()
            except TimeoutError:
                logger.warning("the audit record of a %s is not stored yet", deed.method)

    async def carry_through(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a deed with its record: a caller who leaves meanwhile does not leave a deed without one."""
        if self._supervisor.closed:
            return await work
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._supervisor.run(_into(future, work), "deed")
        return await asyncio.shield(future)

    def refused(self, deed: Deed) -> None:
        """Note a refusal, beside the answer; dropped when too many wait."""
        if self._refusals >= limits.AUDIT_REFUSALS_WAITING:
            self._telemetry.count(AUDIT_DROPPED)
            return
        self._refusals += 1
        self._supervisor.run(self._note(self._made(deed)), "audit of a refusal")

    async def find(self, query: AuditQuery, limit: int, after: AuditKey | None) -> Sequence[AuditRecord]:
        """Records, newest first. Raises StoreUnavailable."""
        return await self._trail.find(query, limit, after)

    async def retention_step(self) -> None:
        """Forget what is older than limits.AUDIT_RETENTION."""
        await self._clock.sleep(self._clock.together(limits.HOUSEKEEPING_INTERVAL))
        while await self._trail.forget(self._clock.now() - limits.AUDIT_RETENTION, limits.HOUSEKEEPING_BATCH) == limits.HOUSEKEEPING_BATCH:
            self._supervisor.beat("audit retention")

    def _made(self, deed: Deed) -> AuditRecord:
        key = deed.key
        return AuditRecord(
            record_id=_id_of(deed) if deed.request_id else self._entropy.hex(12),
            namespace=deed.namespace,
            time=self._clock.now(),
            method=deed.method,
            actor=deed.actor,
            peer=deed.peer,
            workflow_type=key.workflow_type if key is not None else "",
            business_key=key.business_key if key is not None else "",
            round=deed.round,
            target=deed.target,
            reason=deed.reason,
            request_id=deed.request_id,
            refusal=deed.refusal,
            refusal_text=deed.refusal_text,
            facts=deed.facts,
        )

    async def _store(self, record: AuditRecord, stored: asyncio.Event) -> None:
        give_up = self._clock.unshifted() + limits.AUDIT_GIVE_UP
        pause = _PAUSE_FIRST
        while True:
            try:
                await self._trail.add(record)
            except StoreUnavailable:
                if self._clock.unshifted() >= give_up:
                    self._telemetry.count(AUDIT_LOST)
                    logger.exception("the audit record of a %s is lost", record.method)
                    return
            else:
                stored.set()
                return
            await self._clock.sleep(pause)
            pause = min(2 * pause, _PAUSE_CAP)

    async def _note(self, record: AuditRecord) -> None:
        try:
            await self._trail.add(record)
        finally:
            self._refusals -= 1


async def _into(future: "asyncio.Future[T]", work: Coroutine[Any, Any, T]) -> None:
    try:
        future.set_result(await work)
    except asyncio.CancelledError:
        future.cancel()
        raise
    except Exception as error:  # noqa: BLE001 -- whatever it is, it is the caller's
        future.set_exception(error)
        future.exception()  # read here, too: the caller may have left


def _id_of(deed: Deed) -> str:
    key = deed.key
    parts = [deed.namespace, deed.method, deed.target, deed.request_id, deed.refusal, deed.actor]
    parts += [key.workflow_type, key.business_key, str(deed.round)] if key is not None else []
    return hashlib.sha256("\0".join(f"{len(part)}:{part}" for part in parts).encode()).hexdigest()[:24]

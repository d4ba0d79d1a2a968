"""The relay of outboxes: what a team has committed is started, until it is accepted or known to be wrong.

The start's request id is the document's `_id`, so a second server, or a second try after a lost answer, meets the same workflow. Only then
is the document removed. A document that is refused keeps the reason, and stands in nobody's way.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

from perdure_server.engine.pause import Pause
from perdure_server.engine.schedules import LATER
from perdure_server.kernel import limits
from perdure_server.kernel.canonical import payload_digest
from perdure_server.kernel.outbox import OutboxStart
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.start import Start
from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.ports.errors import DocumentTooLarge, StoreUnavailable
from perdure_server.ports.instruments import OUTBOX
from perdure_server.ports.outbox import Outbox, OutboxEntry
from perdure_server.ports.telemetry import Telemetry

if TYPE_CHECKING:
    from perdure_server.engine.service import Engine

logger = logging.getLogger(__name__)

HEALS: Final = LATER | {Reason.DEFINITION_NOT_FOUND}
"""Refusals that may pass by themselves: a deployment that is under way, a server that is busy."""

_WINDOW = 200
_WINDOWS = 20
_AT_ONCE = 32
_SELDOM = 2 * limits.SECOND


class Relay:
    """Polls every outbox; servers share the documents as they share what is due."""

    def __init__(self, engine: "Engine", outboxes: Sequence[Outbox], telemetry: Telemetry) -> None:
        self._engine = engine
        self._outboxes = outboxes
        self._clock = engine.clock
        self._count = telemetry.count
        self._pause = Pause(engine.settings.sweep_interval, _SELDOM)
        self._came = False  # something waited in one of them at this look
        self._seen: dict[str, dict[bytes, int]] = {outbox.name: {} for outbox in outboxes}

    def loops(self) -> dict[str, Callable[[], Awaitable[None]]]:
        """The background loop, if there is an outbox."""
        return {"outbox": self._step} if self._outboxes else {}

    async def _step(self) -> None:
        """What waits in each outbox. One that is away stops no other."""
        await self._clock.sleep(self._clock.together(self._pause.next))
        if self._engine.draining:
            return
        self._came = False
        results = await asyncio.gather(*(self._empty(outbox) for outbox in self._outboxes), return_exceptions=True)
        for outbox, result in zip(self._outboxes, results, strict=True):
            if isinstance(result, StoreUnavailable):
                logger.warning("the outbox %s is not reached; trying again", outbox.name)
            elif isinstance(result, BaseException):
                self._engine.supervisor.failures += 1
                logger.error("the outbox %s cannot be relayed", outbox.name, exc_info=result)
        self._pause.found(self._came)

    async def _empty(self, outbox: Outbox) -> None:
        for _ in range(_WINDOWS):
            now = self._clock.now()
            entries = await outbox.pending(now, _WINDOW)
            self._came = self._came or bool(entries)
            seen = self._seen[outbox.name]
            self._seen[outbox.name] = known = {entry.handle: seen.get(entry.handle, now) for entry in entries}
            mine = [entry for entry in entries if self._engine.sweep.takes(entry.handle, known[entry.handle], now)]
            settled = await self._relay_all(outbox, mine)
            if len(entries) < _WINDOW or not settled:
                return

    async def _relay_all(self, outbox: Outbox, entries: Sequence[OutboxEntry]) -> int:
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(entry: OutboxEntry) -> None:
            async with gate:
                await self._relay(outbox, entry)

        results = await asyncio.gather(*(one(entry) for entry in entries), return_exceptions=True)
        for result in results:
            if isinstance(result, StoreUnavailable):
                raise result
            if isinstance(result, BaseException):
                self._engine.supervisor.failures += 1
                logger.error("a document of the outbox %s cannot be relayed", outbox.name, exc_info=result)
        return sum(result is None for result in results)

    async def _relay(self, outbox: Outbox, entry: OutboxEntry) -> None:
        now = self._clock.now()
        if entry.start is None:
            text = "; ".join(f"{field} {what}" if field else what for field, what in entry.faults)
            await self._refuse(outbox, entry, Reason.INVALID_ARGUMENT, text)
            return
        try:
            await self._engine.start(self._command(entry, entry.start), entry.start.definition_fingerprint)
        except Rejection as error:
            if error.reason in HEALS:
                pause = min(limits.DUTY_RETRY_FIRST << min(entry.tries, limits.DUTY_DOUBLINGS), limits.DUTY_RETRY_CAP)
                self._count(OUTBOX, ("postponed", error.reason.name))
                await outbox.postpone(entry, error.reason.name, error.message, (now, now + pause))
            else:
                await self._refuse(outbox, entry, error.reason, error.message)
        except FieldViolation as error:
            await self._refuse(outbox, entry, error.reason, str(error))
        except DocumentTooLarge:
            await self._refuse(outbox, entry, Reason.PAYLOAD_TOO_LARGE, "The workflow does not fit into a document.")
        else:
            self._count(OUTBOX, ("accepted", ""))
            await outbox.remove(entry)

    async def _refuse(self, outbox: Outbox, entry: OutboxEntry, reason: Reason, message: str) -> None:
        self._count(OUTBOX, ("refused", reason.name))
        logger.warning("a document of the outbox %s is refused: %s", outbox.name, reason.name)
        await outbox.refuse(entry, reason.name, message[: limits.FAILURE_MESSAGE], self._clock.now())

    def _command(self, entry: OutboxEntry, start: OutboxStart) -> Start:
        return Start(
            key=WorkflowKey(start.namespace, start.workflow_type, start.business_key),
            run_id=self._engine.entropy.hex(12),
            trace=self._engine.entropy.trace(self._engine.settings.trace_sample_ratio),
            input=start.input,
            input_digest=payload_digest("input", start.input),
            request_id=entry.request_id,
            on_open=start.on_open,
            on_closed=start.on_closed,
            start_at=start.start_at,
            labels=start.labels,
            priority=start.priority,
            queue=start.queue,
            fairness_key=start.fairness_key,
            fairness_weight=start.fairness_weight,
            workflow_timeout=start.workflow_timeout,
            retention=start.retention,
        )

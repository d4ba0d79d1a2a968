"""The one runner of duties: at once after the commit that stored a duty, and by the sweep until it is known to be done."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.parts import Parts
from perdure_server.engine.pending import OfTombstones
from perdure_server.engine.subject import about
from perdure_server.engine.turn import Turn
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.duties import duty_done, duty_failed
from perdure_server.kernel.rejection import Rejection
from perdure_server.kernel.workflow import Duty, DutyKind, Workflow
from perdure_server.ports.errors import StoreUnavailable

logger = logging.getLogger(__name__)

Performer = Callable[[Workflow, Duty], Awaitable[bool]]
"""Does what a duty of its kind asks, for the document that holds it (as it was read; perhaps in a later round than the duty's).

It may run several times, on several servers at once, so it must be idempotent, and it returns only after what it wrote is known stored.
True: the duty is done. False: it has seen to that itself, with a command of its own that forgets the duty or puts it off.
Whatever it raises means: again later.
"""

_WITHIN = 30 * limits.SECOND


class DutyCommand(OfTombstones):
    """What became of a duty. `failed`: try again later."""

    def __init__(self, duty: Duty, failed: bool) -> None:
        self._duty = duty
        self._failed = failed

    def begin(self) -> tuple[Definition, Workflow] | None:
        """The document that holds it is there."""
        return None

    def shrink(self) -> bool:
        """It brings nothing."""
        return False

    def apply(self, turn: Turn) -> None:
        """Note it. In whichever round the document is now: duties stay with the key."""
        if self._failed:
            duty_failed(turn.draft, self._duty)
        else:
            duty_done(turn.draft, self._duty)


class Duties:
    """Performs duties, each at most once at a time on this server."""

    def __init__(self, parts: Parts, mailboxes: Mailboxes) -> None:
        self._mailboxes = mailboxes
        self._supervisor = parts.supervisor
        self._clock = parts.clock
        self._performers: dict[DutyKind, Performer] = {}
        self._running: dict[tuple[bytes, tuple[DutyKind, int, str]], asyncio.Event] = {}

    def register(self, kind: DutyKind, performer: Performer) -> None:
        """Who performs the duties of this kind."""
        self._performers[kind] = performer

    def begin(self, workflow: Workflow, duty: Duty) -> None:
        """Perform a duty that was just stored, beside the caller."""
        self._supervisor.run(self._quietly(workflow, duty), "duty")

    async def perform_due(self, workflow: Workflow) -> Workflow | None:
        """Perform what is due in this stored document; returns its newest state that was written, if any. Raises StoreUnavailable."""
        now = self._clock.now()
        due = [duty for duty in workflow.duties if duty.due <= now]
        written = [after for duty in due if (after := await self.perform(workflow, duty)) is not None]
        return max(written, key=lambda after: after.revision, default=None)

    async def perform_all(self, workflow: Workflow) -> None:
        """Perform all duties of this stored document, due or not. What fails is tried again later. Raises StoreUnavailable."""
        for duty in workflow.duties:
            await self.perform(workflow, duty)

    async def perform(self, workflow: Workflow, duty: Duty) -> Workflow | None:
        """Perform it and write down what became of it; None = nothing was written by this call. Raises StoreUnavailable."""
        place = workflow.workflow_id, duty.name
        running = self._running.get(place)
        if running is not None:
            await running.wait()
            return None
        over = self._running[place] = asyncio.Event()
        try:
            done = await self._perform(workflow, duty)
            return await self._write(workflow, duty, failed=done is None) if done is not False else None
        finally:
            del self._running[place]
            over.set()

    async def _perform(self, workflow: Workflow, duty: Duty) -> bool | None:
        """What the performer says; None = it failed."""
        performer = self._performers.get(duty.kind)
        if performer is None:
            logger.error("nobody performs duties of kind %s", duty.kind.name, extra=about(workflow))
            return None
        try:
            async with asyncio.timeout(_WITHIN / limits.SECOND):
                return await performer(workflow, duty)
        except (StoreUnavailable, TimeoutError, Rejection) as error:
            logger.warning("duty %s: %s; trying again", duty.kind.name, type(error).__name__, extra=about(workflow))
        except Exception:
            self._supervisor.failures += 1
            logger.exception("duty %s failed; trying again", duty.kind.name, extra=about(workflow))
        return None

    async def _write(self, workflow: Workflow, duty: Duty, failed: bool) -> Workflow | None:
        try:
            _, after = await self._mailboxes.submit(workflow.workflow_id, DutyCommand(duty, failed))
        except Rejection:  # the document is gone, and its duties with it
            return None
        return after

    async def _quietly(self, workflow: Workflow, duty: Duty) -> None:
        await self.perform(workflow, duty)

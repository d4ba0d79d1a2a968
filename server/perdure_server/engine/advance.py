"""What is due in workflows, done for many at once. Only what this server does not know is read."""

import asyncio
import logging
from collections.abc import Awaitable, Sequence

from perdure_server.engine.commands import AdvanceCommand
from perdure_server.engine.duties import Duties
from perdure_server.engine.judge import Judge
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.parts import Parts
from perdure_server.engine.subject import about
from perdure_server.kernel.rejection import Rejection
from perdure_server.kernel.workflow import CLAIMED, StepState, Workflow
from perdure_server.ports.errors import CorruptDocument, StoreUnavailable
from perdure_server.ports.store import Read

logger = logging.getLogger(__name__)

_AT_ONCE = 64


class Advance:
    """Does what is due."""

    def __init__(self, parts: Parts, mailboxes: Mailboxes, judge: Judge) -> None:
        self.duties = Duties(parts, mailboxes)
        self._workflows = parts.store.workflows
        self._mailboxes = mailboxes
        self._judge = judge
        self._supervisor = parts.supervisor
        self._clock = parts.clock
        self._in_hand: set[bytes] = set()

    def is_in_hand(self, workflow_id: bytes) -> bool:
        """Whether what is due there is being done."""
        return workflow_id in self._in_hand

    async def advance(self, workflow_ids: Sequence[bytes]) -> int:
        """Do what is due in each; returns in how many something moved. One that cannot stops no other. Raises StoreUnavailable."""
        moved = 0
        self._in_hand.update(workflow_ids)
        try:
            for first in range(0, len(workflow_ids), _AT_ONCE):
                moved += await self._together(workflow_ids[first : first + _AT_ONCE])
        finally:
            self._in_hand.difference_update(workflow_ids)
        return moved

    async def _together(self, workflow_ids: Sequence[bytes]) -> int:
        results = await asyncio.gather(*map(self._begin, workflow_ids), return_exceptions=True)
        for workflow_id, result in zip(workflow_ids, results, strict=True):
            if isinstance(result, StoreUnavailable):
                raise result
            if isinstance(result, BaseException) and not isinstance(result, CorruptDocument | Rejection):
                self._supervisor.failures += 1
                logger.error("a due workflow cannot go on", exc_info=result, extra=about(self._mailboxes.known(workflow_id)))
        return sum(result is True or isinstance(result, tuple) for result in results)

    def _begin(self, workflow_id: bytes) -> Awaitable[object]:
        known = self._mailboxes.known(workflow_id)
        if known is None or known.tombstone is not None or known.duties or known.sessions or not _is_due(known, self._clock.now()):
            return self._one(workflow_id, known)
        if not self._judge.judging(self._clock.unshifted()):
            return self._one(workflow_id, known)
        # Nothing but time is due, as with most timers: its mailbox does it, without a task of ours beside it.
        return self._mailboxes.submit(workflow_id, AdvanceCommand())

    async def _one(self, workflow_id: bytes, workflow: Workflow | None) -> bool:
        if workflow is None or not _is_due(workflow, self._clock.now()):
            workflow = await self._mailboxes.load(workflow_id)
        if workflow is None or not _is_due(workflow, self._clock.now()):
            return False  # another was quicker: a stale read is no harm, the sweep asks again
        if await self._duties_were_all(workflow):
            return True
        if workflow.tombstone is not None:
            return False
        if self._judge.judging(self._clock.unshifted()):
            await self._judge.acknowledgements(workflow)
            judged = self._mailboxes.known(workflow_id)
            if judged is not None and judged.revision > workflow.revision and not _is_due(judged, self._clock.now()):
                return True  # that was all
        elif _only_judgements_due(workflow, self._clock.now()):
            return False
        _, after = await self._mailboxes.submit(workflow_id, AdvanceCommand(), workflow)
        return after.revision > workflow.revision

    async def _duties_were_all(self, workflow: Workflow) -> bool:
        """Perform the duties that are due; whether nothing else is."""
        if not any(duty.due <= self._clock.now() for duty in workflow.duties):
            return False
        # What a duty does (payloads freed, an end told) cannot be undone, so its cause must be stored for good.
        confirmed = await self._workflows.load(workflow.workflow_id, Read.LINEARIZABLE, tombstones=True)
        after = await self.duties.perform_due(confirmed) if confirmed is not None else None
        return after is not None and not _is_due(after, self._clock.now())


def _is_due(workflow: Workflow, now: int) -> bool:
    return workflow.wake_time is not None and workflow.wake_time <= now


def _only_judgements_due(workflow: Workflow, now: int) -> bool:
    """Whether nothing is due but what must wait until the workers had time to report again."""
    for step in workflow.steps.values():
        if step.state in (StepState.WAITING, StepState.BACKOFF) and step.due is not None and step.due <= now:
            return False
    judged = (*CLAIMED, StepState.READY)  # a queue timeout is held against workers, too
    return any(step.state in judged for step in workflow.steps.values()) or workflow.deadline is not None

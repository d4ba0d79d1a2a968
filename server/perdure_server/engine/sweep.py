"""The sweep: always on, on every server. It asks the store what is due; Redis timers only make it quicker."""

import asyncio
import hashlib
import logging
from collections.abc import Sequence

from perdure_server.engine.clock import happened
from perdure_server.engine.commands import AdvanceCommand
from perdure_server.engine.duties import Duties
from perdure_server.engine.hub import SERVER, Hub
from perdure_server.engine.judge import Judge
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.parts import Parts
from perdure_server.engine.subject import about
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Rejection
from perdure_server.kernel.workflow import CLAIMED, StepState, Workflow
from perdure_server.ports.coordination import WakeUp
from perdure_server.ports.errors import CoordinationUnavailable, CorruptDocument, StoreUnavailable
from perdure_server.ports.store import Read

logger = logging.getLogger(__name__)

_WINDOW = 500
_WINDOWS = 20  # in a row, before the other duties of this loop get their turn
_AT_ONCE = 64
_OTHERS_AFTER = 3 * limits.SECOND
_TIMER_POLL = 1_000  # for timers that other servers have set, if these do not see to them
_TIMER_HORIZON = 5 * limits.MINUTE
_TIMERS_WAITING = 100_000


class Sweep:
    """Due workflows and timers."""

    def __init__(self, parts: Parts, mailboxes: Mailboxes, judge: Judge, hub: Hub) -> None:
        self.duties = Duties(parts, mailboxes)
        self._workflows = parts.store.workflows
        self._coordination = parts.coordination
        self._mailboxes = mailboxes
        self._judge = judge
        self._hub = hub
        self._supervisor = parts.supervisor
        self._clock = parts.clock
        self._settings = parts.settings
        self._servers: dict[bytes, int] = {}  # when each was heard of last
        self._me = parts.settings.server_id.encode()
        self._unset: dict[bytes, int] = {}
        self._setting = False
        self._next_timer_here = asyncio.Event()
        self._begun = parts.clock.unshifted()
        self._alone = False
        hub.on_server = self._heard_server
        hub.is_alone = self._is_alone
        self.found = 0

    async def due_step(self) -> None:
        """What is due in the store: this server's share at once, the others' after 3 s."""
        await self._clock.sleep(self._settings.sweep_interval)
        self.tell_others()
        now = self._clock.unshifted()
        self._alone = not self._others(now) and now - self._begun > _OTHERS_AFTER
        for _ in range(_WINDOWS):
            now = self._clock.now()
            rows = await self._workflows.due(now, _WINDOW)
            mine = [row.workflow_id for row in rows if self.is_mine(row.workflow_id, now) or now - row.wake_time >= _OTHERS_AFTER]
            self.found += len(mine)
            moved = await self.advance(mine)
            if len(rows) < _WINDOW or not moved:
                return  # the window shows all there is, or what cannot move now

    def tell_others(self) -> None:
        """This server lives, and takes its share."""
        self._hub.publish(WakeUp(SERVER, self._me))

    async def timers_step(self) -> None:
        """What is due by the timers of coordination; each goes to one server."""
        self._next_timer_here.clear()
        following = await self._coordination.next_timer()
        wait = _TIMER_POLL if following is None else min(_TIMER_POLL, following - self._clock.now())
        if wait > 0 and await happened(self._next_timer_here, wait):
            return  # perhaps an earlier one
        if following is not None and following <= (now := self._clock.now()):
            await self.advance(await self._coordination.due_timers(now, _WINDOW))

    def set_timer(self, workflow_id: bytes, due: int) -> None:
        """A step falls due soon; far ones are left to the sweep, and so are more than coordination takes in."""
        if due - self._clock.now() > _TIMER_HORIZON or len(self._unset) >= _TIMERS_WAITING:
            return
        self._unset[workflow_id] = min(due, self._unset.get(workflow_id, due))
        if not self._setting:
            self._setting = True
            self._supervisor.run(self._set_all(), "set timers")

    async def advance(self, workflow_ids: Sequence[bytes]) -> int:
        """Do what is due in each; returns in how many something moved. One that cannot stops no other. Raises StoreUnavailable."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(workflow_id: bytes) -> bool:
            async with gate:
                return await self._advance_one(workflow_id)

        results = await asyncio.gather(*(one(workflow_id) for workflow_id in workflow_ids), return_exceptions=True)
        for workflow_id, result in zip(workflow_ids, results, strict=True):
            if isinstance(result, StoreUnavailable):
                raise result
            if isinstance(result, BaseException) and not isinstance(result, CorruptDocument | Rejection):
                self._supervisor.failures += 1
                logger.error("a due workflow cannot go on", exc_info=result, extra=about(self._mailboxes.known(workflow_id)))
        return sum(result is True for result in results)

    async def _advance_one(self, workflow_id: bytes) -> bool:
        workflow = self._mailboxes.known(workflow_id) or await self._workflows.load(workflow_id, tombstones=True)
        if workflow is None:
            return False
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
        _, after = await self._mailboxes.submit(workflow_id, AdvanceCommand())
        return after.revision > workflow.revision

    async def _duties_were_all(self, workflow: Workflow) -> bool:
        """Perform the duties that are due; whether nothing else is."""
        if not any(duty.due <= self._clock.now() for duty in workflow.duties):
            return False
        # What a duty does (payloads freed, an end told) cannot be undone, so its cause must be stored for good.
        confirmed = await self._workflows.load(workflow.workflow_id, Read.LINEARIZABLE, tombstones=True)
        after = await self.duties.perform_due(confirmed) if confirmed is not None else None
        return after is not None and not _is_due(after, self._clock.now())

    async def _set_all(self) -> None:
        try:
            while self._unset:
                timers, self._unset = self._unset, {}
                await self._coordination.set_timers(timers)
                self._next_timer_here.set()
        except CoordinationUnavailable:
            self._unset.clear()
        finally:
            self._setting = False

    def _heard_server(self, server: bytes) -> None:
        self._servers[server] = self._clock.unshifted()
        if server != self._me:
            self._alone = False

    def _others(self, now: int) -> list[bytes]:
        for server in [server for server, heard in self._servers.items() if now - heard > _OTHERS_AFTER]:
            del self._servers[server]
        return [server for server in self._servers if server != self._me]

    def _is_alone(self) -> bool:
        # Asked at every change, so counted once in a pass and when somebody is heard.
        return self._alone

    def takes(self, identity: bytes, due: int, now: int) -> bool:
        """Whether this server looks after a thing that is due: its own share at once, anybody's after 3 s."""
        return self.is_mine(identity, now) or now - due >= _OTHERS_AFTER

    def is_mine(self, workflow_id: bytes, now: int) -> bool:
        """Whether this one, or whatever else is named so, falls to this server's share now."""
        others = self._others(self._clock.unshifted_at(now))
        if not others:
            return True
        return max([self._me, *others], key=lambda server: hashlib.blake2b(server + workflow_id, digest_size=8).digest()) == self._me


def _is_due(workflow: Workflow, now: int) -> bool:
    return workflow.wake_time is not None and workflow.wake_time <= now


def _only_judgements_due(workflow: Workflow, now: int) -> bool:
    """Whether nothing is due but what must wait until the workers had time to report again."""
    for step in workflow.steps.values():
        if step.state in (StepState.WAITING, StepState.BACKOFF) and step.due is not None and step.due <= now:
            return False
    judged = (*CLAIMED, StepState.READY)  # a queue timeout is held against workers, too
    return any(step.state in judged for step in workflow.steps.values()) or workflow.deadline is not None

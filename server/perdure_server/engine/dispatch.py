"""Bringing READY steps to free slots: straight to a pool of this server, else through the ready queues; the sweep finds what gets lost."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from perdure_server.engine.clock import happened
from perdure_server.engine.commands import GrantCommand
from perdure_server.engine.desk import Desk, Pool, Slot
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.parts import Parts
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.permits import PermitsLacking
from perdure_server.kernel.seal import queue_id
from perdure_server.kernel.workflow import Claim, StepState, Workflow
from perdure_server.ports.coordination import ReadyItem
from perdure_server.ports.errors import CoordinationUnavailable

_TAKE_WAIT = 2 * limits.SECOND  # at queues that others announce to
_TAKE_WAIT_LEAST = 250  # and before the wait begins anew because there are more such queues
_COME_ROUND = 5 * limits.SECOND
_LOOK_SELDOM = 2 * limits.SECOND  # at what is counted as it goes, in case that a count was missed
_TAKE_LIMIT = 200


class Dispatch:
    """Offers, takes and grants."""

    def __init__(self, parts: Parts, desk: Desk, mailboxes: Mailboxes) -> None:
        self._desk = self.desk = desk
        self._mailboxes = mailboxes
        self._coordination = parts.coordination
        self._supervisor = parts.supervisor
        self._clock = parts.clock
        self._unannounced: list[ReadyItem] = []
        self._withdrawn: list[ReadyItem] = []
        self._announcing = False
        self._granting: set[tuple[bytes, str]] = set()
        self._awaited: frozenset[str] = frozenset()  # the queues that `await_step` waits at
        self._awaiting: asyncio.Timeout | None = None  # of that wait, to end it
        self._await_until = 0.0
        # Permits take over the steps that need some.
        self.takes: Callable[[bytes, str, Slot], bool] = lambda _workflow_id, _name, _slot: False
        self.lacking: Callable[[bytes, str, Slot], None] = lambda _workflow_id, _name, _slot: None
        self.permits_freed: Callable[[Workflow, Claim], None] = lambda _workflow, _claim: None
        self.waits: Callable[[bytes, str], bool] = lambda _workflow_id, _name: False

    def offer(self, definition: Definition, workflow: Workflow, name: str) -> None:
        """A step of a stored instance is READY: give it to a free slot here, unless others are known to wait for one; else announce it."""
        step = workflow.steps.get(name)
        if step is None or step.state is not StepState.READY or workflow.paused is not None:
            return
        queue = queue_id(definition, workflow, name)
        slot = self._desk.reserve(queue) if not self._desk.has_backlog(queue) else None
        if slot is not None:
            self.grant(workflow.workflow_id, name, slot)
        else:
            self.announce(definition, workflow, name)

    def announce(self, definition: Definition, workflow: Workflow, name: str) -> None:
        """Offer a READY step in its ready queue, to whoever has a free slot."""
        self._announce(ready_item(definition, workflow, name))

    def requeue(self, definition: Definition, workflow: Workflow, name: str, queue: str) -> None:
        """The same for a step that was announced to `queue`: what is there goes first."""
        step = workflow.steps.get(name)
        if step is not None:
            self._withdrawn.append(ReadyItem(queue, workflow.workflow_id, name, step.since))
        self.offer(definition, workflow, name)
        self._announce_soon()

    def grant(self, workflow_id: bytes, name: str, slot: Slot) -> None:
        """Write the claim for a reserved slot; the slot comes back if the step is not ready any more. What needs permits waits for them."""
        if self.takes(workflow_id, name, slot):
            return
        self._granting.add((workflow_id, name))
        if slot.pool.prepare is not None:
            self._supervisor.run(self._grant_prepared(workflow_id, name, slot, slot.pool.prepare), "grant")
        else:
            self._submit(workflow_id, name, slot)

    async def _grant_prepared(self, workflow_id: bytes, name: str, slot: Slot, prepare: Callable[[str], Awaitable[None]]) -> None:
        try:
            await prepare(slot.ticket.session_id)
        except BaseException:
            self._granting.discard((workflow_id, name))
            self._desk.release(slot)
            raise
        self._submit(workflow_id, name, slot)

    def _submit(self, workflow_id: bytes, name: str, slot: Slot) -> None:
        def done(future: "asyncio.Future[tuple[None, Workflow]]") -> None:
            self._granting.discard((workflow_id, name))
            error = None if future.cancelled() else future.exception()
            if future.cancelled() or error is not None:
                self._desk.release(slot)
            if isinstance(error, PermitsLacking):
                self.lacking(workflow_id, name, slot)

        self._mailboxes.submit(workflow_id, GrantCommand(name, slot)).add_done_callback(done)

    async def take_step(self) -> None:
        """Whenever slots came free: what waits in their queues."""
        if not await happened(self._desk.changed, self._clock.together(_COME_ROUND)):
            return
        pools = self._desk.fresh()
        if self._awaiting is not None and not all(pool.queues <= self._awaited for pool in pools):
            self._awaiting.reschedule(self._await_until)
            self._awaiting = None
        try:
            await asyncio.gather(*(self._take_for(pool) for pool in pools))
        except CoordinationUnavailable:
            for pool in pools:
                self._desk.look(pool)
            raise

    async def await_step(self) -> None:
        """Wait at the queues with idle slots for what others announce."""
        idle = self._desk.idle_queues()
        if not idle:
            self._desk.free.clear()
            await happened(self._desk.free, self._clock.together(_COME_ROUND))
            return
        items: Sequence[ReadyItem] = ()
        self._awaited, self._await_until = frozenset(idle), asyncio.get_running_loop().time() + _TAKE_WAIT_LEAST / limits.SECOND
        try:
            async with asyncio.timeout(None) as self._awaiting:
                items = await self._coordination.take(idle, 1, _TAKE_WAIT)
        except TimeoutError:
            return  # there are more queues to wait at
        finally:
            self._awaiting = None
        for item in items:
            self.place(item)
            self._desk.look_again(item.queue)

    async def view_step(self) -> None:
        """Look how much waits in the queues that this server has no free slot for, so that eager dispatch jumps no queue."""
        self._desk.taken.clear()
        busy = self._desk.busy_queues()
        if not busy:
            await happened(self._desk.taken, self._clock.together(_LOOK_SELDOM))
            return
        for queue, items in (await self._coordination.backlog(busy)).items():
            self._desk.note_backlog(queue, items)
        await self._clock.sleep(limits.SECOND // 2)

    def is_granting(self, workflow_id: bytes, name: str) -> bool:
        """Whether this server writes a claim of the step right now."""
        return (workflow_id, name) in self._granting or self.waits(workflow_id, name)

    async def _take_for(self, pool: Pool) -> None:
        limit = min(pool.credit, _TAKE_LIMIT)
        if limit <= 0:
            return
        queues = sorted(pool.queues)
        items = await self._coordination.take(queues, limit, 0)
        if len(items) == limit:
            self._desk.look(pool)  # there may be more
        else:
            for queue in queues:
                self._desk.note_backlog(queue, 0)
        for item in items:
            self.place(item)

    def place(self, item: ReadyItem) -> bool:
        """Give it to a free slot of its queue, else (back) into its place in the queue. True = it got a slot."""
        slot = self._desk.reserve(item.queue)
        if slot is not None:
            self.grant(item.workflow_id, item.step, slot)
            return True
        self._desk.doubt()
        self._announce(item)  # somebody was quicker with the slot: back into its place
        return False

    def _announce(self, item: ReadyItem) -> None:
        self._unannounced.append(item)
        self._announce_soon()

    def _announce_soon(self) -> None:
        if not self._announcing:
            self._announcing = True
            self._supervisor.run(self._announce_all(), "announce")

    async def _announce_all(self) -> None:
        try:
            while self._unannounced or self._withdrawn:
                gone, self._withdrawn = self._withdrawn, []
                items, self._unannounced = self._unannounced, []
                if gone:
                    await self._coordination.remove(gone)
                await self._coordination.announce(items)
        except CoordinationUnavailable:
            self._withdrawn.clear()
            self._unannounced.clear()  # hints only: the sweep finds them
        finally:
            self._announcing = False


def ready_item(definition: Definition, workflow: Workflow, name: str) -> ReadyItem:
    """A READY step as its queue gets it."""
    step, queue = workflow.steps[name], queue_id(definition, workflow, name)
    plan = definition.by_name[name]
    priority = plan.priority if plan.priority is not None else workflow.priority
    return ReadyItem(queue, workflow.workflow_id, name, step.since, priority, workflow.fairness_key, workflow.fairness_weight)

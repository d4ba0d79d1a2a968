"""Permits: READY steps that need them wait here until they hold all of them, and only then is their claim written.

Nothing here decides: a claim is written only with permits that a stripe holds for the very revision that the write is based on, and the
audit judges every holder by the workflow's own document. What this server knows of waiters may be lost; the store tells it again.
"""

import asyncio
import itertools
import logging
from collections.abc import Mapping, Sequence

from perdure_server.engine.catalog import Catalog
from perdure_server.engine.clock import happened
from perdure_server.engine.desk import Desk, Slot
from perdure_server.engine.dispatch import Dispatch
from perdure_server.engine.hub import Hub
from perdure_server.engine.lines import Line
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.parts import Parts
from perdure_server.engine.permit_claims import PermitClaims
from perdure_server.engine.resource_cache import ResourceCache
from perdure_server.engine.waiters import Waiter
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.resources import Resource
from perdure_server.kernel.seal import line_id, queue_id
from perdure_server.kernel.workflow import Claim, HeldPermit, StepState, Workflow

logger = logging.getLogger(__name__)

_IDLE_LINES = 5_000
_COME_ROUND = 3 * limits.SECOND

Place = tuple[bytes, str]


class Permits:
    """All lines of this server."""

    def __init__(self, parts: Parts, mailboxes: Mailboxes, catalog: Catalog, dispatch: Dispatch, hub: Hub) -> None:
        self._clock = parts.clock
        self._supervisor = parts.supervisor
        self._workflows = parts.store.workflows
        self._mailboxes = mailboxes
        self._catalog = catalog
        self._dispatch = dispatch
        self.parts = parts
        self.desk: Desk = dispatch.desk
        self.hub = hub
        self.cache = ResourceCache(parts.store.resources, parts.clock)
        self._lines: dict[str, Line] = {}
        self._waiters: dict[Place, Waiter] = {}
        self._waiting = asyncio.Event()  # set as long as somebody waits
        self._numbers = itertools.count()
        self._entering: dict[Place, Slot | None] = {}
        self._limited: set[str] = set()  # queues of steps that are known to need permits
        self._claims = PermitClaims(parts, mailboxes, self)
        dispatch.takes, dispatch.lacking, dispatch.waits, dispatch.permits_freed = self.takes, self.lacking, self.knows, self.freed
        hub.on_permits = self.changed

    # ------------------------------------------------------------------------------------------------------- steps come

    def takes(self, workflow_id: bytes, name: str, slot: Slot) -> bool:
        """Whether the step needs permits, as far as this server knows; then it waits for them here, with its slot in hand."""
        known = self._mailboxes.known(workflow_id)
        if known is not None:
            definition = self._catalog.of_at_hand(known)
            if definition is not None and name in definition.by_name:
                if not definition.by_name[name].permits:
                    return False
                self._limited.add(slot.queue)
        if slot.queue not in self._limited:
            return False
        self.enter(workflow_id, name, slot)
        return True

    def lacking(self, workflow_id: bytes, name: str, slot: Slot) -> None:
        """A claim was refused for lack of permits: now it is known that the steps of this queue need them. The slot is not in hand."""
        self._limited.add(slot.queue)
        self.enter(workflow_id, name, None)

    def knows(self, workflow_id: bytes, name: str) -> bool:
        """Whether the step waits here already, or gets its claim."""
        place = (workflow_id, name)
        return place in self._waiters or place in self._entering or self._claims.is_writing(workflow_id, name)

    def enter(self, workflow_id: bytes, name: str, slot: Slot | None) -> None:
        """A READY step needs permits. `slot`: one that is reserved for it."""
        place = (workflow_id, name)
        if self.knows(*place):
            waiter = self._waiters.get(place)
            if slot is None:
                return
            if waiter is not None and waiter.line is not None and waiter.slot is None and not waiter.trying:
                waiter.line.hand(waiter, slot)
            else:
                self.desk.release(slot)
            return
        waiter = self._at_hand(workflow_id, name)
        if waiter is not None:
            self._line_up(waiter, slot)
            return
        self._entering[place] = slot
        self._supervisor.run(self._enter(place), "permits enter")

    def _at_hand(self, workflow_id: bytes, name: str) -> Waiter | None:
        """The waiter, if nothing need be read; spares the busiest road a task."""
        workflow = self._mailboxes.known(workflow_id)
        if workflow is None or not _waits(workflow, name):
            return None
        definition = self._catalog.of_at_hand(workflow)
        if definition is None:
            return None
        namespace, permits = workflow.key.namespace, definition.by_name[name].permits
        if not permits or not all(self.cache.is_recent(namespace, permit.resource) for permit in permits):
            return None
        resources = {permit.resource: self.cache.known(namespace, permit.resource) for permit in permits}
        return self._made(definition, workflow, name, resources)

    async def _enter(self, place: Place) -> None:
        waiter: Waiter | None = None
        try:
            workflow = self._mailboxes.known(place[0])
            if workflow is None or not _waits(workflow, place[1]):
                workflow = await self._workflows.load(place[0])  # what is remembered may lie back, for any time if hints were lost
            if workflow is not None:
                waiter = await self._waiter(workflow, place[1])
        finally:
            slot = self._entering.pop(place)
            if waiter is None and slot is not None:
                self.desk.release(slot)
        if waiter is not None:
            self._line_up(waiter, slot)

    def _line_up(self, waiter: Waiter, slot: Slot | None) -> None:
        self._waiters[waiter.workflow.workflow_id, waiter.name] = waiter
        self._waiting.set()
        if len(waiter.needs) > 1 and slot is not None:
            waiter.begin()
            self.whole(waiter, slot)
            return
        waiter.slot = slot
        self.line(waiter.workflow.key.namespace, *waiter.needs[0][:2]).join(waiter)

    async def _waiter(self, workflow: Workflow, name: str) -> Waiter | None:
        if not _waits(workflow, name):
            return None
        definition = await self._catalog.of(workflow)
        permits = definition.by_name[name].permits
        resources = {permit.resource: await self.cache.get(workflow.key.namespace, permit.resource) for permit in permits}
        if permits:
            return self._made(definition, workflow, name, resources)
        self._limited.discard(queue_id(definition, workflow, name))  # the policy has changed
        self._dispatch.offer(definition, workflow, name)
        return None

    def _made(self, definition: Definition, workflow: Workflow, name: str, resources: Mapping[str, Resource | None]) -> Waiter:
        waiter = Waiter(workflow, name, queue_id(definition, workflow, name), (self._clock.unshifted(), next(self._numbers)))
        needs = []
        for permit in sorted(definition.by_name[name].permits, key=lambda permit: permit.resource):
            resource = resources[permit.resource]
            needs.append((permit.resource, resource.key_of(workflow) if resource is not None else "", permit.units))
        waiter.needs = tuple(needs)
        return waiter

    def line(self, namespace: str, resource: str, key: str) -> Line:
        """The line of a resource, or of one key of it."""
        name = line_id(namespace, resource, key)
        found = self._lines.get(name)
        if found is None:
            found = self._lines[name] = Line(self, (namespace, resource, key))
            if len(self._lines) > _IDLE_LINES:
                for idle in [line.id for line in self._lines.values() if not line.busy][: _IDLE_LINES // 2]:
                    del self._lines[idle]
        return found

    def served_queues(self) -> list[str]:
        """The queues that workers of this server serve."""
        return self.desk.served_queues()

    def can_run(self, queue: str) -> bool:
        """Whether a worker of this server has a free slot for a step of this queue."""
        return queue in self.desk.idle_queues()

    async def definition_of(self, workflow: Workflow) -> Definition:
        """An instance's definition. Raises Rejection, StoreUnavailable."""
        return await self._catalog.of(workflow)

    def known_line(self, name: str) -> Line | None:
        """The line with this id, if this server knows it."""
        return self._lines.get(name)

    @property
    def lines(self) -> list[Line]:
        """All lines of this server."""
        return list(self._lines.values())

    # ---------------------------------------------------------------------------------------------- what the lines tell

    def refresh(self, waiter: Waiter) -> bool:
        """Look at the instance as it is known here. False = it does not wait any more; it was dropped."""
        known = self._mailboxes.known(waiter.workflow.workflow_id)
        if known is None or known.run_id != waiter.workflow.run_id or known.revision < waiter.workflow.revision:
            return True
        waiter.workflow = known
        step = known.steps.get(waiter.name)
        if step is None or step.state is not StepState.READY or known.paused is not None:
            self.drop(waiter)
            return False
        return True

    def homeless(self, waiter: Waiter) -> None:
        """There is room, but no slot here: whoever has one takes the step."""
        self.drop(waiter)
        definition = self._catalog.of_at_hand(waiter.workflow)
        if definition is not None:
            self._dispatch.announce(definition, waiter.workflow, waiter.name)  # whoever has a slot takes it; the store tells of it, too

    def granted(self, waiter: Waiter, slot: Slot, parts: tuple[HeldPermit, ...]) -> None:
        """A waiter for one resource has its units: now its claim."""
        self._waiters.pop((waiter.workflow.workflow_id, waiter.name), None)
        self._claims.write(waiter, slot, parts)

    def whole(self, waiter: Waiter, slot: Slot) -> None:
        """Try to take all of several permits."""
        self._supervisor.run(self._take_all(waiter, slot), "permits")

    async def _take_all(self, waiter: Waiter, slot: Slot) -> None:
        """All of its permits or none, in one order."""
        parts: tuple[HeldPermit, ...] = ()
        namespace = waiter.workflow.key.namespace
        lacking: Line | None = None
        try:
            for resource, key, units in waiter.needs:
                line = self.line(namespace, resource, key)
                got = await line.take(waiter, slot, units)
                if got is None:
                    lacking = line
                    break
                parts += got
        except BaseException:
            lacking = self.line(namespace, *waiter.needs[0][:2])
            raise
        finally:
            if lacking is not None:
                self.give_back(namespace, parts, slot.ticket.nonce)
                self.desk.release(slot)
                if waiter.line is not None and waiter.line is not lacking:
                    waiter.line.leave(waiter)
                lacking.join(waiter, tried=True)
        if lacking is not None:
            return
        if waiter.line is not None:
            waiter.line.served(waiter)
        self.granted(waiter, slot, parts)

    def drop(self, waiter: Waiter) -> None:
        """It waits no longer."""
        if waiter.line is not None:
            waiter.line.leave(waiter)
        self._waiters.pop((waiter.workflow.workflow_id, waiter.name), None)
        if waiter.slot is not None:
            self.desk.release(waiter.slot)
            waiter.slot = None

    def give_back(self, namespace: str, parts: Sequence[HeldPermit], nonce: str) -> None:
        """These units hold no claim, for sure."""
        for part in parts:
            if part.kept:
                self.line(namespace, part.resource, part.key).give_back([part], nonce)

    def freed(self, workflow: Workflow, claim: Claim) -> None:
        """The end of a claim is stored."""
        self.give_back(workflow.key.namespace, claim.permits, claim.nonce)

    # ------------------------------------------------------------------------------------------------------------ loops

    def changed(self, name: str) -> None:
        """Another server gave units of this line back, or its resource was changed."""
        prefix = f"{name}/"
        for line in self.lines:
            if line.id == name or line.id.startswith(prefix):
                self.cache.forget(line.namespace, line.name)
                line.look(stale=True)

    async def anybody(self) -> None:
        """Until somebody waits here; some seconds at most."""
        if not self._waiters:
            self._waiting.clear()
            await happened(self._waiting, self._clock.together(_COME_ROUND))

    def unstored(self) -> list[Waiter]:
        """Whose wait is to be stored, and is not."""
        waiters = [waiter for waiter in self._waiters.values() if not waiter.trying and not waiter.is_stored]
        return [waiter for waiter in waiters if waiter.line is not None and waiter.line.is_long(waiter)]


def _waits(workflow: Workflow, name: str) -> bool:
    """Whether the step is READY and may be granted."""
    step = workflow.steps.get(name)
    return step is not None and step.state is StepState.READY and workflow.paused is None

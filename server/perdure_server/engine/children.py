"""Children of map and child steps: created after their intent, audited, closed. A duty stands behind each, so that nothing is lost.

One pass at a time per step and server: it creates what is open and not known to exist, looks again for what was intended meanwhile, and
notes how far it came. It may run on several servers at once: a start of a child that is there finds it.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from msgspec.structs import replace

from perdure_server.engine.catalog import Catalog
from perdure_server.engine.child_commands import ChildFound, CloseChildCommand, ExpandCommand, Place, StartChildCommand, TendedCommand
from perdure_server.engine.child_inputs import ChildInputs
from perdure_server.engine.child_reports import ChildReports
from perdure_server.engine.duties import Duties
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.parts import Parts
from perdure_server.engine.spill import Spill
from perdure_server.engine.subject import about
from perdure_server.kernel import limits
from perdure_server.kernel.canonical import payload_digest
from perdure_server.kernel.child_state import ChildEnd, Children, Closing, Parent, child_key, closing
from perdure_server.kernel.children import SourceInvalid, is_child_of, parent_link, source_failure
from perdure_server.kernel.definition import Definition, StepDefinition
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.start import Start
from perdure_server.kernel.values import Failure, Payload, Trace
from perdure_server.kernel.workflow import STEP_ENDS, Duty, DutyKind, Workflow, WorkflowKey, WorkflowState
from perdure_server.ports.errors import DocumentTooLarge, StoreUnavailable
from perdure_server.ports.store import Read
from perdure_server.ports.telemetry import children_span_id

logger = logging.getLogger(__name__)

_AT_ONCE = 256
_NOTE_EVERY = 2 * limits.SECOND


class _Pass:
    def __init__(self) -> None:
        self.again = False
        self.over = asyncio.Event()
        self.error: Exception | None = None


class ChildWorkflows:
    """Tends the children of this server's steps, and of any that the sweep finds."""

    def __init__(self, parts: Parts, mailboxes: Mailboxes, catalog: Catalog, duties: Duties, spill: Spill) -> None:
        self._workflows = parts.store.workflows
        self._mailboxes = mailboxes
        self._catalog = catalog
        self._spill = spill
        self._supervisor = parts.supervisor
        self._clock = parts.clock
        self._entropy = parts.entropy
        self._inputs = ChildInputs(parts.store.payloads)
        self._reports = ChildReports(parts.store.workflows, mailboxes, self._inputs, spill)
        self._passes: dict[tuple[bytes, str], _Pass] = {}
        self._gate = asyncio.Semaphore(_AT_ONCE)
        self.completed: Callable[[Start, Definition], Start] = lambda command, _definition: command  # by what the namespace decides
        duties.register(DutyKind.TEND_CHILDREN, self.tend)
        duties.register(DutyKind.CLOSE_CHILDREN, self.close_children)
        duties.register(DutyKind.TELL_PARENT, self._reports.tell_parent)

    def tend_soon(self, workflow: Workflow, step: str) -> None:
        """New children were intended: create them, beside the caller. Losing this costs time only."""
        self._supervisor.run(self._quietly(workflow, step), "children")

    async def tend(self, workflow: Workflow, duty: Duty) -> bool:
        """The performer of TEND_CHILDREN: create what is intended, audit what is open if it is time. It puts the duty off itself.

        Raises StoreUnavailable, Rejection: again later.
        """
        if workflow.round != duty.round:
            return True
        await self._pass(workflow, duty.subject)
        return False

    async def close_children(self, workflow: Workflow, duty: Duty) -> bool:
        """The performer of CLOSE_CHILDREN. Raises StoreUnavailable, Rejection."""
        what = closing(duty.subject)
        key = workflow.key
        try:
            definition = await self._catalog.active(key.namespace, what.workflow_type)
        except Rejection:
            if duty.tries > limits.DUTY_DOUBLINGS:
                return True  # nothing of that type was ever started, and a late start would have come by now
            raise
        await self._all([self._close(workflow, duty, definition, what, index) for index in what.open])
        return True

    async def _close(self, workflow: Workflow, duty: Duty, definition: Definition, what: Closing, index: int) -> None:
        key = workflow.key
        parent = Parent(key.workflow_type, key.business_key, duty.round, what.run_id, what.step, what.generation, index)
        command = self._start(workflow, parent, definition, None)
        closes = CloseChildCommand(command, definition, self._clock.now(), what.policy)
        async with self._gate:
            try:
                await self._mailboxes.submit(command.key.workflow_id, closes)
            except Rejection as error:
                if error.reason is not Reason.WORKFLOW_NOT_FOUND:
                    raise
                # A tombstone has its key: it had ended and was removed, and no late start can make it again.

    async def _quietly(self, workflow: Workflow, step: str) -> None:
        try:
            await self._pass(workflow, step)
        except (StoreUnavailable, Rejection) as error:
            logger.warning("children: %s; the duty to tend them tries again", type(error).__name__, extra=about(workflow, step))

    async def _pass(self, workflow: Workflow, step: str) -> None:
        place = workflow.workflow_id, step
        running = self._passes.get(place)
        if running is not None:
            running.again = True
            await running.over.wait()
            if running.error is not None:
                raise running.error
            return
        mine = self._passes[place] = _Pass()
        try:
            await self._go_on(workflow, step, mine)
        except Exception as error:
            mine.error = error
            raise
        finally:
            del self._passes[place]
            mine.over.set()

    async def _go_on(self, workflow: Workflow, step: str, mine: _Pass) -> None:
        upto, noted = 0, self._clock.now()
        created_for: Place | None = None
        while True:
            mine.again = False
            workflow = self._newest(workflow)
            children = _tended(workflow, step)
            if children is None:
                return
            definition = await self._catalog.of(workflow)
            plan = definition.by_name[step]
            place: Place = (workflow.run_id, step, workflow.steps[step].generation)
            if place != created_for:  # another round, or generation, has come meanwhile: none of its children is created
                upto, created_for = 0, place
            if not children.known and plan.child is not None and not plan.child.paged:
                workflow = await self._expand(workflow, plan, place)
                continue
            upto = max(upto, children.made)
            missing = [index for index in children.open if index >= upto]
            if missing:
                if not await self._create(workflow, plan, place, missing):
                    return
                upto = missing[-1] + 1
                if self._clock.now() - noted < _NOTE_EVERY and self._has_more(workflow, step, upto):
                    continue
            audits = self._clock.now() >= children.audit
            if audits:
                await self._audit(workflow, plan, children)
            if not (audits or upto > children.made or _is_due(workflow, step, self._clock.now())):
                if not mine.again:
                    return
                continue
            noted = self._clock.now()
            _, workflow = await self._mailboxes.submit(workflow.workflow_id, TendedCommand(place, upto, audits))
            if not mine.again and not self._has_more(workflow, step, upto):
                return

    def _newest(self, workflow: Workflow) -> Workflow:
        known = self._mailboxes.known(workflow.workflow_id)
        return known if known is not None and known.revision > workflow.revision else workflow

    def _has_more(self, workflow: Workflow, step: str, upto: int) -> bool:
        children = _tended(self._newest(workflow), step)
        return children is not None and bool(children.open) and children.open[-1] >= upto

    async def _expand(self, workflow: Workflow, plan: StepDefinition, place: Place) -> Workflow:
        try:
            found: int | Failure = await self._inputs.count(workflow, plan)
        except SourceInvalid as error:
            found = _source_failure(plan, error)
        _, after = await self._mailboxes.submit(workflow.workflow_id, ExpandCommand(place, found))
        return after

    async def _create(self, workflow: Workflow, plan: StepDefinition, place: Place, indexes: Sequence[int]) -> bool:
        """Create these children; False = the step cannot have them and is failing for it."""
        assert plan.child is not None, "a step with children"
        definition = await self._catalog.active(workflow.key.namespace, plan.child.workflow_type)
        try:
            inputs = await self._inputs.of(workflow, plan, indexes)
        except SourceInvalid as error:
            await self._mailboxes.submit(workflow.workflow_id, ExpandCommand(place, _source_failure(plan, error)))
            return False
        await self._all([self._create_one(workflow, plan, definition, index, inputs[index]) for index in indexes])
        return True

    async def _create_one(
        self, workflow: Workflow, plan: StepDefinition, definition: Definition, index: int, value: Payload | None
    ) -> None:
        place = (workflow.run_id, plan.name, workflow.steps[plan.name].generation)
        parent = parent_link(workflow, plan.name, place[2], plan.kind, index)
        async with self._gate:
            failure = await self._start_one(workflow, parent, definition, value)
        if failure is not None:
            await self._reports.count(workflow.workflow_id, place, ChildEnd(index, int(WorkflowState.FAILED), failure))

    async def _start_one(self, workflow: Workflow, parent: Parent, definition: Definition, value: Payload | None) -> Failure | None:
        """Start it or find it there; the failure that it ends with, if it never can be. Raises StoreUnavailable."""
        if parent.depth > limits.CHILD_DEPTH:
            return Failure("CHILD_TOO_DEEP", f"It would have more than {limits.CHILD_DEPTH} parents above it.")
        try:
            command = self.completed(self._start(workflow, parent, definition, value), definition)
            child_id = command.key.workflow_id
            if self._spill.needed(child_id, [value]):
                command = replace(command, input=await self._spill.spill(child_id, command.run_id, value))
            found, _ = await self._mailboxes.submit(child_id, StartChildCommand(command, definition, self._clock.now()))
        except (FieldViolation, Rejection, DocumentTooLarge) as error:
            return Failure("CHILD_NOT_STARTED", str(error)[: limits.CHILD_ERROR_MESSAGE])
        return Failure("CHILD_KEY_TAKEN", "Another workflow has its key.") if found is ChildFound.TAKEN else None

    def _start(self, workflow: Workflow, parent: Parent, definition: Definition, value: Payload | None) -> Start:
        return Start(
            key=WorkflowKey(workflow.key.namespace, definition.workflow_type, child_key(parent)),
            run_id=self._entropy.hex(12),
            trace=self._trace(workflow, parent),
            wake_secret=self._entropy.hex(16),
            input=value,
            input_digest=payload_digest("input", value),
            labels=workflow.labels,
            priority=workflow.priority,
            queue=workflow.queue,
            fairness_key=workflow.fairness_key,
            parent=parent,
        )

    def _trace(self, workflow: Workflow, parent: Parent) -> Trace:
        # One child goes on in its parent's trace. The items of a map, up to 100,000, have traces of their own, which no tool chokes on.
        trace, step = workflow.trace, children_span_id(workflow.run_id, parent.step, parent.generation)
        if parent.single:
            return Trace(trace.trace_id, self._entropy.hex(8), step, trace.flags, trace.state)
        return Trace(self._entropy.hex(16), self._entropy.hex(8), flags=trace.flags, state=trace.state, link=f"{trace.trace_id}-{step}")

    async def _audit(self, workflow: Workflow, plan: StepDefinition, children: Children) -> None:
        """Compare `open` with the children: count the ends that got lost, and those that are gone."""
        await self._all([self._audit_one(workflow, plan, index) for index in children.open])

    async def _audit_one(self, workflow: Workflow, plan: StepDefinition, index: int) -> None:
        assert plan.child is not None, "a step with children"
        place = (workflow.run_id, plan.name, workflow.steps[plan.name].generation)
        parent = parent_link(workflow, plan.name, place[2], plan.kind, index)
        child_id = WorkflowKey(workflow.key.namespace, plan.child.workflow_type, child_key(parent)).workflow_id
        async with self._gate:
            child = await self._workflows.load(child_id)
            if child is None or child.is_ended or not is_child_of(child, parent):  # an end that is counted stays counted
                child = await self._workflows.load(child_id, Read.LINEARIZABLE)
        if child is None or not is_child_of(child, parent):
            failure = Failure("CHILD_GONE", "It was deleted, or superseded, before its end was counted.")
            await self._reports.count(workflow.workflow_id, place, ChildEnd(index, int(WorkflowState.CANCELLED), failure))
        elif child.is_ended:
            await self._reports.report(child, parent)

    async def _all(self, works: Sequence[Coroutine[Any, Any, None]]) -> None:
        """Do all, and raise the first error only then: what could be done is done."""
        results = await asyncio.gather(*works, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result


def _source_failure(plan: StepDefinition, error: SourceInvalid) -> Failure:
    assert plan.child is not None, "a step with children"
    return source_failure(plan.child, str(error))


def _is_due(workflow: Workflow, step: str, now: int) -> bool:
    duties = [duty for duty in workflow.duties if duty.kind is DutyKind.TEND_CHILDREN and duty.subject == step]
    return any(duty.due <= now for duty in duties)


def _tended(workflow: Workflow, step: str) -> Children | None:
    """The children of a step, while they are anybody's business."""
    own = workflow.steps.get(step)
    if own is None or own.children is None or own.children.over or own.state in STEP_ENDS:
        return None
    return own.children

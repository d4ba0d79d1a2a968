"""Map and child steps: which children are open, and what their ends come to.

Intent first: a child is in `open` before it is created, under a key that follows from its index. It leaves `open` when its end is counted,
so an end that is reported twice counts once. A duty to tend the children is stored as long as some may be open: it is due soon after new
ones were intended, and at the next audit otherwise.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.child_state import ChildEnd, ChildError, Children, Parent
from perdure_server.kernel.definition import INPUT, ChildPlan, Join, StepKind
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.effects import ChildrenOpened
from perdure_server.kernel.readiness import make_ready, step_clock
from perdure_server.kernel.transitions import StepEvent
from perdure_server.kernel.values import Failure, Payload
from perdure_server.kernel.workflow import STEP_ENDS, Duty, DutyKind, StepState, Workflow, WorkflowState

CHILD_FAILED: Final = "CHILD_FAILED"
PROGRESS: Final = "PROGRESS"  # the reason of an event: ends of children were counted
MAP_SOURCE_INVALID: Final = "MAP_SOURCE_INVALID"
_items: Final = msgspec.json.Decoder(list[msgspec.Raw])
_pages: Final = msgspec.msgpack.Decoder(tuple[Payload, ...])


class SourceInvalid(Exception):
    """What the children's inputs should come from is not what it must be."""


def child_plan(draft: Draft, name: str) -> ChildPlan:
    """What the definition says of the step's children."""
    plan = draft.plan(name).child
    assert plan is not None, "asked of map and child steps only"
    return plan


def children_of(draft: Draft, name: str) -> Children:
    """Where the children of a step that has begun stand."""
    children = draft.step(name).children
    assert children is not None, "asked of steps that have begun only"
    return children


def parent_link(workflow: Workflow, name: str, generation: int, kind: StepKind = StepKind.MAP, index: int = 0) -> Parent:
    """What the child of this index stores of its parent."""
    depth = 1 if workflow.parent is None else workflow.parent.depth + 1
    key, is_single = workflow.key, kind is StepKind.CHILD
    return Parent(key.workflow_type, key.business_key, workflow.round, workflow.run_id, name, generation, index, is_single, depth)


def is_child_of(workflow: Workflow, parent: Parent) -> bool:
    """Whether this is the child of that very index, generation and run."""
    found = workflow.parent
    if found is None:
        return False
    return (found.run_id, found.step, found.generation, found.index) == (parent.run_id, parent.step, parent.generation, parent.index)


# ----------------------------------------------------------------------------------------------------------------- sources


def items_of(source: Payload | None) -> list[str]:
    """The items of a JSON array, each as it is written there. Raises SourceInvalid."""
    if source is None or source.json is None:
        raise SourceInvalid("it is no JSON value")
    if source.encoding:
        raise SourceInvalid(f"it is encoded ({source.encoding}): the server never looks into such a value")
    try:
        return [bytes(item).decode() for item in _items.decode(source.json)]
    except (msgspec.DecodeError, UnicodeError):
        raise SourceInvalid("it is no JSON array") from None


def pack(children: Sequence[Payload]) -> Payload:
    """The inputs of a page's children as one value, which is kept until they are created."""
    return Payload(binary=msgspec.msgpack.encode(children))


def unpack(page: Payload) -> tuple[Payload, ...]:
    """The inputs of a page's children. Raises SourceInvalid."""
    try:
        return _pages.decode(page.binary or b"")
    except msgspec.DecodeError:
        raise SourceInvalid("the stored page does not decode") from None


def source_of(workflow: Workflow, source: str) -> Payload | None:
    """The value that a step needs under this name."""
    if source == INPUT:
        return workflow.input
    step = workflow.steps.get(source)
    return step.output if step is not None else None


def count_source(draft: Draft, name: str) -> int | Failure | None:
    """How many children the step has, or why it can have none; None if its source lies in a document of its own, which the engine reads."""
    plan = child_plan(draft, name)
    if draft.plan(name).kind is StepKind.CHILD:
        return 1
    workflow = draft.workflow
    source = workflow.input if plan.source == INPUT else draft.step(plan.source).output
    if source is not None and source.ref is not None:
        return None
    try:
        return len(items_of(source))
    except SourceInvalid as error:
        return source_failure(plan, str(error))


def source_failure(plan: ChildPlan, why: str) -> Failure:
    """The failure of a step whose source cannot be used. Another try would find the same."""
    return Failure(
        MAP_SOURCE_INVALID, f"{plan.source or 'the page'} cannot be mapped: {why}."[: limits.FAILURE_MESSAGE], non_retryable=True
    )


# ----------------------------------------------------------------------------------------------------------------- opening


def begin_children(draft: Draft, name: str, event: StepEvent) -> None:
    """The step comes to life: WAITING for children that are still to be counted; READY for the first page, or the next, of a paging step.

    Children of an earlier try are left behind with their generation.
    """
    step, is_paged = draft.step(name), child_plan(draft, name).paged
    fields: dict[str, object] = {}
    if step.children is None or step.children.over or not is_paged:
        fields["children"] = Children(draft.now + limits.CHILDREN_AUDIT)
        if step.children is not None:
            draft.close_children(name)
            tries = 1 if event is StepEvent.RESOLVED else step.children.tries + 1
            fields["children"] = Children(draft.now + limits.CHILDREN_AUDIT, tries=tries)
            fields["generation"] = step.generation + 1
    if is_paged:
        make_ready(draft, name, event, **fields)
        return
    started = step.started or draft.now
    draft.move(name, event, StepState.WAITING, started=started, failure=None, **(step_clock(draft, name) | fields))
    tend_at(draft, name, draft.now + limits.CHILDREN_MADE_WITHIN)
    draft.effects.append(ChildrenOpened(name))


def open_more(draft: Draft, name: str) -> None:
    """Intend as many children as may be open; when all known ones are created, ask for the next page. In a pause, neither."""
    if draft.paused is not None or draft.state is not WorkflowState.RUNNING:
        return
    plan, children = draft.plan(name), children_of(draft, name)
    room = min(plan.max_in_flight - len(children.open), children.total - children.cursor)
    if room > 0:
        upto = children.cursor + room
        children = replace(children, open=(*children.open, *range(children.cursor, upto)), cursor=upto)
        draft.amend(name, children=children)
        tend_at(draft, name, draft.now + limits.CHILDREN_MADE_WITHIN)
        draft.effects.append(ChildrenOpened(name))
    asks = child_plan(draft, name).paged and not children.known and children.cursor == children.total and not children.unmade
    step = draft.step(name)
    if asks and step.state is StepState.WAITING and not step.wait and len(children.open) < plan.max_in_flight:
        make_ready(draft, name, StepEvent.NEXT_PAGE)


def tend_at(draft: Draft, name: str, due: int, later: bool = False) -> None:
    """Somebody looks after the children at `due`, or before unless `later`."""
    known = draft.get("duties", draft.workflow.duties)
    duty = Duty(DutyKind.TEND_CHILDREN, draft.workflow.round, due, subject=name)
    others = tuple(other for other in known if other.name != duty.name)
    before = next((other for other in known if other.name == duty.name), None)
    if before is not None and not later and before.due <= due:
        return
    draft.set(duties=(*others, duty))


# ---------------------------------------------------------------------------------------------------------------- counting


def is_counting(draft: Draft, name: str, generation: int) -> bool:
    """Whether ends of children of this generation still mean something to the step."""
    if name not in draft.definition.by_name:
        return False
    step = draft.step(name)
    return step.children is not None and not step.children.over and step.generation == generation and step.state not in STEP_ENDS


def count_ends(draft: Draft, name: str, ends: Sequence[ChildEnd]) -> list[ChildEnd]:
    """Take the ended children out of `open` and count them; returns those that were in it."""
    children = children_of(draft, name)
    still = set(children.open)
    counted: list[ChildEnd] = []
    for end in ends:
        if end.index in still:
            still.remove(end.index)
            counted.append(end)
    if not counted:
        return counted
    completed = sum(end.state == WorkflowState.COMPLETED for end in counted)
    failed = [end for end in counted if end.state == WorkflowState.FAILED]
    errors = children.errors
    if failed:
        errors = tuple(sorted([*errors, *map(_error, failed)], key=lambda error: error.index)[: limits.CHILD_ERRORS])
    changed = replace(
        children,
        open=tuple(index for index in children.open if index in still),
        completed=children.completed + completed,
        failed=children.failed + len(failed),
        cancelled=children.cancelled + len(counted) - completed - len(failed),
        errors=errors,
    )
    draft.amend(name, children=changed)
    return counted


def tell_progress(draft: Draft, name: str) -> None:
    """Watchers hear how the step stands, once in a while."""
    step = draft.step(name)
    children = step.children
    if children is None or step.state in STEP_ENDS or draft.now - children.told < limits.CHILDREN_TOLD_EVERY:
        return
    draft.amend(name, children=replace(children, told=draft.now))
    draft.note_step(name, PROGRESS)


def tended(draft: Draft, name: str, upto: int, audited: bool) -> None:
    """The open children below `upto` are known to have been created; with `audited`, each of them was looked at."""
    children = children_of(draft, name)
    audit = draft.now + limits.CHILDREN_AUDIT if audited else children.audit
    children = replace(children, made=max(children.made, upto), audit=audit)
    draft.amend(name, children=children)
    soon = children.unmade or (not children.known and not child_plan(draft, name).paged)
    tend_at(draft, name, draft.now + limits.CHILDREN_MADE_WITHIN if soon else children.audit, later=True)


def is_met(plan: ChildPlan, children: Children) -> bool | None:
    """Whether the join is met; None = it may still be. Nothing to do is done."""
    all_ended = children.known and not children.open and children.cursor == children.total
    if all_ended and children.total == 0:
        return True
    if plan.join is Join.BEST_EFFORT:
        return True if all_ended else None
    if plan.join is Join.ALL:
        return False if children.completed < children.ended else True if all_ended else None
    required = plan.required if plan.join is Join.N_OF_M else 1
    if children.completed >= required:
        return True
    possible = children.total - children.failed - children.cancelled
    return False if children.known and possible < required else None


def _error(end: ChildEnd) -> ChildError:
    failure = end.failure or Failure("")
    return ChildError(end.index, failure.type, failure.message[: limits.CHILD_ERROR_MESSAGE])

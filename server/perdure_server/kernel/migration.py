"""Migration: an open workflow goes on by another definition of its type.

What keeps its name, or is mapped to another, is carried over as it stands; the rest is dropped, and new steps are opened when their time
comes. What would be lost by that is listed, and refused unless it is accepted by kind.
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum

from msgspec import Struct
from msgspec.structs import replace

from perdure_server.kernel.definition import Definition, StepDefinition, StepKind
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.effects import StepRequeued
from perdure_server.kernel.options import follow_policy
from perdure_server.kernel.people import taken_claim
from perdure_server.kernel.progress import go_on
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.seal import queue_id
from perdure_server.kernel.timing import fire_due
from perdure_server.kernel.transitions import StepEvent
from perdure_server.kernel.values import LossCause
from perdure_server.kernel.workflow import CLAIMED, STEP_ENDS, Duty, DutyKind, Step, StepState, Workflow, WorkflowState

_OPEN = frozenset({StepState.READY, StepState.BACKOFF, StepState.WAITING})


class Loss(IntEnum):
    """What a migration can lose; numbered as on the wire."""

    COMPLETED_OUTPUT = 1
    OPEN_WAIT = 2
    CHECKPOINT = 3
    HELD_PERMIT = 4
    RUNNING_CLAIM = 5
    OPEN_CHILDREN = 6


class Lost(Struct, frozen=True):
    """One thing that one step would lose, in a sentence."""

    step: str
    loss: Loss
    text: str


class Migration(Struct, frozen=True):
    """Where to, by which names ("" = dropped), and which losses are accepted."""

    to: Definition
    mapping: Mapping[str, str] = {}
    accepted: frozenset[Loss] = frozenset()

    def name_of(self, name: str) -> str:
        """What the step is called there, "" = it is no more."""
        target = self.mapping.get(name, name)
        return target if target in self.to.by_name else ""


def check_mapping(old: Definition, new: Definition, mapping: Iterable[tuple[str, str]]) -> None:
    """Raise FieldViolation with all faults of a mapping."""
    faults: list[tuple[str, str]] = []
    known: set[str] = set()
    taken = {name for name in old.by_name if name in new.by_name} - {source for source, _ in mapping}
    for index, (source, target) in enumerate(mapping):
        if source not in old.by_name or source in known:
            faults.append((f"step_mapping[{index}].from_step", f"names no step of the old definition, or one twice: {source!r}"))
        if target and (target not in new.by_name or target in taken):
            faults.append((f"step_mapping[{index}].to_step", f"names no step of the new definition, or one that is taken: {target!r}"))
        known.add(source)
        taken.add(target)
    if faults:
        raise FieldViolation(faults)


def losses(old: Definition, workflow: Workflow, migration: Migration) -> list[Lost]:
    """All that this workflow would lose."""
    found: list[Lost] = []
    for name, step in workflow.steps.items():
        target = migration.name_of(name)
        found += _of_dropped(name, step) if not target else _of_carried(old.by_name[name], step, migration.to.by_name[target])
    return found


def migrate(draft: Draft, migration: Migration) -> bool:
    """Go on by `migration.to`; False = it does already. Raises Rejection WORKFLOW_STATE_INVALID, MIGRATION_LOSES_STATE."""
    if draft.workflow.fingerprint == migration.to.fingerprint:
        return False
    fire_due(draft)
    if draft.state is not WorkflowState.RUNNING or draft.workflow.inert:
        text = "Only a running workflow goes on by another definition; this one ends, or has ended."
        raise Rejection(Reason.WORKFLOW_STATE_INVALID, text, state=draft.state.name)
    old, before = draft.definition, draft.finish()
    _require_accepted(losses(old, before, migration), migration)
    queues = {name: queue_id(old, before, name) for name, step in before.steps.items() if step.state is StepState.READY}
    for name, step in before.steps.items():
        if _begins_anew(old.by_name[name], step, migration):
            _stop(draft, name, migration)
    _carry(draft, migration)
    for name in before.steps:
        target = migration.name_of(name)
        if target:
            follow_policy(draft, target, old.by_name[name])
    draft.note_workflow(draft.state, "MIGRATED")
    _wait_for_new_ones(draft)
    go_on(draft, [name for name in draft.definition.ordinary if draft.step(name).state in STEP_ENDS])
    for name, queue in queues.items():
        target = migration.name_of(name)
        if target and draft.step(target).state is StepState.READY and draft.paused is None:
            draft.effects.append(StepRequeued(target, queue))
    return True


def _require_accepted(found: list[Lost], migration: Migration) -> None:
    # Children cannot be lost at all: nobody would be left to close them.
    refused = [lost for lost in found if lost.loss is Loss.OPEN_CHILDREN or lost.loss not in migration.accepted]
    if refused:
        text = "; ".join(f"{lost.step}: {lost.text}" for lost in refused[:10])
        kinds = ", ".join(sorted({lost.loss.name for lost in refused}))
        raise Rejection(Reason.MIGRATION_LOSES_STATE, f"The migration would lose something: {text}.", losses=kinds)


def _of_dropped(name: str, step: Step) -> list[Lost]:
    found = _of_claim(name, step)
    if step.state is StepState.COMPLETED:
        found.append(Lost(name, Loss.COMPLETED_OUTPUT, "it is completed, and the new definition has no such step"))
    if step.state is StepState.WAITING and step.children is None:
        found.append(Lost(name, Loss.OPEN_WAIT, "it waits, and the new definition has no such step"))
    if step.checkpoint is not None and step.state not in STEP_ENDS:
        found.append(Lost(name, Loss.CHECKPOINT, "it has a checkpoint, and the new definition has no such step"))
    return found + _of_children(name, step)


def _of_carried(plan: StepDefinition, step: Step, to: StepDefinition) -> list[Lost]:
    name = plan.name
    gone = sorted(set(step.chosen) - _branches(to))
    if gone:
        text = f"it chose {', '.join(gone)}, and the new definition has no such branch of it"
        return [Lost(name, Loss.COMPLETED_OUTPUT, text)]
    if plan.kind is to.kind:
        found = _of_claim(name, step) if step.state in CLAIMED and to.contract != plan.contract else []
        if step.state is StepState.WAITING and _conditions(plan) != _conditions(to):
            found.append(Lost(name, Loss.OPEN_WAIT, "it waits for something else in the new definition"))
        if to.name != name and step.state not in STEP_ENDS:
            found += _of_children(name, step)  # they know it by the name that it had
        return found
    if step.state in STEP_ENDS:
        return []
    found = _of_claim(name, step) + _of_children(name, step)
    if step.state is StepState.WAITING and step.children is None:
        found.append(Lost(name, Loss.OPEN_WAIT, "it waits, and is another kind of step in the new definition"))
    if step.checkpoint is not None:
        found.append(Lost(name, Loss.CHECKPOINT, "it has a checkpoint, and is another kind of step in the new definition"))
    return found


def _of_claim(name: str, step: Step) -> list[Lost]:
    if step.claim is None:
        return []
    found = [Lost(name, Loss.RUNNING_CLAIM, f"attempt {step.attempt} runs for another contract of it")]
    if step.claim.permits:
        found.append(Lost(name, Loss.HELD_PERMIT, "that attempt holds permits"))
    return found


def _of_children(name: str, step: Step) -> list[Lost]:
    is_open = step.children is not None and bool(step.children.open)
    return [Lost(name, Loss.OPEN_CHILDREN, "children of it are open")] if is_open else []


def _branches(plan: StepDefinition) -> set[str]:
    return {branch.name for branch in plan.branches}


def _conditions(plan: StepDefinition) -> list[tuple[str, str, int]]:
    any_of = plan.wait.any_of if plan.wait is not None else ()
    return sorted((condition.name, condition.signal, max(1, condition.count)) for condition in any_of)


def _begins_anew(plan: StepDefinition, step: Step, migration: Migration) -> bool:
    """Whether an open step that is carried over, or dropped, does not stand as it is."""
    if step.state not in _OPEN | CLAIMED:
        return False
    target = migration.name_of(plan.name)
    to = migration.to.by_name[target] if target else None
    if to is None or to.kind is not plan.kind or target in migration.to.hook_steps:
        return True
    if step.state in CLAIMED:
        return to.contract != plan.contract
    return step.state is StepState.WAITING and _conditions(plan) != _conditions(to)


def _stop(draft: Draft, name: str, migration: Migration) -> None:
    fields = taken_claim(draft, name, LossCause.SUPERSEDED) if draft.step(name).state in CLAIMED else {}
    target = migration.name_of(name)
    if target and migration.to.by_name[target].kind is not draft.plan(name).kind:
        fields["children"] = None  # none are open; a pass over them that is under way shall find nothing to tend
    # It begins anew, and so does the time that it may take.
    draft.move(name, StepEvent.MIGRATED, StepState.BLOCKED, step_deadline=None, step_left=None, **fields)


def _carry(draft: Draft, migration: Migration) -> None:
    names = {name: target for name in draft.workflow.steps if (target := migration.name_of(name))}
    options, queues = draft.workflow.step_options, draft.workflow.step_queues
    draft.set(  # also of steps that have not begun, which are in no `names`
        step_options={migration.name_of(name): changed for name, changed in options.items() if migration.name_of(name)},
        step_queues={migration.name_of(name): queue for name, queue in queues.items() if migration.name_of(name)},
        duties=_duties_after(draft, migration),
    )
    draft.transplant(migration.to, names)
    for name in names.values():
        chosen, known = draft.step(name).chosen, _branches(draft.plan(name))
        if not known.issuperset(chosen):
            draft.amend(name, chosen=tuple(branch for branch in chosen if branch in known))


def _duties_after(draft: Draft, migration: Migration) -> tuple[Duty, ...]:
    """Whoever goes on with children has them tended under its new name; nobody tends those of a step that is no more, or has none now."""
    kept: list[Duty] = []
    for duty in draft.get("duties", draft.workflow.duties):
        if duty.kind is not DutyKind.TEND_CHILDREN:
            kept.append(duty)
            continue
        target, plan = migration.name_of(duty.subject), draft.definition.by_name.get(duty.subject)
        if target and plan is not None and migration.to.by_name[target].kind is plan.kind:
            kept.append(replace(duty, subject=target))
    return tuple(kept)


def _wait_for_new_ones(draft: Draft) -> None:
    """What has not begun waits for the steps that have come in before it."""
    for name in draft.definition.ordinary:
        step, plan = draft.step(name), draft.plan(name)
        if plan.kind is StepKind.WAIT and step.state is StepState.WAITING:
            continue  # it is open already, and what comes to it counts
        is_early = not all(draft.step(needed).state in STEP_ENDS for needed in plan.depends_on)
        if step.state in _OPEN and is_early and step.wait == ():
            draft.move(name, StepEvent.MIGRATED, StepState.BLOCKED)

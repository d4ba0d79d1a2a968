"""Which steps a replay does again."""

from collections.abc import Collection, Iterable

from perdure_server.kernel.definition import StepDefinition
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.workflow import StepState


def reopened(draft: Draft, named: Iterable[str]) -> frozenset[str]:
    """All that did not complete, and the `named` steps with all that depends on them, completed or not.

    A branch that was not taken stays SKIPPED as long as the choice stands: what chose it is completed and is not done again.
    """
    again = _with_dependants(draft, named)
    found = {name for name in draft.definition.ordinary if name in again or _must(draft, name)}
    left = list(found)
    while left:
        for name in draft.definition.dependants[left.pop()]:
            if name not in found and draft.step(name).state is StepState.SKIPPED:
                found.add(name)
                left.append(name)
    return frozenset(name for name in found if not _stays_skipped(draft, name, again))


def left_in_doubt(draft: Draft, again: Collection[str]) -> tuple[str, ...]:
    """Completed steps that a replay of `again` leaves as they are, though what they did may be undone, in part or wholly.

    Their compensation was cut off by a terminate, failed, or was passed over by a person. A stored step is never run again unless it was
    compensated or somebody asks for it, and nobody knows whether this one was: so it is named, and who replays decides.
    """
    return tuple(
        name
        for name in draft.definition.ordinary
        if name not in again and draft.step(name).in_doubt and draft.step(name).state is StepState.COMPLETED
    )


def not_taken(plan: StepDefinition, chosen: tuple[str, ...]) -> list[str]:
    """The steps of the branches that were not chosen, but for those that are in a chosen one, too."""
    taken = {step for branch in plan.branches if branch.name in chosen for step in branch.steps}
    return [step for branch in plan.branches for step in branch.steps if step not in taken]


def _must(draft: Draft, name: str) -> bool:
    step = draft.step(name)
    if step.state is StepState.SKIPPED:
        return step.skipped_by == name  # passed over by a person; others follow from what they depend on
    return step.state is not StepState.COMPLETED


def _stays_skipped(draft: Draft, name: str, again: set[str]) -> bool:
    by = draft.step(name).skipped_by
    if draft.step(name).state is not StepState.SKIPPED or by in {"", name} or by in again:
        return False
    return draft.step(by).state is StepState.COMPLETED and name in not_taken(draft.plan(by), draft.step(by).chosen)


def _with_dependants(draft: Draft, named: Iterable[str]) -> set[str]:
    found = set(named)
    left = list(found)
    while left:
        for name in draft.definition.dependants[left.pop()]:
            if name not in found:
                found.add(name)
                left.append(name)
    return found

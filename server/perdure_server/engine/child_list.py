"""The children of a workflow, page by page. Their ids follow from their indexes, so a page is a batch of reads by id and needs no index."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from perdure_server.engine.queries import Queries
from perdure_server.engine.values import Ref, View
from perdure_server.kernel.child_state import child_key
from perdure_server.kernel.children import is_child_of, parent_link
from perdure_server.kernel.definition import StepDefinition
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import Workflow, WorkflowKey, WorkflowState
from perdure_server.ports.store import Workflows

_WINDOW: Final = 200
_LOOKED_AT: Final = 5_000  # by one call: a page of a rare state may be empty and not the last


class ChildQuery(Struct, frozen=True):
    """Which children: of a workflow, of one of its steps ("" = all), in these states (none = any)."""

    ref: Ref
    step: str
    states: frozenset[WorkflowState]
    with_payloads: bool


class Place(Struct, frozen=True):
    """Where a page begins: the step by its position in the definition, and the child's index."""

    position: int
    index: int


class FoundChild(Struct, frozen=True):
    """A child, and where it stands."""

    view: View
    place: Place


class ChildPage(Struct, frozen=True):
    """One page; `after` is None on the last."""

    children: tuple[FoundChild, ...]
    after: Place | None


class ChildList:
    """Reads children in the present generation of their steps, as far as they were intended."""

    def __init__(self, workflows: Workflows, queries: Queries) -> None:
        self._workflows = workflows
        self._queries = queries

    async def page(self, query: ChildQuery, size: int, begin: Place) -> ChildPage:
        """At most `size` children from `begin` on. Raises Rejection WORKFLOW_NOT_FOUND, FENCED, STEP_NOT_FOUND; StoreUnavailable."""
        view = await self._queries.view(await self._queries.load(query.ref.key.workflow_id, query.ref))
        if query.step and query.step not in view.definition.by_name:
            raise Rejection(Reason.STEP_NOT_FOUND, "The definition has no such step.", step=query.step)
        found: list[FoundChild] = []
        looked_at = 0
        for position, first, last in _stretches(view, query.step, begin):
            if len(found) >= size or looked_at >= _LOOKED_AT:
                return ChildPage(tuple(found), Place(position, first))
            looked_at += last - first
            for index, child in await self._load(view.workflow, view.definition.steps[position], range(first, last)):
                if query.states and child.state not in query.states:
                    continue
                if len(found) >= size:
                    return ChildPage(tuple(found), Place(position, index))
                found.append(FoundChild(await self._view(child, query), Place(position, index)))
        return ChildPage(tuple(found), None)

    async def _load(self, workflow: Workflow, plan: StepDefinition, indexes: Sequence[int]) -> list[tuple[int, Workflow]]:
        assert plan.child is not None, "asked of steps with children only"
        generation = workflow.steps[plan.name].generation
        parents = [parent_link(workflow, plan.name, generation, plan.kind, index) for index in indexes]
        keys = [WorkflowKey(workflow.key.namespace, plan.child.workflow_type, child_key(parent)) for parent in parents]
        loaded = await asyncio.gather(*(self._workflows.load(key.workflow_id) for key in keys))
        return [
            (parent.index, child) for parent, child in zip(parents, loaded, strict=True) if child is not None and is_child_of(child, parent)
        ]

    async def _view(self, child: Workflow, query: ChildQuery) -> View:
        view = await self._queries.view(child)
        return await self._queries.resolve(view) if query.with_payloads else view


def _stretches(view: View, step: str, begin: Place) -> Iterator[tuple[int, int, int]]:
    """(position of the step, first index, the one after the last), in order, each short enough for one batch of reads."""
    for position, plan in enumerate(view.definition.steps):
        if position < begin.position or plan.child is None or step not in {"", plan.name}:
            continue
        cursor = _cursor(view.workflow, plan.name)
        for first in range(begin.index if position == begin.position else 0, cursor, _WINDOW):
            yield position, first, min(first + _WINDOW, cursor)


def _cursor(workflow: Workflow, step: str) -> int:
    own = workflow.steps.get(step)
    return own.children.cursor if own is not None and own.children is not None else 0

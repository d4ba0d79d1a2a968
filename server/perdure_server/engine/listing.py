"""Lists and counts: pages in the order of an index, of which rows are dropped that do not match the rest of the filter.

A page looks at a bounded number of rows, so it may be short, and even empty, before the last one: the next goes on behind what was looked
at. So no filter scans without end, and none needs an index of its own.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum

from msgspec import Struct
from msgspec.structs import replace

from perdure_server.engine.catalog import Catalog
from perdure_server.engine.parts import Parts
from perdure_server.engine.queues import QueueBook
from perdure_server.engine.selection import OPEN, Selection, narrowed
from perdure_server.engine.values import View
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.rejection import Rejection
from perdure_server.kernel.workflow import Workflow, WorkflowState
from perdure_server.ports.errors import CorruptDocument
from perdure_server.ports.store import PageKey, WorkflowQuery

logger = logging.getLogger(__name__)

_CHUNK = 200
_FULL_CHUNK = 50  # with their payloads; more than that goes into no answer anyway
_STEPS = 20_000  # of all workflows of one page: large plans make it short
_TYPES_COUNTED = 200


class Detail(IntEnum):
    """How much of each; numbered as on the wire."""

    BASIC = 1
    STEPS = 2
    FULL = 3


class Page(Struct, frozen=True):
    """Rows in the order asked for, with steps and, for FULL, payloads (large ones as refs). `after` None: this was the last page."""

    views: tuple[View, ...]
    after: PageKey | None


class Tally(Struct, frozen=True):
    """A count. `estimate`: there are at least so many, or it was counted while it changed. `groups`: parts of it."""

    count: int
    estimate: bool
    groups: Mapping[str, int] = {}


class Listing:
    """Every method raises StoreUnavailable. `phase_of` is where the one table of phases is plugged in."""

    def __init__(self, parts: Parts, catalog: Catalog, queues: QueueBook) -> None:
        self._workflows = parts.store.workflows
        self._catalog = catalog
        self._queues = queues
        self.phase_of: Callable[[View], int] = lambda _: 0

    async def page(self, selection: Selection, limit: int, after: PageKey | None, detail: Detail = Detail.BASIC) -> Page:
        """At most `limit` of those that match."""
        kept: list[View] = []
        wanted = narrowed(selection)
        looked_at = 0
        while wanted is not None:
            chunk = _FULL_CHUNK if detail is Detail.FULL else _CHUNK
            found = await self._workflows.find(wanted.query, min(chunk, limit - len(kept)) if wanted.is_indexed else chunk, after)
            looked_at += len(found.rows)
            after = found.after
            matching = await self._matching(wanted, found.rows, detail)
            room = limit - len(kept)
            if len(matching) > room:
                last = matching[room - 1].workflow
                return Page((*kept, *matching[:room]), PageKey(last.start_time, last.workflow_id))
            kept += matching
            heavy = sum(len(view.workflow.steps) for view in kept) >= _STEPS or (detail is Detail.FULL and bool(kept))
            if after is None or len(kept) == limit or looked_at >= limits.LIST_ROWS or heavy:
                return Page(tuple(kept), after)
        return Page((), None)

    async def count(self, selection: Selection, at_most: int) -> Tally:
        """How many match; counting stops at `at_most`, or after limits.COUNT_ROWS rows that had to be looked at."""
        wanted = narrowed(selection)
        if wanted is None:
            return Tally(0, estimate=False)
        if wanted.is_indexed:
            count = await self._workflows.count(wanted.query, at_most)
            return Tally(count, count >= at_most)
        tally, whole = await self._tally(wanted, lambda _: "")
        return Tally(min(at_most, tally[""]), not whole or tally[""] >= at_most)

    async def count_by_state(self, selection: Selection, at_most: int) -> Tally:
        """Split by the names of states."""
        parts = {state.name: _with_states(selection, (state,)) for state in selection.query.states or WorkflowState}
        return await self._split(selection, parts, at_most, lambda view: view.workflow.state.name)

    async def count_by_type(self, selection: Selection, at_most: int) -> Tally:
        """Split by type."""
        types = selection.query.workflow_types or await self._workflows.types(selection.query.namespace)
        parts = {name: _with_types(selection, (name,)) for name in types[:_TYPES_COUNTED]}
        found = await self._split(selection, parts, at_most, lambda view: view.workflow.key.workflow_type)
        return replace(found, estimate=found.estimate or len(types) > _TYPES_COUNTED)

    async def count_by_phase(self, selection: Selection, at_most: int) -> Tally:
        """Split by the numbers of phases, as text; ended workflows have none and are in no group. Always an estimate."""
        whole = await self.count(selection, at_most)
        states = tuple(state for state in selection.query.states or OPEN if state in OPEN)
        opened = narrowed(_with_states(selection, states)) if states else None
        if opened is None:
            return Tally(whole.count, estimate=True)
        tally, _ = await self._tally(opened, lambda view: str(self.phase_of(view)), needs_steps=True)
        return Tally(whole.count, estimate=True, groups={name: count for name, count in sorted(tally.items()) if name != "0"})

    async def matches(self, selection: Selection, workflow: Workflow) -> bool:
        """Whether an instance as loaded matches, the query included."""
        wanted = narrowed(selection)
        if wanted is None or not wanted.covers(workflow) or not wanted.admits(workflow):
            return False
        return not wanted.needs_steps or self._in_steps(wanted, await self.view(workflow))

    async def view(self, workflow: Workflow) -> View:
        """With its definition, or with an empty one, should that be gone."""
        key = workflow.key
        try:
            definition = await self._catalog.of(workflow)
        except Rejection:
            definition = Definition(key.namespace, key.workflow_type, (), fingerprint=workflow.fingerprint)
        return View(workflow, definition, await self._queues.facts(workflow.ready))

    async def _split(self, selection: Selection, parts: Mapping[str, Selection], at_most: int, group: Callable[[View], str]) -> Tally:
        wanted = narrowed(selection)
        if wanted is None:
            return Tally(0, estimate=False)
        if not wanted.is_indexed:
            tally, whole = await self._tally(wanted, group)
            return Tally(tally.total(), not whole, dict(sorted(tally.items())))
        counts = [await self._workflows.count(part.query, at_most) for part in parts.values()]
        groups = {name: count for name, count in zip(parts, counts, strict=True) if count}
        return Tally(sum(counts), any(count >= at_most for count in counts), groups)

    async def _tally(self, wanted: Selection, group: Callable[[View], str], needs_steps: bool = False) -> tuple[Counter[str], bool]:
        tally: Counter[str] = Counter()
        after: PageKey | None = None
        for _ in range(limits.COUNT_ROWS // _CHUNK):
            found = await self._workflows.find(wanted.query, _CHUNK, after)
            after = found.after
            rows = [row for row in found.rows if wanted.admits(row)]
            if needs_steps or wanted.needs_steps:
                views = await self._outlined(rows)
                tally.update(group(view) for view in views if self._in_steps(wanted, view))
            else:
                tally.update([group(View(row, _NO_PLAN)) for row in rows])
            if after is None:
                return tally, True
        return tally, False

    async def _matching(self, wanted: Selection, rows: Sequence[Workflow], detail: Detail) -> list[View]:
        kept = [row for row in rows if wanted.admits(row)]
        if detail is Detail.FULL:
            views = [await self.view(workflow) for workflow in await self._loaded(kept)]
        else:
            views = await self._outlined(kept)
        # What was read again may have changed since the row was.
        return [view for view in views if wanted.admits(view.workflow) and self._in_steps(wanted, view)]

    def _in_steps(self, wanted: Selection, view: View) -> bool:
        return wanted.holds_steps(view) and (not wanted.phases or self.phase_of(view) in wanted.phases)

    async def _outlined(self, rows: Sequence[Workflow]) -> list[View]:
        groups: dict[tuple[str, str, bool], list[Workflow]] = {}
        for row in rows:
            groups.setdefault((row.key.workflow_type, row.fingerprint, bool(row.step_options)), []).append(row)
        found: dict[bytes, View] = {}
        for group in groups.values():
            definition = (await self.view(group[0])).definition
            facts = await self._queues.facts({queue for row in group for queue in row.ready})
            outlines = await self._workflows.outlines([row.workflow_id for row in group], [plan.name for plan in definition.steps])
            for workflow_id, workflow in outlines.items():
                is_plain = workflow.fingerprint == definition.fingerprint and not workflow.step_options
                own = {queue: facts[queue] for queue in workflow.ready if queue in facts}
                found[workflow_id] = View(workflow, definition, own) if is_plain else await self.view(workflow)
        return [found[row.workflow_id] for row in rows if row.workflow_id in found]

    async def _loaded(self, rows: Sequence[Workflow]) -> list[Workflow]:
        found = await asyncio.gather(*(self._workflows.load(row.workflow_id) for row in rows), return_exceptions=True)
        loaded: list[Workflow] = []
        for workflow in found:
            if isinstance(workflow, BaseException):
                if not isinstance(workflow, CorruptDocument):
                    raise workflow
            elif workflow is not None:
                loaded.append(workflow)
        return loaded


_NO_PLAN = Definition("", "", ())


def _with_states(selection: Selection, states: tuple[WorkflowState, ...]) -> Selection:
    return replace(selection, query=_query(selection, states=states))


def _with_types(selection: Selection, types: tuple[str, ...]) -> Selection:
    return replace(selection, query=_query(selection, workflow_types=types))


def _query(selection: Selection, **changes: object) -> WorkflowQuery:
    return replace(selection.query, **changes)

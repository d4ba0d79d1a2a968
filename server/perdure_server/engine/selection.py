"""Which workflows: what an index answers, and what is looked at row by row."""

from msgspec import Struct
from msgspec.structs import replace

from perdure_server.engine.explain import queue_of
from perdure_server.engine.values import View
from perdure_server.kernel.workflow import ENDED, StepState, Workflow, WorkflowState
from perdure_server.ports.store import WorkflowQuery

OPEN = tuple(state for state in WorkflowState if state not in ENDED)
_IN_QUEUE = frozenset({StepState.READY, StepState.RUNNING, StepState.CANCELLING})


class Selection(Struct, frozen=True, omit_defaults=True):
    """A filter. `query` is answered by an index; of what it finds each row is looked at for the rest. Empty = any; times in ms.

    `phases` are numbered as on the wire. Stored with batches, so fields only ever get added.
    """

    query: WorkflowQuery
    phases: tuple[int, ...] = ()
    queues: tuple[str, ...] = ()
    end_from: int | None = None
    end_before: int | None = None
    fingerprints: tuple[str, ...] = ()
    paused: bool | None = None
    failure_types: tuple[str, ...] = ()
    schedule_id: str = ""
    parent: tuple[str, str, int | None] | None = None  # type, business key, round (None = any)
    parent_step: str = ""

    @property
    def needs_steps(self) -> bool:
        """Whether a row alone does not tell."""
        return bool(self.phases or self.queues)

    @property
    def is_indexed(self) -> bool:
        """Whether every row that the query finds matches."""
        return self == Selection(self.query)

    def admits(self, row: Workflow) -> bool:
        """Whether a row without steps matches, as far as it tells."""
        return (
            (not self.query.states or row.state in self.query.states)
            and (not self.fingerprints or row.fingerprint in self.fingerprints)
            and (not self.schedule_id or row.schedule_id == self.schedule_id)
            and (self.parent is None or self._is_child(row))
            and (self.paused is None or (row.paused is not None) is self.paused)
            and (not self.failure_types or (row.failure is not None and row.failure.type in self.failure_types))
            and (self.end_from is None or (row.end_time is not None and row.end_time >= self.end_from))
            and (self.end_before is None or (row.end_time is not None and row.end_time < self.end_before))
        )

    def _is_child(self, row: Workflow) -> bool:
        if row.parent is None or self.parent is None:
            return False
        workflow_type, business_key, number = self.parent
        named = (row.parent.workflow_type, row.parent.business_key) == (workflow_type, business_key)
        return named and number in {None, row.parent.round} and self.parent_step in {"", row.parent.step}

    def covers(self, row: Workflow) -> bool:
        """Whether an instance that came from elsewhere than the query is one that the query would find."""
        query, key = self.query, row.key
        return (
            key.namespace == query.namespace
            and row.tombstone is None
            and not row.inert
            and (query.include_archived or not row.archived)
            and (not query.workflow_types or key.workflow_type in query.workflow_types)
            and (not query.business_keys or key.business_key in query.business_keys)
            and all(row.labels.get(name) == value for name, value in query.labels.items())
            and (query.start_from is None or row.start_time >= query.start_from)
            and (query.start_before is None or row.start_time < query.start_before)
        )

    def holds_steps(self, view: View) -> bool:
        """Whether one of its steps is ready or runs in one of the queues."""
        if not self.queues:
            return True
        steps = view.workflow.steps
        return any(
            name in view.definition.by_name and queue_of(view.workflow, view.definition.by_name[name]) in self.queues
            for name, step in steps.items()
            if step.state in _IN_QUEUE
        )


def narrowed(selection: Selection) -> Selection | None:
    """The same with the states that its other conditions leave; None = nothing can match."""
    states = set(selection.query.states or WorkflowState)
    if selection.needs_steps:
        states &= set(OPEN)
    if selection.end_from is not None or selection.end_before is not None:
        states &= ENDED
    if selection.paused:
        states &= set(OPEN)  # one that was imported while it was stopping is paused, too
    if not states:
        return None
    query = selection.query
    if len(states) < len(WorkflowState):
        query = replace(query, states=tuple(sorted(states)))
    if selection.end_before is not None:  # what ended before a time began before it, too
        query = replace(query, start_before=min(query.start_before or selection.end_before, selection.end_before))
    return replace(selection, query=query)

"""Which workflows: one filter for lists, counts, watches, batches, purges and redactions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from perdure.definition import Definition
from perdure.times import put_times
from perdure.v1 import filter_pb2, workflow_pb2
from perdure.view import WorkflowRef, WorkflowState

Phase: TypeAlias = Literal[
    "QUEUED", "EXECUTING", "WAITING", "THROTTLED", "BACKING_OFF", "NEEDS_ATTENTION", "PAUSED", "NO_WORKER", "INCOMPATIBLE"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """All that is given must hold; of several values in one field, one must match. `Filter()` means all workflows of the namespace.

    A combination that no index serves is refused with InvalidRequest, never scanned.
    """

    workflow: Definition | str | Iterable[Definition | str] = ()
    """Types, by definition or by name; at most 16."""
    states: Iterable[WorkflowState] = ()
    phases: Iterable[Phase] = ()
    """What open workflows are doing; ended ones have none."""
    queues: Iterable[str] = ()
    """Queues of steps that are ready or running; at most 16."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels that must be there with this value; at most 8."""
    keys: Iterable[str] = ()
    """Exact business keys; at most 100."""
    started_after: datetime | None = None
    """First moment of the start; with a time zone, as all times here."""
    started_before: datetime | None = None
    ended_after: datetime | None = None
    """First moment of the end; only ended workflows match."""
    ended_before: datetime | None = None
    parent: WorkflowRef | None = None
    """Only children of this workflow."""
    parent_step: str = ""
    """Only children of this step of `parent`."""
    fingerprints: Iterable[str] = ()
    """Definitions that they run by; at most 16."""
    schedule_id: str = ""
    """Only those that this schedule started."""
    paused: bool | None = None
    """Only paused (True) or only unpaused (False) ones; None: both."""
    failure_types: Iterable[str] = ()
    """Failure types that ended, or are ending, the workflow; at most 16."""
    include_archived: bool = False
    """Also archived rounds."""

    def to_message(self) -> filter_pb2.WorkflowFilter:
        """The wire's form. Raises ValueError for a time without a zone, or an unknown phase."""
        message = filter_pb2.WorkflowFilter(
            workflow_types=type_names(self.workflow),
            states=[workflow_pb2.Workflow.State.Value(f"STATE_{state}") for state in self.states],
            phases=[workflow_pb2.Phase.Value(f"PHASE_{phase}") for phase in self.phases],
            queues=self.queues,
            labels=self.labels,
            business_keys=self.keys,
            parent=None if self.parent is None else self.parent.to_message(),
            parent_step=self.parent_step,
            definition_fingerprints=self.fingerprints,
            schedule_id=self.schedule_id,
            paused=self.paused,
            failure_types=self.failure_types,
            include_archived=self.include_archived,
        )
        if self.started_after is not None or self.started_before is not None:
            put_times(message.start_time, {"from_time": self.started_after, "to_time": self.started_before})
        if self.ended_after is not None or self.ended_before is not None:
            put_times(message.end_time, {"from_time": self.ended_after, "to_time": self.ended_before})
        return message


def type_names(workflow: Definition | str | Iterable[Definition | str]) -> list[str]:
    """Names of types."""
    given = (workflow,) if isinstance(workflow, Definition | str) else workflow
    return [one if isinstance(one, str) else one.workflow_type for one in given]

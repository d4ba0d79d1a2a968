"""Why a workflow is where it is."""

from dataclasses import dataclass, field
from datetime import datetime

from perdure.v1 import workflow_service_pb2
from perdure.view import StepState, WorkflowState, phase_name, step_state, time_of, workflow_state


@dataclass(frozen=True, slots=True)
class Blocker:
    """One thing that a step waits for."""

    kind: str
    """dependency, signal_name, due_time, queue, permit, claim, children or person."""
    summary: str
    """In one sentence, for people."""
    since: datetime | None
    message: workflow_service_pb2.Blocker = field(repr=False)
    """All that the server told."""


@dataclass(frozen=True, slots=True)
class StepExplanation:
    """Why one step is where it is."""

    step: str
    state: StepState
    phase: str
    """QUEUED, EXECUTING, WAITING, ...; empty when blocked or ended."""
    summary: str
    """In one sentence, for people."""
    since: datetime | None
    blockers: tuple[Blocker, ...]
    """Everything that it waits for: all of them for BLOCKED, any of them otherwise."""
    suggestions: tuple[str, ...]
    """What a person could do, in the words of the API."""
    next_time: datetime | None
    """The next time at which it moves by itself."""
    message: workflow_service_pb2.StepExplanation = field(repr=False)
    """All that the server told."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a workflow is where it is."""

    state: WorkflowState
    phase: str
    """QUEUED, EXECUTING, WAITING, ...; empty once ended."""
    summary: str
    """All in one sentence, for people."""
    steps: tuple[StepExplanation, ...]
    """Each step that has not ended."""
    open_duties: tuple[str, ...]
    """What the server still has to do, such as telling a parent; for people."""
    message: workflow_service_pb2.ExplainWorkflowResponse = field(repr=False)
    """All that the server told."""


def explanation_of(message: workflow_service_pb2.ExplainWorkflowResponse) -> Explanation:
    """The value of a message."""
    steps = tuple(_step_of(step) for step in message.steps)
    duties = tuple(message.open_duties)
    return Explanation(workflow_state(message.state), phase_name(message.phase), message.summary, steps, duties, message)


def _step_of(message: workflow_service_pb2.StepExplanation) -> StepExplanation:
    return StepExplanation(
        message.step,
        step_state(message.state),
        phase_name(message.phase),
        message.summary,
        time_of(message.since_time),
        tuple(Blocker(found.WhichOneof("kind") or "", found.summary, time_of(found.since_time), found) for found in message.blockers),
        tuple(message.suggestions),
        time_of(message.next_time),
        message,
    )

"""Phases: what an open workflow or step is doing, in one word, computed on read.

Precedence over the steps of a workflow, first match wins: NEEDS_ATTENTION, EXECUTING, QUEUED, BACKING_OFF, WAITING. Phases that speak
of queues, resources and pauses (NO_WORKER, INCOMPATIBLE, THROTTLED, PAUSED) come with their rules.
"""

from typing import Final, NamedTuple

from perdure.v1 import workflow_pb2 as wire
from perdure_server.kernel.workflow import Step, StepState, Workflow

_PHASES: Final[dict[StepState, wire.Phase.ValueType]] = {
    StepState.HELD: wire.PHASE_NEEDS_ATTENTION,
    StepState.RUNNING: wire.PHASE_EXECUTING,
    StepState.CANCELLING: wire.PHASE_EXECUTING,
    StepState.READY: wire.PHASE_QUEUED,
    StepState.BACKOFF: wire.PHASE_BACKING_OFF,
    StepState.WAITING: wire.PHASE_WAITING,
}
_PRECEDENCE: Final = (
    wire.PHASE_NEEDS_ATTENTION,
    wire.PHASE_EXECUTING,
    wire.PHASE_QUEUED,
    wire.PHASE_BACKING_OFF,
    wire.PHASE_WAITING,
)
_REASONS: Final[dict[StepState, str]] = {
    StepState.CANCELLING: "asked to stop",
    StepState.READY: "ready, for a free slot of a worker",
    StepState.BACKOFF: "until the next attempt",
}


class PhaseFound(NamedTuple):
    """A phase with its sentence and since when it holds (ms)."""

    phase: wire.Phase.ValueType
    reason: str
    since: int


def step_phase(step: Step) -> PhaseFound | None:
    """The phase of a step; None when it is blocked or has ended."""
    phase = _PHASES.get(step.state)
    if phase is None:
        return None
    if step.state is StepState.BACKOFF and not step.attempt:
        return PhaseFound(wire.PHASE_WAITING, "for its start time", step.since)
    if step.state is StepState.WAITING:
        return PhaseFound(phase, "for " + " or ".join(condition.name for condition in step.wait), step.since)
    return PhaseFound(phase, _REASONS.get(step.state, ""), step.since)


def workflow_phase(workflow: Workflow) -> PhaseFound | None:
    """The phase of a workflow by its steps; None when it has ended."""
    if workflow.is_ended:
        return None
    found: dict[wire.Phase.ValueType, PhaseFound] = {}
    for name, step in workflow.steps.items():
        own = step_phase(step)
        if own is not None and (own.phase not in found or own.since < found[own.phase].since):
            found[own.phase] = PhaseFound(own.phase, f"{name}: {own.reason}" if own.reason else name, own.since)
    return next((found[phase] for phase in _PRECEDENCE if phase in found), None)

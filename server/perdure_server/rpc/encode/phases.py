"""Phases: what an open workflow or step is doing, in one word, computed on read. This is the one place that publishes them.

| step | phase |
| --- | --- |
| HELD | NEEDS_ATTENTION |
| RUNNING, CANCELLING | EXECUTING |
| READY | PAUSED in a paused workflow, else QUEUED; where the workers are looked at (ExplainWorkflow), NO_WORKER or INCOMPATIBLE |
| BACKOFF | BACKING_OFF; before the first attempt WAITING (for its start time) |
| WAITING | WAITING |

A workflow has the first phase of PRECEDENCE that one of its steps has, and PAUSED if it is paused; since the earliest of those steps.
THROTTLED comes with permits.
"""

from typing import Final, NamedTuple

from perdure.v1 import workflow_pb2 as wire
from perdure_server.engine.values import View
from perdure_server.kernel.workflow import Paused, Step, StepState, Workflow

PRECEDENCE: Final = (
    wire.PHASE_NEEDS_ATTENTION,
    wire.PHASE_PAUSED,
    wire.PHASE_EXECUTING,
    wire.PHASE_INCOMPATIBLE,
    wire.PHASE_NO_WORKER,
    wire.PHASE_THROTTLED,
    wire.PHASE_QUEUED,
    wire.PHASE_BACKING_OFF,
    wire.PHASE_WAITING,
)
_PHASES: Final[dict[StepState, wire.Phase.ValueType]] = {
    StepState.HELD: wire.PHASE_NEEDS_ATTENTION,
    StepState.RUNNING: wire.PHASE_EXECUTING,
    StepState.CANCELLING: wire.PHASE_EXECUTING,
    StepState.READY: wire.PHASE_QUEUED,
    StepState.BACKOFF: wire.PHASE_BACKING_OFF,
    StepState.WAITING: wire.PHASE_WAITING,
}
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


def step_phase(step: Step, paused: Paused | None = None) -> PhaseFound | None:
    """The phase of a step; None when it is blocked or has ended. `paused`: its workflow's pause."""
    phase = _PHASES.get(step.state)
    if phase is None:
        return None
    if step.state is StepState.READY and paused is not None:
        return PhaseFound(wire.PHASE_PAUSED, pause_words(paused), max(paused.since, step.since))
    if step.state is StepState.BACKOFF and not step.claim_no:
        return PhaseFound(wire.PHASE_WAITING, "for its start time", step.since)
    if step.state is StepState.WAITING:
        return PhaseFound(phase, "for " + " or ".join(condition.name for condition in step.wait), step.since)
    if step.state is StepState.HELD:
        return PhaseFound(phase, "a person must decide" + _failed_with(step), step.since)
    return PhaseFound(phase, _REASONS.get(step.state, ""), step.since)


def workflow_phase(workflow: Workflow) -> PhaseFound | None:
    """The phase of a workflow by its steps; None when it has ended."""
    if workflow.is_ended:
        return None
    found: dict[wire.Phase.ValueType, PhaseFound] = {}
    for name, step in workflow.steps.items():
        own = step_phase(step, workflow.paused)
        if own is not None and (own.phase not in found or own.since < found[own.phase].since):
            found[own.phase] = PhaseFound(own.phase, f"{name}: {own.reason}" if own.reason else name, own.since)
    if workflow.paused is not None:
        found[wire.PHASE_PAUSED] = PhaseFound(wire.PHASE_PAUSED, pause_words(workflow.paused), workflow.paused.since)
    return first(found)


def phase_number(view: View) -> int:
    """The phase of a workflow, 0 = none; for the engine's filters and counts."""
    found = workflow_phase(view.workflow)
    return int(found.phase) if found is not None else int(wire.PHASE_UNSPECIFIED)


def first(found: dict[wire.Phase.ValueType, PhaseFound]) -> PhaseFound | None:
    """The one that stands for all."""
    return next((found[phase] for phase in PRECEDENCE if phase in found), None)


def pause_words(paused: Paused) -> str:
    """Who paused it, and why, as far as they said."""
    who = f"paused by {paused.actor}" if paused.actor else "paused"
    return f"{who}: {paused.reason}" if paused.reason else who


def _failed_with(step: Step) -> str:
    if step.failure is None:
        return ""
    return f": {step.failure.type}: {step.failure.message}" if step.failure.message else f": {step.failure.type}"

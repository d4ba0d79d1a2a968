"""Phases: what an open workflow or step is doing, in one word, computed on read. This is the one place that publishes them.

| step | phase |
| --- | --- |
| HELD | NEEDS_ATTENTION |
| RUNNING, CANCELLING | EXECUTING |
| READY | PAUSED if its workflow or definition is, INCOMPATIBLE or NO_WORKER if nobody has served its queue for 30 s |
| READY, served | THROTTLED if it lacks permits, else QUEUED |
| BACKOFF | BACKING_OFF; before the first attempt WAITING (for its start time) |
| WAITING | WAITING |

A workflow has the first phase of PRECEDENCE that one of its steps has, and PAUSED if it is paused; since the earliest of those steps.
ExplainWorkflow looks at the workers as they are right now, without the 30 s.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from perdure.v1 import workflow_pb2 as wire
from perdure_server.engine.values import QueueFact, Unserved, View
from perdure_server.kernel.workflow import Paused, Step, StepState, Throttle, Workflow

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


_QUEUE_PHASES: Final[dict[Unserved, wire.Phase.ValueType]] = {
    Unserved.PAUSED: wire.PHASE_PAUSED,
    Unserved.NO_WORKER: wire.PHASE_NO_WORKER,
    Unserved.INCOMPATIBLE: wire.PHASE_INCOMPATIBLE,
}
_UNSERVED: Final[dict[Unserved, str]] = {
    Unserved.PAUSED: "its definition is paused",
    Unserved.NO_WORKER: "no worker serves its queue",
    Unserved.INCOMPATIBLE: "the workers of its queue were built for another contract of the step",
}
_NO_FACTS: Final[Mapping[str, QueueFact]] = {}


class PhaseFound(NamedTuple):
    """A phase with its sentence and since when it holds (ms)."""

    phase: wire.Phase.ValueType
    reason: str
    since: int


def step_phase(step: Step, paused: Paused | None = None, fact: QueueFact | None = None) -> PhaseFound | None:
    """The phase of a step; None when it is blocked or has ended. `paused`: its workflow's pause; `fact`: of the queue it waits in."""
    phase = _PHASES.get(step.state)
    if phase is None:
        return None
    if paused is not None:
        fact = QueueFact(Unserved.PAUSED, paused.since, paused)
    if step.state is StepState.READY and fact is not None:
        return _queue_phase(fact, step.since)
    if step.throttled is not None:
        return PhaseFound(wire.PHASE_THROTTLED, throttle_words(step.throttled), step.throttled.since)
    if step.state is StepState.BACKOFF and not step.claim_no:
        return PhaseFound(wire.PHASE_WAITING, "for its start time", step.since)
    return PhaseFound(phase, _words(step), step.since)


def _words(step: Step) -> str:
    if step.state is StepState.WAITING:
        return "for " + " or ".join(condition.name for condition in step.wait)
    if step.state is StepState.HELD:
        return "a person must decide" + _failed_with(step)
    return _REASONS.get(step.state, "")


def workflow_phase(workflow: Workflow, facts: Mapping[str, QueueFact] = _NO_FACTS) -> PhaseFound | None:
    """The phase of a workflow by its steps, and by the facts about their queues; None when it has ended."""
    if workflow.is_ended:
        return None
    found: dict[wire.Phase.ValueType, PhaseFound] = {}
    of_steps = step_facts(facts)
    for name, step in workflow.steps.items():
        own = step_phase(step, workflow.paused, of_steps.get(name))
        if own is not None and (own.phase not in found or own.since < found[own.phase].since):
            found[own.phase] = PhaseFound(own.phase, f"{name}: {own.reason}" if own.reason else name, own.since)
    if workflow.paused is not None:
        found[wire.PHASE_PAUSED] = PhaseFound(wire.PHASE_PAUSED, pause_words(workflow.paused), workflow.paused.since)
    return first(found)


def phase_number(view: View) -> int:
    """The phase of a workflow, 0 = none; for the engine's filters and counts."""
    found = workflow_phase(view.workflow, view.facts)
    return int(found.phase) if found is not None else int(wire.PHASE_UNSPECIFIED)


def step_facts(facts: Mapping[str, QueueFact]) -> dict[str, QueueFact]:
    """The facts by step instead of by queue id."""
    return {queue.rpartition("/")[2]: fact for queue, fact in facts.items()}


def _queue_phase(fact: QueueFact, since: int) -> PhaseFound:
    reason = pause_words(fact.paused) if fact.paused is not None else _UNSERVED[fact.kind]
    return PhaseFound(_QUEUE_PHASES[fact.kind], reason, max(fact.since, since))


def first(found: dict[wire.Phase.ValueType, PhaseFound]) -> PhaseFound | None:
    """The one that stands for all."""
    return next((found[phase] for phase in PRECEDENCE if phase in found), None)


def pause_words(paused: Paused) -> str:
    """Who paused it, and why, as far as they said."""
    who = f"paused by {paused.actor}" if paused.actor else "paused"
    return f"{who}: {paused.reason}" if paused.reason else who


def throttle_words(throttled: Throttle) -> str:
    """Which permits are lacking."""
    return f"for permits of {throttled.resource}" + (f" ({throttled.key})" if throttled.key else "")


def _failed_with(step: Step) -> str:
    if step.failure is None:
        return ""
    return f": {step.failure.type}: {step.failure.message}" if step.failure.message else f": {step.failure.type}"

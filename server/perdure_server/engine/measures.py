"""What a stored change is worth to the metrics: a handful of points, taken on the hot road, so nothing here waits or looks far."""

from collections.abc import Iterable

from perdure_server.engine.turn import Grant, Turn
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.effects import AttemptEnded, ClaimLost
from perdure_server.kernel.workflow import Event, Step, StepState, Workflow
from perdure_server.ports.instruments import (
    CLAIMS_LOST,
    FIRST_CLAIM,
    PERMIT_TIME,
    QUEUE_TIME,
    STARTED,
    STEP_TIME,
    TIMER_LATENESS,
    WORKFLOW_TIME,
)
from perdure_server.ports.telemetry import Meter

Move = tuple[Event, Step]

_TIMED = frozenset({StepState.WAITING, StepState.BACKOFF})


def moves(turn: Turn) -> list[Move]:
    """The first move of each step in this turn, with the step as it was before; one that had no state of its own yet is left out."""
    before = turn.draft.workflow.steps
    found: dict[str, Move] = {}
    for event in turn.draft.events:
        prior = before.get(event.step)
        if prior is not None and event.state != prior.state and event.step not in found:
            found[event.step] = (event, prior)
    return list(found.values())


class Measures:
    """Turns stored changes into points."""

    def __init__(self, meter: Meter) -> None:
        self._count = meter.count
        self._record = meter.record

    def granted(self, workflow: Workflow, definition: Definition, turn: Turn, made: Grant) -> None:
        """A claim was stored."""
        key = workflow.key
        step = workflow.steps[made.step]
        prior = turn.draft.workflow.steps.get(made.step)
        waited = step.since - prior.since if prior is not None and prior.state is StepState.READY else 0
        queue = made.slot.queue.split("/", 2)[1]
        self._record(QUEUE_TIME, waited, (key.namespace, key.workflow_type, queue))
        if step.claim_no == 1 and not definition.by_name[made.step].depends_on and made.step not in definition.hook_steps:
            begun = max(workflow.start_time, workflow.start_at or 0)
            self._record(FIRST_CLAIM, max(0, step.since - begun), (key.namespace, key.workflow_type))
        if prior is not None and step.permit_wait_time > prior.permit_wait_time:
            self._record(PERMIT_TIME, step.permit_wait_time - prior.permit_wait_time, (key.namespace, key.workflow_type))

    def attempt_ended(self, workflow: Workflow, effect: AttemptEnded) -> None:
        """A claim was settled, or taken away."""
        key = workflow.key
        took = workflow.update_time - effect.claim.granted
        self._record(STEP_TIME, took, (key.namespace, key.workflow_type, effect.step, effect.outcome))

    def claim_lost(self, workflow: Workflow, effect: ClaimLost) -> None:
        """A claim was taken away."""
        self._count(CLAIMS_LOST, (workflow.key.namespace, workflow.key.workflow_type, effect.cause.name.lower()))

    def started(self, workflow: Workflow) -> None:
        """A workflow began."""
        self._count(STARTED, (workflow.key.namespace, workflow.key.workflow_type))

    def ended(self, workflow: Workflow) -> None:
        """An end was stored."""
        key = workflow.key
        took = (workflow.end_time or workflow.update_time) - workflow.start_time
        self._record(WORKFLOW_TIME, took, (key.namespace, key.workflow_type, workflow.state.name.lower()))

    def moved(self, moved: Iterable[Move]) -> None:
        """Steps left the states that they were in."""
        for event, prior in moved:
            if prior.due is not None and prior.state in _TIMED and event.time >= prior.due:
                self._record(TIMER_LATENESS, event.time - prior.due)

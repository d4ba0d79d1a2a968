"""What a stored change says to the traces of its workflow: which times of it have ended, with ids that every server derives alike.

A time that a step spent without a claim (queued, waiting, backing off, held) is told when it has ended, by whoever stored the change that
ended it, from the state as it was stored before: no field is kept for it, and another server ends the time that one which was killed began.
Nothing is built for a workflow that is not sampled.
"""

from collections.abc import Iterator, Sequence

from perdure_server.engine.measures import Move
from perdure_server.engine.turn import Turn
from perdure_server.kernel.effects import AttemptEnded, WaitWon
from perdure_server.kernel.workflow import STEP_ENDS, Event, Step, StepState, Workflow
from perdure_server.ports.telemetry import (
    AttemptSpan,
    Moment,
    StaySpan,
    Telemetry,
    WorkflowSpan,
    children_span_id,
    derived_span_id,
    is_sampled,
)

_STAYS = {
    StepState.READY: "queued",
    StepState.WAITING: "waiting",
    StepState.BACKOFF: "backing off",
    StepState.HELD: "held",
}


class Spans:
    """Tells the Telemetry port what has ended."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def wanted(self, workflow: Workflow) -> bool:
        """Whether anything is built for this workflow."""
        return self._telemetry.enabled and is_sampled(workflow.trace)

    def turned(self, workflow: Workflow, turn: Turn, moved: Sequence[Move]) -> None:
        """A turn is stored: what it ended, but for claims and for the workflow itself, which have effects of their own."""
        before = turn.draft.workflow
        if before.run_id != workflow.run_id:
            return
        for event, prior in moved:
            kind = _STAYS.get(prior.state)
            if kind is not None and event.time > prior.since:
                self._telemetry.stay_ended(_stay(workflow, turn, kind, (event, prior)))
            if prior.children is not None and event.state in STEP_ENDS:
                self._telemetry.stay_ended(_children(workflow, event, prior))
        if before.paused is not None and workflow.paused is not before.paused:
            self._telemetry.stay_ended(_paused(workflow, before.paused.since))
        if workflow.fence != before.fence and workflow.replays > before.replays:
            self._telemetry.workflow_replayed(_of(workflow, workflow.update_time), before.fence)

    def attempt_ended(self, workflow: Workflow, effect: AttemptEnded) -> None:
        """A claim was settled, or taken away."""
        self._telemetry.attempt_ended(
            AttemptSpan(
                key=workflow.key,
                run_id=workflow.run_id,
                fence=workflow.fence,
                trace=workflow.trace,
                span_id=effect.claim.span_id,
                step=effect.step,
                attempt=effect.attempt,
                claim_no=effect.claim_no,
                granted=effect.claim.granted,
                ended=workflow.update_time,
                outcome=effect.outcome,
                worker_id=effect.claim.worker_id,
                failure=effect.failure,
            )
        )

    def started(self, workflow: Workflow) -> None:
        """A workflow began."""
        self._telemetry.workflow_started(_of(workflow, workflow.start_time))

    def ended(self, workflow: Workflow) -> None:
        """An end is stored."""
        self._telemetry.workflow_ended(_of(workflow, workflow.start_time, ended=workflow.end_time))


def _of(workflow: Workflow, started: int, ended: int | None = None) -> WorkflowSpan:
    return WorkflowSpan(
        key=workflow.key,
        run_id=workflow.run_id,
        fence=workflow.fence,
        trace=workflow.trace,
        started=started,
        ended=ended,
        state=workflow.state.name if ended is not None else "",
        failure=workflow.failure if ended is not None else None,
        cancel_time=workflow.cancel_time if ended is not None else None,
        replays=workflow.replays,
    )


def _stay(workflow: Workflow, turn: Turn, kind: str, move: Move) -> StaySpan:
    event, prior = move
    if prior.state is StepState.BACKOFF and not prior.claim_no:
        kind = "delayed"  # by the start's `start_at`, or by a person
    now = workflow.steps.get(event.step, prior)
    moments: Iterator[Moment] = iter(())
    if prior.state is StepState.READY:
        moments = _permits(event, prior, now)
    elif prior.state is StepState.WAITING:
        moments = _wakes(turn, event.step)
    claim = now.claim if event.state == StepState.RUNNING and now.claim_no == event.claim_no else None
    return StaySpan(
        key=workflow.key,
        run_id=workflow.run_id,
        fence=workflow.fence,
        trace=workflow.trace,
        span_id=derived_span_id(kind, workflow.run_id, event.step, prior.generation, prior.claim_no, prior.since),
        kind=kind,
        began=prior.since,
        ended=event.time,
        step=event.step,
        cause=event.reason,
        claim_no=event.claim_no if claim is not None else 0,
        follows=claim.span_id if claim is not None else "",
        moments=tuple(moments),
    )


def _permits(event: Event, prior: Step, now: Step) -> Iterator[Moment]:
    # Its first lack may be earlier than the stored throttle, which is only written when it lasts.
    waited = now.permit_wait_time - prior.permit_wait_time
    if waited > 0:
        resource = prior.throttled.resource if prior.throttled is not None else ""
        yield Moment("perdure.permits.lacking", event.time - waited, {"perdure.resource": resource} if resource else {})
        yield Moment("perdure.permits.taken", event.time, {})


def _wakes(turn: Turn, step: str) -> Iterator[Moment]:
    won = [effect for effect in turn.draft.effects if isinstance(effect, WaitWon) and effect.step == step]
    for wake in won[0].wakes if won else ():
        if wake.signal_name or wake.signal_id:
            names = {"perdure.condition": wake.condition, "perdure.signal": wake.signal_name}
            yield Moment("perdure.signal.stored", wake.time, names)
        else:
            yield Moment("perdure.timer.due", wake.time, {"perdure.condition": wake.condition})


def _children(workflow: Workflow, event: Event, prior: Step) -> StaySpan:
    return StaySpan(
        key=workflow.key,
        run_id=workflow.run_id,
        fence=workflow.fence,
        trace=workflow.trace,
        span_id=children_span_id(workflow.run_id, event.step, prior.generation),
        kind="children",
        began=prior.started if prior.started is not None else prior.since,
        ended=event.time,
        step=event.step,
        cause=event.reason,
    )


def _paused(workflow: Workflow, since: int) -> StaySpan:
    return StaySpan(
        key=workflow.key,
        run_id=workflow.run_id,
        fence=workflow.fence,
        trace=workflow.trace,
        span_id=derived_span_id("paused", workflow.run_id, since),
        kind="paused",
        began=since,
        ended=workflow.update_time,
    )

"""Attempts of steps, as far as the instance remembers them: its last events, the last failures, the claim that is out.

One row per claim. Events tell when it began and how it ended, failures tell why; of a claim whose events have left the ring and that did
not fail, only the completed one is still told.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from perdure.v1 import workflow_pb2, workflow_service_pb2
from perdure_server.engine.values import View
from perdure_server.kernel import limits
from perdure_server.kernel.attempts import WORKER_LOST
from perdure_server.kernel.definition import StepKind
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.timing import ATTEMPT_TIMEOUT, SILENCE_TIMEOUT
from perdure_server.kernel.transitions import StepEvent
from perdure_server.kernel.values import Failure
from perdure_server.kernel.workflow import Event, Step, StepState, Workflow
from perdure_server.rpc import page_tokens
from perdure_server.rpc.encode import values
from perdure_server.rpc.filling import Filling

_Wire = workflow_pb2.Attempt
_OF_FAILURES: Final = {
    WORKER_LOST: _Wire.OUTCOME_LOST,
    ATTEMPT_TIMEOUT: _Wire.OUTCOME_TIMED_OUT,
    SILENCE_TIMEOUT: _Wire.OUTCOME_TIMED_OUT,
}
_OF_EVENTS: Final = {
    StepEvent.COMPLETED.name: _Wire.OUTCOME_COMPLETED,
    StepEvent.COMPENSATED.name: _Wire.OUTCOME_COMPLETED,
    StepEvent.FAILED.name: _Wire.OUTCOME_FAILED,
    StepEvent.WAITING.name: _Wire.OUTCOME_WAITING,
    StepEvent.RELEASED.name: _Wire.OUTCOME_RELEASED,
    StepEvent.CONFIRMED.name: _Wire.OUTCOME_CANCELLED,
    StepEvent.PAGE.name: _Wire.OUTCOME_PAGE,
    StepEvent.LOST.name: _Wire.OUTCOME_LOST,
    StepEvent.UNDELIVERED.name: _Wire.OUTCOME_UNDELIVERED,
    StepEvent.TIMED_OUT.name: _Wire.OUTCOME_TIMED_OUT,
    StepEvent.GRACE_OVER.name: _Wire.OUTCOME_FENCED,
    StepEvent.TERMINATE.name: _Wire.OUTCOME_FENCED,
    StepEvent.RESOLVED.name: _Wire.OUTCOME_FENCED,
    StepEvent.EXHAUSTED.name: _Wire.OUTCOME_TIMED_OUT,
}
# These end a claim only if one was out; a step without one can meet them, too.
_ONLY_AFTER_GRANT: Final = frozenset({StepEvent.TERMINATE.name, StepEvent.RESOLVED.name, StepEvent.EXHAUSTED.name})
_UNCHARGED: Final = frozenset({_Wire.OUTCOME_WAITING, _Wire.OUTCOME_RELEASED, _Wire.OUTCOME_UNDELIVERED})


class _Row(Struct, frozen=True):
    step: str
    claim_no: int
    attempt: int = 0
    generation: int | None = None
    granted: int | None = None
    ended: int | None = None
    outcome: _Wire.Outcome.ValueType = _Wire.OUTCOME_UNSPECIFIED
    failure: Failure | None = None
    worker_id: str = ""
    span_id: str = ""
    last_frame_seq: int | None = None

    @property
    def key(self) -> list[str]:
        """Where it stands in the list: newest first."""
        time = self.ended if self.ended is not None else self.granted or 0
        return [f"{limits.TIME - time:015}", self.step, f"{limits.TIME - self.claim_no:015}"]


def response(
    view: View, step: str, size: int, request: workflow_service_pb2.ListAttemptsRequest
) -> workflow_service_pb2.ListAttemptsResponse:
    """One page. Raises Rejection STEP_NOT_FOUND, PAGE_TOKEN_INVALID."""
    if step and step not in view.definition.by_name:
        raise Rejection(Reason.STEP_NOT_FOUND, "The definition has no such step.", step=step)
    scope = ("attempts", view.workflow.run_id, step)
    after = page_tokens.decode_key(scope, request.page_token)
    rows = sorted((row for row in _rows(view, step) if row.key > after), key=lambda row: row.key)
    answer = workflow_service_pb2.ListAttemptsResponse()
    filling = Filling(size)
    for place, row in enumerate(rows):
        message = _Wire()
        _fill(message, row, view.workflow)
        if not filling.takes(message):
            answer.next_page_token = page_tokens.encode_key(scope, rows[place - 1].key)
            break
        answer.attempts.append(message)
    return answer


def _rows(view: View, step: str) -> Iterator[_Row]:
    told = _told(view.workflow.events)
    for plan in view.definition.steps:
        own = view.workflow.steps.get(plan.name)
        if own is not None and plan.kind in {StepKind.ACTIVITY, StepKind.MAP} and step in {"", plan.name}:
            rows = told.get(plan.name, {})
            _remembered(plan.name, own, rows)
            yield from sorted(rows.values(), key=lambda row: row.claim_no)[-limits.ATTEMPT_ERRORS :]


def _told(events: Iterable[Event]) -> dict[str, dict[int, _Row]]:
    """What the ring of events tells of claims, by step and number."""
    found: dict[str, dict[int, _Row]] = {}
    for event in events:
        if not event.step or not event.claim_no:
            continue
        rows = found.setdefault(event.step, {})
        row = rows.get(event.claim_no)
        if event.reason == StepEvent.GRANT.name:
            rows[event.claim_no] = _Row(event.step, event.claim_no, event.attempt, granted=event.time)
        elif (
            event.reason in _OF_EVENTS and (row is not None or event.reason not in _ONLY_AFTER_GRANT) and (row is None or row.ended is None)
        ):
            row = row or _Row(event.step, event.claim_no, event.attempt)
            ended = replace(row, ended=event.time, outcome=_OF_EVENTS[event.reason], last_frame_seq=event.last_frame_seq)
            failure = Failure(event.failure_type, event.failure_message) if event.failure_type else None
            rows[event.claim_no] = replace(ended, failure=failure)
    return found


def _remembered(name: str, step: Step, rows: dict[int, _Row]) -> None:
    """What the step itself remembers; it knows better."""
    for error in step.errors:
        row = rows.get(error.claim_no) or _Row(name, error.claim_no)
        outcome = _OF_FAILURES.get(error.failure.type, _Wire.OUTCOME_FAILED)
        row = replace(row, attempt=error.attempt, ended=error.time, outcome=outcome, failure=error.failure)
        rows[error.claim_no] = replace(row, worker_id=error.worker_id)
    if step.claim is not None:
        claim = step.claim
        row = _Row(name, step.claim_no, step.attempt, step.generation, claim.granted)
        rows[step.claim_no] = replace(row, worker_id=claim.worker_id, span_id=claim.span_id)
    elif step.claim_no not in rows and _completed_by_worker(step):
        rows[step.claim_no] = _Row(name, step.claim_no, step.attempt, ended=step.ended, outcome=_Wire.OUTCOME_COMPLETED)
    if step.claim_no in rows:
        frames = step.last_frame_seq if step.claim is None else None
        rows[step.claim_no] = replace(rows[step.claim_no], generation=step.generation, last_frame_seq=frames)


def _completed_by_worker(step: Step) -> bool:
    # A person may have completed a step whose last claim had failed.
    return step.state is StepState.COMPLETED and bool(step.settled) and bool(step.settled[-1].digest)


def _fill(target: _Wire, row: _Row, workflow: Workflow) -> None:
    target.step = row.step
    target.claim_no = row.claim_no
    target.attempt = row.attempt
    target.generation = row.generation or 0
    target.worker_id = row.worker_id
    target.outcome = row.outcome
    target.charged = row.outcome not in _UNCHARGED
    target.trace_id = workflow.trace.trace_id
    target.span_id = row.span_id
    if row.granted is not None:
        values.time(target.start_time, row.granted)
    if row.ended is not None:
        values.time(target.end_time, row.ended)
    if row.failure is not None:
        values.failure(target.failure, row.failure)
    if row.last_frame_seq is not None and row.ended is not None:
        target.last_frame_seq = row.last_frame_seq

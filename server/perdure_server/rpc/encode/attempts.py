"""Attempts of steps, as far as the instance remembers them: the last failures, the claim that is out, the one that completed."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from perdure.v1 import workflow_pb2, workflow_service_pb2
from perdure_server.engine.values import View
from perdure_server.kernel import limits
from perdure_server.kernel.attempts import WORKER_LOST
from perdure_server.kernel.definition import StepKind
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.timing import ATTEMPT_TIMEOUT, SILENCE_TIMEOUT
from perdure_server.kernel.workflow import AttemptError, Step, StepState, Workflow
from perdure_server.rpc import page_tokens
from perdure_server.rpc.encode import values

_Wire = workflow_pb2.Attempt
_OUTCOMES: Final = {
    WORKER_LOST: _Wire.OUTCOME_LOST,
    ATTEMPT_TIMEOUT: _Wire.OUTCOME_TIMED_OUT,
    SILENCE_TIMEOUT: _Wire.OUTCOME_TIMED_OUT,
}


class _Row(Struct, frozen=True):
    key: list[str]
    step: str
    of: Step
    error: AttemptError | None  # None: the claim that is out, or the one that completed


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
    for row in rows[:size]:
        _fill(answer.attempts.add(), row, view.workflow)
    if len(rows) > size:
        answer.next_page_token = page_tokens.encode_key(scope, rows[size - 1].key)
    return answer


def _rows(view: View, step: str) -> Iterator[_Row]:
    for plan in view.definition.steps:
        own = view.workflow.steps.get(plan.name)
        if own is None or plan.kind is not StepKind.ACTIVITY or step not in {"", plan.name}:
            continue
        for error in own.errors:
            yield _Row(_key(error.time, plan.name, error.claim_no), plan.name, own, error)
        if own.claim is not None:
            yield _Row(_key(own.claim.granted, plan.name, own.claim_no), plan.name, own, None)
        elif _completed_by_worker(own):
            yield _Row(_key(own.ended or 0, plan.name, own.claim_no), plan.name, own, None)


def _key(time: int, step: str, claim_no: int) -> list[str]:
    return [f"{limits.TIME - time:015}", step, f"{limits.TIME - claim_no:015}"]


def _completed_by_worker(step: Step) -> bool:
    # A person may have completed a step whose last claim had failed.
    if step.state is not StepState.COMPLETED or not step.settled or not step.settled[-1].digest:
        return False
    return all(error.claim_no != step.claim_no for error in step.errors)


def _fill(target: _Wire, row: _Row, workflow: Workflow) -> None:
    step, error = row.of, row.error
    target.step = row.step
    target.charged = True
    target.trace_id = workflow.trace.trace_id
    if error is not None:
        target.claim_no = error.claim_no
        target.attempt = error.attempt
        values.time(target.end_time, error.time)
        target.outcome = _OUTCOMES.get(error.failure.type, _Wire.OUTCOME_FAILED)
        values.failure(target.failure, error.failure)
        return
    target.claim_no = step.claim_no
    target.attempt = step.attempt
    target.generation = step.generation
    if step.claim is not None:
        target.worker_id = step.claim.worker_id
        target.span_id = step.claim.span_id
        values.time(target.start_time, step.claim.granted)
        return
    target.outcome = _Wire.OUTCOME_COMPLETED
    if step.ended is not None:
        values.time(target.end_time, step.ended)
    if step.last_frame_seq is not None:
        target.last_frame_seq = step.last_frame_seq

"""Spans built by hand, with the ids and times that are stored with the workflow.

The SDK's tracer mints ids and takes times when a span is made, which cannot be: an attempt's span id travels to the worker at the grant,
and the span is exported at the settlement, perhaps by another process after a restart.
"""

import hashlib
from collections.abc import Mapping
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, Status, StatusCode, TraceFlags, TraceState

from perdure_server.kernel.values import Failure, Trace
from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.ports.telemetry import AttemptSpan, WorkflowSpan
from perdure_server.telemetry import limits

_NANOS_PER_MS: Final = 1_000_000
_SCOPE: Final = InstrumentationScope("perdure_server")
_FAILED: Final = frozenset({"failed", "lost", "timed_out", "FAILED"})

Attributes = dict[str, str | int]


def attempt_span(source: AttemptSpan, resource: Resource) -> ReadableSpan:
    """One attempt, from its grant to its end, below the workflow's root."""
    attributes = _identity(source.key, source.run_id, source.fence) | {
        "perdure.step": source.step,
        "perdure.attempt": source.attempt,
        "perdure.claim_no": source.claim_no,
        "perdure.outcome": source.outcome,
    }
    if source.worker_id:
        attributes["perdure.worker_id"] = source.worker_id
    return ReadableSpan(
        name=f"{source.key.workflow_type}/{source.step}",
        context=_context(source.trace, source.span_id),
        parent=_context(source.trace, source.trace.root_span_id),
        resource=resource,
        attributes=attributes,
        events=_events(source.failure, source.ended),
        status=_status(source.outcome, source.failure),
        start_time=source.granted * _NANOS_PER_MS,
        end_time=source.ended * _NANOS_PER_MS,
        instrumentation_scope=_SCOPE,
    )


def root_span(source: WorkflowSpan, resource: Resource) -> ReadableSpan:
    """The workflow's root, exported when it starts: a mark in time that everything else hangs below, readable from day one."""
    trace = source.trace
    return ReadableSpan(
        name=f"workflow {source.key.workflow_type}",
        context=_context(trace, trace.root_span_id),
        parent=_context(trace, trace.parent_span_id, is_remote=True) if trace.parent_span_id else None,
        resource=resource,
        attributes=_identity(source.key, source.run_id, source.fence),
        start_time=source.started * _NANOS_PER_MS,
        end_time=source.started * _NANOS_PER_MS,
        instrumentation_scope=_SCOPE,
    )


def end_span(source: WorkflowSpan, resource: Resource) -> ReadableSpan:
    """The whole run, exported when it has ended: below the root and linked to it, with an id that every server derives alike."""
    trace = source.trace
    ended = source.ended if source.ended is not None else source.started
    root = _context(trace, trace.root_span_id)
    span_id = hashlib.sha256(f"end {source.run_id} {source.fence} {trace.root_span_id}".encode()).hexdigest()[:16]
    return ReadableSpan(
        name=f"workflow {source.key.workflow_type} ended",
        context=_context(trace, span_id),
        parent=root,
        resource=resource,
        attributes=_identity(source.key, source.run_id, source.fence) | {"perdure.state": source.state},
        events=_events(source.failure, ended),
        links=(Link(root),),
        status=_status(source.state, source.failure),
        start_time=source.started * _NANOS_PER_MS,
        end_time=ended * _NANOS_PER_MS,
        instrumentation_scope=_SCOPE,
    )


def _context(trace: Trace, span_id: str, is_remote: bool = False) -> SpanContext:
    state = TraceState.from_header([trace.state]) if trace.state else None
    return SpanContext(int(trace.trace_id, 16), int(span_id or "0", 16), is_remote, TraceFlags(trace.flags), state)


def _identity(key: WorkflowKey, run_id: str, fence: int) -> Attributes:
    return {
        "perdure.namespace": key.namespace,
        "perdure.workflow_type": key.workflow_type,
        "perdure.business_key": key.business_key,
        "perdure.run_id": run_id,
        "perdure.fence": fence,
    }


def _events(failure: Failure | None, time: int) -> tuple[Event, ...]:
    # A failure's details are a payload and stay out.
    if failure is None:
        return ()
    attributes: Mapping[str, str] = {
        "exception.type": failure.type,
        "exception.message": failure.message[: limits.FAILURE_TEXT],
    }
    return (Event("exception", attributes, time * _NANOS_PER_MS),)


def _status(outcome: str, failure: Failure | None) -> Status:
    if outcome in _FAILED:
        return Status(StatusCode.ERROR, failure.type if failure is not None else outcome)
    return Status(StatusCode.UNSET)

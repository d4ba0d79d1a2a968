"""Spans built by hand, with the ids and times that are stored with the workflow.

The SDK's tracer mints ids and takes times when a span is made, which cannot be: an attempt's span id travels to the worker at the grant,
and the span is exported at the settlement, perhaps by another process after a restart.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from perdure_server.kernel.values import Failure, Trace
from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.ports.telemetry import AttemptSpan, StaySpan, WorkflowSpan, derived_span_id

_NANOS_PER_MS: Final = 1_000_000
_SCOPE: Final = InstrumentationScope("perdure_server")
_FAILED: Final = frozenset({"failed", "lost", "timed_out", "FAILED"})

Attributes = dict[str, str | int]


class _Shape(Struct, frozen=True):
    """What tells one span from another, beside the ids and attributes that all spans of a workflow share. Times in ms."""

    name: str
    span_id: str
    parent: SpanContext | None
    began: int
    ended: int
    attributes: Attributes = {}
    events: tuple[Event, ...] = ()
    links: tuple[Link, ...] = ()
    status: Status = Status(StatusCode.UNSET)
    kind: SpanKind = SpanKind.INTERNAL


def attempt_span(source: AttemptSpan, resource: Resource) -> ReadableSpan:
    """One attempt, from its grant to its end, below the workflow's root."""
    attributes: Attributes = {
        "perdure.step": source.step,
        "perdure.attempt": source.attempt,
        "perdure.claim_no": source.claim_no,
        "perdure.outcome": source.outcome,
    }
    if source.worker_id:
        attributes["perdure.worker_id"] = source.worker_id
    shape = _Shape(
        f"{source.key.workflow_type}/{source.step}",
        source.span_id,
        _root(source.trace),
        source.granted,
        source.ended,
        attributes | _error(source.outcome, source.failure),
        events=_failed(source.failure, source.ended),
        status=_status(source.outcome, source.failure),
        kind=SpanKind.CONSUMER,
    )
    return _span(source, shape, resource)


def stay_span(source: StaySpan, resource: Resource) -> ReadableSpan:
    """A time without a claim, below the workflow's root; linked to the claim that it ended in."""
    attributes: Attributes = {"perdure.stay": source.kind}
    if source.step:
        attributes |= {"perdure.step": source.step, "perdure.ended_by": source.cause.lower()}
    if source.claim_no:
        attributes["perdure.claim_no"] = source.claim_no
    shape = _Shape(
        f"{source.key.workflow_type}/{source.step} {source.kind}" if source.step else f"workflow {source.key.workflow_type} {source.kind}",
        source.span_id,
        _root(source.trace),
        source.began,
        source.ended,
        attributes,
        events=tuple(Event(moment.name, dict(moment.attributes), moment.time * _NANOS_PER_MS) for moment in source.moments),
        links=(Link(_context(source.trace, source.follows)),) if source.follows else (),
    )
    return _span(source, shape, resource)


def root_span(source: WorkflowSpan, resource: Resource) -> ReadableSpan:
    """The workflow's root, exported when it starts: a mark in time that everything else hangs below, readable from day one."""
    trace = source.trace
    shape = _Shape(
        f"workflow {source.key.workflow_type}",
        trace.root_span_id,
        _context(trace, trace.parent_span_id, is_remote=True) if trace.parent_span_id else None,
        source.started,
        source.started,
        links=(Link(_linked(trace)),) if trace.link else (),
        kind=SpanKind.PRODUCER,
    )
    return _span(source, shape, resource)


def replay_span(source: WorkflowSpan, earlier_fence: int, resource: Resource) -> ReadableSpan:
    """A replay: a mark in time below the root, linked to the end that it took back. `source.started` is when it was."""
    shape = _Shape(
        f"workflow {source.key.workflow_type} replayed",
        _replay_id(source.run_id, source.fence),
        _root(source.trace),
        source.started,
        source.started,
        {"perdure.replays": source.replays},
        links=(Link(_context(source.trace, _end_id(source, earlier_fence))),),
    )
    return _span(source, shape, resource)


def end_span(source: WorkflowSpan, resource: Resource) -> ReadableSpan:
    """The whole run, exported when it has ended: below the root and linked to it, with an id that every server derives alike."""
    trace = source.trace
    ended = source.ended if source.ended is not None else source.started
    root = _root(trace)
    links = [Link(root)]
    if source.replays:
        links.append(Link(_context(trace, _replay_id(source.run_id, source.fence))))
    state: Attributes = {"perdure.state": source.state}
    asked = () if source.cancel_time is None else (Event("perdure.cancel.requested", {}, source.cancel_time * _NANOS_PER_MS),)
    shape = _Shape(
        f"workflow {source.key.workflow_type} ended",
        _end_id(source, source.fence),
        root,
        source.started,
        ended,
        state | _error(source.state, source.failure),
        events=(*asked, *_failed(source.failure, ended)),
        links=tuple(links),
        status=_status(source.state, source.failure),
    )
    return _span(source, shape, resource)


def _span(source: AttemptSpan | StaySpan | WorkflowSpan, shape: _Shape, resource: Resource) -> ReadableSpan:
    return ReadableSpan(
        name=shape.name,
        context=_context(source.trace, shape.span_id),
        parent=shape.parent,
        resource=resource,
        attributes=_identity(source.key, source.run_id, source.fence) | shape.attributes,
        events=shape.events,
        links=shape.links,
        kind=shape.kind,
        status=shape.status,
        start_time=shape.began * _NANOS_PER_MS,
        end_time=shape.ended * _NANOS_PER_MS,
        instrumentation_scope=_SCOPE,
    )


def _root(trace: Trace) -> SpanContext:
    return _context(trace, trace.root_span_id)


def _context(trace: Trace, span_id: str, is_remote: bool = False) -> SpanContext:
    state = TraceState.from_header([trace.state]) if trace.state else None
    return SpanContext(int(trace.trace_id, 16), int(span_id or "0", 16), is_remote, TraceFlags(trace.flags), state)


def _linked(trace: Trace) -> SpanContext:
    trace_id, _, span_id = trace.link.partition("-")
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=TraceFlags(trace.flags))


def _end_id(source: WorkflowSpan, fence: int) -> str:
    return derived_span_id("end", source.run_id, fence, source.trace.root_span_id)


def _replay_id(run_id: str, fence: int) -> str:
    return derived_span_id("replay", run_id, fence)


def _identity(key: WorkflowKey, run_id: str, fence: int) -> Attributes:
    return {
        "perdure.namespace": key.namespace,
        "perdure.workflow_type": key.workflow_type,
        "perdure.business_key": key.business_key,
        "perdure.run_id": run_id,
        "perdure.fence": fence,
    }


def _failed(failure: Failure | None, time: int) -> tuple[Event, ...]:
    # Of a failure only the type, which its author chose for machines: message and details may hold what a user typed (docs/traces.md).
    if failure is None:
        return ()
    attributes: Mapping[str, str] = {"exception.type": failure.type}
    return (Event("exception", attributes, time * _NANOS_PER_MS),)


def _error(outcome: str, failure: Failure | None) -> Attributes:
    return {"error.type": failure.type if failure is not None else outcome} if outcome in _FAILED else {}


def _status(outcome: str, failure: Failure | None) -> Status:
    if outcome in _FAILED:
        return Status(StatusCode.ERROR, failure.type if failure is not None else outcome)
    return Status(StatusCode.UNSET)

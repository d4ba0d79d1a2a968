"""Trace context and spans, by OpenTelemetry where it is installed; without it nothing is traced and nothing is missing."""

import contextlib
import functools
import importlib
import sys
from collections.abc import Generator
from typing import Any, Protocol, cast

from perdure.v1.claim_pb2 import Claim


class _Propagate(Protocol):
    def inject(self, carrier: dict[str, str]) -> None: ...

    def extract(self, carrier: dict[str, str]) -> object: ...


class _Span(Protocol):
    def set_attribute(self, key: str, value: str) -> None: ...

    def set_status(self, status: object) -> None: ...

    def end(self) -> None: ...


class _Tracer(Protocol):
    def start_span(self, name: str, context: object, *, attributes: dict[str, str | int]) -> _Span: ...


class _StatusCode(Protocol):
    ERROR: object


class _Trace(Protocol):
    StatusCode: _StatusCode

    def get_tracer(self, name: str) -> _Tracer: ...

    def set_span_in_context(self, span: _Span, context: object) -> object: ...


class _Contexts(Protocol):
    def attach(self, context: object) -> object: ...

    def detach(self, token: Any) -> None: ...


@functools.cache
def _load(name: str) -> object | None:
    # By name, because the client must not depend on it, in its imports either.
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def outgoing() -> list[tuple[str, str]]:
    """The caller's trace context as call metadata: traceparent and tracestate, if there is one."""
    # A program without spans does not pay for the import.
    propagate = cast("_Propagate | None", _load("opentelemetry.propagate") if "opentelemetry.trace" in sys.modules else None)
    if propagate is None:
        return []
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return [(key.lower(), value) for key, value in carrier.items() if key.lower() in {"traceparent", "tracestate"}]


@contextlib.contextmanager
def activity_span(claim: Claim) -> Generator[None, None, None]:
    """A span of the activity below the attempt's, and the current one meanwhile; sampled as the attempt is.

    Of an exception it gets the type only: a message may quote what a user typed.
    """
    propagate = cast("_Propagate | None", _load("opentelemetry.propagate") if claim.traceparent else None)
    contexts = cast("_Contexts | None", _load("opentelemetry.context") if claim.traceparent else None)
    trace = cast("_Trace | None", _load("opentelemetry.trace") if claim.traceparent else None)
    if propagate is None or contexts is None or trace is None:
        yield
        return
    carrier = {"traceparent": claim.traceparent} | ({"tracestate": claim.tracestate} if claim.tracestate else {})
    parent = propagate.extract(carrier)
    name = f"activity {claim.workflow.workflow_type}/{claim.step}"
    span = trace.get_tracer("perdure").start_span(name, context=parent, attributes=_attributes(claim))
    token = contexts.attach(trace.set_span_in_context(span, parent))
    try:
        yield
    except Exception as error:
        span.set_attribute("error.type", type(error).__qualname__)
        span.set_status(trace.StatusCode.ERROR)
        raise
    finally:
        contexts.detach(token)
        span.end()


def _attributes(claim: Claim) -> dict[str, str | int]:
    return {
        "perdure.namespace": claim.workflow.namespace,
        "perdure.workflow_type": claim.workflow.workflow_type,
        "perdure.business_key": claim.workflow.business_key,
        "perdure.fence": claim.fence,
        "perdure.step": claim.step,
        "perdure.attempt": claim.attempt,
        "perdure.claim_no": claim.claim_no,
    }

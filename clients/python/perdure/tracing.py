"""W3C trace context, by OpenTelemetry where it is installed; without it nothing is traced and nothing is missing."""

import contextlib
import functools
import importlib
import sys
from collections.abc import Iterator
from typing import Any, Protocol, cast


class _Propagate(Protocol):
    def inject(self, carrier: dict[str, str]) -> None: ...

    def extract(self, carrier: dict[str, str]) -> object: ...


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
def activity_context(traceparent: str, tracestate: str) -> Iterator[None]:
    """Makes the attempt's span the current one, so that spans of the activity hang below it."""
    propagate = cast("_Propagate | None", _load("opentelemetry.propagate") if traceparent else None)
    contexts = cast("_Contexts | None", _load("opentelemetry.context") if traceparent else None)
    if propagate is None or contexts is None:
        yield
        return
    carrier = {"traceparent": traceparent} | ({"tracestate": tracestate} if tracestate else {})
    token = contexts.attach(propagate.extract(carrier))
    try:
        yield
    finally:
        contexts.detach(token)

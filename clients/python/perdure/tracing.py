"""W3C trace context, by OpenTelemetry where it is installed; without it nothing is traced and nothing is missing."""

import contextlib
import importlib
import logging
from collections.abc import Iterator
from typing import Any, Protocol, cast

_log = logging.getLogger("perdure")


class _Propagate(Protocol):
    def inject(self, carrier: dict[str, str]) -> None: ...

    def extract(self, carrier: dict[str, str]) -> object: ...


class _Contexts(Protocol):
    def attach(self, context: object) -> object: ...

    def detach(self, token: Any) -> None: ...


def _load(name: str) -> object | None:
    # By name, because the client must not depend on it, in its imports either.
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


_propagate = cast("_Propagate | None", _load("opentelemetry.propagate"))
_contexts = cast("_Contexts | None", _load("opentelemetry.context"))


def outgoing() -> list[tuple[str, str]]:
    """The caller's trace context as call metadata: traceparent and tracestate, if there is one."""
    if _propagate is None:
        return []
    carrier: dict[str, str] = {}
    _propagate.inject(carrier)
    return [(key.lower(), value) for key, value in carrier.items() if key.lower() in {"traceparent", "tracestate"}]


@contextlib.contextmanager
def activity_context(traceparent: str, tracestate: str) -> Iterator[None]:
    """Makes the attempt's span the current one, so that spans of the activity hang below it."""
    if not traceparent or _propagate is None or _contexts is None:
        yield
        return
    carrier = {"traceparent": traceparent} | ({"tracestate": tracestate} if tracestate else {})
    token = _contexts.attach(_propagate.extract(carrier))
    try:
        yield
    finally:
        _contexts.detach(token)

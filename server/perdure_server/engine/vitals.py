"""How this server is: gauges that are looked at when somebody reads the metrics, and counters that its parts keep anyway."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perdure_server.ports.instruments import (
    CLAIMS,
    CONFLICTS,
    DEPENDENCY_UP,
    FAILURES,
    LOOP_AGE,
    MAILBOXES,
    SERVER_READY,
    STORE_COUNTS,
    SWEEP_FOUND,
    WATCHERS,
    WORKERS,
)
from perdure_server.ports.telemetry import Point

if TYPE_CHECKING:
    from perdure_server.engine.service import Engine

_HEALTHY = "ok"


def vitals(engine: "Engine") -> Iterator[Point]:
    """The points of one look. Nothing waits."""
    yield SERVER_READY, (), float(engine.ready)
    yield DEPENDENCY_UP, ("store",), float(engine.clock.may_judge(0))
    yield DEPENDENCY_UP, ("coordination",), float(engine.coordination.description().get("health", _HEALTHY) == _HEALTHY)
    for name, age in engine.supervisor.ages().items():
        yield LOOP_AGE, (name,), age
    yield FAILURES, (), engine.supervisor.failures
    yield WORKERS, (), len(engine.workers)
    yield CLAIMS, (), len(engine.claims)
    yield WATCHERS, (), engine.hub.watching
    busy = engine.mailboxes.busy
    yield MAILBOXES, ("busy",), busy
    yield MAILBOXES, ("idle",), len(engine.mailboxes) - busy
    yield CONFLICTS, (), engine.mailboxes.conflicts
    yield SWEEP_FOUND, (), engine.sweep.found
    for name, count in engine.store.counters().items():
        yield STORE_COUNTS, (name,), count

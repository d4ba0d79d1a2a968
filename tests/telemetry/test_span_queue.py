"""C86: exporter trouble never slows work down, never eats memory, never outlasts a stop, and what is lost is counted."""

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Iterator, Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from perdure_server.kernel.values import Trace
from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.ports.telemetry import WorkflowSpan
from perdure_server.telemetry.open_telemetry import OpenTelemetry, otlp_exporter
from perdure_server.telemetry.span_queue import SpanQueue
from tests.conftest import Eventually

SPAN = ReadableSpan("x")


class StuckExporter(SpanExporter):
    """Hangs in `export` until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.let_go = threading.Event()
        self.exported = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.entered.set()
        self.let_go.wait(30)
        self.exported += len(spans)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self.let_go.set()


class FailingExporter(SpanExporter):
    """Fails in both ways that an exporter may."""

    def __init__(self) -> None:
        self.calls = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.calls += 1
        if self.calls == 1:
            raise RuntimeError("collector exploded")
        return SpanExportResult.FAILURE


@pytest.fixture
def black_hole() -> Iterator[str]:
    """A port that accepts connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(8)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


async def test_c86_a_full_queue_drops_and_counts_and_never_waits() -> None:
    exporter = StuckExporter()
    queue = SpanQueue(exporter, size=1_000)
    queue.open()
    begun = time.perf_counter()
    for _ in range(20_000):
        queue.put(SPAN)
    assert time.perf_counter() - begun < 5, "a wait for the exporter would have no end"
    assert 20_000 - 1_000 - 512 <= queue.dropped <= 20_000 - 1_000
    exporter.let_go.set()
    await queue.close(5_000)
    assert queue.dropped + exporter.exported == 20_000


async def test_c86_a_stop_does_not_wait_for_a_hanging_exporter() -> None:
    exporter = StuckExporter()
    queue = SpanQueue(exporter)
    queue.open()
    for _ in range(600):
        queue.put(SPAN)
    await asyncio.to_thread(exporter.entered.wait, 10)
    begun = time.perf_counter()
    await queue.close(200)
    assert time.perf_counter() - begun < 5, "0.2 s, where a wait for the exporter would have no end"
    assert queue.dropped == 88, "what had not been handed over"


async def test_c86_failed_exports_are_counted_and_the_thread_lives_on(caplog: pytest.LogCaptureFixture) -> None:
    exporter = FailingExporter()
    queue = SpanQueue(exporter)
    queue.open()
    with caplog.at_level(logging.ERROR):
        for _ in range(1_000):
            queue.put(SPAN)
        await queue.close(5_000)
    assert queue.dropped == 1_000
    assert exporter.calls >= 2


async def test_spans_put_after_the_close_are_counted() -> None:
    queue = SpanQueue(FailingExporter())
    queue.open()
    await queue.close()
    queue.put(SPAN)
    assert queue.dropped == 1


async def test_closing_a_queue_that_was_never_opened_returns() -> None:
    await SpanQueue(FailingExporter()).close()


async def test_c86_a_silent_collector_does_not_hold_up_a_stop(black_hole: str, eventually: Eventually) -> None:
    telemetry = OpenTelemetry(otlp_exporter(black_hole), {})
    telemetry.open()
    span = WorkflowSpan(WorkflowKey("default", "t", "k"), "aa" * 12, 1, Trace("1" * 32, "2" * 16), 1_800_000_000_000)
    for _ in range(1_000):
        telemetry.workflow_started(span)
    assert telemetry._queue is not None
    queue = telemetry._queue
    await eventually(lambda: len(queue._spans) < 1_000, what="the exporter took a batch")
    begun = time.perf_counter()
    await telemetry.close()
    assert time.perf_counter() - begun < 5, "a second, and what a busy machine adds"
    assert telemetry.spans_dropped > 0

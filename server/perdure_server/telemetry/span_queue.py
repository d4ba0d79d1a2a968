"""A bounded queue of spans before one thread that exports them.

The SDK's BatchSpanProcessor is not used: it does not say how many spans a failed export lost, and its shutdown may outlast ours. Putting a
span never waits; the thread is a daemon, so that no collector can keep the process alive (case C86).
"""

import asyncio
import logging
import threading
import time
from collections import deque

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from perdure_server.kernel.limits import SECOND
from perdure_server.telemetry import limits

LOGGER = logging.getLogger(__name__)


class SpanQueue:
    """`open` in the loop that puts spans; `close` waits for the last ones, for a while."""

    def __init__(self, exporter: SpanExporter, size: int = limits.SPANS_WAITING) -> None:
        self.dropped = 0
        self._exporter = exporter
        self._size = size
        self._spans: deque[ReadableSpan] = deque()
        self._wake = threading.Event()  # there is a span, or it is closing
        self._hurry = threading.Event()  # there is a whole batch, or it is closing
        self._closing = False
        self._reported_at = 0.0
        self._reported = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = asyncio.Event()

    def open(self) -> None:
        """Start the thread; not before, so that a launcher may fork after import (case C64)."""
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._work, name="span-export", daemon=True).start()

    def put(self, span: ReadableSpan) -> None:
        """Queue a span, or drop and count it if there is no room."""
        if self._closing or len(self._spans) >= self._size:
            self._drop(1)
            return
        self._spans.append(span)
        waiting = len(self._spans)
        if waiting == 1:
            self._wake.set()
        elif waiting >= limits.SPANS_PER_EXPORT:
            self._hurry.set()

    async def close(self, within: int = limits.FLUSH_TIMEOUT) -> None:
        """Export what waits, for at most `within` ms; then give up on the rest, and count it."""
        self._closing = True
        self._wake.set()
        self._hurry.set()
        if self._loop is None:
            return
        try:
            async with asyncio.timeout(within / SECOND):
                await self._ended.wait()
        except TimeoutError:
            self._drop(len(self._spans))
            self._spans.clear()
            # Ends an export that waits for a silent collector; in a thread of its own, for it may wait too.
            threading.Thread(target=self._exporter.shutdown, name="span-export-end", daemon=True).start()
        if self.dropped:
            LOGGER.warning("spans dropped in all: %d", self.dropped)

    def _work(self) -> None:
        while not self._closing:
            self._wake.wait()
            self._hurry.wait(limits.EXPORT_LINGER / SECOND)
            self._wake.clear()
            if not self._closing:
                self._hurry.clear()
            self._export_all()
        self._export_all()
        self._exporter.shutdown()
        assert self._loop is not None, "the thread starts in open"
        try:
            self._loop.call_soon_threadsafe(self._ended.set)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    def _export_all(self) -> None:
        while self._spans:
            batch = [self._spans.popleft() for _ in range(min(len(self._spans), limits.SPANS_PER_EXPORT))]
            try:
                result = self._exporter.export(batch)
            except Exception:  # the exporter is a third party's, and this thread must outlive it
                LOGGER.exception("exporting spans failed")
                result = SpanExportResult.FAILURE
            if result is not SpanExportResult.SUCCESS:
                self._drop(len(batch))

    def _drop(self, count: int) -> None:
        # Called by both threads; a lost count under a race would be harmless, a lock on the way of work would not.
        self.dropped += count
        now = time.monotonic()
        if now - self._reported_at >= limits.DROP_REPORT_INTERVAL / SECOND and self.dropped > self._reported:
            self._reported_at, self._reported = now, self.dropped
            LOGGER.warning("spans dropped: %d", self.dropped)

"""Snapshots pushed to an OTLP collector, by one thread that nobody waits for.

Values are cumulative since the process began, so a push that fails loses nothing but resolution: it is counted and not repeated.
"""

import asyncio
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from typing import Final

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from perdure_server.kernel.limits import SECOND
from perdure_server.ports.instruments import PUSHES_FAILED, Instrument, Kind
from perdure_server.ports.telemetry import Labels
from perdure_server.telemetry import limits
from perdure_server.telemetry.meters import Counts, Meters, Snapshot

LOGGER = logging.getLogger(__name__)

_SCOPE: Final = InstrumentationScope("perdure_server")


class MetricsPush:
    """`open` in the loop whose numbers these are; `close` pushes the last ones, and waits for a while."""

    def __init__(
        self, meters: Meters, exporter: MetricExporter, resource: Resource, interval: int = limits.METRICS_EXPORT_INTERVAL
    ) -> None:
        """`interval` in ms."""
        self.failures = 0
        self._meters = meters
        self._exporter = exporter
        self._resource = resource
        self._interval = interval
        self._closing = threading.Event()
        self._last: Snapshot | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = asyncio.Event()
        meters.observe(lambda: ((PUSHES_FAILED, (), self.failures),))

    def open(self) -> None:
        """Start the thread."""
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._work, name="metrics-export", daemon=True).start()

    async def close(self, within: int = limits.FLUSH_TIMEOUT) -> None:
        """Push once more, for at most `within` ms."""
        self._last = self._meters.snapshot()
        self._closing.set()
        if self._loop is None:
            return
        try:
            async with asyncio.timeout(within / SECOND):
                await self._ended.wait()
        except TimeoutError:
            # Ends an export that waits for a silent collector; in a thread of its own, for it may wait too.
            threading.Thread(target=self._exporter.shutdown, name="metrics-export-end", daemon=True).start()

    def _work(self) -> None:
        assert self._loop is not None, "the thread starts in open"
        while not self._closing.wait(self._interval / SECOND):
            try:
                snapshot = asyncio.run_coroutine_threadsafe(self._take(), self._loop).result(limits.SCRAPE_TIMEOUT / SECOND)
            except (TimeoutError, CancelledError, RuntimeError):
                continue  # the loop hangs or is gone: nothing to tell that would be true
            self._export(snapshot)
        if self._last is not None:
            self._export(self._last)
        self._exporter.shutdown()
        try:
            self._loop.call_soon_threadsafe(self._ended.set)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    async def _take(self) -> Snapshot:
        return self._meters.snapshot()

    def _export(self, snapshot: Snapshot) -> None:
        try:
            result = self._exporter.export(metrics_data(snapshot, self._resource))
        except Exception:  # the exporter is a third party's, and this thread must outlive it
            LOGGER.exception("exporting metrics failed")
            result = MetricExportResult.FAILURE
        if result is not MetricExportResult.SUCCESS:
            self.failures += 1


def metrics_data(snapshot: Snapshot, resource: Resource) -> MetricsData:
    """A snapshot in OpenTelemetry's data model."""
    metrics = [*_numbers(snapshot), *_histograms(snapshot)]
    scope = ScopeMetrics(_SCOPE, metrics, "")
    return MetricsData([ResourceMetrics(resource, [scope], "")])


def _numbers(snapshot: Snapshot) -> Iterator[Metric]:
    for instrument, values in snapshot.values.items():
        scale = SECOND if instrument.is_duration else 1
        points = [
            NumberDataPoint(_attributes(instrument, labels), snapshot.began, snapshot.taken, value / scale if scale > 1 else value)
            for labels, value in values.items()
        ]
        if instrument.kind is Kind.COUNTER:
            data: Sum | Gauge = Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True)
        else:
            data = Gauge(points)
        if points:
            yield Metric(instrument.name, instrument.text, instrument.unit, data)


def _histograms(snapshot: Snapshot) -> Iterator[Metric]:
    for instrument, series in snapshot.histograms.items():
        points = [_distribution(snapshot, instrument, labels, counts) for labels, counts in series.items()]
        if points:
            yield Metric(instrument.name, instrument.text, instrument.unit, Histogram(points, AggregationTemporality.CUMULATIVE))


def _distribution(snapshot: Snapshot, instrument: Instrument, labels: Labels, counts: Counts) -> HistogramDataPoint:
    scale = SECOND if instrument.is_duration else 1
    bounds: Sequence[float] = [bound / scale for bound in instrument.bounds]
    return HistogramDataPoint(
        attributes=_attributes(instrument, labels),
        start_time_unix_nano=snapshot.began,
        time_unix_nano=snapshot.taken,
        count=sum(counts.buckets),
        sum=counts.total / scale,
        bucket_counts=counts.buckets,
        explicit_bounds=bounds,
        min=None,  # type: ignore[arg-type]  # not kept; optional on the wire, and the encoder passes it on
        max=None,  # type: ignore[arg-type]  # the same
    )


def _attributes(instrument: Instrument, labels: Labels) -> Mapping[str, str]:
    return {name: value for name, value in zip(instrument.labels, labels, strict=True) if value}

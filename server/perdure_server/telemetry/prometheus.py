"""The metrics endpoint: snapshots as Prometheus reads them, on a port of its own.

Requests are answered by threads of their own, so that a slow reader keeps nobody up; the event loop only copies the numbers.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from perdure_server.kernel.limits import SECOND
from perdure_server.ports.instruments import SECONDS, Instrument, Kind
from perdure_server.ports.telemetry import Labels
from perdure_server.telemetry import limits
from perdure_server.telemetry.meters import Counts, Meters, Snapshot

_UNITS: Final = {SECONDS: "_seconds", "By": "_bytes"}


class MetricsAddressError(Exception):
    """The metrics endpoint cannot listen where it was told to."""


class MetricsEndpoint:
    """Serves `GET /metrics`. `open` in the loop whose numbers these are."""

    def __init__(self, meters: Meters, address: str, port: int, resource: dict[str, str]) -> None:
        """Port 0 takes a free one."""
        self.port = port
        self._meters = meters
        self._address = address
        self._resource = resource
        self._server: Any = None  # the WSGI server, whose type the library does not name
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self) -> None:
        """Listen. Raises MetricsAddressError."""
        self._loop = asyncio.get_running_loop()
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Snapshots(self._take, self._resource))
        ProcessCollector(registry=registry)
        try:
            self._server, _ = start_http_server(self.port, self._address, registry)
        except OSError as error:
            raise MetricsAddressError(f"metrics cannot be served on {self._address}:{self.port}: {error.strerror}") from error
        self.port = self._server.server_port

    async def close(self) -> None:
        """Stop listening. Does nothing if it was not open."""
        if self._server is not None:
            server, self._server = self._server, None
            await asyncio.to_thread(server.shutdown)
            server.server_close()

    def _take(self) -> Snapshot:
        # In a thread: the numbers belong to the loop. If that hangs the scrape fails, and that is the right answer.
        async def take() -> Snapshot:
            return self._meters.snapshot()

        assert self._loop is not None, "it is open"
        return asyncio.run_coroutine_threadsafe(take(), self._loop).result(limits.SCRAPE_TIMEOUT / SECOND)


class _Snapshots(Collector):
    def __init__(self, take: Callable[[], Snapshot], resource: dict[str, str]) -> None:
        self._take = take
        self._resource = resource

    def collect(self) -> Iterable[Metric]:
        snapshot = self._take()
        names = [name.replace(".", "_") for name in self._resource]
        target = GaugeMetricFamily("target_info", "The process that these metrics are of.", labels=names)
        target.add_metric(list(self._resource.values()), 1)
        yield target
        yield from families(snapshot)


def families(snapshot: Snapshot) -> Iterator[Metric]:
    """A snapshot in Prometheus's terms."""
    for instrument, values in snapshot.values.items():
        of_kind = CounterMetricFamily if instrument.kind is Kind.COUNTER else GaugeMetricFamily
        family = of_kind(_base_name(instrument), instrument.text, labels=_label_names(instrument))
        for labels, value in values.items():
            family.add_metric(labels, value / SECOND if instrument.is_duration else value)
        yield family
    for instrument, series in snapshot.histograms.items():
        histogram = HistogramMetricFamily(_base_name(instrument), instrument.text, labels=_label_names(instrument))
        for labels, counts in series.items():
            _add(histogram, instrument, labels, counts)
        yield histogram


def prometheus_name(instrument: Instrument) -> str:
    """What the series of an instrument is called in queries; of a histogram without `_bucket`, `_sum`, `_count`."""
    return _base_name(instrument) + ("_total" if instrument.kind is Kind.COUNTER else "")


def _base_name(instrument: Instrument) -> str:
    return instrument.name.replace(".", "_") + _UNITS.get(instrument.unit, "")


def _label_names(instrument: Instrument) -> list[str]:
    return [label.replace(".", "_") for label in instrument.labels]


def _add(family: HistogramMetricFamily, instrument: Instrument, labels: Labels, counts: Counts) -> None:
    scale = SECOND if instrument.is_duration else 1
    below = 0
    buckets: list[tuple[str, float]] = []
    for bound, count in zip(instrument.bounds, counts.buckets, strict=False):
        below += count
        buckets.append((str(bound / scale if scale > 1 else float(bound)), below))
    buckets.append(("+Inf", below + counts.buckets[-1]))
    family.add_metric(labels, buckets, counts.total / scale)

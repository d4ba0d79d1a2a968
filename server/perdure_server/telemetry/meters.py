"""Points put together in this process, before any exporter sees them.

A point of OpenTelemetry's own SDK costs 13 us of CPU in Python, one in here 0.4, and a step has several (figures: docs/metrics.md). So the
SDK is used for exporting: it gets whole snapshots in its own data model.
All methods belong to the event loop's thread; a Snapshot is a copy that any thread may read.
"""

import logging
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec import Struct

from perdure_server.ports.instruments import FOLDED, INSTRUMENTS, Instrument, Kind
from perdure_server.ports.telemetry import Labels, Point
from perdure_server.telemetry import limits

LOGGER = logging.getLogger(__name__)

OTHER: Final = "other"


class Distribution:
    """The points of one series of a histogram: how many in each bucket, the last one open, and their sum."""

    __slots__ = ("buckets", "total")

    def __init__(self, size: int) -> None:
        self.buckets = [0] * size
        self.total = 0.0


class Counts(Struct, frozen=True):
    """A copy of a Distribution."""

    buckets: tuple[int, ...]
    total: float


class Snapshot(Struct, frozen=True):
    """Everything at one moment: the series of each instrument by labels. Times in ns since the epoch."""

    began: int
    taken: int
    values: Mapping[Instrument, Mapping[Labels, float]]
    histograms: Mapping[Instrument, Mapping[Labels, Counts]]


class Meters:
    """The port's Meter, with a bound on how many series there can be: per value of a label, and per instrument."""

    def __init__(self, now: Callable[[], int] = time.time_ns) -> None:
        self._now = now
        self._began = now()
        self._sums: dict[Instrument, dict[Labels, float]] = {each: {} for each in INSTRUMENTS if each.kind is Kind.COUNTER}
        self._histograms: dict[Instrument, dict[Labels, Distribution]] = {each: {} for each in INSTRUMENTS if each.kind is Kind.HISTOGRAM}
        self._admitted: dict[str, set[str]] = {}
        self._looks: list[Callable[[], Iterable[Point]]] = []

    def count(self, instrument: Instrument, labels: Labels = (), amount: int = 1) -> None:
        """See the port."""
        series = self._sums[instrument]
        if labels not in series:
            labels = self._admit(instrument, labels, series)
            series.setdefault(labels, 0)
        series[labels] += amount

    def record(self, instrument: Instrument, value: float, labels: Labels = ()) -> None:
        """See the port."""
        series = self._histograms[instrument]
        found = series.get(labels)
        if found is None:
            labels = self._admit(instrument, labels, series)
            found = series.setdefault(labels, Distribution(len(instrument.bounds) + 1))
        found.buckets[bisect_left(instrument.bounds, value)] += 1
        found.total += value

    def observe(self, look: Callable[[], Iterable[Point]]) -> None:
        """See the port."""
        self._looks.append(look)

    def counted(self, instrument: Instrument, labels: Labels = ()) -> float:
        """How much was counted, or how many points were recorded, under these very labels."""
        if instrument.kind is Kind.HISTOGRAM:
            found = self._histograms[instrument].get(labels)
            return sum(found.buckets) if found is not None else 0
        return self._sums[instrument].get(labels, 0)

    def snapshot(self) -> Snapshot:
        """A copy of all series, with what the observers see now. One that fails stops no other."""
        values: dict[Instrument, dict[Labels, float]] = {instrument: dict(series) for instrument, series in self._sums.items()}
        for look in self._looks:
            try:
                for instrument, labels, value in look():
                    self._put(values.setdefault(instrument, {}), instrument, labels, value)
            except Exception:  # metrics are no reason to fail
                LOGGER.exception("an observer of metrics failed")
        histograms = {
            instrument: {labels: Counts(tuple(found.buckets), found.total) for labels, found in series.items()}
            for instrument, series in self._histograms.items()
        }
        return Snapshot(self._began, self._now(), values, histograms)

    def _put(self, series: dict[Labels, float], instrument: Instrument, labels: Labels, value: float) -> None:
        labels = self._admit(instrument, labels, series)
        known = series.get(labels)
        if known is None:
            series[labels] = value
        else:  # folded together: of ages the highest counts
            series[labels] = max(known, value) if instrument.is_duration else known + value

    def _admit(self, instrument: Instrument, labels: Labels, series: Mapping[Labels, object]) -> Labels:
        """The labels as they are counted. What comes first has a name of its own until the process ends; the rest is `other`."""
        assert len(labels) == len(instrument.labels), f"{instrument.name} has the labels {instrument.labels}"
        found = tuple(self._value(name, value) for name, value in zip(instrument.labels, labels, strict=True))
        if found not in series and len(series) >= limits.SERIES_PER_INSTRUMENT:
            found = (OTHER,) * len(labels)
        if found != labels and instrument is not FOLDED:
            self.count(FOLDED)
        return found

    def _value(self, name: str, value: str) -> str:
        admitted = self._admitted.setdefault(name, set())
        if value not in admitted:
            if len(admitted) >= limits.VALUES_PER_LABEL:
                return OTHER
            admitted.add(value)
        return value

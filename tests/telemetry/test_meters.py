"""Points are put together in the process: right, bounded, and cheap."""

import time
from statistics import median

import pytest

from perdure_server.ports.instruments import (
    COMMIT_SIZE,
    FOLDED,
    INSTRUMENTS,
    LOOP_AGE,
    QUEUE_TIME,
    SERVER_READY,
    STARTED,
    STEP_TIME,
    Instrument,
    Kind,
)
from perdure_server.ports.telemetry import Point
from perdure_server.telemetry import limits
from perdure_server.telemetry.meters import OTHER, Meters


def test_counters_add_and_histograms_fill_the_bucket_that_ends_at_their_value() -> None:
    meters = Meters(lambda: 7)
    meters.count(STARTED, ("default", "note"))
    meters.count(STARTED, ("default", "note"), 4)
    for size in (1, 2, 3, 1_001):
        meters.record(COMMIT_SIZE, size)
    found = meters.snapshot()
    assert found.values[STARTED] == {("default", "note"): 5}
    counts = found.histograms[COMMIT_SIZE][()]
    assert [(bound, count) for bound, count in zip((*COMMIT_SIZE.bounds, "inf"), counts.buckets, strict=True) if count] == [
        (1, 1),
        (2, 1),
        (5, 1),
        ("inf", 1),
    ]
    assert counts.total == 1_007
    assert (found.began, found.taken) == (7, 7)


def test_a_snapshot_is_a_copy() -> None:
    meters = Meters()
    meters.count(STARTED, ("default", "note"))
    meters.record(QUEUE_TIME, 3, ("default", "note", "default"))
    found = meters.snapshot()
    meters.count(STARTED, ("default", "note"))
    meters.record(QUEUE_TIME, 3, ("default", "note", "default"))
    assert found.values[STARTED] == {("default", "note"): 1}
    assert sum(found.histograms[QUEUE_TIME]["default", "note", "default"].buckets) == 1


def test_ten_thousand_types_make_no_ten_thousand_series() -> None:
    meters = Meters()
    for number in range(10_000):
        meters.count(STARTED, ("default", f"type-{number}"))
        meters.record(STEP_TIME, 1, ("default", f"type-{number}", f"step-{number % 40}", "completed"))
    found = meters.snapshot()
    started = found.values[STARTED]
    assert len(started) == limits.VALUES_PER_LABEL + 1
    assert started["default", "type-0"] == 1
    assert started["default", OTHER] == 10_000 - limits.VALUES_PER_LABEL
    assert sum(started.values()) == 10_000, "nothing is lost, it only has no name"
    steps = found.histograms[STEP_TIME]
    assert len(steps) <= limits.SERIES_PER_INSTRUMENT + 1
    assert sum(sum(counts.buckets) for counts in steps.values()) == 10_000
    assert found.values[FOLDED][()] > 0


def test_many_labels_together_are_bounded_too() -> None:
    meters = Meters()
    for number in range(100 * 100):
        meters.record(STEP_TIME, 1, ("default", f"type-{number // 100}", f"step-{number % 100}", "completed"))
    steps = meters.snapshot().histograms[STEP_TIME]
    assert len(steps) == limits.SERIES_PER_INSTRUMENT + 1
    assert sum(steps[(OTHER,) * 4].buckets) == 100 * 100 - limits.SERIES_PER_INSTRUMENT


def test_observers_are_asked_when_somebody_reads(caplog: pytest.LogCaptureFixture) -> None:
    meters = Meters()
    ready = [1.0]

    def look() -> list[Point]:
        return [(SERVER_READY, (), ready[0])]

    def broken() -> list[Point]:
        raise ValueError("no")

    meters.observe(broken)
    meters.observe(look)
    assert meters.snapshot().values[SERVER_READY] == {(): 1.0}
    ready[0] = 0.0
    assert meters.snapshot().values[SERVER_READY] == {(): 0.0}
    assert "an observer of metrics failed" in caplog.text


def test_of_ages_that_share_a_name_the_highest_counts() -> None:
    meters = Meters()
    meters.observe(lambda: [(LOOP_AGE, (f"loop-{number}",), number) for number in range(limits.VALUES_PER_LABEL + 50)])
    assert meters.snapshot().values[LOOP_AGE][OTHER,] == limits.VALUES_PER_LABEL + 49


@pytest.mark.parametrize("instrument", INSTRUMENTS, ids=lambda each: each.name)
def test_every_instrument_keeps_to_the_conventions(instrument: Instrument) -> None:
    assert instrument.text.endswith(".")
    assert instrument.name == instrument.name.lower()
    assert not instrument.name.endswith(("_total", ".total", "_seconds")), "units and kinds are added by the exporter"
    assert bool(instrument.bounds) == (instrument.kind is Kind.HISTOGRAM)
    assert list(instrument.bounds) == sorted(set(instrument.bounds))
    allowed = {"namespace", "workflow_type", "queue", "step", "outcome", "reason", "cause", "loop", "state", "resource"}
    allowed |= {"operation", "dependency", "what"}
    assert {label for label in instrument.labels if "." not in label} <= allowed, "a label of unbounded number?"


def test_a_point_costs_next_to_nothing() -> None:
    meters = Meters()
    labels = ("default", "note", "transcribe", "completed")
    meters.record(STEP_TIME, 1, labels)

    def once() -> float:
        begun = time.process_time()
        for _ in range(2_000):
            meters.record(STEP_TIME, 12, labels)
        return (time.process_time() - begun) / 2_000

    assert median(once() for _ in range(5)) < 10e-6, "0.4 us on the machine that docs/metrics.md speaks of"

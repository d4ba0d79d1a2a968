"""Metrics pushed over OTLP: the numbers that the collector gets, and what a collector that is away costs."""

import socket
import time
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.resources import Resource

from perdure_server.ports.instruments import COMMIT_SIZE, PUSHES_FAILED, STARTED, STEP_TIME
from perdure_server.telemetry.meters import Meters
from perdure_server.telemetry.metrics_push import MetricsPush
from perdure_server.telemetry.open_telemetry import MetricsOptions, OpenTelemetry, otlp_metric_exporter
from tests.conftest import Eventually
from tests.telemetry.otlp_receiver import receiving


@pytest.fixture
def black_hole() -> Iterator[str]:
    """A collector that takes connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


async def test_the_collector_gets_what_was_counted(eventually: Eventually) -> None:
    meters = Meters()
    meters.count(STARTED, ("default", "note"), 3)
    meters.record(STEP_TIME, 1_500, ("default", "note", "a", "completed"))
    meters.record(COMMIT_SIZE, 2)
    async with receiving() as collector:
        push = MetricsPush(meters, otlp_metric_exporter(collector.endpoint), Resource.create({"service.name": "perdure"}), interval=20)
        push.open()
        await eventually(lambda: "perdure.step.duration" in collector.metrics)
        await push.close()
    started = collector.metrics["perdure.workflow.started"].sum
    assert (started.is_monotonic, started.data_points[0].as_int or started.data_points[0].as_double) == (True, 3)
    assert {item.key: item.value.string_value for item in started.data_points[0].attributes} == {
        "namespace": "default",
        "workflow_type": "note",
    }
    steps = collector.metrics["perdure.step.duration"].histogram.data_points[0]
    assert (steps.count, steps.sum, steps.HasField("min")) == (1, 1.5, False)
    assert [bound for bound, count in zip(steps.explicit_bounds, steps.bucket_counts, strict=False) if count] == [2.0]
    assert collector.metrics["perdure.commit.batch.size"].histogram.data_points[0].sum == 2


async def test_c86_a_silent_collector_of_metrics_holds_up_neither_work_nor_stop(black_hole: str) -> None:
    telemetry = OpenTelemetry(None, {}, MetricsOptions(exporter=otlp_metric_exporter(black_hole)))
    telemetry.open()
    telemetry.count(STARTED, ("default", "note"))
    begun = time.monotonic()
    await telemetry.close()
    assert time.monotonic() - begun < 5, "a second, and what a busy machine adds"


async def test_a_refused_push_is_counted(eventually: Eventually) -> None:
    meters = Meters()
    async with receiving() as collector:
        gone = collector.endpoint
    exporter = otlp_metric_exporter(gone)
    push = MetricsPush(meters, exporter, Resource.create({}), interval=10)
    exporter.shutdown()  # it refuses from here on
    push.open()
    await eventually(lambda: push.failures > 0)
    assert meters.snapshot().values[PUSHES_FAILED][()] > 0
    await push.close()

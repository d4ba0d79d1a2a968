"""The metrics endpoint, read as Prometheus reads it, beside a whole server."""

import asyncio
import time
import urllib.request
from pathlib import Path
from urllib.error import HTTPError

import grpc
import pytest
from prometheus_client.parser import text_string_to_metric_families

from perdure_server.config import Config
from perdure_server.main import Parts, serve
from perdure_server.ports.instruments import INSTRUMENTS, STARTED, STEP_TIME
from perdure_server.store.memory import MemoryStore
from perdure_server.telemetry.meters import Meters
from perdure_server.telemetry.metrics_page import table
from perdure_server.telemetry.open_telemetry import MetricsOptions, OpenTelemetry
from perdure_server.telemetry.prometheus import MetricsAddressError, MetricsEndpoint, prometheus_name
from tests.rpc.conftest import Served
from tests.telemetry.test_traces import complete, poll, start

Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]


async def scrape(port: int) -> Series:
    def read() -> str:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                return str(answer.read(), "utf-8")
        except HTTPError as error:
            error.close()
            raise

    families = text_string_to_metric_families(await asyncio.to_thread(read))
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for family in families for sample in family.samples}


def named(series: Series, name: str, **labels: str) -> float:
    return series[name, tuple(sorted(labels.items()))]


async def test_a_scrape_tells_of_the_work_and_of_the_server() -> None:
    telemetry = OpenTelemetry(None, {"service.instance.id": "s1"}, MetricsOptions(port=0))
    parts = Parts(store=MemoryStore(lambda: time.time_ns() // 1_000_000), telemetry=telemetry)
    async with serve(Config(port=0), parts) as running, grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel:
        served = Served(running, channel)
        await served.register("a", "b:a")
        await start(served)
        for _ in range(2):
            await complete(served, await poll(served))
        assert telemetry.endpoint is not None
        found = await scrape(telemetry.endpoint.port)
    note = {"namespace": "default", "workflow_type": "note"}
    assert named(found, "perdure_workflow_started_total", **note) == 1
    assert named(found, "perdure_workflow_duration_seconds_count", **note, outcome="completed") == 1
    assert named(found, "perdure_workflow_time_to_first_claim_seconds_count", **note) == 1
    assert named(found, "perdure_step_queue_duration_seconds_count", **note, queue="default") == 2
    assert named(found, "perdure_step_duration_seconds_bucket", **note, step="b", outcome="completed", le="+Inf") == 1
    assert named(found, "perdure_server_ready") == 1
    assert named(found, "perdure_dependency_up", dependency="store") == 1
    calls = {"rpc_system_name": "grpc", "rpc_response_status_code": "OK", "rpc_method": "perdure.v1.WorkflowService/StartWorkflow"}
    assert named(found, "rpc_server_call_duration_seconds_count", **calls) == 1
    assert named(found, "target_info", service_instance_id="s1", service_name="perdure") == 1
    assert named(found, "process_cpu_seconds_total") > 0
    assert {name for name, _ in found if name.startswith("perdure_loop_age")} == {"perdure_loop_age_seconds"}


async def test_durations_are_told_in_seconds() -> None:
    meters = Meters()
    meters.record(STEP_TIME, 1_500, ("default", "note", "a", "completed"))
    endpoint = MetricsEndpoint(meters, "127.0.0.1", 0, {})
    endpoint.open()
    try:
        found = await scrape(endpoint.port)
    finally:
        await endpoint.close()
    labels = {"namespace": "default", "workflow_type": "note", "step": "a", "outcome": "completed"}
    assert named(found, "perdure_step_duration_seconds_sum", **labels) == 1.5
    assert named(found, "perdure_step_duration_seconds_bucket", **labels, le="1.0") == 0
    assert named(found, "perdure_step_duration_seconds_bucket", **labels, le="2.0") == 1


async def test_a_port_in_use_is_said_plainly() -> None:
    first = MetricsEndpoint(Meters(), "127.0.0.1", 0, {})
    first.open()
    second = MetricsEndpoint(Meters(), "127.0.0.1", first.port, {})
    with pytest.raises(MetricsAddressError, match=f"metrics cannot be served on 127.0.0.1:{first.port}: "):
        second.open()
    await second.close()
    await first.close()


async def test_a_scrape_while_the_loop_hangs_fails_and_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure_server.telemetry.limits.SCRAPE_TIMEOUT", 50)
    meters = Meters()
    endpoint = MetricsEndpoint(meters, "127.0.0.1", 0, {})
    endpoint.open()
    reading = asyncio.ensure_future(scrape(endpoint.port))  # noqa: TID251 -- it must run while the loop does not
    await asyncio.to_thread(lambda: None)
    time.sleep(0.3)  # noqa: TID251, ASYNC251 -- this is the hanging loop
    with pytest.raises(HTTPError, match="500"):
        await reading
    meters.count(STARTED, ("default", "note"))
    assert named(await scrape(endpoint.port), "perdure_workflow_started_total", namespace="default", workflow_type="note") == 1
    await endpoint.close()


def test_the_page_lists_what_there_is() -> None:
    page = Path("docs/metrics.md").read_text()
    assert table() in page, "python -m perdure_server metrics"
    assert len({prometheus_name(instrument) for instrument in INSTRUMENTS}) == len(INSTRUMENTS)

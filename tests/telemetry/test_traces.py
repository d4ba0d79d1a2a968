"""Traces end to end: a workflow's spans in the in-memory exporters of two servers that share a store, one after the other."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from perdure.v1 import worker_service_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure.v1.claim_pb2 import Claim, Pool
from perdure_server.config import Config
from perdure_server.main import Parts, serve
from perdure_server.store.memory import MemoryStore
from perdure_server.telemetry.open_telemetry import OpenTelemetry
from tests.conftest import Eventually
from tests.rpc.conftest import Served, ref

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE_ID = int(PARENT[3:35], 16)


@dataclass(frozen=True)
class Traced:
    """A server whose spans a test can read once it has stopped."""

    served: Served
    exporter: InMemorySpanExporter


@asynccontextmanager
async def traced(store: MemoryStore) -> AsyncIterator[Traced]:
    exporter = InMemorySpanExporter()
    parts = Parts(store=store, telemetry=OpenTelemetry(exporter, {}))
    async with (
        serve(Config(port=0, drain_grace_ms=500), parts) as running,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel,
    ):
        yield Traced(Served(running, channel), exporter)


def store() -> MemoryStore:
    return MemoryStore(lambda: time.time_ns() // 1_000_000)


def names(exporter: InMemorySpanExporter) -> list[str]:
    return [span.name for span in exporter.get_finished_spans()]


def span_id(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.span_id:016x}"


def parent_id(span: ReadableSpan) -> str:
    return f"{span.parent.span_id:016x}" if span.parent is not None else ""


async def start(served: Served, traceparent: str = PARENT) -> None:
    await served.workflows.StartWorkflow(wire.StartWorkflowRequest(workflow=ref()), metadata=(("traceparent", traceparent),))


async def poll(served: Served) -> Claim:
    request = worker_service_pb2.PollClaimsRequest(worker_id="w", pools=[Pool(pool="p", workflow_type="note", any_contract=True)])
    request.wait_time.seconds = 10
    return (await served.workers.PollClaims(request)).claims[0]


async def complete(served: Served, claim: Claim) -> None:
    request = worker_service_pb2.CompleteRequest(claim_token=claim.claim_token)
    request.completed.SetInParent()
    await served.workers.Complete(request)


async def test_a_whole_workflow_is_one_trace_below_the_callers_span() -> None:
    async with traced(store()) as server:
        await server.served.register("a", "b:a")
        await start(server.served)
        claims = []
        for _ in range(2):
            claims.append(await poll(server.served))
            await complete(server.served, claims[-1])
    spans = {span.name: span for span in server.exporter.get_finished_spans() if not span.name.endswith(" queued")}
    assert set(spans) == {"workflow note", "note/a", "note/b", "workflow note ended"}
    assert {span.context.trace_id for span in spans.values() if span.context} == {TRACE_ID}
    root = spans["workflow note"]
    assert parent_id(root) == PARENT[36:52]
    assert {parent_id(span) for name, span in spans.items() if span is not root} == {span_id(root)}
    assert [claim.traceparent for claim in claims] == [f"00-{TRACE_ID:032x}-{span_id(spans[name])}-01" for name in ("note/a", "note/b")]
    assert not [name for name, span in spans.items() if span.status.description]


async def test_the_root_can_be_read_on_day_one(eventually: Eventually) -> None:
    async with traced(store()) as server:
        await server.served.register("wait_go")
        await start(server.served)
        await eventually(lambda: names(server.exporter) == ["workflow note"], what="long before any end")


async def test_one_span_outlives_the_server_that_granted_it() -> None:
    shared = store()
    async with traced(shared) as first:
        await first.served.register("a")
        await start(first.served)
        before = time.time_ns()
        claim = await poll(first.served)
        after = time.time_ns()
    async with traced(shared) as second:
        await complete(second.served, claim)
    assert [name for name in names(first.exporter) if not name.endswith(" queued")] == ["workflow note"]
    assert sorted(names(second.exporter)) == ["note/a", "workflow note ended"]
    attempt = next(span for span in second.exporter.get_finished_spans() if span.name == "note/a")
    assert claim.traceparent == f"00-{TRACE_ID:032x}-{span_id(attempt)}-01"
    assert attempt.start_time is not None
    millisecond = 1_000_000
    assert before - millisecond <= attempt.start_time <= after
    ended = next(span for span in second.exporter.get_finished_spans() if span.name == "workflow note ended")
    root = first.exporter.get_finished_spans()[0]
    assert ended.start_time == root.start_time
    assert [link.context.span_id for link in ended.links] == [int(span_id(root), 16)]


async def test_every_attempt_has_a_span_of_its_own() -> None:
    async with traced(store()) as server:
        await server.served.register("a")
        await start(server.served)
        failed = worker_service_pb2.CompleteRequest(claim_token=(await poll(server.served)).claim_token)
        failed.failed.type = "asr.quota"
        failed.failed.retry_after.SetInParent()
        await server.served.workers.Complete(failed)
        await complete(server.served, await poll(server.served))
    attempts = [span for span in server.exporter.get_finished_spans() if span.name == "note/a"]
    assert [span.attributes["perdure.attempt"] for span in attempts if span.attributes] == [1, 2]
    assert len({span_id(span) for span in attempts}) == 2
    assert [span.status.description for span in attempts] == ["asr.quota", None]


async def test_a_caller_that_does_not_sample_is_not_traced() -> None:
    async with traced(store()) as server:
        await server.served.register("a")
        await start(server.served, PARENT[:-2] + "00")
        claim = await poll(server.served)
        assert claim.traceparent.endswith("-00")
        await complete(server.served, claim)
    assert names(server.exporter) == []


async def test_c01_a_repeated_start_makes_no_second_root() -> None:
    async with traced(store()) as server:
        await server.served.register("a")
        await start(server.served)
        await start(server.served)
    assert names(server.exporter) == ["workflow note"]

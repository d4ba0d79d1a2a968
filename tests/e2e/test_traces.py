"""One whole trace at a collector, though the server that began it is killed in the middle; and metrics pushed to the same place."""

import asyncio

import pytest

from perdure.v1 import workflow_service_pb2
from tests.conftest import Eventually
from tests.e2e.channels import connected
from tests.e2e.conftest import MakeServer
from tests.telemetry.otlp_receiver import OtlpReceiver, receiving

pytestmark = pytest.mark.slow

TRACE_ID, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
METADATA = (("traceparent", f"00-{TRACE_ID}-{CALLER}-01"),)
BEFORE = ["story/a queued", "workflow story"]
AFTER = ["story/a", "story/b", "story/wait_go waiting", "workflow story ended"]


def check_whole(collector: OtlpReceiver) -> None:
    """One trace, no span twice, and every parent but the caller's is there."""
    spans = collector.spans
    assert {span.trace_id for span in spans} == {TRACE_ID}
    ids = [span.span_id for span in spans]
    assert len(set(ids)) == len(ids)
    assert {span.parent_id for span in spans} <= {*ids, CALLER}
    assert {link for span in spans for link in span.links} <= set(ids)
    assert collector.one("workflow story").parent_id == CALLER


async def test_a_trace_is_whole_though_its_server_is_killed_in_the_middle(new_server: MakeServer, eventually: Eventually) -> None:
    async with receiving() as collector:
        first = new_server(otlp_endpoint=collector.endpoint)
        second = new_server(otlp_endpoint=collector.endpoint)
        async with connected(first.address) as perdure:
            await perdure.register("a", "wait_go: a", "b: wait_go")
            request = workflow_service_pb2.StartWorkflowRequest(workflow=perdure.ref())
            request.input.json = "1"
            await perdure.workflows.StartWorkflow(request, metadata=METADATA)
            claim = await perdure.taken("a")
            await eventually(lambda: collector.names() == BEFORE, what="the beginning can be read while the attempt runs")
        first.kill()
        async with connected(second.address) as perdure:
            await perdure.complete(claim)
            await perdure.signal("wait_go", "s-1")
            await perdure.complete(await perdure.taken("b"))
            assert (await perdure.ended()).state
        await eventually(lambda: set(AFTER) <= set(collector.names()), what="the other server tells the rest")
        check_whole(collector)
        attempt = collector.one("story/a")
        assert claim.traceparent == f"00-{TRACE_ID}-{attempt.span_id}-01"
        assert collector.one("story/a queued").links == [attempt.span_id]
        assert collector.one("story/a queued").ended == attempt.began
        stored, names = collector.one("story/wait_go waiting").events["perdure.signal.stored"]
        assert attempt.ended <= stored <= collector.one("story/wait_go waiting").ended
        assert names["perdure.signal"] == "wait_go"
        servers = {span.resource["service.instance.id"] for span in collector.spans}
        assert len(servers) == 2
        assert {span.resource["service.name"] for span in collector.spans} == {"perdure"}
        await asyncio.to_thread(second.stop)
        assert collector.metrics["perdure.workflow.duration"].unit == "s", "a stop pushes the last numbers"

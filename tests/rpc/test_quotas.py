"""What a client sees of a namespace's limits."""

import grpc
from google.rpc.error_details_pb2 import RetryInfo

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import resource_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.kernel.limits import HOUR, MINUTE
from tests.rpc.conftest import Served, ref, refused


async def test_a_start_over_the_rate_is_told_the_rest_of_its_window(served: Served) -> None:
    await served.register("a")
    limits = resource_pb2.NamespaceLimits(starts_per_second=1 / 3_600)
    await served.admin.PutNamespace(admin.PutNamespaceRequest(namespace=resource_pb2.Namespace(namespace="default", limits=limits)))
    now = served.running.engine.clock.now()
    await served.start("first")
    again = (await refused(served.start("second"))).detail(RetryInfo)
    assert isinstance(again, RetryInfo)
    rest = HOUR - now % HOUR
    assert rest - MINUTE < again.retry_delay.ToMilliseconds() <= rest


async def test_a_limit_is_named_and_when_to_come_again(served: Served) -> None:
    await served.register("a")
    limits = resource_pb2.NamespaceLimits(open_workflows=1, watchers=0)
    await served.admin.PutNamespace(admin.PutNamespaceRequest(namespace=resource_pb2.Namespace(namespace="default", limits=limits)))
    await served.start("first")
    for call, name, most in (
        (served.start("second"), "open_workflows", "1"),
        (served.workflows.Watch(wire.WatchRequest(workflow=ref("first"))).read(), "watchers", "0"),
    ):
        told = await refused(call)
        assert (told.code, told.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED")
        assert told.facts == {"scope": "namespace", "namespace": "default", "limit_name": name, "limit": most}
        assert told.detail(RetryInfo)
    several = await served.workflows.StartWorkflows(
        wire.StartWorkflowsRequest(requests=[wire.StartWorkflowRequest(workflow=ref("third"), request_id="r")])
    )
    assert several.results[0].status.code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
    cancel = wire.CancelWorkflowRequest(workflow=ref("first"))
    await served.workflows.CancelWorkflow(cancel)

"""WatchWorkflows over a real channel."""

import grpc

from perdure.v1 import workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from tests.rpc.conftest import Served, ref, refused


async def test_events_of_many_workflows(served: Served) -> None:
    await served.register("a", "b:a")
    await served.start("x", labels={"team": "x"})
    request = wire.WatchWorkflowsRequest(view=workflow_pb2.WORKFLOW_VIEW_STEPS)
    call = served.workflows.WatchWorkflows(request)
    seen: list[wire.WorkflowsEvent] = []
    events = call.__aiter__()
    while "existing_sent" not in [event.WhichOneof("event") for event in seen]:
        seen += (await anext(events)).events
    first = seen[0].changed
    assert (first.workflow.business_key, [step.name for step in first.steps], first.HasField("input")) == ("x", ["a", "b"], False)
    assert dict(first.labels) == {"team": "x"}
    assert seen[-1].existing_sent.count == 1
    await served.workflows.TerminateWorkflow(wire.TerminateWorkflowRequest(workflow=ref("x")))
    (gone,) = (await anext(events)).events
    assert (gone.removed.business_key, gone.removed.round) == ("x", 1)
    call.cancel()
    again = served.workflows.WatchWorkflows(
        wire.WatchWorkflowsRequest(view=workflow_pb2.WORKFLOW_VIEW_STEPS, resume_token=gone.resume_token)
    )
    (alive,) = (await anext(again.__aiter__())).events
    assert alive.WhichOneof("event") == "keep_alive"
    again.cancel()


async def test_faults(served: Served) -> None:
    async def read(request: wire.WatchWorkflowsRequest) -> None:
        async for _ in served.workflows.WatchWorkflows(request):
            pass

    found = await refused(read(wire.WatchWorkflowsRequest(view=workflow_pb2.WORKFLOW_VIEW_FULL)))
    assert (found.code, set(found.fields)) == (grpc.StatusCode.INVALID_ARGUMENT, {"view"})
    found = await refused(read(wire.WatchWorkflowsRequest(resume_token="x")))
    assert found.reason == "RESUME_TOKEN_INVALID"

"""Three promises shown beside the job: one key is one workflow, a late result is refused, a cut Watch misses nothing."""

import asyncio
from dataclasses import dataclass

import grpc
from google.protobuf.duration_pb2 import Duration

from examples.documents.perdure_way.plan import DOCUMENT, Job
from perdure import Change, Client, End
from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import admin_service_pb2_grpc, claim_pb2, definition_pb2, worker_service_pb2_grpc, workflow_service_pb2_grpc
from perdure.v1 import payload_pb2 as payload
from perdure.v1 import worker_service_pb2 as workers
from perdure.v1 import workflow_pb2 as workflow
from perdure.v1 import workflow_service_pb2 as workflows

STARTS = 50
CUT_AFTER = 4  # changes that the first of the two watches sees


@dataclass(frozen=True)
class Watched:
    """What a cut and resumed Watch saw: how many changes there were, and how many of them it missed or saw twice."""

    changes: int
    missing: int
    repeated: int


async def start_many_times(client: Client, job: Job) -> int:
    """Starts one key 50 times at once; how many of the answers said that they created a workflow."""
    starts = [client.start(DOCUMENT, key=job.document.key, input=job, labels={"demo": "documents"}) for _ in range(STARTS)]
    runs = await asyncio.gather(*starts)
    return sum(run.created for run in runs)


async def watch_and_cut(client: Client, key: str) -> Watched:
    """Watches a workflow, drops the stream after a few changes, and goes on from its resume token to the end."""
    run = client.run(DOCUMENT, key)
    seen: list[int] = []
    token = ""
    async for event in run.watch(frames=False):
        token = event.resume_token
        if isinstance(event, Change):
            seen.append(event.seq)
        if len(seen) >= CUT_AFTER:
            break
    async for event in run.watch(frames=False, resume_token=token):
        if isinstance(event, Change):
            seen.append(event.seq)
        elif isinstance(event, End):
            break
    expected = set(range(min(seen, default=1), max(seen, default=0) + 1))
    return Watched(len(expected), len(expected - set(seen)), len(seen) - len(set(seen)))


async def late_complete(address: str, lease: float) -> str:
    """A worker that is silent beyond its lease reports after somebody else was given the step; the refusal that it hears.

    By the generated stubs alone, as a worker in any language would.
    """
    async with grpc.aio.insecure_channel(address) as channel:
        definitions = admin_service_pb2_grpc.AdminServiceStub(channel)
        definition = definition_pb2.Definition(workflow_type="late")
        definition.steps.add(name="once").activity.SetInParent()
        await definitions.RegisterDefinition(admin.RegisterDefinitionRequest(definition=definition, activate=True), wait_for_ready=True)
        named = workflow.WorkflowRef(workflow_type="late", business_key="late-1")
        await workflow_service_pb2_grpc.WorkflowServiceStub(channel).StartWorkflow(workflows.StartWorkflowRequest(workflow=named))
        stub = worker_service_pb2_grpc.WorkerServiceStub(channel)
        silent = await _poll(stub, "silent", lease)
        prompt = await _poll(stub, "prompt", lease)
        done = claim_pb2.Completed(output=payload.Payload(json='"in time"'))
        await stub.Complete(workers.CompleteRequest(claim_token=prompt, completed=done))
        try:
            late = claim_pb2.Completed(output=payload.Payload(json='"late"'))
            await stub.Complete(workers.CompleteRequest(claim_token=silent, completed=late))
        except grpc.aio.AioRpcError as error:
            return f"{error.code().name}: {error.details()}"
    return ""


async def _poll(stub: "worker_service_pb2_grpc.WorkerServiceAsyncStub", worker: str, lease: float) -> str:
    """Polls until there is a claim; its token. A server that is just being restarted is asked again."""
    pool = claim_pb2.Pool(pool="late", workflow_type="late", any_contract=True)
    request = workers.PollClaimsRequest(worker_id=worker, pools=[pool], max_claims=1)
    request.lease.CopyFrom(Duration(seconds=int(lease)))
    request.wait_time.CopyFrom(Duration(seconds=10))
    while True:
        try:
            answer = await stub.PollClaims(request, wait_for_ready=True)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
            continue
        if answer.claims:
            return str(answer.claims[0].claim_token)

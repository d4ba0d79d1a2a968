"""Three promises shown beside the job: one key is one workflow, a late result is refused, a cut Watch misses nothing."""

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import cast

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2

from examples.documents.config import LEASE_SECONDS, LOOK_SECONDS, POLL_SECONDS
from examples.documents.perdure_way.patience import insist, repeat
from examples.documents.perdure_way.plan import DOCUMENT, Job
from perdure import Change, Client, NotFound, Run, Snapshot
from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import admin_service_pb2_grpc, claim_pb2, definition_pb2, worker_service_pb2_grpc, workflow_service_pb2_grpc
from perdure.v1 import payload_pb2 as payload
from perdure.v1 import worker_service_pb2 as workers
from perdure.v1 import workflow_pb2 as workflow
from perdure.v1 import workflow_service_pb2 as workflows

STARTS = 50
CUT_AFTER = 3  # changes that the first of the two watches sees
UNSEEN = 2  # changes at least that happen while nobody watches, if there are so many left
IN_TIME, LATE = '"in time"', '"late"'


@dataclass(frozen=True)
class Started:
    """What many starts of one key at once came to: different runs that they answered, and answers that said that they began it."""

    runs: int
    created: int

    @property
    def is_one(self) -> bool:
        """One workflow. A kill may take away the answer that said `created`, so there may be none of those, never two."""
        return self.runs == 1 and self.created <= 1


@dataclass(frozen=True)
class Watched:
    """What a cut and resumed Watch saw: how many changes there were since it began, how many it missed or saw twice."""

    changes: int
    missing: int
    repeated: int

    @property
    def is_whole(self) -> bool:
        return self.changes > 0 and not self.missing and not self.repeated


@dataclass(frozen=True)
class LastChange:
    """The store's own count of a workflow's changes."""

    seq: int
    is_end: bool


@dataclass(frozen=True)
class Late:
    """What a late Complete heard, and what is stored after it. `reason` is the machine's word for the refusal, `text` the whole of it."""

    reason: str
    text: str
    stored: str

    @property
    def is_refused(self) -> bool:
        """Refused, and nothing changed."""
        return self.reason == "CLAIM_LOST" and self.stored == IN_TIME


async def start_many_times(client: Client, job: Job) -> Started:
    """Starts one key 50 times at once."""
    start = partial(client.start, DOCUMENT, key=job.document.key, input=job, labels={"demo": "documents"})
    started = [run.started for run in await asyncio.gather(*(insist(start) for _ in range(STARTS))) if run.started is not None]
    return Started(len({answer.run_id for answer in started}), sum(answer.created for answer in started))


async def watch_and_cut(client: Client, key: str) -> Watched:
    """Watches a workflow from its start, drops the stream after a few changes, lets more happen, and goes on from its resume token."""
    run = client.run(DOCUMENT, key)
    await _last_change(run)
    before, seen, token = 0, list[int](), ""
    async for event in run.watch(frames=False):
        token = event.resume_token
        if isinstance(event, Snapshot):
            before = event.workflow.message.last_change_seq
        elif isinstance(event, Change):
            seen.append(event.seq)
        if len(seen) == CUT_AFTER:
            break
    while not (now := await _last_change(run)).is_end and now.seq < max(seen, default=0) + UNSEEN:
        await asyncio.sleep(LOOK_SECONDS)
    async for event in run.watch(frames=False, resume_token=token):
        if isinstance(event, Change):
            seen.append(event.seq)
    return compare(before, (await _last_change(run)).seq, seen)


async def _last_change(run: Run) -> LastChange:
    """Number of the workflow's last change, and whether it was its end; waits until the workflow is there."""
    while True:
        try:
            workflow = await insist(run.get)
        except NotFound:
            await asyncio.sleep(POLL_SECONDS)
        else:
            return LastChange(workflow.message.last_change_seq, workflow.state.is_ended)


def compare(before: int, last: int, seen: Collection[int]) -> Watched:
    """What was `seen` against what the store says: the last change before the watch began, and the last of all."""
    expected = set(range(before + 1, last + 1))
    return Watched(len(expected), len(expected - set(seen)), len(seen) - len(set(seen)))


async def late_complete(address: str) -> Late:
    """A worker that is silent beyond its lease reports after somebody else was given the step and did it.

    By the generated stubs alone, as a worker in any language would.
    """
    async with grpc.aio.insecure_channel(address) as channel:
        definition = definition_pb2.Definition(workflow_type="late")
        definition.steps.add(name="once").activity.SetInParent()
        administration = admin_service_pb2_grpc.AdminServiceStub(channel)
        await repeat(administration.RegisterDefinition, admin.RegisterDefinitionRequest(definition=definition, activate=True))
        named = workflow.WorkflowRef(workflow_type="late", business_key="late-1")
        service = workflow_service_pb2_grpc.WorkflowServiceStub(channel)
        await repeat(service.StartWorkflow, workflows.StartWorkflowRequest(workflow=named))
        stub = worker_service_pb2_grpc.WorkerServiceStub(channel)
        silent = await _poll(stub, "silent")
        prompt = await _poll(stub, "prompt")
        await repeat(stub.Complete, _completion(prompt, IN_TIME))
        refusal = "", "was ACCEPTED"
        try:
            await repeat(stub.Complete, _completion(silent, LATE))
        except grpc.aio.AioRpcError as error:
            refusal = _refusal(error)
        stored = await repeat(service.WaitForResult, workflows.WaitForResultRequest(workflow=named))
        return Late(*refusal, stored.output.json)


def _completion(token: str, output: str) -> workers.CompleteRequest:
    return workers.CompleteRequest(claim_token=token, completed=claim_pb2.Completed(output=payload.Payload(json=output)))


async def _poll(stub: "worker_service_pb2_grpc.WorkerServiceAsyncStub", worker: str) -> str:
    """Polls until there is a claim; its token."""
    pool = claim_pb2.Pool(pool="late", workflow_type="late", any_contract=True)
    request = workers.PollClaimsRequest(worker_id=worker, pools=[pool], max_claims=1)
    request.lease.CopyFrom(Duration(seconds=int(LEASE_SECONDS)))
    request.wait_time.CopyFrom(Duration(seconds=int(LEASE_SECONDS)))
    while True:
        answer = await repeat(stub.PollClaims, request)
        if answer.claims:
            return str(answer.claims[0].claim_token)


def _refusal(error: grpc.aio.AioRpcError) -> tuple[str, str]:
    """The reason, and `FAILED_PRECONDITION, CLAIM_LOST (cause EXPIRED): ...`."""
    info = error_details_pb2.ErrorInfo()
    for key, value in cast("Iterable[tuple[str, str | bytes]]", error.trailing_metadata()):
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            for detail in status_pb2.Status.FromString(value).details:
                detail.Unpack(info)
    facts = ", ".join(f"{name} {value}" for name, value in info.metadata.items())
    return info.reason, f"{error.code().name}, {info.reason}{f' ({facts})' if facts else ''}: {error.details()}"

"""What the store says of the documents' workflows, read through the API like everything else."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import grpc

from examples.documents.config import LONGEST_SECONDS, LOOK_SECONDS
from examples.documents.corpus import Document
from examples.documents.perdure_way.patience import repeat
from examples.documents.perdure_way.plan import DOCUMENT
from perdure.v1 import workflow_pb2, workflow_service_pb2, workflow_service_pb2_grpc

MISSING = "MISSING"


@dataclass
class Stored:
    """Per document and step the claim whose result is stored, and the state of each workflow that is not COMPLETED."""

    claims: dict[tuple[int, str], int] = field(default_factory=dict)
    unfinished: dict[int, str] = field(default_factory=dict)


async def what_is_stored(address: str, documents: Sequence[Document]) -> Stored:
    """Waits until all have COMPLETED, but not for ever."""
    deadline = time.monotonic() + LONGEST_SECONDS
    stored = Stored()
    waiting = list(documents)
    async with grpc.aio.insecure_channel(address) as channel:
        service = workflow_service_pb2_grpc.WorkflowServiceStub(channel)
        while waiting and time.monotonic() < deadline:
            found = await asyncio.gather(*(_workflow(service, document.key) for document in waiting))
            for document, workflow in zip(waiting, found, strict=True):
                _note(stored, document.number, workflow)
            waiting = [document for document in waiting if document.number in stored.unfinished]
            await asyncio.sleep(LOOK_SECONDS if waiting else 0)
    return stored


async def _workflow(service: "workflow_service_pb2_grpc.WorkflowServiceAsyncStub", key: str) -> workflow_pb2.Workflow | None:
    """With its steps, but without the texts that they hand on. None: it is not there."""
    named = workflow_pb2.WorkflowRef(workflow_type=DOCUMENT, business_key=key)
    request = workflow_service_pb2.GetWorkflowRequest(workflow=named, view=workflow_pb2.WORKFLOW_VIEW_STEPS)
    try:
        return (await repeat(service.GetWorkflow, request)).workflow
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.NOT_FOUND:
            return None
        raise


def _note(stored: Stored, number: int, workflow: workflow_pb2.Workflow | None) -> None:
    if workflow is None:
        stored.unfinished[number] = MISSING
    elif workflow.state == workflow_pb2.Workflow.STATE_COMPLETED:
        stored.unfinished.pop(number, None)
    else:
        stored.unfinished[number] = workflow_pb2.Workflow.State.Name(workflow.state).removeprefix("STATE_")
    for step in workflow.steps if workflow is not None else ():
        if step.state == workflow_pb2.StepView.STATE_COMPLETED:
            stored.claims[number, step.name] = step.claim_no

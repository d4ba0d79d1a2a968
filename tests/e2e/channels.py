"""Generated stubs on a real channel, and short ways to say what stories say often."""

from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from grpc_status import rpc_status

from perdure.v1 import (
    admin_service_pb2,
    admin_service_pb2_grpc,
    claim_pb2,
    definition_pb2,
    payload_pb2,
    watch_pb2,
    worker_service_pb2,
    worker_service_pb2_grpc,
    workflow_pb2,
    workflow_service_pb2,
    workflow_service_pb2_grpc,
)

KEY = "k"
COMPLETED = workflow_pb2.Workflow.STATE_COMPLETED
CANCELLED = workflow_pb2.Workflow.STATE_CANCELLED
FAILED = workflow_pb2.Workflow.STATE_FAILED
State = workflow_pb2.StepView


@dataclass(frozen=True)
class Refusal:
    """What a client can see of an error."""

    code: grpc.StatusCode
    message: str
    reason: str
    facts: Mapping[str, str]
    fields: Mapping[str, str]


@dataclass(frozen=True)
class Perdure:
    """One channel, and the workflow type that a test has to itself. Short ways to say what stories say often."""

    channel: grpc.aio.Channel
    workflow_type: str = "story"

    @cached_property
    def workflows(self) -> "workflow_service_pb2_grpc.WorkflowServiceAsyncStub":
        return workflow_service_pb2_grpc.WorkflowServiceStub(self.channel)

    @cached_property
    def workers(self) -> "worker_service_pb2_grpc.WorkerServiceAsyncStub":
        return worker_service_pb2_grpc.WorkerServiceStub(self.channel)

    @cached_property
    def admin(self) -> "admin_service_pb2_grpc.AdminServiceAsyncStub":
        return admin_service_pb2_grpc.AdminServiceStub(self.channel)

    def ref(self, key: str = KEY) -> workflow_pb2.WorkflowRef:
        """Names a workflow of this type."""
        return workflow_pb2.WorkflowRef(workflow_type=self.workflow_type, business_key=key)

    def pool(self, *steps: str) -> claim_pb2.Pool:
        """A pool for these steps, or for all, whatever their contract."""
        return claim_pb2.Pool(pool="p", workflow_type=self.workflow_type, steps=steps, any_contract=True)

    async def register(
        self, *steps: str, retry: float = 0.05, attempts: int = 3, attempt_timeout: float = 600
    ) -> definition_pb2.RegisteredDefinition:
        """Register and activate; the arguments are those of `definition`."""
        made = definition(self.workflow_type, *steps, retry=retry, attempts=attempts, attempt_timeout=attempt_timeout)
        request = admin_service_pb2.RegisterDefinitionRequest(definition=made, activate=True)
        return (await self.admin.RegisterDefinition(request)).definition

    async def start(self, key: str = KEY, text: str = "1") -> workflow_service_pb2.StartWorkflowResponse:
        """Start with a JSON input."""
        request = workflow_service_pb2.StartWorkflowRequest(workflow=self.ref(key), input=payload_pb2.Payload(json=text))
        return await self.workflows.StartWorkflow(request)

    async def signal(self, name: str, signal_id: str, text: str = "1", key: str = KEY) -> workflow_service_pb2.SignalResponse:
        """Send a signal with a JSON payload."""
        payload = payload_pb2.Payload(json=text)
        request = workflow_service_pb2.SignalRequest(workflow=self.ref(key), signal_name=name, signal_id=signal_id, payload=payload)
        return await self.workflows.Signal(request)

    async def poll(self, *steps: str, wait: float = 5.0, lease: float = 30.0) -> claim_pb2.Claim | None:
        """The next claim of these steps, or of any; None after `wait` seconds."""
        request = worker_service_pb2.PollClaimsRequest(
            worker_id="poller", pools=[self.pool(*steps)], wait_time=seconds(wait), lease=seconds(lease)
        )
        claims = (await self.workers.PollClaims(request)).claims
        return claims[0] if claims else None

    async def taken(self, *steps: str) -> claim_pb2.Claim:
        """The next claim; there must be one."""
        claim = await self.poll(*steps)
        assert claim is not None
        return claim

    async def complete(self, claim: claim_pb2.Claim, text: str = "1", want_next: bool = False) -> worker_service_pb2.CompleteResponse:
        """Complete with a JSON output."""
        return await self.workers.Complete(
            worker_service_pb2.CompleteRequest(claim_token=claim.claim_token, completed=output(text), want_next=want_next)
        )

    async def fail(self, claim: claim_pb2.Claim, text: str, *, final: bool = False) -> None:
        """Fail, retried by policy unless `final`."""
        failure = payload_pb2.Failure(type="story.failed", message=text, non_retryable=final)
        await self.workers.Complete(worker_service_pb2.CompleteRequest(claim_token=claim.claim_token, failed=failure))

    async def get(self, key: str = KEY) -> workflow_pb2.Workflow:
        """The whole workflow."""
        request = workflow_service_pb2.GetWorkflowRequest(workflow=self.ref(key), view=workflow_pb2.WORKFLOW_VIEW_FULL)
        return (await self.workflows.GetWorkflow(request)).workflow

    async def steps(self, key: str = KEY) -> dict[str, workflow_pb2.StepView]:
        """Its steps by name."""
        return {step.name: step for step in (await self.get(key)).steps}

    async def ended(self, key: str = KEY) -> workflow_pb2.Workflow:
        """The workflow once it has ended, within 30 s."""
        request = workflow_service_pb2.WaitForResultRequest(workflow=self.ref(key), timeout=seconds(30))
        answer = await self.workflows.WaitForResult(request, timeout=35)
        assert answer.done, f"{key} has not ended"
        return await self.get(key)

    async def cancel(self, key: str = KEY, reason: str = "") -> None:
        """Ask for a cancel."""
        await self.workflows.CancelWorkflow(workflow_service_pb2.CancelWorkflowRequest(workflow=self.ref(key), reason=reason))

    async def watched(self, key: str = KEY, resume_token: str = "", frames: bool = False) -> list[watch_pb2.WatchEvent]:
        """All that Watch tells until the end."""
        request = workflow_service_pb2.WatchRequest(workflow=self.ref(key), resume_token=resume_token, include_frames=frames)
        return [event async for answer in self.workflows.Watch(request, timeout=30) for event in answer.events]


@asynccontextmanager
async def connected(address: str, workflow_type: str = "story") -> AsyncIterator[Perdure]:
    """A channel of its own, closed at the end; to one server, or to the first of several (`ipv4:host:port,host:port`)."""
    # Reconnect quickly: tests kill servers, and production's patience is not what they test.
    options = (("grpc.use_local_subchannel_pool", 1), ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 500))
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        yield Perdure(channel, workflow_type)


def output(text: str) -> claim_pb2.Completed:
    """Done, with JSON."""
    return claim_pb2.Completed(output=payload_pb2.Payload(json=text))


def seconds(number: float) -> Duration:
    """A wire duration."""
    return Duration(seconds=int(number), nanos=int(number % 1 * 1_000_000_000))


def definition(
    workflow_type: str, *steps: str, retry: float = 0.05, attempts: int = 3, attempt_timeout: float = 600
) -> definition_pb2.Definition:
    """Steps as "name" or "name: dependency ..."; one that begins with `wait_` waits for a signal of its name. Times in seconds."""
    made = definition_pb2.Definition(workflow_type=workflow_type)
    for text in steps:
        name, _, dependencies = text.partition(":")
        step = made.steps.add(name=name, depends_on=dependencies.split())
        if name.startswith("wait_"):
            step.wait.wait.any_of.add().signal.signal_name = name
            step.needs.SetInParent()  # no values travel to a wait
            continue
        step.activity.SetInParent()
        step.policy.retry.initial_interval.CopyFrom(seconds(retry))
        step.policy.retry.max_attempts = attempts
        step.policy.attempt_timeout.CopyFrom(seconds(attempt_timeout))
    return made


async def refused(call: Awaitable[object]) -> Refusal:
    """The error that this call ends with."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return refusal_of(caught.value)


def refusal_of(error: grpc.aio.AioRpcError) -> Refusal:
    """The parts of an error that a client should look at."""
    status = rpc_status.from_call(error)  # type: ignore[arg-type]  # the stubs know the synchronous error only
    info, bad = ErrorInfo(), BadRequest()
    for detail in status.details if status is not None else ():
        for message in (info, bad):
            if detail.Is(message.DESCRIPTOR):
                detail.Unpack(message)
    fields = {violation.field: violation.description for violation in bad.field_violations}
    return Refusal(error.code(), error.details() or "", info.reason, dict(info.metadata), fields)

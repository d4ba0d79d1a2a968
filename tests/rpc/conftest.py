"""A whole server in this process on the in-memory store, and real channels to it."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, ResourceInfo, RetryInfo
from google.rpc.status_pb2 import Status

from perdure.statuses import SEND_FAILED
from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import admin_service_pb2_grpc, definition_pb2, worker_service_pb2_grpc, workflow_pb2, workflow_service_pb2_grpc
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.config import Config
from perdure_server.main import Parts, Running, serve
from perdure_server.rpc.errors import DETAILS_KEY
from perdure_server.store.memory import MemoryStore

GRACE = 1_000


@dataclass(frozen=True)
class Served:
    """A server with a channel to it."""

    running: Running
    channel: grpc.aio.Channel

    @property
    def workflows(self) -> "workflow_service_pb2_grpc.WorkflowServiceAsyncStub":
        return workflow_service_pb2_grpc.WorkflowServiceStub(self.channel)

    @property
    def workers(self) -> "worker_service_pb2_grpc.WorkerServiceAsyncStub":
        return worker_service_pb2_grpc.WorkerServiceStub(self.channel)

    @property
    def admin(self) -> "admin_service_pb2_grpc.AdminServiceAsyncStub":
        return admin_service_pb2_grpc.AdminServiceStub(self.channel)

    async def register(self, *steps: str, workflow_type: str = "note", activate: bool = True) -> definition_pb2.RegisteredDefinition:
        """Register `steps` (each "name" or "name: dependency ..."; a name that begins with `wait_` waits for a signal of that name)."""
        request = admin.RegisterDefinitionRequest(definition=definition(*steps, workflow_type=workflow_type), activate=activate)
        return (await self.admin.RegisterDefinition(request)).definition

    async def start(self, key: str = "k", workflow_type: str = "note", **fields: object) -> wire.StartWorkflowResponse:
        """Start a workflow with the input 1."""
        request = wire.StartWorkflowRequest(workflow=ref(key, workflow_type), **fields)  # type: ignore[arg-type]  # fields of the message
        if not request.HasField("input"):
            request.input.json = "1"
        return await self.workflows.StartWorkflow(request)


def ref(key: str = "k", workflow_type: str = "note") -> workflow_pb2.WorkflowRef:
    return workflow_pb2.WorkflowRef(workflow_type=workflow_type, business_key=key)


def definition(*steps: str, workflow_type: str = "note") -> definition_pb2.Definition:
    made = definition_pb2.Definition(workflow_type=workflow_type)
    for step in steps:
        name, _, dependencies = step.partition(":")
        added = made.steps.add(name=name, depends_on=dependencies.split())
        if name.startswith("wait_"):
            added.wait.wait.any_of.add().signal.signal_name = name
        else:
            added.activity.SetInParent()
    return made


@asynccontextmanager
async def serving(config: Config | None = None, parts: Parts | None = None) -> AsyncIterator[Served]:
    """A server on a free port; stops within a second."""
    parts = parts or Parts(store=MemoryStore(lambda: time.time_ns() // 1_000_000))
    async with (
        serve(config or Config(port=0, drain_grace_ms=GRACE), parts) as running,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel,
    ):
        yield Served(running, channel)


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serving() as found:
        yield found


@dataclass(frozen=True)
class Refusal:
    """What a client can see of an error."""

    code: grpc.StatusCode
    message: str
    reason: str
    facts: dict[str, str]
    fields: dict[str, str]
    status: Status

    def detail(self, kind: type[RetryInfo] | type[ResourceInfo] | type[BadRequest] | type[ErrorInfo]) -> RetryInfo | ResourceInfo | None:
        return unpacked(self.status, kind)


def unpacked(status: Status, kind: Callable[[], object]) -> object:
    for packed in status.details:
        made = kind()
        if packed.Is(made.DESCRIPTOR):  # type: ignore[attr-defined]  # every message has one
            packed.Unpack(made)
            return made
    return None


def refusal_of(error: grpc.aio.AioRpcError) -> Refusal:
    trailers: Any = error.trailing_metadata()  # pairs, whatever the stubs say
    packed = dict(trailers)[DETAILS_KEY]
    status = Status.FromString(packed)
    return from_status(status, error.code(), error.details() or "")


def is_of_the_sender(error: grpc.aio.AioRpcError) -> bool:
    """Whether grpc.aio tells that it could not send, where the server had said why: then ask again. See perdure.statuses.SEND_FAILED."""
    return error.code() is grpc.StatusCode.INTERNAL and error.details() == SEND_FAILED


def from_status(status: Status, code: grpc.StatusCode | None = None, message: str = "") -> Refusal:
    info = unpacked(status, ErrorInfo)
    bad = unpacked(status, BadRequest)
    numbers = {found.value[0]: found for found in grpc.StatusCode}
    return Refusal(
        code or numbers[status.code],
        message or status.message,
        info.reason if info else "",  # type: ignore[attr-defined]  # google.rpc has no types
        dict(info.metadata) if info else {},  # type: ignore[attr-defined]  # google.rpc has no types
        {item.field: item.description for item in bad.field_violations} if bad else {},  # type: ignore[attr-defined]  # google.rpc has no types
        status,
    )


async def refused(call: Awaitable[object]) -> Refusal:
    """The error that this call ends with."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return refusal_of(caught.value)

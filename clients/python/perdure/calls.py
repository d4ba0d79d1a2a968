"""Calls: one channel, a deadline on everything; UNAVAILABLE tried again, a CANCELLED that nobody here asked for, and nothing else."""

import asyncio
import json
import os
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar, cast

import grpc
from google.protobuf.message import Message
from grpc import aio

from perdure import limits
from perdure.codec import Codec
from perdure.config import ConnectionConfig
from perdure.contact import Contact, channel_credentials
from perdure.errors import PerdureError, Unavailable
from perdure.importing import import_requests
from perdure.sealing import seal_apart, unseal_apart
from perdure.start_batches import StartBatches
from perdure.statuses import error_of_call
from perdure.v1 import admin_service_pb2, workflow_service_pb2
from perdure.v1.admin_service_pb2_grpc import AdminServiceStub
from perdure.v1.worker_service_pb2_grpc import WorkerServiceStub
from perdure.v1.workflow_service_pb2_grpc import WorkflowServiceStub

if TYPE_CHECKING:
    from perdure.v1.admin_service_pb2_grpc import AdminServiceAsyncStub
    from perdure.v1.worker_service_pb2_grpc import WorkerServiceAsyncStub
    from perdure.v1.workflow_service_pb2_grpc import WorkflowServiceAsyncStub

RequestT_contra = TypeVar("RequestT_contra", contravariant=True)
S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)
A = TypeVar("A")
K = TypeVar("K")

CLIENT_NAME: Final = "perdure-python"

END_OF_STREAM: Final[object] = aio.EOF  # type: ignore[attr-defined]  # missing in the stubs of grpc

SERVICE_CONFIG: Final = json.dumps(
    {
        # Workers and callers spread over the addresses of a name, and a new connection tries another one.
        "loadBalancingConfig": [{"pick_first": {"shuffleAddressList": True}}],
        "methodConfig": [
            {
                "name": [{"service": f"perdure.v1.{service}"} for service in ("WorkflowService", "AdminService")]
                + [{"service": "perdure.v1.WorkerService", "method": method} for method in ("Complete", "Heartbeat", "RenewClaims")],
                "retryPolicy": {
                    "maxAttempts": 3,
                    "initialBackoff": "0.05s",
                    "maxBackoff": "0.5s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE"],
                },
            }
        ],
    }
)
"""UNAVAILABLE is the one code that may be retried blindly; every mutation carries an id that makes its repeat harmless."""


class Method(Protocol[RequestT_contra, S_co]):
    """One unary method of a stub."""

    def __call__(self, request: RequestT_contra, /, *, timeout: float | None, metadata: Any) -> Awaitable[S_co]:
        """Begins the call."""
        raise NotImplementedError


def channel_options(*, alone: bool = False) -> list[tuple[str, Any]]:
    """Options of every channel. `alone`: with a connection of its own, which no other channel shares."""
    return [
        ("grpc.service_config", SERVICE_CONFIG),
        ("grpc.max_receive_message_length", limits.MESSAGE_BYTES),
        ("grpc.max_send_message_length", limits.MESSAGE_BYTES),
        ("grpc.initial_reconnect_backoff_ms", int(limits.RETRY_INITIAL_INTERVAL * 1000)),
        ("grpc.max_reconnect_backoff_ms", int(limits.RETRY_MAX_INTERVAL * 1000)),
        ("grpc.keepalive_time_ms", int(limits.KEEPALIVE_INTERVAL * 1000)),
        ("grpc.keepalive_timeout_ms", int(limits.KEEPALIVE_TIMEOUT * 1000)),
        ("grpc.use_local_subchannel_pool", int(alone)),
        ("grpc.primary_user_agent", CLIENT_NAME),
    ]


def open_channel(config: ConnectionConfig, credentials: grpc.ChannelCredentials | None = None, *, alone: bool = False) -> aio.Channel:
    """A channel of the running loop. `alone`: with a connection of its own, which no other channel shares."""
    credentials, named = channel_credentials(config, credentials)
    options = channel_options(alone=alone) + named
    if credentials is None:
        return aio.insecure_channel(config.address, options=options)
    return aio.secure_channel(config.address, credentials, options=options)


class Calls(Contact):
    """The channel of one client, on the loop that first used it."""

    def __init__(
        self,
        config: ConnectionConfig,
        timeout: float,
        connect_timeout: float,
        credentials: grpc.ChannelCredentials | None,
        channel: aio.Channel | None = None,
    ) -> None:
        """`channel`: one that is there already, and stays open."""
        super().__init__(config, timeout, connect_timeout, credentials)
        self._given = channel
        self._channel: aio.Channel | None = None
        self._replaced: list[aio.Channel] = []
        self._process_id = 0
        self._starts = StartBatches(self)
        self._stubs: dict[tuple[object, object], Any] = {}
        self._streams: weakref.WeakSet[EventStream[Any]] = weakref.WeakSet()

    @property
    def channel(self) -> aio.Channel:
        """The channel, opened at its first use. Raises RuntimeError in a forked child, where gRPC does not work."""
        if self._given is not None:
            return self._given
        if self.certificate_replaced() and self._channel is not None:
            self._replaced.append(self._channel)  # calls on it go on
            self._channel = None
        if self._channel is None:
            self._channel = open_channel(self.config, self.credentials)
            self._process_id = os.getpid()
        elif self._process_id != os.getpid():
            raise RuntimeError("this client was opened before a fork; gRPC cannot go on in the child: make a new Client there, or spawn")
        return self._channel

    @property
    def workflows(self) -> "WorkflowServiceAsyncStub":
        """What business services call."""
        return self._stub(WorkflowServiceStub)

    @property
    def workers(self) -> "WorkerServiceAsyncStub":
        """What workers call."""
        return self._stub(WorkerServiceStub)

    @property
    def admin(self) -> "AdminServiceAsyncStub":
        """What operators and deployments call."""
        return self._stub(AdminServiceStub)

    def _stub(self, kind: Callable[[aio.Channel], K]) -> K:
        # Kept: a stub makes an object for every method of its service, which costs as much as a call.
        channel = self.channel
        stub: K | None = self._stubs.get((kind, channel))
        if stub is None:
            stub = self._stubs[kind, channel] = kind(channel)
        return stub

    async def unary(self, method: Method[RequestT_contra, S], request: RequestT_contra, within: float | None = None) -> S:
        """One call with its retries, `within` so many seconds (None: the client's). Raises PerdureError."""
        allowed = self.timeout if within is None else within
        began = time.monotonic()
        interval = limits.RETRY_INITIAL_INTERVAL
        if self.config.codec is not None:
            await seal_apart(cast("Message", request), self.config.codec)
        while True:
            remaining = began + allowed - time.monotonic()
            try:
                answer = await method(request, timeout=max(0.001, remaining), metadata=self.metadata())
            except aio.AioRpcError as failure:
                error = error_of_call(failure)
                pause = self.pause(error, began, allowed, interval)
                if pause is None:
                    raise error from None
            else:
                self.note_reached()
                if self.config.codec is not None:
                    await unseal_apart(cast("Message", answer), self.config.codec)
                return answer
            await asyncio.sleep(pause)
            interval = min(limits.RETRY_MAX_INTERVAL, interval * 2)

    async def once(self, method: Method[RequestT_contra, S], request: RequestT_contra, metadata: Sequence[tuple[str, str]]) -> S:
        """One call without retries; values are put through the codec. Raises PerdureError."""
        await seal_apart(cast("Message", request), self.config.codec)
        try:
            answer = await method(request, timeout=self.timeout, metadata=metadata)
        except aio.AioRpcError as failure:
            raise error_of_call(failure) from None
        self.note_reached()
        await unseal_apart(cast("Message", answer), self.config.codec)
        return answer

    async def start(self, request: workflow_service_pb2.StartWorkflowRequest) -> workflow_service_pb2.StartWorkflowResponse:
        """A start, with its retries; when many are under way they share calls. Raises PerdureError."""
        return await self._starts.start(request)

    def watch(self, request: workflow_service_pb2.WatchRequest) -> "EventStream[workflow_service_pb2.WatchResponse]":
        """Opens a stream of a watch."""
        return self._stream(self.workflows.Watch(request, metadata=self.metadata()))

    def watch_many(self, request: workflow_service_pb2.WatchWorkflowsRequest) -> "EventStream[workflow_service_pb2.WatchWorkflowsResponse]":
        """Opens a stream of a watch of many."""
        return self._stream(self.workflows.WatchWorkflows(request, metadata=self.metadata()))

    async def export(self, request: admin_service_pb2.ExportWorkflowRequest) -> AsyncIterator[admin_service_pb2.ExportWorkflowResponse]:
        """A file in pieces, not tried again. Raises PerdureError."""
        call = self.admin.ExportWorkflow(request, timeout=self.timeout, metadata=self.metadata())
        try:
            async for answer in call:
                self.note_reached()
                yield answer
        except aio.AioRpcError as failure:
            raise self._lost(failure) from None
        finally:
            call.cancel()

    async def import_workflow(self, options: admin_service_pb2.ImportOptions, file: bytes) -> admin_service_pb2.ImportWorkflowResponse:
        """Sends a file in pieces; tries again, under its request id, like any other call. Raises PerdureError."""

        def sent(options: admin_service_pb2.ImportOptions, /, *, timeout: float | None, metadata: Any) -> Any:
            return self.admin.ImportWorkflow(import_requests(options, file), timeout=timeout, metadata=metadata)

        return cast("admin_service_pb2.ImportWorkflowResponse", await self.unary(sent, options))

    async def close(self) -> None:
        """Closes the channel; calls that still run end with CANCELLED."""
        channels, self._channel, self._replaced = [self._channel, *self._replaced], None, []
        self._stubs.clear()
        for stream in list(self._streams):
            stream.cancel()  # gRPC ends only calls that a task of its own reads
        for channel in channels:
            if channel is not None:
                await channel.close(None)

    def _stream(self, call: Any) -> "EventStream[Any]":
        made: EventStream[Any] = EventStream(call, self.config.codec)
        self._streams.add(made)
        return made

    def _lost(self, failure: aio.AioRpcError) -> PerdureError:
        error = error_of_call(failure)
        return self.explained(error) if isinstance(error, Unavailable) and not self.reached else error


class EventStream(Generic[A]):
    """One stream of a watch."""

    def __init__(self, call: Any, codec: Codec | None = None) -> None:
        self._call = call
        self._codec = codec
        self._reading: asyncio.Task[A | None] | None = None
        self._silent_at = 0.0

    async def read(self) -> A | None:
        """The next message; None at the stream's end. Raises PerdureError, also when it was silent for too long.

        A read that is cancelled loses nothing: the next one gets the same message.
        """
        now = asyncio.get_running_loop().time()
        if self._reading is None:
            self._reading = asyncio.create_task(_read(self._call, self._codec))
            self._reading.add_done_callback(_noted)
            self._silent_at = now + limits.WATCH_IDLE_TIMEOUT
        # A cancel of wait() leaves the task alone, and one of the gRPC call's own read would end the call.
        await asyncio.wait([self._reading], timeout=max(0.0, self._silent_at - now))
        if not self._reading.done():
            raise Unavailable("the watch heard nothing, not even a keep-alive")
        reading, self._reading = self._reading, None
        return reading.result()

    def cancel(self) -> None:
        """Ends it."""
        self._call.cancel()
        if self._reading is not None:
            self._reading.cancel()

    def __del__(self) -> None:
        if self._reading is not None:
            with suppress(RuntimeError):  # its loop is closed
                self.cancel()


async def _read(call: Any, codec: Codec | None) -> Any:
    # Knows the call and not its EventStream, so that one which is dropped can end the call.
    try:
        answer = await call.read()
    except aio.AioRpcError as failure:
        raise error_of_call(failure) from None
    if answer is END_OF_STREAM:
        return None
    if codec is not None:
        await unseal_apart(cast("Message", answer), codec)
    return answer


def _noted(reading: "asyncio.Task[Any]") -> None:
    if not reading.cancelled():
        reading.exception()  # nobody may ask for it any more, and that is no news for the log

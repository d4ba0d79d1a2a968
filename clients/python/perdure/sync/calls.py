"""Calls of the synchronous client: a blocking channel, and what is tried again as in perdure.calls."""

import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

import grpc
from google.protobuf.message import Message

from perdure import limits
from perdure.calls import channel_options
from perdure.codec import Codec
from perdure.config import ConnectionConfig
from perdure.contact import Contact, channel_credentials
from perdure.errors import PerdureError, Unavailable
from perdure.importing import import_requests
from perdure.sealing import seal, unseal
from perdure.statuses import RpcFailure, error_of_call
from perdure.v1 import admin_service_pb2, workflow_service_pb2
from perdure.v1.admin_service_pb2_grpc import AdminServiceStub
from perdure.v1.worker_service_pb2_grpc import WorkerServiceStub
from perdure.v1.workflow_service_pb2_grpc import WorkflowServiceStub

if TYPE_CHECKING:
    from collections.abc import Iterator

RequestT_contra = TypeVar("RequestT_contra", contravariant=True)
S_co = TypeVar("S_co", covariant=True)
S = TypeVar("S")
A = TypeVar("A")
K = TypeVar("K")


class Method(Protocol[RequestT_contra, S_co]):
    """One unary method of a stub."""

    def __call__(self, request: RequestT_contra, /, *, timeout: float | None, metadata: Any) -> S_co:
        """The call, blocking."""
        raise NotImplementedError


class Calls(Contact):
    """The channel of one client, which threads may share."""

    def __init__(
        self,
        config: ConnectionConfig,
        timeout: float,
        connect_timeout: float,
        credentials: grpc.ChannelCredentials | None,
        channel: grpc.Channel | None = None,
    ) -> None:
        """`channel`: one that is there already, such as that of `grpc_testing`; it stays open."""
        super().__init__(config, timeout, connect_timeout, credentials)
        self._given = channel
        self._channel: grpc.Channel | None = None
        self._replaced: list[grpc.Channel] = []
        self._process_id = 0
        self._stubs: dict[tuple[object, object], Any] = {}
        self._opening = threading.RLock()
        self._closings = 0
        self._streams: weakref.WeakSet[EventStream[Any]] = weakref.WeakSet()

    @property
    def channel(self) -> grpc.Channel:
        """The channel, opened at its first use. Raises RuntimeError in a forked child, where gRPC does not work."""
        if self._given is not None:
            return self._given
        with self._opening:
            if self.certificate_replaced() and self._channel is not None:
                self._replaced.append(self._channel)  # calls on it go on
                self._channel = None
            if self._channel is None:
                self._channel = open_channel(self.config, self.credentials)
                self._process_id = os.getpid()
            elif self._process_id != os.getpid():
                raise RuntimeError("this client was opened before a fork; gRPC cannot go on in the child: make a new Client there")
            return self._channel

    @property
    def workflows(self) -> WorkflowServiceStub:
        """What business services call."""
        return self._stub(WorkflowServiceStub)

    @property
    def workers(self) -> WorkerServiceStub:
        """What workers call."""
        return self._stub(WorkerServiceStub)

    @property
    def admin(self) -> AdminServiceStub:
        """What operators and deployments call."""
        return self._stub(AdminServiceStub)

    def _stub(self, kind: Callable[[grpc.Channel], K]) -> K:
        # Kept: a stub makes an object for every method of its service, which costs as much as a call.
        channel = self.channel
        stub: K | None = self._stubs.get((kind, channel))
        if stub is None:
            stub = self._stubs[kind, channel] = kind(channel)
        return stub

    def unary(self, method: Method[RequestT_contra, S], request: RequestT_contra, within: float | None = None) -> S:
        """One call with its retries, `within` so many seconds (None: the client's). Raises PerdureError."""
        allowed = self.timeout if within is None else within
        closings = self._closings
        began = time.monotonic()
        interval = limits.RETRY_INITIAL_INTERVAL
        if self.config.codec is not None:
            seal(cast("Message", request), self.config.codec)
        while True:
            remaining = began + allowed - time.monotonic()
            try:
                answer = method(request, timeout=max(0.001, remaining), metadata=self.metadata())
            except grpc.RpcError as failure:
                error = error_of_call(cast("RpcFailure", failure), is_ours=self._closings != closings)
                pause = self.pause(error, began, allowed, interval)
                if pause is None:
                    raise error from None
            else:
                self.note_reached()
                if self.config.codec is not None:
                    unseal(cast("Message", answer), self.config.codec)
                return answer
            time.sleep(pause)
            interval = min(limits.RETRY_MAX_INTERVAL, interval * 2)

    def start(self, request: workflow_service_pb2.StartWorkflowRequest) -> workflow_service_pb2.StartWorkflowResponse:
        """A start, with its retries. Raises PerdureError."""
        return self.unary(self.workflows.StartWorkflow, request)

    def watch(self, request: workflow_service_pb2.WatchRequest) -> "EventStream[workflow_service_pb2.WatchResponse]":
        """Opens a stream of a watch."""
        return self._stream(lambda: self.workflows.Watch(request, metadata=tuple(self.metadata())))

    def watch_many(self, request: workflow_service_pb2.WatchWorkflowsRequest) -> "EventStream[workflow_service_pb2.WatchWorkflowsResponse]":
        """Opens a stream of a watch of many."""
        return self._stream(lambda: self.workflows.WatchWorkflows(request, metadata=tuple(self.metadata())))

    def export(self, request: admin_service_pb2.ExportWorkflowRequest) -> "Iterator[admin_service_pb2.ExportWorkflowResponse]":
        """A file in pieces, not tried again. Raises PerdureError."""
        call = self.admin.ExportWorkflow(request, timeout=self.timeout, metadata=tuple(self.metadata()))
        try:
            for answer in call:
                self.note_reached()
                yield answer
        except grpc.RpcError as failure:
            raise self._lost(cast("RpcFailure", failure)) from None
        finally:
            call.cancel()  # type: ignore[no-untyped-call]  # the stubs of grpc forgot it

    def import_workflow(self, options: admin_service_pb2.ImportOptions, file: bytes) -> admin_service_pb2.ImportWorkflowResponse:
        """Sends a file in pieces; tries again, under its request id, like any other call. Raises PerdureError."""

        def sent(options: admin_service_pb2.ImportOptions, /, *, timeout: float | None, metadata: Any) -> Any:
            return self.admin.ImportWorkflow(import_requests(options, file), timeout=timeout, metadata=metadata)

        return cast("admin_service_pb2.ImportWorkflowResponse", self.unary(sent, options))

    def close(self) -> None:
        """Closes the channel; calls that still run end with CANCELLED."""
        with self._opening:
            self._closings += 1
            channels, self._channel, self._replaced = [self._channel, *self._replaced], None, []
            streams, self._streams = list(self._streams), weakref.WeakSet()
            self._stubs.clear()
        for stream in streams:
            stream.cancel()  # one whose read begins while gRPC closes its channel may hang (github.com/grpc/grpc/issues/20562)
        for channel in channels:
            if channel is not None:
                channel.close()

    def _stream(self, begin: Callable[[], Any]) -> "EventStream[Any]":
        with self._opening:  # a close sees it, or it is of the next channel
            made: EventStream[Any] = EventStream(begin(), self.config.codec)
            self._streams.add(made)
        return made

    def _lost(self, failure: RpcFailure) -> PerdureError:
        error = error_of_call(failure)
        return self.explained(error) if isinstance(error, Unavailable) and not self.reached else error


class EventStream(Generic[A]):
    """One stream of a watch."""

    def __init__(self, call: Any, codec: Codec | None) -> None:
        self._call = call
        self._codec = codec
        self._is_cancelled = False
        self._answers: Iterator[A] = iter(call)
        self._silent = False

    def read(self) -> A | None:
        """The next message; None at the stream's end. Raises PerdureError, also when it was silent for too long."""
        alarm = threading.Timer(limits.WATCH_IDLE_TIMEOUT, self._give_up)
        alarm.daemon = True
        alarm.start()
        try:
            answer = next(self._answers, None)
        except grpc.RpcError as failure:
            if self._silent:
                raise Unavailable("the watch heard nothing, not even a keep-alive") from None
            raise error_of_call(cast("RpcFailure", failure), is_ours=self._is_cancelled) from None
        finally:
            alarm.cancel()
        if answer is not None and self._codec is not None:
            unseal(cast("Message", answer), self._codec)
        return answer

    def cancel(self) -> None:
        """Ends it."""
        self._is_cancelled = True
        self._call.cancel()

    def _give_up(self) -> None:
        self._silent = True
        self._call.cancel()


def open_channel(config: ConnectionConfig, credentials: grpc.ChannelCredentials | None = None) -> grpc.Channel:
    """A blocking channel, with the options of the asynchronous one."""
    credentials, named = channel_credentials(config, credentials)
    options = channel_options() + named
    if credentials is None:
        return grpc.insecure_channel(config.address, options=options)
    return grpc.secure_channel(config.address, credentials, options=options)

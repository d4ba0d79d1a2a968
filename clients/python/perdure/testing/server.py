"""A server for tests, in this process or elsewhere, whose clock the test moves: thirty days pass in no time.

async with start_server() as server, server.client() as client, client.worker(note):
    run = await client.start(note, key="note-42", input="s3://a.mp3")
    await server.advance(timedelta(days=3))
    assert await server.result(run) == "published"
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import entry_points
from typing import Any, Final, Self

import grpc

from perdure import limits
from perdure.calls import open_channel
from perdure.client import Client
from perdure.codec import Codec
from perdure.config import connection_config
from perdure.definition import Definition
from perdure.run import Run
from perdure.sealing import seal_apart
from perdure.statuses import error_of_call
from perdure.testing.scripts import Scripted
from perdure.testing.v1 import test_service_pb2, test_service_pb2_grpc
from perdure.v1 import filter_pb2
from perdure.view import time_of

GROUP: Final = "perdure.testing"
"""Entry points that start a server in this process: `server`, which `perdure[server]` brings."""

_AT_REST: Final = frozenset({"COMPLETED", "BLOCKED"})
_PATIENCE: Final = timedelta(seconds=10)


class StillMoving(TimeoutError):
    """Something still moved when the time was over."""

    def __init__(self, busy: tuple[str, ...]) -> None:
        super().__init__("still moving: " + "; ".join(busy))
        self.busy = busy
        """What moved, for people; at most 20."""


class Stuck(RuntimeError):
    """The workflow has not ended, and nothing moves it but a signal, a person, or a worker that is not there."""


@dataclass(frozen=True, slots=True)
class Advanced:
    """It is later now."""

    now: datetime
    """The test's time."""
    passed: timedelta
    """How much passed."""
    fired: int
    """How many due times were fired."""
    next_due: datetime | None
    """The next due time; None: there is none."""


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing moves."""

    now: datetime
    """The test's time."""
    next_due: datetime | None
    """When something moves by itself; None: never."""


class TestServer:
    """A server that serves TestService: `start_server()`, or `perdure dev --test` by `TestServer(address)`.

    Leases and silence go on by real time, however far the test's time jumps: a connected worker keeps its claims.
    """

    __test__ = False  # no test class, though pytest would take it for one by its name

    def __init__(self, address: str, *, namespace: str | None = None, codec: Codec | None = None) -> None:
        self.address = address
        """host:port of the service."""
        self._config = connection_config(address, namespace, None, codec=codec)
        self._channel: grpc.aio.Channel | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connection; the server goes on."""
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close(None)

    def client(self, **options: Any) -> Client:
        """A client of this server; `options` as `Client` has them."""
        own: dict[str, Any] = {"namespace": self._config.namespace, "codec": self._config.codec}
        return Client(self.address, **(own | options))

    async def advance(self, by: timedelta, *, wait_idle: bool = True) -> Advanced:
        """Lets time pass: what falls due on the way is done in order, each before the next falls due.

        Args:
            by: How much.
            wait_idle: Wait for what became due to be done; what activities had begun before is not waited for. After 10 s of real
                time the rest passes at once.

        Raises:
            PerdureError: The server is no test server, or not there.
        """
        request = test_service_pb2.AdvanceTimeRequest(skip_wait_idle=not wait_idle)
        request.by.FromTimedelta(by)
        return await self._advance(request)

    async def advance_to(self, time: datetime, *, wait_idle: bool = True) -> Advanced:
        """Lets time pass up to this time, which must know its time zone; as `advance`."""
        if time.tzinfo is None:
            raise ValueError("`time` needs a time zone, such as datetime(2030, 1, 1, tzinfo=UTC)")
        request = test_service_pb2.AdvanceTimeRequest(skip_wait_idle=not wait_idle)
        request.to_time.FromDatetime(time)
        return await self._advance(request)

    async def advance_to_next_due(self, *, wait_idle: bool = True) -> Advanced:
        """Lets time pass up to the next due time of any workflow, and no further; as `advance`."""
        return await self._advance(test_service_pb2.AdvanceTimeRequest(to_next_due=True, skip_wait_idle=not wait_idle))

    async def script(self, workflow: Definition | str, *scripts: Scripted, replace: bool = False) -> int:
        """Says how attempts of a type's steps end; from then on no worker gets them.

        Args:
            workflow: The definition, or the name of its type.
            scripts: In order of preference, and before those that were told earlier. Attempts without one wait until one is given.
            replace: Forget those that were told earlier.

        Returns:
            How many the type has now.
        """
        workflow_type = workflow if isinstance(workflow, str) else workflow.workflow_type
        request = test_service_pb2.ScriptOutcomesRequest(
            namespace=self._config.namespace, workflow_type=workflow_type, outcomes=scripts, replace=replace
        )
        answer: test_service_pb2.ScriptOutcomesResponse = await self._call(self._stub().ScriptOutcomes, request)
        return answer.script_count

    async def wait_idle(self, *, within: timedelta = _PATIENCE, workflow: Definition | str = "", include_ready: bool = False) -> Idle:
        """Waits until nothing moves but by time, a signal, a person, or a worker that is not there.

        Args:
            within: How long at most, in real time; up to a minute.
            workflow: Only workflows of this type count.
            include_ready: Steps that are ready without a worker count as moving.

        Raises:
            StillMoving: Something did; an activity that runs, for example.
        """
        request = test_service_pb2.WaitIdleRequest(namespace=self._config.namespace, include_ready=include_ready)
        request.timeout.FromTimedelta(within)
        if workflow:
            workflow_type = workflow if isinstance(workflow, str) else workflow.workflow_type
            request.filter.CopyFrom(filter_pb2.WorkflowFilter(workflow_types=[workflow_type]))
        answer = await self._call(self._stub().WaitIdle, request)
        if not answer.idle:
            raise StillMoving(tuple(answer.busy))
        return Idle(_known(time_of(answer.now_time)), time_of(answer.next_due_time) if answer.HasField("next_due_time") else None)

    async def result(self, run: Run, as_type: Any = None) -> Any:
        """Lets time pass until the workflow ends, and gives its output as `run.result` does.

        Raises:
            Stuck: Nothing moves it any more.
            StillMoving: An activity has not ended within 10 s.
            WorkflowNotCompleted: As `run.result`.
        """
        while not (await run.get()).state.is_ended:
            idle = await self.wait_idle()
            view = await run.get()
            if view.state.is_ended:
                break
            if idle.next_due is None:
                steps = ", ".join(f"{step.name} {step.state}" for step in view.steps.values() if step.state not in _AT_REST)
                raise Stuck(f"{run!r} is {view.state}, and time does not move it: {steps}")
            await self.advance_to_next_due()
        return await run.result(as_type)

    async def _advance(self, request: test_service_pb2.AdvanceTimeRequest) -> Advanced:
        answer = await self._call(self._stub().AdvanceTime, request)
        following = time_of(answer.next_due_time) if answer.HasField("next_due_time") else None
        return Advanced(_known(time_of(answer.now_time)), answer.advanced.ToTimedelta(), answer.fired_count, following)

    def _stub(self) -> "test_service_pb2_grpc.TestServiceAsyncStub":
        if self._channel is None:
            self._channel = open_channel(self._config)
        return test_service_pb2_grpc.TestServiceStub(self._channel)

    async def _call(self, method: Callable[..., Any], request: Any) -> Any:
        await seal_apart(request, self._config.codec)
        try:
            return await method(request, timeout=limits.RESULT_WAIT_TIMEOUT + limits.CALL_MARGIN_TIMEOUT)
        except grpc.aio.AioRpcError as failure:
            raise error_of_call(failure) from None


@asynccontextmanager
async def start_server(*, lease: timedelta = timedelta(seconds=30), codec: Codec | None = None) -> AsyncGenerator[TestServer, None]:
    """A whole server in this process: real gRPC on a free port of this machine, a store in memory, and a clock that a test moves.

    Needs the server's distribution, `pip install 'perdure[server]'`. It runs on the loop of its caller and keeps nothing.

    Args:
        lease: After how long without a sign a worker is missed, in real time; from 3 s.
        codec: What values of scripts and of `server.client()` go through; None: that of PERDURE_CODEC_KEYS, if any.

    Raises:
        RuntimeError: The server is not installed.
    """
    found = entry_points(group=GROUP, name="server")
    if not found:
        raise RuntimeError("no server is installed here: pip install 'perdure[server]'")
    serve: Callable[[timedelta], AbstractAsyncContextManager[str]] = next(iter(found)).load()
    async with serve(lease) as address, TestServer(address, codec=codec) as server:
        yield server


def _known(time: datetime | None) -> datetime:
    assert time is not None, "the server always tells its time"
    return time

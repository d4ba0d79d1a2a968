"""The client's side of a scene: starts and signals workflows whatever breaks, and notes every answer."""

import asyncio
import itertools
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

import grpc

from perdure.v1 import admin_service_pb2, filter_pb2, payload_pb2, workflow_pb2, workflow_service_pb2
from tests.chaos.job import job_definition
from tests.chaos.journal import Journal, Reader
from tests.chaos.scene import Scene, WorkerProcess
from tests.e2e.channels import Perdure, connected
from tests.e2e.servers import PerdureProcess
from tests.e2e.stream_worker import lapse
from tests.e2e.watcher import Watched

T = TypeVar("T")

AT_ONCE = 24
CALL_SECONDS = 10.0
# An unknown result may be told by these and by nothing else: a definite refusal of what was stored would be a lie.
UNKNOWN = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED})


class Load:
    """Workflows of one type, on all servers of a scene in turn."""

    def __init__(self, scene: Scene, workflow_type: str, perdures: list[Perdure], attempts: int) -> None:
        self.scene = scene
        self.workflow_type = workflow_type
        self.attempts = attempts
        self.path = scene.directory / f"{workflow_type}.journal"
        self.reader = Reader(self.path)
        self.workers: list[WorkerProcess] = []
        self.unknown = 0
        self.streams = 0
        self._journal = Journal(self.path, "caller")
        self._perdures = perdures
        self._started: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._limit = asyncio.Semaphore(AT_ONCE)

    async def open(self) -> None:
        """Register the job, start the workers."""
        request = admin_service_pb2.RegisterDefinitionRequest(definition=job_definition(self.workflow_type, self.attempts), activate=True)
        await self.insist(lambda perdure: perdure.admin.RegisterDefinition(request))
        for worker in self.workers:
            await self.scene.start(worker)

    async def start(self, keys: Iterable[str]) -> None:
        """Start these, each until it is answered OK."""
        async with asyncio.TaskGroup() as group:
            for key in keys:
                group.create_task(self._start(key))

    async def signal(self, keys: Iterable[str]) -> None:
        """Signal these, each until it is answered OK; one that is not started yet as soon as it is."""
        async with asyncio.TaskGroup() as group:
            for key in keys:
                group.create_task(self._signal(key))

    async def watch(self, keys: Iterable[str]) -> None:
        """Watch these to their end, over as many streams as it takes."""
        async with asyncio.TaskGroup() as group:
            for key in keys:
                group.create_task(self._watch(key))

    async def until(self, reached: Callable[[Counter[str]], bool], within: float = 60.0) -> None:
        """Wait until the numbers of facts, by kind, are such."""
        async with asyncio.timeout(within):
            while not reached(self.reader.look().counts):
                await lapse(0.02)

    async def ended(self, within: float) -> None:
        """Wait until all have ended. Fails with what they stand at."""
        try:
            async with asyncio.timeout(within):
                while await self._open_count():
                    await lapse(0.2)
        except TimeoutError:
            raise AssertionError(f"{await self._open_count()} workflows have not ended within {within} s: {await self._stuck()}") from None

    async def close(self) -> None:
        """Stop the workers in order, so that the journal is complete."""
        for worker in self.workers:
            await self.scene.stop(worker)
        self.reader.look()

    async def insist(self, call: Callable[[Perdure], Awaitable[T]]) -> T:
        """Ask one server after the other until one answers; only an answer that leaves the result unknown is asked again."""
        for perdure in itertools.cycle(random.sample(self._perdures, len(self._perdures))):
            try:
                async with asyncio.timeout(CALL_SECONDS):
                    return await call(perdure)
            except TimeoutError:
                self.unknown += 1
            except grpc.aio.AioRpcError as error:
                if error.code() not in UNKNOWN:
                    raise
                self.unknown += 1
            await lapse(random.uniform(0.05, 0.2))
        raise AssertionError("a scene has servers")

    async def _start(self, key: str) -> None:
        name = workflow_pb2.WorkflowRef(workflow_type=self.workflow_type, business_key=key)
        request = workflow_service_pb2.StartWorkflowRequest(workflow=name, input=payload_pb2.Payload(json="7"))
        async with self._limit:
            answer = await self.insist(lambda perdure: perdure.workflows.StartWorkflow(request))
        self._journal.write("started", key, run_id=answer.run_id, fence=answer.fence, duplicate=not answer.created)
        self._started[key].set()

    async def _signal(self, key: str) -> None:
        await self._started[key].wait()
        name = workflow_pb2.WorkflowRef(workflow_type=self.workflow_type, business_key=key)
        request = workflow_service_pb2.SignalRequest(workflow=name, signal_name="wait_go", signal_id=f"go-{key}")
        async with self._limit:
            answer = await self.insist(lambda perdure: perdure.workflows.Signal(request))
        self._journal.write("signalled", key, signal_id=request.signal_id, duplicate=answer.duplicate, fence=answer.fence)

    async def _watch(self, key: str) -> None:
        await self._started[key].wait()
        seen = Watched()
        streams = 0
        name = workflow_pb2.WorkflowRef(workflow_type=self.workflow_type, business_key=key)
        while not seen.ended:
            streams += 1
            try:
                await seen.follow(random.choice(self._perdures), name)
            except grpc.aio.AioRpcError as error:
                if error.code() not in UNKNOWN:
                    raise
                await lapse(random.uniform(0.05, 0.2))
        self.streams += streams
        state = workflow_pb2.Workflow.State.Name(seen.ended).removeprefix("STATE_")
        self._journal.write("watched", key, outcome=state, reason=f"{seen.missing} missing" if seen.missing or seen.gaps else "")

    async def _open_count(self) -> int:
        states = workflow_pb2.Workflow
        conditions = filter_pb2.WorkflowFilter(
            workflow_types=[self.workflow_type], states=[states.STATE_RUNNING, states.STATE_FAILING, states.STATE_CANCELLING]
        )
        request = workflow_service_pb2.CountWorkflowsRequest(filter=conditions)
        return int((await self.insist(lambda perdure: perdure.workflows.CountWorkflows(request))).count)

    async def _stuck(self) -> str:
        conditions = filter_pb2.WorkflowFilter(workflow_types=[self.workflow_type], states=[workflow_pb2.Workflow.STATE_RUNNING])
        request = workflow_service_pb2.ListWorkflowsRequest(filter=conditions, page_size=5, view=workflow_pb2.WORKFLOW_VIEW_STEPS)
        answer = await self.insist(lambda perdure: perdure.workflows.ListWorkflows(request))
        return "\n".join(str(workflow) for workflow in answer.workflows)


@asynccontextmanager
async def loaded(scene: Scene, workflow_type: str, attempts: int = 3, servers: Sequence[PerdureProcess] = ()) -> AsyncIterator[Load]:
    """A load with its workers, on these servers or on the scene's. The workers are killed at the end if they have not been stopped."""
    addresses = [server.address for server in servers or scene.servers]
    async with AsyncExitStack() as stack:
        perdures = [await stack.enter_async_context(connected(address)) for address in addresses]
        load = Load(scene, workflow_type, perdures, attempts)
        load.workers = [WorkerProcess(scene.directory / kind, kind, load.path, workflow_type, addresses) for kind in ("stream", "client")]
        try:
            await load.open()
            yield load
        finally:
            for worker in load.workers:
                await scene.kill(worker)

"""Starts that are under way at once share calls, and each still hears of itself alone."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Any

import pytest
from grpc import StatusCode, aio
from opentelemetry import context, propagate

from perdure import AlreadyExists, Client, Context, Definition, NotFound, Unavailable
from perdure.v1 import workflow_service_pb2 as wire
from perdure.v1.workflow_service_pb2_grpc import WorkflowServiceServicer, add_WorkflowServiceServicer_to_server
from perdure_server.main import Running

note = Definition("note", version="1")
TRACE = "00-{:032x}-b7ad6b7169203331-01"


@note.step()
async def write(ctx: Context[None], input: int) -> int:
    del ctx
    return input


class Counting(aio.UnaryUnaryClientInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Counts the calls of a channel by method."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    async def intercept_unary_unary(self, continuation: Any, client_call_details: aio.ClientCallDetails, request: Any) -> Any:
        method: Any = client_call_details.method  # bytes, whatever the stubs say
        self.calls[method.decode().rpartition("/")[2]] += 1
        return await continuation(client_call_details, request)


@pytest.fixture
async def counting() -> Counting:
    return Counting()


@pytest.fixture
async def client(real: Running, counting: Counting) -> AsyncIterator[Client]:
    """A client of the real server whose calls are counted."""
    interceptors: Any = [counting]  # the stubs want a type that does not exist
    async with aio.insecure_channel(f"127.0.0.1:{real.port}", interceptors=interceptors) as channel, Client(channel=channel) as found:
        yield found


@contextmanager
def traced(traceparent: str) -> Iterator[None]:
    token = context.attach(propagate.extract({"traceparent": traceparent}))
    try:
        yield
    finally:
        context.detach(token)


async def test_starts_at_once_share_calls(client: Client, counting: Counting) -> None:
    await client.definitions.register(note, activate=True)
    runs = await asyncio.gather(*(client.start(note, key=f"k{number}", input=number) for number in range(50)))
    assert all(run.created for run in runs)
    assert [run.key for run in runs] == [f"k{number}" for number in range(50)]
    assert counting.calls["StartWorkflow"] == 2
    assert 1 <= counting.calls["StartWorkflows"] <= 4


async def test_one_start_at_a_time_goes_alone(client: Client, counting: Counting) -> None:
    await client.definitions.register(note, activate=True)
    for number in range(3):
        await client.start(note, key=f"k{number}", input=number)
    assert counting.calls["StartWorkflows"] == 0


async def test_each_start_hears_of_itself(client: Client) -> None:
    await client.definitions.register(note, activate=True)
    await client.start(note, key="taken", input=1)
    starts = [client.start(note, key=f"k{number}", input=number) for number in range(10)]
    starts += [client.start(note, key="taken", input=2), client.start("nothing", key="k"), client.start(note, key="taken", input=1)]
    *made, other, unknown, repeat = await asyncio.gather(*starts, return_exceptions=True)
    assert not [item for item in made if isinstance(item, BaseException)]
    assert isinstance(other, AlreadyExists)
    assert isinstance(unknown, NotFound)
    assert not isinstance(repeat, BaseException)
    assert not repeat.created


async def test_a_start_that_is_cancelled_while_it_waits_is_not_made(client: Client) -> None:
    await client.definitions.register(note, activate=True)

    async def cancel_soon() -> None:
        starts[4].cancel()  # by now the first two are sent, and the others wait

    async with asyncio.TaskGroup() as tasks:
        starts = [tasks.create_task(client.start(note, key=f"k{number}", input=number)) for number in range(5)]
        tasks.create_task(cancel_soon())
    results = await asyncio.gather(*starts, return_exceptions=True)
    assert isinstance(results[4], asyncio.CancelledError)
    assert not [item for item in results[:4] if isinstance(item, BaseException)]
    with pytest.raises(NotFound):
        await client.get(note, "k4")


async def test_starts_of_different_traces_do_not_share(client: Client, counting: Counting) -> None:
    await client.definitions.register(note, activate=True)

    async def start(number: int) -> None:
        with traced(TRACE.format(number)):
            await client.start(note, key=f"k{number}", input=number)

    await asyncio.gather(*(start(number) for number in range(1, 9)))
    assert counting.calls["StartWorkflow"] == 2
    assert counting.calls["StartWorkflows"] == 6


class Failing(WorkflowServiceServicer):
    """Takes starts one by one, and says of many what it was told to say."""

    def __init__(self, code: StatusCode) -> None:
        self.code = code
        self.taken: list[str] = []

    async def StartWorkflow(self, request: wire.StartWorkflowRequest, context: Any) -> wire.StartWorkflowResponse:  # noqa: N802 -- gRPC names it
        del context
        self.taken.append(request.workflow.business_key)
        return wire.StartWorkflowResponse(workflow=request.workflow, created=True)

    async def StartWorkflows(self, request: wire.StartWorkflowsRequest, context: Any) -> wire.StartWorkflowsResponse:  # noqa: N802 -- gRPC names it
        if self.code is not StatusCode.OK:
            await context.abort(self.code, "no")
        answer = wire.StartWorkflowsResponse()
        for _ in request.requests:
            answer.results.add().status.code = StatusCode.UNAVAILABLE.value[0]
        return answer


@asynccontextmanager
async def served(servicer: Failing) -> AsyncIterator[Client]:
    server = aio.server()
    add_WorkflowServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with Client(f"127.0.0.1:{port}", timeout=timedelta(seconds=10)) as client:
        yield client
    await server.stop(None)


@pytest.mark.parametrize(
    "code", [StatusCode.OK, StatusCode.UNAVAILABLE, StatusCode.UNIMPLEMENTED, StatusCode.INTERNAL], ids=lambda code: code.name
)
async def test_what_a_shared_call_could_not_settle_goes_by_itself(code: StatusCode) -> None:
    servicer = Failing(code)  # type: ignore[abstract]  # the others answer UNIMPLEMENTED
    async with served(servicer) as client:
        runs = await asyncio.gather(*(client.start("note", key=f"k{number}") for number in range(6)))
    assert all(run.created for run in runs)
    assert sorted(servicer.taken) == [f"k{number}" for number in range(6)]


async def test_no_server_is_an_error_for_each() -> None:
    async with Client("127.0.0.1:1", connect_timeout=timedelta(seconds=0.3)) as client:
        results = await asyncio.gather(*(client.start("note", key=f"k{number}") for number in range(6)), return_exceptions=True)
    assert {type(result) for result in results} == {Unavailable}

"""SIGTERM while work is under way: told politely, nothing that was answered OK is lost, gone in time (case C60)."""

import asyncio
import signal
import time
from collections.abc import Awaitable

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from perdure.v1 import claim_pb2, worker_service_pb2
from tests.conftest import Eventually
from tests.e2e.channels import COMPLETED, Perdure, State, connected, refusal_of
from tests.e2e.conftest import MakeServer
from tests.e2e.servers import GRACE_MS, PerdureProcess

pytestmark = pytest.mark.slow

WORKFLOWS = 40
GONE_WITHIN = GRACE_MS / 1000 + 2 + 5  # the promise, and what a busy machine adds


async def outcome(call: Awaitable[object]) -> str:
    """OK, or the reason of the error."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        # One that the transport made has no reason.
        return refusal_of(error).reason or error.code().name
    return "OK"


async def watch_to_the_end(perdure: Perdure) -> str:
    """How a Watch ended."""
    try:
        await perdure.watched("open")
    except grpc.aio.AioRpcError as error:
        return refusal_of(error).reason
    return "OK"


async def claim_to_the_end(perdure: Perdure, ready: asyncio.Event) -> list[str]:
    """What a Claim stream with credit was told, after its welcome, until its end."""
    stream = perdure.workers.Claim()  # type: ignore[call-arg]  # without an iterator the call is written to by hand
    hello = worker_service_pb2.Hello(worker_id="w", capabilities=["go_away"], pools=[perdure.pool("later")])
    await stream.write(worker_service_pb2.ClaimRequest(hello=hello))
    await stream.read()
    await stream.write(worker_service_pb2.ClaimRequest(credit=worker_service_pb2.Credit(pool="p", count=5)))
    ready.set()
    told: list[str] = []
    while isinstance(message := await stream.read(), worker_service_pb2.ClaimResponse):
        told.append(message.WhichOneof("message") or "")
    return told


async def claims_of(perdure: Perdure, count: int) -> list[claim_pb2.Claim]:
    """Start that many workflows, and take the first step of each."""
    for number in range(count):
        await perdure.start(f"k{number}")
    return [await perdure.taken("a") for _ in range(count)]


async def gone(server: PerdureProcess, eventually: Eventually) -> float:
    """Seconds until the process is gone."""
    began = time.monotonic()
    await eventually(lambda: server.exit_code is not None, within=GONE_WITHIN)
    return time.monotonic() - began


async def test_c60_sigterm_during_a_claim_a_watch_and_completes(new_server: MakeServer, eventually: Eventually) -> None:
    server = new_server()
    async with connected(server.address) as perdure, asyncio.TaskGroup() as group:
        await perdure.register("a", "later: a")
        claims = await claims_of(perdure, WORKFLOWS)
        await perdure.start("open")
        ready = asyncio.Event()
        claiming = group.create_task(claim_to_the_end(perdure, ready))
        watching = group.create_task(watch_to_the_end(perdure))
        polling = group.create_task(outcome(perdure.poll("later", wait=30)))
        await ready.wait()
        requests = [worker_service_pb2.CompleteRequest(claim_token=claim.claim_token) for claim in claims]
        for request in requests:
            request.completed.output.json = '"kept"'
        completing = [group.create_task(outcome(perdure.workers.Complete(request))) for request in requests]
        server.send(signal.SIGTERM)
        await gone(server, eventually)
        assert server.exit_code == 0
        assert not server.complaints
        assert "go_away" in await claiming
        assert await watching == "DRAINING"
        answers = [await task for task in completing]
        assert set(answers) <= {"OK", "DRAINING", "UNAVAILABLE"}, answers
        assert await polling in {"OK", "DRAINING"}
    server.start()
    async with connected(server.address) as perdure:
        for claim, request, answer in zip(claims, requests, answers, strict=True):
            steps = await perdure.steps(claim.workflow.business_key)
            assert answer != "OK" or steps["a"].output.json == '"kept"'
            again = await perdure.workers.Complete(request)
            assert answer != "OK" or again.duplicate
            assert (await perdure.steps(claim.workflow.business_key))["a"].state == State.STATE_COMPLETED


async def test_c60_health_says_no_before_the_server_goes(new_server: MakeServer) -> None:
    server = new_server()
    async with connected(server.address) as perdure:
        health = health_pb2_grpc.HealthStub(perdure.channel)
        watch = health.Watch(health_pb2.HealthCheckRequest(service="perdure.v1.WorkerService"))
        seen = [(await watch.read()).status]
        server.send(signal.SIGTERM)
        while seen[-1] == health_pb2.HealthCheckResponse.SERVING:
            seen.append((await watch.read()).status)
    assert seen[-1] == health_pb2.HealthCheckResponse.NOT_SERVING


async def test_c60_work_goes_on_at_the_other_server(new_server: MakeServer, eventually: Eventually) -> None:
    leaving, staying = new_server(), new_server()
    async with connected(leaving.address) as first, connected(staying.address) as second:
        await first.register("a", "b: a")
        await first.start()
        claim = await first.taken()
        leaving.send(signal.SIGTERM)
        await gone(leaving, eventually)
        await second.complete(claim, '"x"')
        await second.complete(await second.taken())
        assert (await second.ended()).state == COMPLETED

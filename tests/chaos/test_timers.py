"""Waits that come due while nothing runs: each fires once, soon after the return, and none before its time (case C13)."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from redis.asyncio import Redis

from perdure.v1 import admin_service_pb2, definition_pb2, filter_pb2, payload_pb2, workflow_pb2, workflow_service_pb2
from perdure_server.kernel.workflow import StepState
from tests.chaos.checker import read
from tests.chaos.conftest import Report
from tests.chaos.extent import extent
from tests.chaos.scene import Scene
from tests.e2e.channels import Perdure, connected, seconds
from tests.e2e.stream_worker import lapse

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(120)]

WAITS = extent(200, long=500)
BATCH = 250
DUE_AFTER = 6.0
CATCH_UP = 20.0  # stated for the stand-in store, which flushes about 80 changes a second: all fire within this from the return


def timers(workflow_type: str) -> definition_pb2.Definition:
    """One step, which waits for a time."""
    made = definition_pb2.Definition(workflow_type=workflow_type)
    made.steps.add(name="due").wait.wait.any_of.add().after.CopyFrom(seconds(DUE_AFTER))
    return made


async def start_all(perdure: Perdure) -> None:
    """In batches, as a caller with much to start does."""
    for first in range(0, WAITS, BATCH):
        request = workflow_service_pb2.StartWorkflowsRequest()
        for number in range(first, min(first + BATCH, WAITS)):
            request.requests.add(workflow=perdure.ref(f"k{number}"), input=payload_pb2.Payload(json="1"))
        answer = await perdure.workflows.StartWorkflows(request)
        assert not [result for result in answer.results if result.HasField("status")]


@asynccontextmanager
async def away(scene: Scene, *, servers: bool, redis: bool) -> AsyncIterator[None]:
    """In the block these are dead. Redis comes back empty; where the servers are dead, it is flushed instead."""
    if not servers:
        await scene.kill(scene.redis)
        yield
        await scene.start(scene.redis)
        return
    for server in scene.servers:
        await scene.kill(server)
    if redis:
        async with Redis.from_url(scene.redis.url) as client:
            await client.flushall()
    yield
    for server in scene.servers:
        await scene.start(server)


async def running(perdure: Perdure) -> int:
    """How many have not ended, by the list of a server."""
    conditions = filter_pb2.WorkflowFilter(workflow_types=[perdure.workflow_type], states=[workflow_pb2.Workflow.STATE_RUNNING])
    return int((await perdure.workflows.CountWorkflows(workflow_service_pb2.CountWorkflowsRequest(filter=conditions))).count)


@pytest.mark.parametrize(("servers", "redis"), [(True, True), (True, False), (False, True)], ids=["all", "servers", "redis"])
async def test_c13_waits_that_came_due_meanwhile_fire_once_each(scene: Scene, report: Report, servers: bool, redis: bool) -> None:
    workflow_type = f"timers_{servers}_{redis}".lower()
    async with connected(scene.addresses[0], workflow_type) as perdure:
        await perdure.admin.RegisterDefinition(admin_service_pb2.RegisterDefinitionRequest(definition=timers(workflow_type), activate=True))
        await start_all(perdure)
        async with away(scene, servers=servers, redis=redis):
            await lapse(DUE_AFTER)
        back = time.monotonic()
        async with asyncio.timeout(CATCH_UP):
            while await running(perdure):
                await lapse(0.2)
        report(f"{WAITS} overdue waits fired within {time.monotonic() - back:.1f} s of the return")
    for key, workflow in (await read(scene, workflow_type)).items():
        ends = [event for event in workflow.events if event.step == "due" and event.state == StepState.COMPLETED]
        assert len(ends) == 1, f"{key} fired {len(ends)} times"
        assert ends[0].time >= workflow.start_time + DUE_AFTER * 1000, f"{key} fired too early"

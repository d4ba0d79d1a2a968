"""Many starts of one key, at once, on two servers: one workflow, and nobody sees an error (case C01)."""

import asyncio

import pytest

from perdure.v1 import workflow_service_pb2
from tests.e2e.channels import Perdure, connected
from tests.e2e.conftest import MakeServer

pytestmark = pytest.mark.slow

KEYS = 15  # as many as fit into twenty seconds; ALL_KEYS in `make chaos`
ALL_KEYS = 100
CALLS = 200


async def start_together(perdures: list[Perdure], key: str) -> list[workflow_service_pb2.StartWorkflowResponse]:
    """CALLS starts of one key, released together, shared among the servers."""
    gate = asyncio.Event()

    async def call(perdure: Perdure) -> workflow_service_pb2.StartWorkflowResponse:
        await gate.wait()
        return await perdure.start(key)

    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(call(perdures[number % len(perdures)])) for number in range(CALLS)]
        gate.set()
    return [call.result() for call in calls]


async def check_starts(perdures: list[Perdure], keys: int) -> None:
    """One workflow per key, one `created`, one claim of its first step."""
    for number in range(keys):
        answers = await start_together(perdures, f"k{number}")
        assert sum(answer.created for answer in answers) == 1
        assert len({(answer.run_id, answer.fence) for answer in answers}) == 1
    counted = await perdures[0].workflows.CountWorkflows(workflow_service_pb2.CountWorkflowsRequest())
    assert counted.count == keys
    claims = [await perdures[number % 2].taken() for number in range(keys)]
    assert sorted(claim.workflow.business_key for claim in claims) == sorted(f"k{number}" for number in range(keys))
    assert await perdures[0].poll(wait=0.2) is None


@pytest.mark.chaos
@pytest.mark.timeout(240)
async def test_c01_the_same_for_a_hundred_keys(new_server: MakeServer) -> None:
    async with connected(new_server().address) as first, connected(new_server().address) as second:
        await first.register("a")
        await check_starts([first, second], ALL_KEYS)


async def test_c01_two_hundred_starts_of_one_key_on_two_servers_are_one_workflow(new_server: MakeServer) -> None:
    async with connected(new_server().address) as first, connected(new_server().address) as second:
        await first.register("a")
        await check_starts([first, second], KEYS)

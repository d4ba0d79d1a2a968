"""Many changes of one thing at the same moment: each is made, none is refused for the others' sake."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import resource_pb2
from tests.rpc.conftest import Served

MANY = 120
Change = Callable[[Served, int], Awaitable[object]]


def namespace(served: Served, number: int) -> Awaitable[object]:
    made = resource_pb2.Namespace(namespace="n", description=f"{number}")
    return served.admin.PutNamespace(admin.PutNamespaceRequest(namespace=made, request_id=f"{number}"))


def resource(served: Served, number: int) -> Awaitable[object]:
    made = resource_pb2.Resource(resource="asr", capacity=number + 1)
    return served.admin.PutResource(admin.PutResourceRequest(resource=made, request_id=f"{number}"))


def schedule(served: Served, number: int) -> Awaitable[object]:
    request = admin.PutScheduleRequest(request_id=f"{number}")
    request.schedule.schedule_id, request.schedule.start.workflow_type, request.schedule.paused = "s", "note", True
    request.schedule.triggers.add().interval.every.seconds = 3_600 + number
    return served.admin.PutSchedule(request)


def trigger(served: Served, number: int) -> Awaitable[object]:
    return served.admin.TriggerSchedule(admin.TriggerScheduleRequest(schedule_id="s", request_id=f"t{number}"))


def policy(served: Served, number: int) -> Awaitable[object]:
    request = admin.UpdatePolicyRequest(workflow_type="note")
    request.steps.add(step="a").policy.priority = number % 10
    return served.admin.UpdatePolicy(request)


@pytest.mark.parametrize("change", [namespace, resource, schedule, trigger, policy])
async def test_each_is_made(served: Served, change: Change) -> None:
    await served.register("a")
    await schedule(served, 0)
    await asyncio.gather(*(change(served, number) for number in range(MANY)))


async def test_calls_that_come_at_once_wait_their_turn(served: Served) -> None:
    # By its default gRPC's core answers some of more than a thousand calls that wait with CANCELLED, and all beyond three thousand.
    calls = [served.admin.GetServerInfo(admin.GetServerInfoRequest()) for _ in range(3_500)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [answer for answer in answers if isinstance(answer, BaseException)] == []

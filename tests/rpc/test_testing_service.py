"""TestService over a real channel: time that a test moves, and quiet that it can wait for."""

import time
from collections.abc import AsyncIterator

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

from perdure.testing.v1 import test_service_pb2 as wire
from perdure.testing.v1 import test_service_pb2_grpc
from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import workflow_pb2
from perdure.v1 import workflow_service_pb2 as workflows
from perdure.v1.filter_pb2 import WorkflowFilter
from perdure.v1.resource_pb2 import Schedule, ScheduledStart
from perdure.v1.scripted_pb2 import ScriptedOutcome
from perdure_server.main import Parts
from perdure_server.store.memory import MemoryStore
from tests.rpc.conftest import Served, definition, ref, refused, serving

State = workflow_pb2.Workflow.State
DAY = 86_400


@pytest.fixture
async def testing() -> AsyncIterator[Served]:
    """A server as `perdure dev --test` serves it."""
    async with serving(parts=Parts(store=MemoryStore(lambda: time.time_ns() // 1_000_000), dev=True, test=True)) as found:
        yield found


def stub(served: Served) -> "test_service_pb2_grpc.TestServiceAsyncStub":
    return test_service_pb2_grpc.TestServiceStub(served.channel)


async def get(served: Served, key: str = "k") -> workflow_pb2.Workflow:
    return (await served.workflows.GetWorkflow(workflows.GetWorkflowRequest(workflow=ref(key)))).workflow


async def pausing(served: Served, days: int = 30) -> None:
    made = definition("pause")
    made.steps[0].wait.wait.any_of.add().after.seconds = days * DAY
    await served.admin.RegisterDefinition(admin.RegisterDefinitionRequest(definition=made, activate=True))


async def test_thirty_days_pass_in_no_time(testing: Served) -> None:
    await pausing(testing)
    await testing.start()
    asked = wire.AdvanceTimeRequest()
    asked.by.seconds = 29 * DAY
    first = await stub(testing).AdvanceTime(asked)
    assert (first.advanced.seconds, first.fired_count) == (29 * DAY, 0)
    assert first.next_due_time.seconds - first.now_time.seconds in {DAY, DAY - 1}
    assert (await get(testing)).state == State.STATE_RUNNING
    second = await stub(testing).AdvanceTime(wire.AdvanceTimeRequest(to_next_due=True))
    assert second.fired_count == 1
    assert not second.HasField("next_due_time")
    ended = await get(testing)
    assert ended.state == State.STATE_COMPLETED
    assert ended.end_time.seconds - ended.start_time.seconds == 30 * DAY


async def test_a_time_in_the_past_changes_nothing(testing: Served) -> None:
    asked = wire.AdvanceTimeRequest()
    asked.to_time.seconds = 1_000
    answer = await stub(testing).AdvanceTime(asked)
    assert not answer.advanced.seconds
    assert answer.now_time.seconds >= int(time.time()) - 5
    assert not (await stub(testing).AdvanceTime(wire.AdvanceTimeRequest(to_next_due=True))).advanced.seconds


async def test_faults_are_named(testing: Served) -> None:
    for wrong, field in (
        (wire.AdvanceTimeRequest(), "target"),
        (wire.AdvanceTimeRequest(to_next_due=False), "to_next_due"),
        (wire.AdvanceTimeRequest(by=Duration(seconds=-1)), "by"),
    ):
        found = await refused(stub(testing).AdvanceTime(wrong))
        assert (found.code, list(found.fields)) == (grpc.StatusCode.INVALID_ARGUMENT, [field])
    found = await refused(
        stub(testing).WaitIdle(wire.WaitIdleRequest(timeout=Duration(seconds=61), filter=WorkflowFilter(labels={"!": ""})))
    )
    assert "timeout" in found.fields
    assert len(found.fields) == 2


async def test_idle_says_what_moves_and_when_something_is_due(testing: Served) -> None:
    await pausing(testing)
    await testing.register("a", workflow_type="other")
    await testing.start()
    await testing.start("ready", "other")
    calm = await stub(testing).WaitIdle(wire.WaitIdleRequest())
    assert (calm.idle, list(calm.busy)) == (True, [])
    assert calm.next_due_time.seconds - calm.now_time.seconds in range(30 * DAY - 2, 30 * DAY + 1)
    asked = wire.WaitIdleRequest(include_ready=True, timeout=Duration(nanos=50_000_000))
    moving = await stub(testing).WaitIdle(asked)
    assert (moving.idle, list(moving.busy)) == (False, ["other/ready: a READY"])
    asked.filter.workflow_types.append("note")
    assert (await stub(testing).WaitIdle(asked)).idle, "only these count"
    asked.filter.workflow_types[:] = ["other"]
    asked.filter.queues.append("default")
    assert list((await stub(testing).WaitIdle(asked)).busy) == ["other/ready: a READY"], "what no index serves is looked at row by row"
    asked.filter.queues[:] = ["gpu"]
    assert (await stub(testing).WaitIdle(asked)).idle


async def test_scripts_play_the_worker(testing: Served) -> None:
    made = definition("a", "b: a")
    made.steps[0].policy.retry.initial_interval.seconds = 3_600
    made.steps[0].policy.retry.max_interval.seconds = 3_600
    await testing.admin.RegisterDefinition(admin.RegisterDefinitionRequest(definition=made, activate=True))
    await testing.start()
    asked = wire.ScriptOutcomesRequest(workflow_type="note")
    asked.outcomes.add(step="a", attempt=1).failed.type = "test.broken"
    asked.outcomes.add().completed.output.json = '"done"'
    assert (await stub(testing).ScriptOutcomes(asked)).script_count == 2
    assert (await stub(testing).WaitIdle(wire.WaitIdleRequest())).idle
    assert (await get(testing)).steps[0].state == workflow_pb2.StepView.STATE_BACKOFF
    assert (await stub(testing).AdvanceTime(wire.AdvanceTimeRequest(to_next_due=True))).advanced.seconds >= 2_800
    ended = await get(testing)
    assert (ended.state, ended.output.json, ended.steps[0].attempt) == (State.STATE_COMPLETED, '"done"', 2)
    asked.outcomes.add().page.children.add(json="{")
    asked.workflow_type = "?"
    found = await refused(stub(testing).ScriptOutcomes(asked))
    assert sorted(found.fields) == ["outcomes[2].page.children[0]", "workflow_type"]


async def test_schedules_fire_when_their_time_passes(testing: Served) -> None:
    await testing.register("a")
    schedule = Schedule(schedule_id="nightly", start=ScheduledStart(workflow_type="note", business_key_template="night {fire_time}"))
    schedule.triggers.add().cron.expression = "0 3 * * *"
    await testing.admin.PutSchedule(admin.PutScheduleRequest(schedule=schedule))
    await stub(testing).ScriptOutcomes(wire.ScriptOutcomesRequest(workflow_type="note", outcomes=[ScriptedOutcome()]))
    asked = wire.AdvanceTimeRequest()
    asked.by.seconds = 3 * DAY
    answer = await stub(testing).AdvanceTime(asked)
    assert answer.fired_count == 3
    assert (answer.next_due_time.ToDatetime().hour, answer.next_due_time.seconds - answer.now_time.seconds <= DAY) == (3, True)
    nights = (await testing.workflows.ListWorkflows(workflows.ListWorkflowsRequest())).workflows
    assert [night.state for night in nights] == [State.STATE_COMPLETED] * 3, "each at its time, not all at the end"
    assert len({night.start_time.ToDatetime().date() for night in nights}) == 3


async def test_a_server_that_keeps_real_work_refuses(served: Served) -> None:
    for call in (
        stub(served).AdvanceTime(wire.AdvanceTimeRequest(to_next_due=True)),
        stub(served).WaitIdle(wire.WaitIdleRequest()),
        stub(served).ScriptOutcomes(wire.ScriptOutcomesRequest(workflow_type="note")),
    ):
        found = await refused(call)
        assert (found.code, found.reason) == (grpc.StatusCode.UNIMPLEMENTED, "NOT_IMPLEMENTED")

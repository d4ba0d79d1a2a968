"""Schedules and namespaces over a real channel."""

import grpc
import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from google.rpc.status_pb2 import Status

from perdure.v1 import admin_service_pb2 as wire
from perdure.v1 import resource_pb2
from perdure.v1 import workflow_service_pb2 as workflows
from perdure_server.engine.values import Ref
from perdure_server.kernel import limits
from perdure_server.kernel.schedule import MISSED, Fired
from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.rpc.encode import schedules as encode
from tests.rpc.conftest import Served, ref, refused


def schedule(name: str = "nightly", **fields: object) -> resource_pb2.Schedule:
    made = resource_pb2.Schedule(schedule_id=name, **fields)  # type: ignore[arg-type]  # fields of the message
    if not made.triggers:
        made.triggers.add().cron.expression = "0 2 * * *"
    if not made.HasField("start"):
        made.start.workflow_type = "note"
    return made


async def put(served: Served, made: resource_pb2.Schedule, *paths: str, **fields: object) -> wire.PutScheduleResponse:
    request = wire.PutScheduleRequest(schedule=made, update_mask=FieldMask(paths=paths), **fields)  # type: ignore[arg-type]  # its fields
    return await served.admin.PutSchedule(request)


async def listed(served: Served, **fields: object) -> list[resource_pb2.Schedule]:
    request = wire.ListSchedulesRequest(**fields)  # type: ignore[arg-type]  # fields of the message
    return list((await served.admin.ListSchedules(request)).schedules)


class TestPut:
    async def test_a_schedule_comes_back_as_it_was_put(self, served: Served) -> None:
        made = schedule(jitter={"seconds": 5}, overlap="OVERLAP_ALLOW", catch_up_window={"seconds": 7}, note="why")
        made.triggers[0].cron.time_zone = "Europe/Berlin"
        made.triggers.add().interval.every.seconds = 90
        made.start.input.json = '{"a": 1}'
        made.start.labels["team"] = "m"
        made.start.priority = 0
        made.start.workflow_timeout.seconds = 30
        made.from_time.seconds = 2_000_000_000
        made.to_time.seconds = 2_100_000_000
        answer = await put(served, made)
        assert answer.created
        found = answer.schedule
        assert len(found.next_fire_times) == 10
        assert all(2_000_000_000 <= time.seconds < 2_100_000_000 for time in found.next_fire_times)
        assert found.start.business_key_template == "nightly@{fire_time}"
        assert (await listed(served))[0] == found
        again = await put(served, found)
        assert not again.created
        assert again.schedule == found, "what the server shows can be put"

    async def test_a_mask_changes_what_it_names(self, served: Served) -> None:
        made = (await put(served, schedule(note="kept"))).schedule
        change = resource_pb2.Schedule(schedule_id="nightly", paused=True)
        change.start.priority = 3
        found = (await put(served, change, "paused", "start.priority")).schedule
        assert (found.paused, found.note, found.start.priority, found.start.workflow_type) == (True, "kept", 3, "note")
        assert not found.next_fire_times
        assert found.etag != made.etag
        cleared = (await put(served, resource_pb2.Schedule(schedule_id="nightly"), "paused", "note", "start.priority")).schedule
        assert (cleared.paused, cleared.note, cleared.start.HasField("priority")) == (False, "", False)

    @pytest.mark.parametrize("path", ["fired_count", "nothing", "start.nothing", "triggers.cron", "namespace", "paused.x"])
    async def test_a_mask_names_fields_that_may_change(self, served: Served, path: str) -> None:
        await put(served, schedule())
        found = await refused(put(served, schedule(), path))
        assert (found.code, found.reason, found.facts["path"]) == (grpc.StatusCode.INVALID_ARGUMENT, "UPDATE_MASK_INVALID", path)

    async def test_without_a_mask_unset_fields_return_to_their_defaults(self, served: Served) -> None:
        await put(served, schedule(note="x", overlap="OVERLAP_ALLOW", paused=True))
        found = (await put(served, schedule())).schedule
        assert (found.note, found.overlap, found.paused) == ("", resource_pb2.Schedule.OVERLAP_SKIP, False)
        assert found.catch_up_window.seconds == 60

    async def test_an_old_etag_is_a_conflict(self, served: Served) -> None:
        etag = (await put(served, schedule())).schedule.etag
        await put(served, schedule(note="x", etag=etag))
        found = await refused(put(served, schedule(note="y", etag=etag)))
        assert (found.code, found.reason) == (grpc.StatusCode.ABORTED, "REVISION_CONFLICT")

    async def test_validate_only(self, served: Served) -> None:
        answer = await put(served, schedule(), validate_only=True)
        assert answer.created
        assert len(answer.schedule.next_fire_times) == 10
        assert await listed(served) == []

    async def test_all_faults_arrive_at_once(self, served: Served) -> None:
        made = resource_pb2.Schedule(schedule_id="x", note="n" * 5_000)
        made.triggers.add().cron.expression = "61 * * * *"
        made.triggers.add().cron.time_zone = "Middle/Earth"
        made.triggers[1].cron.expression = "* * * * *"
        made.triggers.add().interval.every.nanos = 999_000_000
        made.triggers.add().interval.every.seconds = 5
        made.triggers[3].interval.phase.seconds = 5
        made.triggers.add()
        made.start.business_key_template = "always the same"
        made.start.priority = 11
        made.start.input.json = "NaN"
        found = await refused(put(served, made))
        assert found.code is grpc.StatusCode.INVALID_ARGUMENT
        assert set(found.fields) == {
            "schedule.note",
            "schedule.triggers[0].cron.expression",
            "schedule.triggers[1].cron.time_zone",
            "schedule.triggers[2].interval.every",
            "schedule.triggers[3].interval.phase",
            "schedule.triggers[4]",
            "schedule.start.business_key_template",
            "schedule.start.priority",
            "schedule.start.input",
            "schedule.start.workflow_type",
        }

    async def test_a_wrong_calendar_has_its_own_reason(self, served: Served) -> None:
        made = schedule()
        made.triggers[0].cron.expression = "@daily"
        assert (await refused(put(served, made))).reason == "SCHEDULE_INVALID"

    @pytest.mark.parametrize("name", ["", "x" * 257])
    async def test_ids_have_bounds(self, served: Served, name: str) -> None:
        found = await refused(put(served, schedule(name)))
        assert set(found.fields) == {"schedule.schedule_id"}


class TestLife:
    async def test_trigger_starts_a_workflow_that_names_its_schedule(self, served: Served) -> None:
        await served.register("a")
        await put(served, schedule())
        request = wire.TriggerScheduleRequest(schedule_id="nightly", request_id="r")
        request.planned_time.seconds = 1_800_000_000
        firing = (await served.admin.TriggerSchedule(request)).firing
        assert firing.workflow.business_key == "nightly@2027-01-15T08:00:00Z"
        assert not firing.HasField("status")
        assert (await served.admin.TriggerSchedule(request)).firing == firing
        found = await served.workflows.GetWorkflow(workflows.GetWorkflowRequest(workflow=ref(firing.workflow.business_key)))
        assert found.workflow.schedule_id == "nightly"
        shown = (await listed(served, schedule_id="nightly"))[0]
        assert (shown.fired_count, list(shown.recent_firings)) == (1, [firing])

    async def test_a_skipped_firing_says_why(self, served: Served) -> None:
        await served.register("a")
        await put(served, schedule())
        first, second = [
            (await served.admin.TriggerSchedule(wire.TriggerScheduleRequest(schedule_id="nightly", request_id=name))).firing
            for name in ("r1", "r2")
        ]
        assert first.HasField("workflow")
        assert not second.HasField("workflow")
        assert second.status.code == grpc.StatusCode.FAILED_PRECONDITION.value[0]

    async def test_a_trigger_needs_a_request_id(self, served: Served) -> None:
        await put(served, schedule())
        found = await refused(served.admin.TriggerSchedule(wire.TriggerScheduleRequest(schedule_id="nightly")))
        assert set(found.fields) == {"request_id"}

    async def test_delete(self, served: Served) -> None:
        await put(served, schedule())
        await served.admin.DeleteSchedule(wire.DeleteScheduleRequest(schedule_id="nightly", validate_only=True))
        assert len(await listed(served)) == 1
        await served.admin.DeleteSchedule(wire.DeleteScheduleRequest(schedule_id="nightly"))
        assert await listed(served) == []
        found = await refused(served.admin.DeleteSchedule(wire.DeleteScheduleRequest(schedule_id="nightly")))
        assert (found.code, found.reason) == (grpc.StatusCode.NOT_FOUND, "SCHEDULE_NOT_FOUND")

    async def test_pages(self, served: Served) -> None:
        for name in ("b", "a", "c"):
            await put(served, schedule(name))
        other = schedule("d")
        other.start.workflow_type = "other"
        await put(served, other)
        first = await served.admin.ListSchedules(wire.ListSchedulesRequest(page_size=2, workflow_type="note"))
        assert [found.schedule_id for found in first.schedules] == ["a", "b"]
        token = first.next_page_token
        rest = await served.admin.ListSchedules(wire.ListSchedulesRequest(page_size=2, workflow_type="note", page_token=token))
        assert [found.schedule_id for found in rest.schedules] == ["c"]
        assert not rest.next_page_token
        found = await refused(served.admin.ListSchedules(wire.ListSchedulesRequest(page_size=2, page_token=token)))
        assert found.reason == "PAGE_TOKEN_INVALID"


def test_firings_of_every_kind_are_shown() -> None:
    target = resource_pb2.ScheduleFiring()
    encode.firing(target, Fired(0, 0, None, MISSED, "late"))
    assert target.status == Status(code=grpc.StatusCode.DEADLINE_EXCEEDED.value[0], message="late")
    encode.firing(target, Fired(0, 0, None, "OF_A_NEWER_SERVER", "text"))
    assert target.status.code == grpc.StatusCode.UNKNOWN.value[0]


class TestNamespaces:
    async def test_default_is_there_without_being_put(self, served: Served) -> None:
        await served.register("a")
        await served.start()
        found = list((await served.admin.ListNamespaces(wire.ListNamespacesRequest())).namespaces)
        assert [namespace.namespace for namespace in found] == ["default"]
        assert (found[0].etag, found[0].usage.open_workflows) == ("", 1)

    async def test_put_list_and_change(self, served: Served) -> None:
        made = resource_pb2.Namespace(namespace="team-a", description="text", labels={"a": "b"})
        made.limits.open_workflows = 0
        made.limits.starts_per_second = 0.5
        made.retention.seconds = 5
        first = await served.admin.PutNamespace(wire.PutNamespaceRequest(namespace=made, request_id="r"))
        assert first.created
        assert (await served.admin.PutNamespace(wire.PutNamespaceRequest(namespace=made, request_id="r"))).created
        shown = first.namespace
        assert (shown.limits, shown.retention, shown.labels) == (made.limits, made.retention, made.labels)
        change = resource_pb2.Namespace(namespace="team-a", etag=shown.etag)
        request = wire.PutNamespaceRequest(namespace=change, update_mask=FieldMask(paths=["retention", "limits.open_workflows"]))
        changed = (await served.admin.PutNamespace(request)).namespace
        assert not changed.HasField("retention")
        assert not changed.limits.HasField("open_workflows")
        assert (changed.limits.starts_per_second, changed.description) == (0.5, "text")
        stale = await refused(served.admin.PutNamespace(request))
        assert stale.reason == "REVISION_CONFLICT"
        page = await served.admin.ListNamespaces(wire.ListNamespacesRequest(page_size=1))
        assert [found.namespace for found in page.namespaces] == ["default"]
        rest = await served.admin.ListNamespaces(wire.ListNamespacesRequest(page_size=1, page_token=page.next_page_token))
        assert [found.namespace for found in rest.namespaces] == ["team-a"]
        assert not rest.next_page_token
        one = await served.admin.ListNamespaces(wire.ListNamespacesRequest(namespace="unknown"))
        assert not one.namespaces

    async def test_faults(self, served: Served) -> None:
        bad = resource_pb2.Namespace(namespace="team-a", labels={str(number): "" for number in range(17)})
        bad.limits.watchers = -1
        bad.limits.starts_per_second = float("nan")
        found = await refused(served.admin.PutNamespace(wire.PutNamespaceRequest(namespace=bad)))
        assert set(found.fields) == {"namespace.labels", "namespace.limits.watchers", "namespace.limits.starts_per_second"}
        for name in ("", "Team", "a_b", "x" * 64):
            request = wire.PutNamespaceRequest(namespace=resource_pb2.Namespace(namespace=name))
            assert set((await refused(served.admin.PutNamespace(request))).fields) == {"namespace.namespace"}

    async def test_retention_of_the_namespace_is_the_default(self, served: Served) -> None:
        made = resource_pb2.Namespace(namespace="default")
        made.retention.seconds = 5
        await served.admin.PutNamespace(wire.PutNamespaceRequest(namespace=made))
        await served.register("a")
        await served.start("by namespace")
        await served.start("by start", retention={"seconds": 7})
        engine = served.running.engine
        kept = [(await engine.queries.get(_ref(key), False)).workflow.retention for key in ("by namespace", "by start")]
        assert kept == [5 * limits.SECOND, 7 * limits.SECOND]
        assert engine.namespaces.tombstone_retention("default") == limits.TOMBSTONE


def _ref(key: str) -> Ref:
    return Ref(WorkflowKey("default", "note", key))

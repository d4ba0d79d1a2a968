"""Every verb of a person or an administrator leaves a record of who, what, to whom, why."""

import asyncio
import time
from typing import Any

import grpc
import pytest

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import resource_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.main import Parts
from perdure_server.rpc.admin_service import AdminService
from perdure_server.rpc.audited import AUDITED
from perdure_server.rpc.registry import unimplemented_methods
from perdure_server.rpc.workflow_service import WorkflowService
from perdure_server.store.memory import MemoryStore
from tests.conftest import Eventually
from tests.rpc.conftest import Served, definition, ref, refused, serving
from tests.rpc.test_writes import Gate

AS_KIM = (("perdure-actor", "kim"),)
READING = ("Get", "List", "Count", "Watch", "Wait", "Explain", "Fetch", "Test")
DAILY = {"schedule_id": "s", "triggers": [{"interval": {"every": {"seconds": 60}}}], "start": {"workflow_type": "note"}}
OF_SERVICES = {"StartWorkflow", "StartWorkflows", "Signal"}  # kept in the workflow itself


async def records(served: Served, **fields: Any) -> list[resource_pb2.AuditRecord]:
    return list((await served.admin.ListAuditRecords(admin.ListAuditRecordsRequest(**fields))).records)


@pytest.mark.parametrize("service", [WorkflowService, AdminService])
def test_every_mutating_rpc_is_in_the_table(service: type[WorkflowService] | type[AdminService]) -> None:
    for method in service.descriptor.methods:
        is_read = method.name.startswith(READING) or method.name in OF_SERVICES
        assert (method.name in AUDITED) is not is_read, method.name


@pytest.mark.parametrize("method", AUDITED)
def test_every_path_of_the_table_is_one_of_the_messages(method: str) -> None:
    services = (WorkflowService.descriptor, AdminService.descriptor)
    found = next(service.methods_by_name[method] for service in services if method in service.methods_by_name)
    paths = AUDITED[method]
    optional = {"workflow", "namespace", "reason"}
    for path in (*paths.target, *paths.facts.values(), paths.workflow, paths.namespace, paths.reason):
        message: Any = found.output_type if path.startswith(">") else found.input_type
        for name in path.removeprefix(">").split("."):
            field = message.fields_by_name.get(name) or message.oneofs_by_name.get(name)
            assert field is not None or path in optional, f"{path} of {method}"
            message = getattr(field, "message_type", None)


async def test_a_deed_is_recorded_with_all_that_is_known(served: Served) -> None:
    await served.register("a")
    await served.start()
    request = wire.PauseWorkflowRequest(workflow=ref(), reason="a look", request_id="r1")
    await served.workflows.PauseWorkflow(request, metadata=AS_KIM)
    await served.workflows.PauseWorkflow(request, metadata=AS_KIM)
    found, registered = await records(served)
    assert (found.method, found.actor, found.reason, found.request_id) == ("PauseWorkflow", "kim", "a look", "r1")
    assert (found.namespace, found.workflow.business_key, found.HasField("status")) == ("default", "k", False)
    assert found.peer_address.startswith("ipv4:127.0.0.1")
    assert found.HasField("record_time")
    assert (registered.method, registered.facts["activate"]) == ("RegisterDefinition", "true")
    assert registered.target.startswith("note/")
    paused = (await served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref()))).workflow
    assert paused.pause.actor == "kim"


async def test_what_only_checks_or_reads_leaves_none(served: Served) -> None:
    await served.admin.RegisterDefinition(admin.RegisterDefinitionRequest(definition=definition("a"), validate_only=True))
    await refused(served.admin.RegisterDefinition(admin.RegisterDefinitionRequest()))
    await refused(served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref())))
    assert not await records(served)


async def test_a_refusal_is_recorded_with_its_reason(served: Served, eventually: Eventually) -> None:
    await served.register("a")
    await served.start()
    await served.workflows.TerminateWorkflow(wire.TerminateWorkflowRequest(workflow=ref()))
    await refused(served.workflows.TerminateWorkflow(wire.TerminateWorkflowRequest(workflow=ref(), reason="again")))
    trail: Any = served.running.engine.store.audit
    await eventually(lambda: len(trail.stored) == 3)
    (last,) = await records(served, workflow=ref(), page_size=1)
    assert (last.method, last.reason, last.status.code) == ("TerminateWorkflow", "again", grpc.StatusCode.FAILED_PRECONDITION.value[0])


async def test_pages_and_filters(served: Served) -> None:
    await served.register("a")
    for key in ("x", "y"):
        await served.start(key)
        await served.workflows.PauseWorkflow(wire.PauseWorkflowRequest(workflow=ref(key)), metadata=AS_KIM)
        await served.workflows.ResumeWorkflow(wire.ResumeWorkflowRequest(workflow=ref(key)))
    assert [record.method for record in await records(served, workflow=ref("x"))] == ["ResumeWorkflow", "PauseWorkflow"]
    assert len(await records(served, actor="kim")) == 2
    assert len(await records(served, methods=["PauseWorkflow", "ResumeWorkflow"])) == 4
    seen: list[str] = []
    request = admin.ListAuditRecordsRequest(page_size=2)
    while True:
        page = await served.admin.ListAuditRecords(request)
        seen += [record.record_id for record in page.records]
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    assert len(seen) == len(set(seen)) == 5
    request.actor = "sam"
    assert (await refused(served.admin.ListAuditRecords(request))).reason == "PAGE_TOKEN_INVALID"


@pytest.mark.parametrize(
    ("method", "fields", "target"),
    [
        ("PutNamespace", {"namespace": {"namespace": "default"}}, "default"),
        ("PutSchedule", {"schedule": DAILY}, "s"),
        ("PauseDefinition", {"workflow_type": "note"}, "note"),
        ("ResumeDefinition", {"workflow_type": "note"}, "note"),
        ("UpdatePolicy", {"workflow_type": "note", "workflow_policy": {"retention": {"seconds": 60}}}, "note"),
        ("PutResource", {"resource": {"resource": "gpu", "capacity": 3}}, "gpu"),
        ("StartBatch", {"filter": {}, "operation": {"cancel": {}}, "request_id": "r"}, ""),
        ("RedactPayloads", {"filter": {}, "request_id": "r"}, ""),
        ("PurgeWorkflows", {"filter": {}, "request_id": "r"}, ""),
    ],
)
async def test_deeds_on_other_things_are_recorded(served: Served, method: str, fields: dict[str, Any], target: str) -> None:
    if f"AdminService/{method}" in unimplemented_methods(AdminService):
        pytest.skip(f"{method} is not served yet")
    await served.register("a")
    await getattr(served.admin, method)(getattr(admin, f"{method}Request")(**fields), metadata=AS_KIM)
    found = (await records(served))[0]
    assert (found.method, found.actor, found.HasField("workflow")) == (method, "kim", False)
    assert found.target.startswith(target)
    if method == "StartBatch":
        assert (len(found.target), found.facts["operation"]) == (24, "cancel")


async def test_a_caller_who_leaves_leaves_no_deed_without_a_record(eventually: Eventually) -> None:
    gate = Gate()
    async with serving(parts=Parts(store=MemoryStore(lambda: time.time_ns() // 1_000_000, gate))) as served:
        await served.register("a")
        await served.start()
        gate.open.clear()
        call = served.workflows.TerminateWorkflow(wire.TerminateWorkflowRequest(workflow=ref(), reason="over"), metadata=AS_KIM)
        waiting = asyncio.gather(call, return_exceptions=True)
        await asyncio.wait_for(gate.held.wait(), 5)
        call.cancel()
        await waiting
        await eventually(lambda: served.running.server.guard.in_flight == 0)
        gate.open.set()

        async def recorded() -> bool:
            return [record.method for record in await records(served, actor="kim")] == ["TerminateWorkflow"]

        await eventually(recorded)

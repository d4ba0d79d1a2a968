"""DeleteDefinition, SetActiveDefinition by etag, Signal that only checks, and start_at, over a real channel."""

import asyncio
import time

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import workflow_service_pb2
from tests.rpc.conftest import Served, ref, refused
from tests.rpc.test_people import get


def delete(fingerprint: str, **fields: object) -> admin.DeleteDefinitionRequest:
    return admin.DeleteDefinitionRequest(workflow_type="note", definition_fingerprint=fingerprint, **fields)  # type: ignore[arg-type]  # fields of it


def activate(fingerprint: str, **fields: object) -> admin.SetActiveDefinitionRequest:
    return admin.SetActiveDefinitionRequest(workflow_type="note", definition_fingerprint=fingerprint, **fields)  # type: ignore[arg-type]  # fields of it


async def fingerprints(served: Served) -> set[str]:
    return {found.fingerprint for found in (await served.admin.ListDefinitions(admin.ListDefinitionsRequest())).definitions}


async def test_a_definition_is_deleted(served: Served) -> None:
    old = await served.register("a")
    await served.start()
    new = await served.register("a", "b:a")
    found = await refused(served.admin.DeleteDefinition(delete(new.fingerprint)))
    assert (found.reason, found.code) == ("DEFINITION_IN_USE", grpc.StatusCode.FAILED_PRECONDITION)
    found = await refused(served.admin.DeleteDefinition(delete(old.fingerprint, validate_only=True)))
    assert (found.reason, found.facts["open_count"]) == ("DEFINITION_IN_USE", "1")
    await served.workflows.TerminateWorkflow(workflow_service_pb2.TerminateWorkflowRequest(workflow=ref(), reason="tests"))
    await served.workflows.DeleteWorkflow(workflow_service_pb2.DeleteWorkflowRequest(workflow=ref()))
    found = await refused(served.admin.DeleteDefinition(delete(old.fingerprint, etag=old.etag)))
    assert found.reason == "REVISION_CONFLICT", "it was active when that was read"
    now = (
        await served.admin.GetDefinition(admin.GetDefinitionRequest(workflow_type="note", definition_fingerprint=old.fingerprint))
    ).definition
    await served.admin.DeleteDefinition(delete(old.fingerprint, etag=now.etag, validate_only=True))
    assert await fingerprints(served) == {old.fingerprint, new.fingerprint}
    await served.admin.DeleteDefinition(delete(old.fingerprint, etag=now.etag, request_id="r"))
    await served.admin.DeleteDefinition(delete(old.fingerprint, etag=now.etag, request_id="r"))
    assert await fingerprints(served) == {new.fingerprint}
    found = await refused(served.admin.DeleteDefinition(delete(old.fingerprint)))
    assert (found.reason, found.code) == ("DEFINITION_NOT_FOUND", grpc.StatusCode.NOT_FOUND)
    records = (await served.admin.ListAuditRecords(admin.ListAuditRecordsRequest())).records
    told = [(record.request_id, record.status.code == 0) for record in records if record.method == "DeleteDefinition"]
    assert told.count(("r", True)) == 1, "done once, however often it is asked for"
    assert told.count(("", False)) == 4, "each refusal"
    again = await served.admin.RegisterDefinition(admin.RegisterDefinitionRequest(definition=now.definition))
    assert (again.created, again.definition.fingerprint) == (True, old.fingerprint)


async def test_a_deleted_definition_is_registered_again_without_a_warning(served: Served) -> None:
    old = await served.register("a")
    await served.register("a", "b:a")
    await served.admin.DeleteDefinition(delete(old.fingerprint))
    again = await served.admin.RegisterDefinition(admin.RegisterDefinitionRequest(definition=old.definition))
    assert list(again.warnings) == [], "its policies are the same"
    assert old.fingerprint in await fingerprints(served)


async def test_a_request_to_delete_has_faults(served: Served) -> None:
    found = await refused(served.admin.DeleteDefinition(admin.DeleteDefinitionRequest(request_id="x" * 200)))
    assert set(found.fields) == {"workflow_type", "definition_fingerprint", "request_id"}


async def test_activation_by_etag(served: Served) -> None:
    first = await served.register("a")
    second = await served.register("a", "b:a", activate=False)
    assert (await refused(served.admin.SetActiveDefinition(activate(second.fingerprint, etag="another")))).reason == "REVISION_CONFLICT"
    checked = await served.admin.SetActiveDefinition(activate(second.fingerprint, etag=second.etag, validate_only=True))
    assert not checked.definition.active
    done = await served.admin.SetActiveDefinition(activate(second.fingerprint, etag=second.etag))
    assert (done.definition.active, done.previous_fingerprint) == (True, first.fingerprint)
    again = await served.admin.SetActiveDefinition(activate(second.fingerprint, etag=second.etag))
    assert again.definition.active, "a repeat of this very change"
    found = await refused(served.admin.SetActiveDefinition(activate(first.fingerprint, etag=first.etag)))
    assert (found.reason, found.code) == ("REVISION_CONFLICT", grpc.StatusCode.ABORTED), "it was active when that was read"
    await asyncio.gather(*(served.admin.SetActiveDefinition(activate(first.fingerprint)) for _ in range(5)))
    assert (await served.admin.GetDefinition(admin.GetDefinitionRequest(workflow_type="note"))).definition.fingerprint == first.fingerprint


async def test_a_signal_that_only_checks_stores_nothing(served: Served) -> None:
    await served.register("wait_go")
    await served.start()
    request = workflow_service_pb2.SignalRequest(workflow=ref(), signal_name="wait_go", signal_id="s", validate_only=True)
    before = (await get(served)).etag
    told = await served.workflows.Signal(request)
    for _ in range(2):
        assert await served.workflows.Signal(request) == told
        assert (told.duplicate, told.consumed, told.workflow.business_key) == (False, True, "k")
    other = workflow_service_pb2.SignalRequest(workflow=ref(), signal_name="other", signal_id="s", validate_only=True)
    assert not (await served.workflows.Signal(other)).consumed
    assert (await get(served)).etag == before
    request.validate_only = False
    real = await served.workflows.Signal(request)
    assert (real.duplicate, real.consumed, real.fence) == (False, True, told.fence)
    request.validate_only = True
    assert (await served.workflows.Signal(request)).duplicate
    request.signal_id = "later"
    assert (await refused(served.workflows.Signal(request))).reason == "WORKFLOW_CLOSED"
    request.workflow.CopyFrom(ref("nobody"))
    assert (await refused(served.workflows.Signal(request))).reason == "WORKFLOW_NOT_FOUND"


async def test_when_a_delayed_start_begins_is_told(served: Served) -> None:
    await served.register("a")
    later = Timestamp(seconds=int(time.time()) + 3_600)
    await served.start("later", start_at=later)
    await served.start("now")
    assert (await get(served, "later")).start_at == later
    assert not (await get(served, "now")).HasField("start_at")
    rows = (await served.workflows.ListWorkflows(workflow_service_pb2.ListWorkflowsRequest())).workflows
    assert {row.workflow.business_key: row.start_at.seconds for row in rows} == {"later": later.seconds, "now": 0}

"""Batches and purges over a real channel."""

from typing import Any

import grpc

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure.v1.filter_pb2 import WorkflowFilter
from perdure.v1.resource_pb2 import Batch, BatchOperation
from perdure_server.kernel.workflow import WorkflowKey
from tests.conftest import Eventually
from tests.rpc.conftest import Served, from_status, ref, refused

AS_KIM = (("perdure-actor", "kim"),)


async def three(served: Served) -> None:
    await served.register("a")
    for key in "xyz":
        await served.start(key)


def request(**fields: Any) -> admin.StartBatchRequest:
    given: dict[str, Any] = {"filter": WorkflowFilter(), "operation": {"terminate": {}}, "request_id": "r", "reason": "over"} | fields
    return admin.StartBatchRequest(**given)


async def ended(served: Served, batch: Batch, eventually: Eventually) -> Batch:
    found = [batch]

    async def look() -> bool:
        found[0] = (await served.admin.GetBatch(admin.GetBatchRequest(batch_id=batch.batch_id))).batch
        return found[0].state != Batch.STATE_RUNNING

    await eventually(look)
    return found[0]


async def test_a_batch_is_started_told_and_done(served: Served, eventually: Eventually) -> None:
    await three(served)
    tried = (await served.admin.StartBatch(request(validate_only=True, request_id=""))).batch
    assert (tried.batch_id, tried.matched_count) == ("", 3)
    started = (await served.admin.StartBatch(request(), metadata=AS_KIM)).batch
    assert (started.matched_count, started.matched_estimate, started.operation.WhichOneof("operation")) == (3, False, "terminate")
    done = await ended(served, started, eventually)
    assert (done.state, done.succeeded_count, done.failed_count, done.actor, done.reason) == (Batch.STATE_COMPLETED, 3, 0, "kim", "over")
    assert done.HasField("end_time")
    assert (await served.admin.StartBatch(request(), metadata=AS_KIM)).batch == done
    again = await ended(served, (await served.admin.StartBatch(request(request_id="r2"))).batch, eventually)
    assert (again.succeeded_count, again.failed_count) == (0, 3)
    assert {error.workflow.business_key for error in again.errors} == set("xyz")
    assert again.errors[0].status.code == grpc.StatusCode.FAILED_PRECONDITION.value[0]


async def test_batches_are_listed_and_stopped(served: Served) -> None:
    await three(served)
    ids = [(await served.admin.StartBatch(request(request_id=str(n), max_per_second=0.5))).batch.batch_id for n in range(3)]
    seen: list[str] = []
    page = admin.ListBatchesRequest(page_size=2, states=[Batch.STATE_RUNNING])
    while True:
        found = await served.admin.ListBatches(page)
        seen += [batch.batch_id for batch in found.batches]
        if not found.next_page_token:
            break
        page.page_token = found.next_page_token
    assert sorted(seen) == sorted(ids)
    for batch_id in ids:
        stopped = (await served.admin.StopBatch(admin.StopBatchRequest(batch_id=batch_id, reason="no"))).batch
        assert stopped.state == Batch.STATE_STOPPED
    found_again = await refused(served.admin.StopBatch(admin.StopBatchRequest(batch_id=ids[0])))
    assert (found_again.code, found_again.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "BATCH_CLOSED")
    missing = await refused(served.admin.GetBatch(admin.GetBatchRequest(batch_id="none")))
    assert (missing.code, missing.reason) == (grpc.StatusCode.NOT_FOUND, "BATCH_NOT_FOUND")


async def test_faults(served: Served) -> None:
    found = await refused(served.admin.StartBatch(admin.StartBatchRequest(max_per_second=-1)))
    assert set(found.fields) == {"filter", "operation", "request_id", "max_per_second"}
    found = await refused(served.admin.StartBatch(request(operation={"signal": {"payload": {"json": "NaN"}}})))
    assert set(found.fields) == {"operation.signal.signal_name", "operation.signal.payload"}
    found = await refused(served.admin.StartBatch(request(operation={"migrate": {}})))
    assert set(found.fields) == {"operation"}
    await served.admin.StartBatch(request())
    reused = await refused(served.admin.StartBatch(request(max_per_second=7)))
    assert (reused.code, reused.reason) == (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED")


async def test_options_of_a_step_in_each(served: Served, eventually: Eventually) -> None:
    await three(served)
    update = {"step": "a", "policy": {"priority": 9}}
    started = (await served.admin.StartBatch(request(operation={"update_step_options": {"update": update}}))).batch
    done = await ended(served, started, eventually)
    assert (done.succeeded_count, done.failed_count, done.operation.update_step_options.update.step) == (3, 0, "a")
    stored = served.running.engine.store.workflows
    for key in "xyz":
        workflow = await stored.load(WorkflowKey("default", "note", key).workflow_id)
        assert workflow is not None
        assert workflow.step_options["a"].values.priority == 9
    update = {"step": "z", "policy": {"priority": 9}}
    started = (await served.admin.StartBatch(request(operation={"update_step_options": {"update": update}}, request_id="r2"))).batch
    refusal = (await ended(served, started, eventually)).errors[0]
    assert from_status(refusal.status).reason == "STEP_NOT_FOUND"


async def test_what_is_told_of_a_batch_has_no_payload(served: Served) -> None:
    operation = {"signal": {"signal_name": "go", "payload": {"json": '"secret"'}}}
    started = (await served.admin.StartBatch(request(operation=operation))).batch
    assert (started.operation.signal.signal_name, started.operation.signal.HasField("payload")) == ("go", False)


async def test_a_purge_deletes_what_has_ended(served: Served, eventually: Eventually) -> None:
    await three(served)
    purge = admin.PurgeWorkflowsRequest(filter=WorkflowFilter(), request_id="r", reason="old")
    assert not (await served.admin.PurgeWorkflows(purge)).HasField("batch"), "nothing has ended"
    await served.workflows.TerminateWorkflow(wire.TerminateWorkflowRequest(workflow=ref("x")))
    tried = await served.admin.PurgeWorkflows(admin.PurgeWorkflowsRequest(filter=WorkflowFilter(), validate_only=True))
    assert (tried.matched_count, tried.HasField("batch")) == (1, False)
    started = await served.admin.PurgeWorkflows(purge)
    assert started.matched_count == 1
    assert (await ended(served, started.batch, eventually)).succeeded_count == 1
    left = await served.workflows.ListWorkflows(wire.ListWorkflowsRequest())
    assert {row.workflow.business_key for row in left.workflows} == {"y", "z"}
    opened = WorkflowFilter(states=[workflow_pb2.Workflow.STATE_RUNNING])
    assert not (await served.admin.PurgeWorkflows(admin.PurgeWorkflowsRequest(filter=opened, request_id="r3"))).matched_count


async def test_every_operation_of_the_wire_is_known(served: Served) -> None:
    """Each is done, or points to what it lacks, or to an RPC of its own."""
    for field in BatchOperation.DESCRIPTOR.oneofs_by_name["operation"].fields:
        asked = served.admin.StartBatch(request(operation={field.name: {}}, validate_only=True))
        assert "is not known" not in (await asked.details() or ""), field.name


async def test_a_purge_by_what_no_index_serves(served: Served, eventually: Eventually) -> None:
    await three(served)
    for key in "xy":
        await served.workflows.TerminateWorkflow(wire.TerminateWorkflowRequest(workflow=ref(key), reason="over"))
    before = await served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref("x")))
    chosen = WorkflowFilter(definition_fingerprints=[before.workflow.definition_fingerprint])
    chosen.end_time.from_time.CopyFrom(before.workflow.end_time)
    answer = await served.admin.PurgeWorkflows(admin.PurgeWorkflowsRequest(filter=chosen, request_id="r", reason="old"))
    assert (answer.matched_count, answer.estimate) == (2, False)
    done = await ended(served, answer.batch, eventually)
    assert (done.state, done.succeeded_count, done.failed_count) == (Batch.STATE_COMPLETED, 2, 0)
    listed = await served.workflows.ListWorkflows(wire.ListWorkflowsRequest())
    assert [found.workflow.business_key for found in listed.workflows] == ["z"]

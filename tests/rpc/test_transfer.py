"""Redaction, export and import over a real channel."""

from collections.abc import Iterator

import grpc

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import resource_pb2, workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure.v1.filter_pb2 import WorkflowFilter
from perdure_server.kernel import limits
from tests.rpc.conftest import Served, ref, refused


async def exported(served: Served) -> list[bytes]:
    return [answer.chunk async for answer in served.admin.ExportWorkflow(admin.ExportWorkflowRequest(workflow=ref()))]


def requests(chunks: list[bytes], **options: object) -> Iterator[admin.ImportWorkflowRequest]:
    yield admin.ImportWorkflowRequest(options=admin.ImportOptions(**options))  # type: ignore[arg-type]  # fields of the message
    for chunk in chunks:
        yield admin.ImportWorkflowRequest(chunk=chunk)


async def test_a_file_goes_out_in_chunks_and_comes_in_paused(served: Served) -> None:
    await served.register("a")
    request = wire.StartWorkflowRequest(workflow=ref())
    request.input.binary = b"x" * (limits.PAYLOAD - 1)
    await served.workflows.StartWorkflow(request)
    chunks = await exported(served)
    assert len(chunks) > 5
    assert max(len(chunk) for chunk in chunks) == 256 * 1024
    tried = await served.admin.ImportWorkflow(requests(chunks, business_key="copy", validate_only=True))
    assert (tried.workflow.workflow.business_key, tried.workflow.etag) == ("copy", "")
    stored = (await served.admin.ImportWorkflow(requests(chunks, business_key="copy", request_id="r"))).workflow
    assert (stored.workflow.business_key, stored.HasField("pause"), stored.phase) == ("copy", True, workflow_pb2.PHASE_PAUSED)
    got = (await served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref("copy")))).workflow
    assert (got.input.binary, got.etag) == (request.input.binary, stored.etag)
    found = (await served.admin.ListAuditRecords(admin.ListAuditRecordsRequest(methods=["ImportWorkflow", "ExportWorkflow"]))).records
    assert [(record.method, record.workflow.business_key) for record in found] == [("ImportWorkflow", "copy"), ("ExportWorkflow", "k")]
    again = await refused(served.admin.ImportWorkflow(requests(chunks)))
    assert (again.code, again.reason) == (grpc.StatusCode.ALREADY_EXISTS, "WORKFLOW_ALREADY_EXISTS")
    broken = await refused(served.admin.ImportWorkflow(requests([b"{}\n"], business_key="other")))
    assert (broken.code, broken.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "EXPORT_INVALID")
    unordered = await refused(served.admin.ImportWorkflow(iter([admin.ImportWorkflowRequest(chunk=b"x")])))
    assert unordered.reason == "PROTOCOL_VIOLATION"


async def test_redaction_of_one_and_of_many(served: Served) -> None:
    await served.register("a")
    await served.start()
    request = admin.RedactPayloadsRequest(workflow=ref(), request_id="r", reason="asked for")
    found = await refused(served.admin.RedactPayloads(request))
    assert (found.code, found.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "WORKFLOW_NOT_CLOSED")
    await served.workflows.TerminateWorkflow(wire.TerminateWorkflowRequest(workflow=ref()))
    tried = await served.admin.RedactPayloads(admin.RedactPayloadsRequest(workflow=ref(), validate_only=True))
    done = await served.admin.RedactPayloads(request)
    assert (tried.redacted_count, done.redacted_count, done.HasField("batch")) == (1, 1, False)
    got = (await served.workflows.GetWorkflow(wire.GetWorkflowRequest(workflow=ref()))).workflow
    assert (got.input.json, got.input.content_type) == ("null", "application/vnd.perdure.redacted+json")
    many = await served.admin.RedactPayloads(
        admin.RedactPayloadsRequest(filter=WorkflowFilter(), request_id="r2", payload_kinds=[resource_pb2.PAYLOAD_KIND_INPUT])
    )
    assert (many.matched_count, list(many.batch.operation.redact.payload_kinds)) == (1, [resource_pb2.PAYLOAD_KIND_INPUT])
    faulty = await refused(served.admin.RedactPayloads(admin.RedactPayloadsRequest(payload_kinds=[resource_pb2.PAYLOAD_KIND_UNSPECIFIED])))
    assert set(faulty.fields) == {"target", "request_id", "payload_kinds"}

"""The part of AdminService that operators use on many workflows, and to see who did what."""

from collections.abc import AsyncIterator
from typing import Final

from perdure.v1 import admin_service_pb2 as wire
from perdure.v1 import resource_pb2, workflow_pb2
from perdure_server.engine.service import Engine
from perdure_server.kernel.limits import IMPORT
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.ports.audit import AuditKey
from perdure_server.ports.batches import BatchKey
from perdure_server.rpc import limits, page_tokens
from perdure_server.rpc.caller import caller_of
from perdure_server.rpc.decode import batches as decode_batches
from perdure_server.rpc.decode import operations as decode
from perdure_server.rpc.decode.values import DEFAULT_NAMESPACE
from perdure_server.rpc.decode.workflows import ref as ref_of
from perdure_server.rpc.doors.identity import require
from perdure_server.rpc.doors.permissions import Permission
from perdure_server.rpc.encode import audit, batches, workflows
from perdure_server.rpc.errors import protocol_violation
from perdure_server.rpc.filling import Filling
from perdure_server.rpc.transport import Context
from perdure_server.rpc.unread import write

_TIME_DIGITS: Final = 15


class OperationsService:
    """A part of AdminService, which sets `_engine`."""

    _engine: Engine

    async def list_audit_records(self, request: wire.ListAuditRecordsRequest, _context: Context) -> wire.ListAuditRecordsResponse:
        """Who did what, newest first."""
        query, size = decode.audit_query(request)
        scope = ("audit", *(str(part) for part in (query.namespace, query.workflow_type, query.business_key, query.actor)))
        scope = (*scope, *query.methods, str(query.from_time), str(query.to_time))
        token = page_tokens.decode_key(scope, request.page_token)
        after = AuditKey(int(token[0]), token[1]) if token else None
        found = await self._engine.audit.find(query, size + 1, after)
        response = wire.ListAuditRecordsResponse()
        filling = Filling(size)
        for place, record in enumerate(found):
            message = resource_pb2.AuditRecord()
            audit.record(message, record)
            if not filling.takes(message):
                last = found[place - 1]
                response.next_page_token = page_tokens.encode_key(scope, [f"{last.time:0{_TIME_DIGITS}}", last.record_id])
                break
            response.records.append(message)
        return response

    async def start_batch(self, request: wire.StartBatchRequest, context: Context) -> wire.StartBatchResponse:
        """Do one thing to many workflows, in the background."""
        work = decode_batches.start(request, caller_of(context))
        engine = self._engine.operations.batches
        response = wire.StartBatchResponse()
        if request.validate_only:
            batches.batch(response.batch, engine.shown(work, await engine.count(work.plan.selection)))
            return response
        stored = await engine.start(work)
        assert stored is not None, "a batch is started even if nothing matches"
        batches.batch(response.batch, stored)
        return response

    async def get_batch(self, request: wire.GetBatchRequest, _context: Context) -> wire.GetBatchResponse:
        """One batch."""
        response = wire.GetBatchResponse()
        batches.batch(response.batch, await self._engine.operations.batches.get(*decode_batches.named(request)))
        return response

    async def list_batches(self, request: wire.ListBatchesRequest, _context: Context) -> wire.ListBatchesResponse:
        """Batches, newest first."""
        namespace, states, size = decode_batches.listed(request)
        scope = ("batches", namespace, *(state.name for state in states))
        token = page_tokens.decode_key(scope, request.page_token)
        after = BatchKey(int(token[0]), token[1]) if token else None
        found = await self._engine.operations.batches.list(namespace, states, size + 1, after)
        response = wire.ListBatchesResponse()
        filling = Filling(size)
        for place, source in enumerate(found):
            message = resource_pb2.Batch()
            batches.batch(message, source)
            if not filling.takes(message):
                last = found[place - 1]
                response.next_page_token = page_tokens.encode_key(scope, [f"{last.start_time:0{_TIME_DIGITS}}", last.batch_id])
                break
            response.batches.append(message)
        return response

    async def stop_batch(self, request: wire.StopBatchRequest, _context: Context) -> wire.StopBatchResponse:
        """Stop a batch; what is done stays done."""
        namespace, batch_id = decode_batches.named(request)
        response = wire.StopBatchResponse()
        batches.batch(response.batch, await self._engine.operations.batches.stop(namespace, batch_id, request.request_id))
        return response

    async def purge_workflows(self, request: wire.PurgeWorkflowsRequest, context: Context) -> wire.PurgeWorkflowsResponse:
        """Delete ended workflows by filter, as a batch."""
        work = decode_batches.purge(request, caller_of(context))
        engine = self._engine.operations.batches
        if request.validate_only:
            tally = await engine.count(work.plan.selection)
            return wire.PurgeWorkflowsResponse(matched_count=tally.count, estimate=tally.estimate)
        stored = await engine.start(work, only_if_any=True)
        response = wire.PurgeWorkflowsResponse()
        if stored is not None:
            response.matched_count, response.estimate = stored.matched, stored.matched_estimate
            batches.batch(response.batch, stored)
        return response

    async def redact_payloads(self, request: wire.RedactPayloadsRequest, context: Context) -> wire.RedactPayloadsResponse:
        """Overwrite payloads for good: of one workflow at once, of many in the background."""
        ref, what, conditions = decode.redaction(request)
        if ref is not None:
            count = await self._engine.operations.redaction.redact(ref, what, conditions)
            return wire.RedactPayloadsResponse(matched_count=1, redacted_count=count)
        work = decode_batches.redaction(request, what, caller_of(context))
        engine = self._engine.operations.batches
        if request.validate_only:
            tally = await engine.count(work.plan.selection)
            return wire.RedactPayloadsResponse(matched_count=tally.count, estimate=tally.estimate)
        stored = await engine.start(work, only_if_any=True)
        response = wire.RedactPayloadsResponse()
        if stored is not None:
            response.matched_count, response.estimate = stored.matched, stored.matched_estimate
            batches.batch(response.batch, stored)
        return response

    async def export_workflow(self, request: wire.ExportWorkflowRequest, context: Context) -> None:
        """One workflow with all that belongs to it, as a file in chunks."""
        ref = ref_of(request.workflow)
        waiting = bytearray()
        async for line in self._engine.operations.transfer.export(ref, request.omit_payloads, request.include_rounds):
            waiting += line
            while len(waiting) >= limits.FILE_CHUNK:
                await write(context, wire.ExportWorkflowResponse(chunk=bytes(waiting[: limits.FILE_CHUNK])))
                del waiting[: limits.FILE_CHUNK]
        if waiting:
            await write(context, wire.ExportWorkflowResponse(chunk=bytes(waiting)))

    async def import_workflow(self, requests: AsyncIterator[wire.ImportWorkflowRequest], context: Context) -> wire.ImportWorkflowResponse:
        """Put an exported workflow into a namespace, paused."""
        options: wire.ImportOptions | None = None
        data = bytearray()
        async for request in requests:
            kind = request.WhichOneof("message")
            if (options is None) is not (kind == "options"):
                raise protocol_violation("The options come first, and once; then the bytes.")
            if kind == "options":
                options = request.options
                require(Permission.REMOVE, {options.namespace or DEFAULT_NAMESPACE}, "ImportWorkflow")
            data += request.chunk
            if len(data) > IMPORT:
                facts = {"field": "chunk", "limit_bytes": str(IMPORT), "size_bytes": str(len(data))}
                raise Rejection(Reason.PAYLOAD_TOO_LARGE, f"The file has more than {IMPORT} bytes.", **facts)
        if options is None:
            raise protocol_violation("The options come first.")
        view = await self._engine.operations.transfer.take_in(bytes(data), decode.destination(options, caller_of(context)))
        response = wire.ImportWorkflowResponse()
        workflows.workflow(response.workflow, view, workflow_pb2.WORKFLOW_VIEW_STEPS)
        if options.validate_only:
            response.workflow.ClearField("etag")  # there is nothing to be changed
        return response

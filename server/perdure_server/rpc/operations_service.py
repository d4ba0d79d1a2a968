"""The part of AdminService that operators use on many workflows, and to see who did what."""

from typing import Final

from perdure.v1 import admin_service_pb2 as wire
from perdure_server.engine.service import Engine
from perdure_server.ports.audit import AuditKey
from perdure_server.ports.batches import BatchKey
from perdure_server.rpc import page_tokens
from perdure_server.rpc.caller import caller_of
from perdure_server.rpc.decode import batches as decode_batches
from perdure_server.rpc.decode import operations as decode
from perdure_server.rpc.encode import audit, batches
from perdure_server.rpc.transport import Context

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
        for record in found[:size]:
            audit.record(response.records.add(), record)
        if len(found) > size:
            last = found[size - 1]
            response.next_page_token = page_tokens.encode_key(scope, [f"{last.time:0{_TIME_DIGITS}}", last.record_id])
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
        for source in found[:size]:
            batches.batch(response.batches.add(), source)
        if len(found) > size:
            last = found[size - 1]
            response.next_page_token = page_tokens.encode_key(scope, [f"{last.start_time:0{_TIME_DIGITS}}", last.batch_id])
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

"""The part of AdminService that operators use on many workflows, and to see who did what."""

from typing import Final

from perdure.v1 import admin_service_pb2 as wire
from perdure_server.engine.service import Engine
from perdure_server.ports.audit import AuditKey
from perdure_server.rpc import page_tokens
from perdure_server.rpc.decode import operations as decode
from perdure_server.rpc.encode import audit
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

"""Audit records, as readers see them."""

from perdure.v1 import resource_pb2 as wire
from perdure_server.ports.audit import AuditRecord
from perdure_server.rpc.encode import values
from perdure_server.rpc.errors import CallRefused, to_status


def record(target: wire.AuditRecord, source: AuditRecord) -> None:
    """One record."""
    target.record_id = source.record_id
    values.time(target.record_time, source.time)
    target.actor = source.actor
    target.method = source.method
    target.namespace = source.namespace
    if source.business_key:
        target.workflow.namespace = source.namespace
        target.workflow.workflow_type = source.workflow_type
        target.workflow.business_key = source.business_key
        if source.round:
            target.workflow.round = source.round
    target.target = source.target
    target.reason = source.reason
    target.request_id = source.request_id
    if source.refusal:
        target.status.CopyFrom(to_status(CallRefused(source.refusal, source.refusal_text)))
    target.facts.update(source.facts)
    target.peer_address = source.peer

"""What operators ask: the audit trail."""

from perdure.v1 import admin_service_pb2 as wire
from perdure.v1 import filter_pb2
from perdure_server.ports.audit import AuditQuery
from perdure_server.rpc import limits as rpc_limits
from perdure_server.rpc.decode import values
from perdure_server.rpc.decode.workflows import page_size
from perdure_server.rpc.faults import Faults


def audit_query(message: wire.ListAuditRecordsRequest) -> tuple[AuditQuery, int]:
    """Which records, and how many a page. Raises FieldViolation with all faults."""
    faults = Faults()
    namespace = values.namespace(message.namespace, "namespace", faults)
    workflow_type = business_key = ""
    if message.HasField("workflow"):
        key = values.ref(message.workflow, "workflow", faults).key
        if message.namespace and key.namespace != namespace:
            faults.add("workflow.namespace", "is not that of the request")
        namespace, workflow_type, business_key = key.namespace, key.workflow_type, key.business_key
    if len(message.actor) > rpc_limits.ACTOR:
        faults.add("actor", f"is longer than {rpc_limits.ACTOR} characters")
    if len(message.methods) > rpc_limits.AUDIT_METHODS:
        faults.add("methods", f"has more than {rpc_limits.AUDIT_METHODS} entries")
    start, end = time_range(message.record_time, "record_time", faults)
    size = page_size(message.page_size, faults)
    faults.check()
    return AuditQuery(namespace, workflow_type, business_key, message.actor, tuple(message.methods), start, end), size


def time_range(message: filter_pb2.TimeRange, field: str, faults: Faults) -> tuple[int | None, int | None]:
    """The two ends in ms, None where it has none."""
    start = values.time(message.from_time, f"{field}.from_time", faults) if message.HasField("from_time") else None
    end = values.time(message.to_time, f"{field}.to_time", faults) if message.HasField("to_time") else None
    if start is not None and end is not None and end <= start:
        faults.add(f"{field}.to_time", "must be after from_time")
    return start, end

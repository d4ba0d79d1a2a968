"""What operators ask: the audit trail, redaction, files."""

from perdure.v1 import admin_service_pb2 as wire
from perdure.v1 import filter_pb2
from perdure_server.engine.people import Conditions
from perdure_server.engine.redaction import RedactArguments
from perdure_server.engine.transfer import Destination
from perdure_server.engine.values import Ref
from perdure_server.kernel import limits
from perdure_server.kernel.redaction import PayloadKind
from perdure_server.kernel.validation import STEP_NAME
from perdure_server.ports.audit import AuditQuery
from perdure_server.rpc import limits as rpc_limits
from perdure_server.rpc.caller import Caller
from perdure_server.rpc.decode import values
from perdure_server.rpc.decode.content import content_of
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


def redaction(message: wire.RedactPayloadsRequest) -> tuple[Ref | None, RedactArguments, Conditions]:
    """Whose payloads (None = by filter), which, and under which conditions. Raises FieldViolation with all faults."""
    faults = Faults()
    namespace = values.namespace(message.namespace, "namespace", faults)
    kind = message.WhichOneof("target")
    ref = values.ref(message.workflow, "workflow", faults) if kind == "workflow" else None
    if ref is not None and message.namespace and ref.key.namespace != namespace:
        faults.add("workflow.namespace", "is not that of the request")
    if kind is None:
        faults.add("target", "is not set: name a workflow, or give a filter")
    if len(message.reason.encode()) > rpc_limits.CANCEL_REASON:
        faults.add("reason", f"is longer than {rpc_limits.CANCEL_REASON} bytes")
    values.identifier(message.request_id, "request_id", faults, required=not message.validate_only)
    known = {int(kind) for kind in PayloadKind}
    if not known.issuperset(message.payload_kinds):
        faults.add("payload_kinds", "names a kind that is not known")
    for index, name in enumerate(message.steps):
        values.name(name, f"steps[{index}]", STEP_NAME, faults)
    faults.check()
    conditions = Conditions(message.request_id, validate_only=message.validate_only, content=content_of(message))
    return ref, RedactArguments(tuple(sorted(set(message.payload_kinds))), tuple(message.steps)), conditions


def destination(message: wire.ImportOptions, caller: Caller) -> Destination:
    """Where a file goes. Raises FieldViolation with all faults."""
    faults = Faults()
    namespace = values.namespace(message.namespace, "options.namespace", faults)
    if len(message.business_key.encode()) > limits.KEY_LENGTH:
        faults.add("options.business_key", f"must have at most {limits.KEY_LENGTH} bytes")
    values.identifier(message.request_id, "options.request_id", faults)
    faults.check()
    return Destination(namespace, message.business_key, message.request_id, caller.actor, message.validate_only)


def time_range(message: filter_pb2.TimeRange, field: str, faults: Faults) -> tuple[int | None, int | None]:
    """The two ends in ms, None where it has none."""
    start = values.time(message.from_time, f"{field}.from_time", faults) if message.HasField("from_time") else None
    end = values.time(message.to_time, f"{field}.to_time", faults) if message.HasField("to_time") else None
    if start is not None and end is not None and end <= start:
        faults.add(f"{field}.to_time", "must be after from_time")
    return start, end

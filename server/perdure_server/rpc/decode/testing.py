"""Requests of TestService."""

from perdure.testing.v1 import test_service_pb2 as wire
from perdure_server.engine.idleness import Scope
from perdure_server.engine.scripts import Script
from perdure_server.kernel.validation import TYPE_NAME
from perdure_server.rpc import limits
from perdure_server.rpc.decode import scripted, values
from perdure_server.rpc.decode.filters import selection
from perdure_server.rpc.faults import Faults


def target(message: wire.AdvanceTimeRequest) -> tuple[str, int]:
    """How far: "by" ms, "to_time" ms, or "to_next_due". Raises FieldViolation with all faults."""
    faults = Faults()
    kind = message.WhichOneof("target") or ""
    amount = 0
    if kind == "by":
        amount = values.duration(message.by, "by", faults)
    elif kind == "to_time":
        amount = values.time(message.to_time, "to_time", faults)
    elif kind == "to_next_due" and not message.to_next_due:
        faults.add("to_next_due", "can only be true")
    elif not kind:
        faults.add("target", "is not set: give by, to_time or to_next_due")
    faults.check()
    return kind, amount


def outcomes(message: wire.ScriptOutcomesRequest) -> tuple[str, tuple[Script, ...]]:
    """Of which namespace, and how attempts end. Raises FieldViolation with all faults."""
    faults = Faults()
    namespace = values.namespace(message.namespace, "namespace", faults)
    values.name(message.workflow_type, "workflow_type", TYPE_NAME, faults)
    scripts = scripted.scripts(message.outcomes, faults)
    faults.check()
    return namespace, scripts


def idle_wait(message: wire.WaitIdleRequest) -> tuple[Scope, int]:
    """What counts, and for how long in ms. Raises FieldViolation with all faults."""
    faults = Faults()
    namespace = values.namespace(message.namespace, "namespace", faults)
    chosen = selection(message.namespace, message.filter, faults) if message.HasField("filter") else None
    within = values.duration(message.timeout, "timeout", faults) if message.HasField("timeout") else limits.IDLE_WAIT
    if within > limits.IDLE_WAIT_MAX:
        faults.add("timeout", f"must be at most {limits.IDLE_WAIT_MAX} ms")
    faults.check()
    return Scope(namespace, chosen, message.include_ready), within

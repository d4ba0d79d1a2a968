"""Batches: what is done, to which workflows, how quickly."""

import math
from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from perdure.v1 import admin_service_pb2 as wire
from perdure.v1 import filter_pb2, resource_pb2
from perdure_server.engine.batch_verbs import ReplayArguments, ResolveArguments, SignalArguments, packed
from perdure_server.engine.batches import Plan, Work
from perdure_server.engine.redaction import RedactArguments
from perdure_server.kernel import limits
from perdure_server.kernel.validation import STEP_NAME
from perdure_server.kernel.workflow import ENDED
from perdure_server.ports.batches import BatchState
from perdure_server.rpc import limits as rpc_limits
from perdure_server.rpc.caller import Caller
from perdure_server.rpc.decode import filters, values, verbs
from perdure_server.rpc.decode.content import content_of
from perdure_server.rpc.decode.workflows import page_size
from perdure_server.rpc.faults import Faults


def start(message: wire.StartBatchRequest, caller: Caller) -> Work:
    """The work of a batch. Raises FieldViolation with all faults."""
    faults = Faults()
    verb, arguments = _operation(message.operation, faults)
    work = background(message, caller, (verb, arguments), message.operation, faults)
    faults.check()
    return work


def purge(message: wire.PurgeWorkflowsRequest, caller: Caller) -> Work:
    """The work of a purge: ended workflows only. Raises FieldViolation with all faults."""
    faults = Faults()
    operation = resource_pb2.BatchOperation()
    operation.delete.SetInParent()
    work = background(message, caller, ("delete", b""), operation, faults)
    faults.check()
    states = set(work.plan.selection.query.states or ENDED) & ENDED
    selection = work.plan.selection
    # No state that is open: such a filter matches nothing.
    query = replace(selection.query, states=tuple(sorted(states))) if states else replace(selection.query, business_keys=("",))
    return replace(work, plan=replace(work.plan, selection=replace(selection, query=query)))


def redaction(message: wire.RedactPayloadsRequest, what: RedactArguments, caller: Caller) -> Work:
    """The work of overwriting payloads of many. Raises FieldViolation with all faults."""
    faults = Faults()
    operation = resource_pb2.BatchOperation()
    operation.redact.payload_kinds.extend(message.payload_kinds)
    work = background(message, caller, ("redact", packed(what)), operation, faults)
    faults.check()
    return work


def background(message: Any, caller: Caller, doing: tuple[str, bytes], operation: resource_pb2.BatchOperation, faults: Faults) -> Work:
    """What every request for work in the background has: namespace, filter, reason, request_id, rate. `doing`: the verb, its arguments."""
    if not message.HasField("filter"):
        faults.add("filter", "is required; an empty one means all workflows of the namespace")
    selection = filters.selection(message.namespace, message.filter, faults, descending=False)
    if message.filter.include_archived:
        faults.add("filter.include_archived", "is for reading: only the current round can be changed")
    if len(message.reason.encode()) > rpc_limits.CANCEL_REASON:
        faults.add("reason", f"is longer than {rpc_limits.CANCEL_REASON} bytes")
    values.identifier(message.request_id, "request_id", faults, required=not message.validate_only)
    rate = getattr(message, "max_per_second", 0.0)
    if not math.isfinite(rate) or rate < 0:
        faults.add("max_per_second", "must be a number from 0 (= the server's limit)")
        rate = 0.0
    return Work(
        namespace=selection.query.namespace,
        verb=doing[0],
        plan=Plan(selection, doing[1]),
        told=_told(operation, message.filter),
        reason=message.reason,
        actor=caller.actor,
        request_id=message.request_id,
        max_per_second=rate,
        content=content_of(message),
    )


def named(message: wire.GetBatchRequest | wire.StopBatchRequest) -> tuple[str, str]:
    """Namespace and id of a batch. Raises FieldViolation with all faults."""
    faults = Faults()
    namespace = values.namespace(message.namespace, "namespace", faults)
    values.identifier(message.batch_id, "batch_id", faults, required=True)
    if isinstance(message, wire.StopBatchRequest):
        values.identifier(message.request_id, "request_id", faults)
        if len(message.reason.encode()) > rpc_limits.CANCEL_REASON:
            faults.add("reason", f"is longer than {rpc_limits.CANCEL_REASON} bytes")
    faults.check()
    return namespace, message.batch_id


def listed(message: wire.ListBatchesRequest) -> tuple[str, tuple[BatchState, ...], int]:
    """Namespace, states and page size. Raises FieldViolation with all faults."""
    faults = Faults()
    namespace = values.namespace(message.namespace, "namespace", faults)
    known = {int(state) for state in BatchState}
    if not known.issuperset(message.states):
        faults.add("states", "names a state that is not known")
    size = page_size(message.page_size, faults)
    faults.check()
    return namespace, tuple(BatchState(state) for state in message.states), size


def _told(operation: resource_pb2.BatchOperation, chosen: filter_pb2.WorkflowFilter) -> bytes:
    told = resource_pb2.Batch(operation=operation, filter=chosen)
    kind = told.operation.WhichOneof("operation")
    if kind == "signal":
        told.operation.signal.ClearField("payload")
    elif kind == "resolve_step":
        resolution = told.operation.resolve_step.resolution
        if resolution.HasField("completed"):
            resolution.completed.ClearField("output")
        elif resolution.HasField("failed"):
            resolution.failed.ClearField("details")
    return told.SerializeToString(deterministic=True)


def _operation(message: resource_pb2.BatchOperation, faults: Faults) -> tuple[str, bytes]:
    kind = message.WhichOneof("operation") or ""
    decoder = _ARGUMENTS.get(kind)
    if kind in {"migrate", "redact"}:
        faults.add("operation", f"{kind} is started by an RPC of its own")
    elif decoder is not None:
        return kind, decoder(getattr(message, kind), faults)
    elif kind:
        faults.add("operation", f"{kind} is not known to this server")
    else:
        faults.add("operation", "is not set")
    return kind, b""


def _signal(message: resource_pb2.BatchSignal, faults: Faults) -> bytes:
    name = values.identifier(message.signal_name, "operation.signal.signal_name", faults, required=True)
    content = values.payload(message.payload, "operation.signal.payload", faults) if message.HasField("payload") else None
    return packed(SignalArguments(name, content))


def _replay(message: resource_pb2.BatchReplay, faults: Faults) -> bytes:
    if len(message.reopen_steps) > limits.STEPS:
        faults.add("operation.replay.reopen_steps", f"has more than {limits.STEPS} entries")
    for index, name in enumerate(message.reopen_steps[: limits.STEPS]):
        values.name(name, f"operation.replay.reopen_steps[{index}]", STEP_NAME, faults)
    return packed(ReplayArguments(tuple(message.reopen_steps)))


def _resolve(message: resource_pb2.BatchResolveStep, faults: Faults) -> bytes:
    values.name(message.step, "operation.resolve_step.step", STEP_NAME, faults)
    return packed(ResolveArguments(message.step, verbs.resolution(message.resolution, faults, "operation.resolve_step.resolution")))


def _step_options(message: resource_pb2.BatchUpdateStepOptions, faults: Faults) -> bytes:
    values.name(message.update.step, "operation.update_step_options.update.step", STEP_NAME, faults)
    if not message.update.update_mask.paths and not message.update.policy.ListFields():
        faults.add("operation.update_step_options.update.policy", "is empty: nothing would change")
    return message.update.SerializeToString(deterministic=True)


def _nothing(_message: object, _faults: Faults) -> bytes:
    return b""


_ARGUMENTS: Final[dict[str, Callable[[Any, Faults], bytes]]] = {
    "cancel": _nothing,
    "terminate": _nothing,
    "signal": _signal,
    "pause": _nothing,
    "resume": _nothing,
    "replay": _replay,
    "delete": _nothing,
    "resolve_step": _resolve,
    "update_step_options": _step_options,
}

"""What business services send: starts, signals, cancels, reads, lists."""

from typing import Final

from msgspec.structs import replace

from perdure.v1 import workflow_pb2, workflow_service_pb2
from perdure.v1.workflow_service_pb2 import StartWorkflowRequest
from perdure_server.engine.entropy import Entropy
from perdure_server.engine.values import Ref
from perdure_server.kernel import limits
from perdure_server.kernel.canonical import payload_digest
from perdure_server.kernel.policy_validation import QUEUE_NAME
from perdure_server.kernel.start import OnClosed, OnOpen, Start
from perdure_server.kernel.validation import STEP_NAME
from perdure_server.kernel.values import Trace
from perdure_server.kernel.workflow import Signal
from perdure_server.rpc import limits as rpc_limits
from perdure_server.rpc.decode import values
from perdure_server.rpc.faults import Faults

_Start = StartWorkflowRequest
_ON_OPEN: Final = {
    _Start.ON_OPEN_UNSPECIFIED: OnOpen.USE_EXISTING,
    _Start.ON_OPEN_USE_EXISTING: OnOpen.USE_EXISTING,
    _Start.ON_OPEN_REJECT: OnOpen.REJECT,
    _Start.ON_OPEN_SUPERSEDE: OnOpen.SUPERSEDE,
}
_ON_CLOSED: Final = {
    _Start.ON_CLOSED_UNSPECIFIED: OnClosed.USE_EXISTING,
    _Start.ON_CLOSED_USE_EXISTING: OnClosed.USE_EXISTING,
    _Start.ON_CLOSED_NEW_ROUND: OnClosed.NEW_ROUND,
    _Start.ON_CLOSED_NEW_ROUND_IF_FAILED: OnClosed.NEW_ROUND_IF_FAILED,
    _Start.ON_CLOSED_REJECT: OnClosed.REJECT,
}


def start(message: StartWorkflowRequest, trace: Trace, entropy: Entropy) -> Start:
    """A start command, with a run id minted here so that every try of it is recognisable. Raises FieldViolation with all faults."""
    faults = Faults()
    if message.workflow.HasField("round"):
        faults.add("workflow.round", "must be absent: a start does not choose its round")
    content = values.payload(message.input, "input", faults) if message.HasField("input") else None
    queues = _queues(message, faults)
    if message.HasField("priority") and not 0 <= message.priority <= limits.PRIORITY_MAX:
        faults.add("priority", f"must be from 0 to {limits.PRIORITY_MAX}")
    if len(message.fairness_key.encode()) > rpc_limits.FAIRNESS_KEY:
        faults.add("fairness_key", f"is longer than {rpc_limits.FAIRNESS_KEY} bytes")
    weight = message.fairness_weight if message.HasField("fairness_weight") else 1.0
    if not limits.FAIRNESS_WEIGHT_MIN <= weight <= limits.FAIRNESS_WEIGHT_MAX:
        faults.add("fairness_weight", f"must be from {limits.FAIRNESS_WEIGHT_MIN} to {limits.FAIRNESS_WEIGHT_MAX:.0f}")
    on_open, on_closed = _policies(message, faults)
    values.identifier(message.request_id, "request_id", faults)
    values.identifier(message.definition_fingerprint, "definition_fingerprint", faults)
    timeout = values.duration(message.workflow_timeout, "workflow_timeout", faults) if message.HasField("workflow_timeout") else None
    if timeout == 0 and not message.workflow_timeout.ListFields():
        faults.add("workflow_timeout", "must be longer than zero")
    command = Start(
        key=values.key(message.workflow, "workflow", faults),
        run_id=entropy.hex(rpc_limits.RUN_ID),
        trace=trace,
        input=content,
        request_id=message.request_id,
        on_open=on_open,
        on_closed=on_closed,
        start_at=values.time(message.start_at, "start_at", faults) if message.HasField("start_at") else None,
        labels=values.labels(message.labels, "labels", faults),
        priority=message.priority if message.HasField("priority") else None,
        queue=message.queue,
        step_queues=queues,
        fairness_key=message.fairness_key,
        fairness_weight=weight,
        workflow_timeout=timeout,
        retention=values.duration(message.retention, "retention", faults) if message.HasField("retention") else None,
        signals=_start_signals(message, faults),
        expected_fence=message.workflow.expected_fence if message.workflow.HasField("expected_fence") else None,
    )
    faults.check()
    return replace(command, input_digest=payload_digest("input", content))


def signal(message: workflow_service_pb2.SignalRequest) -> tuple[Ref | str, Signal]:
    """To whom (a name or a wake token) and what; its time is the engine's. Raises FieldViolation with all faults."""
    faults = Faults()
    target: Ref | str = message.wake_token
    kind = message.WhichOneof("target")
    if kind == "workflow":
        target = values.ref(message.workflow, "workflow", faults)
    elif kind is None:
        faults.add("target", "is not set: name the workflow or give a wake_token")
    content = values.payload(message.payload, "payload", faults) if message.HasField("payload") else None
    found = Signal(
        values.identifier(message.signal_id, "signal_id", faults, required=True),
        values.identifier(message.signal_name, "signal_name", faults, required=True),
        0,
        content,
    )
    faults.check()
    return target, found


def cancel(message: workflow_service_pb2.CancelWorkflowRequest) -> Ref:
    """Which workflow to cancel. Raises FieldViolation with all faults."""
    faults = Faults()
    found = values.ref(message.workflow, "workflow", faults)
    if len(message.reason.encode()) > rpc_limits.CANCEL_REASON:
        faults.add("reason", f"is longer than {rpc_limits.CANCEL_REASON} bytes")
    if len(message.etag) > rpc_limits.ETAG:
        faults.add("etag", "is none that this server gave out")
    values.identifier(message.request_id, "request_id", faults)
    faults.check()
    return found


def ref(message: workflow_pb2.WorkflowRef) -> Ref:
    """The workflow that a read names. Raises FieldViolation with all faults."""
    faults = Faults()
    found = values.ref(message, "workflow", faults)
    faults.check()
    return found


def look(message: workflow_service_pb2.GetWorkflowRequest | workflow_service_pb2.WatchRequest) -> Ref:
    """The workflow to get or to watch. Raises FieldViolation with all faults."""
    faults = Faults()
    found = values.ref(message.workflow, "workflow", faults)
    known_view(message.view, faults)
    faults.check()
    return found


def known_view(asked: int, faults: Faults) -> bool:
    """Whether the server knows this view; noted if not."""
    if asked in workflow_pb2.WorkflowView.values():
        return True
    faults.add("view", "is not known")
    return False


def result_wait(message: workflow_service_pb2.WaitForResultRequest) -> tuple[Ref, int]:
    """Which workflow, and how long to wait in ms, capped at limits.RESULT_WAIT_MAX. Raises FieldViolation with all faults."""
    faults = Faults()
    found = values.ref(message.workflow, "workflow", faults)
    timeout = values.duration(message.timeout, "timeout", faults) if message.HasField("timeout") else limits.RESULT_WAIT_MAX
    faults.check()
    return found, min(timeout, limits.RESULT_WAIT_MAX)


def payload_holder(message: workflow_service_pb2.FetchPayloadRequest) -> Ref | str:
    """Whose payload is asked for: a workflow's, or (str) a claim's. Raises FieldViolation with all faults."""
    faults = Faults()
    holder: Ref | str = message.claim_token
    kind = message.WhichOneof("holder")
    if kind == "workflow":
        holder = values.ref(message.workflow, "workflow", faults)
    elif kind is None:
        faults.add("holder", "is not set: name the workflow or give a claim_token")
    values.identifier(message.payload_id, "payload_id", faults, required=True)
    faults.check()
    return holder


def page_size(asked: int, faults: Faults) -> int:
    """Rows of one page; 0 asks for the default."""
    if not 0 <= asked <= limits.PAGE_SIZE_MAX:
        faults.add("page_size", f"must be from 0 (= {limits.PAGE_SIZE}) to {limits.PAGE_SIZE_MAX}")
    return asked or limits.PAGE_SIZE


def _policies(message: StartWorkflowRequest, faults: Faults) -> tuple[OnOpen, OnClosed]:
    on_open, on_closed = _ON_OPEN.get(message.on_open), _ON_CLOSED.get(message.on_closed)
    if on_open is None and message.on_open not in _Start.OnOpen.values():
        faults.add("on_open", "is not known")
    if on_closed is None and message.on_closed not in _Start.OnClosed.values():
        faults.add("on_closed", "is not known")
    if (on_open not in (OnOpen.USE_EXISTING, None) or on_closed not in (OnClosed.USE_EXISTING, None)) and not message.request_id:
        faults.add("request_id", "is required unless both policies are USE_EXISTING, so that a repeat is recognised")
    return on_open or OnOpen.USE_EXISTING, on_closed or OnClosed.USE_EXISTING


def _queues(message: StartWorkflowRequest, faults: Faults) -> dict[str, str]:
    if message.queue:
        values.name(message.queue, "queue", QUEUE_NAME, faults)
    if len(message.step_queues) > limits.STEPS:
        faults.add("step_queues", f"has more than {limits.STEPS} entries")
    for step, queue in message.step_queues.items():
        values.name(step, "step_queues", STEP_NAME, faults)
        values.name(queue, f"step_queues[{step[: limits.NAME_LENGTH]!r}]", QUEUE_NAME, faults)
    return dict(message.step_queues)


def _start_signals(message: StartWorkflowRequest, faults: Faults) -> tuple[Signal, ...]:
    if len(message.signals) > rpc_limits.START_SIGNALS:
        faults.add("signals", f"has more than {rpc_limits.START_SIGNALS} entries")
    found = []
    for index, item in enumerate(message.signals):
        field = f"signals[{index}]"
        signal_id = values.identifier(item.signal_id, f"{field}.signal_id", faults, required=True)
        name = values.identifier(item.signal_name, f"{field}.signal_name", faults, required=True)
        content = values.payload(item.payload, f"{field}.payload", faults) if item.HasField("payload") else None
        found.append(Signal(signal_id, name, 0, content))
    if len({item.signal_id for item in found}) != len(found):
        faults.add("signals", "names a signal_id twice")
    return tuple(found)

"""What people ask of one workflow: pause, resume, terminate, replay, delete, resolve a step; and what they ask to see of it."""

from collections.abc import Callable
from typing import Any, Final

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import resource_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.engine.people import Conditions
from perdure_server.engine.values import Ref
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Failed
from perdure_server.kernel.rejection import FieldViolation
from perdure_server.kernel.resolving import PassedOver, Resolution, Retried
from perdure_server.kernel.validation import STEP_NAME
from perdure_server.rpc import limits as rpc_limits
from perdure_server.rpc.decode import values, workers
from perdure_server.rpc.decode.content import content_of
from perdure_server.rpc.decode.workflows import page_size
from perdure_server.rpc.faults import Faults, RequestRefused

VerbMessage = (
    wire.TerminateWorkflowRequest
    | wire.PauseWorkflowRequest
    | wire.ResumeWorkflowRequest
    | wire.ReplayWorkflowRequest
    | wire.DeleteWorkflowRequest
    | admin.ResolveStepRequest
    | admin.UpdateStepOptionsRequest
)


def conditional(message: VerbMessage) -> tuple[Ref, Conditions]:
    """Which workflow, and under which conditions. Raises FieldViolation with all faults."""
    faults = Faults()
    found = _conditional(message, faults)
    if isinstance(message, wire.ReplayWorkflowRequest):
        if len(message.reopen_steps) > limits.STEPS:
            faults.add("reopen_steps", f"has more than {limits.STEPS} entries")
        for index, name in enumerate(message.reopen_steps[: limits.STEPS]):
            values.name(name, f"reopen_steps[{index}]", STEP_NAME, faults)
    faults.check()
    return found


def resolve(message: admin.ResolveStepRequest) -> tuple[Ref, Resolution, Conditions]:
    """Which workflow, how its step is settled, and under which conditions. Raises FieldViolation with all faults."""
    faults = Faults()
    ref, conditions = _conditional(message, faults)
    if not message.reason:
        faults.add("reason", "is required")
    values.name(message.step, "step", STEP_NAME, faults)
    found = resolution(message.resolution, faults)
    faults.check()
    return ref, found, conditions


def with_wire_paths(error: FieldViolation) -> FieldViolation:
    """The kernel's faults of a resolution under the paths that the fields have in the proto."""
    return RequestRefused([(f"resolution.{field}", text) for field, text in error.violations], error.reason, {})


def attempts(message: wire.ListAttemptsRequest) -> tuple[Ref, str, int]:
    """Whose attempts, of which step ("" = all), and how many a page. Raises FieldViolation with all faults."""
    faults = Faults()
    found = values.ref(message.workflow, "workflow", faults)
    if message.step:
        values.name(message.step, "step", STEP_NAME, faults)
    size = page_size(message.page_size, faults)
    faults.check()
    return found, message.step, size


def explain(message: wire.ExplainWorkflowRequest) -> tuple[Ref, str]:
    """Which workflow, and which step ("" = all that have not ended). Raises FieldViolation with all faults."""
    faults = Faults()
    found = values.ref(message.workflow, "workflow", faults)
    if message.step:
        values.name(message.step, "step", STEP_NAME, faults)
    faults.check()
    return found, message.step


def _conditional(message: VerbMessage, faults: Faults) -> tuple[Ref, Conditions]:
    found = values.ref(message.workflow, "workflow", faults)
    if len(message.reason.encode()) > rpc_limits.CANCEL_REASON:
        faults.add("reason", f"is longer than {rpc_limits.CANCEL_REASON} bytes")
    values.identifier(message.request_id, "request_id", faults)
    if len(message.etag) > rpc_limits.ETAG:
        faults.add("etag", "is none that this server gave out")
    if not isinstance(message, wire.DeleteWorkflowRequest):
        content = content_of(message)
    else:
        content = f"round-{found.round}" if found.round is not None else ""
    return found, Conditions(message.request_id, message.etag, getattr(message, "validate_only", False), content)


def resolution(message: resource_pb2.StepResolution, faults: Faults, field: str = "resolution") -> Resolution:
    """How a step is settled."""
    decoder = _RESOLUTIONS.get(message.WhichOneof("resolution") or "")
    if decoder is None:
        faults.add(field, "is not set: completed, failed, retry or pass_over")
        return PassedOver()
    return decoder(message, field, faults)


_RESOLUTIONS: Final[dict[str, Callable[[Any, str, Faults], Resolution]]] = {
    "completed": lambda message, field, faults: workers.completed(message.completed, f"{field}.completed", faults),
    "failed": lambda message, field, faults: Failed(values.failure(message.failed, f"{field}.failed", faults)),
    "retry": lambda message, *_: Retried(message.retry.clear_checkpoint),
    "pass_over": lambda *_: PassedOver(),
}

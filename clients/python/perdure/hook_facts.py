"""Why a hook or a compensation runs, and what it may need to know."""

from dataclasses import dataclass, field
from typing import Any

from perdure import payloads
from perdure.failure import Failure
from perdure.v1 import claim_pb2, payload_pb2, workflow_pb2
from perdure.view import StepState, enum_name, failure_of, step_state


@dataclass(frozen=True, slots=True)
class UnfinishedStep:
    """A step that was begun and did not complete."""

    step: str
    """Its name."""
    state: StepState
    """Where it ended."""
    idempotency_key: str
    """What its activity handed to what it called."""
    stored: payload_pb2.Payload | None = field(default=None, repr=False)

    def checkpoint(self, as_type: Any = Any) -> Any:
        """Its last checkpoint, decoded; None: none. Raises PayloadRejected if it is not of that type."""
        return payloads.decode(self.stored, as_type)


@dataclass(frozen=True, slots=True)
class HookFacts:
    """Facts of a hook's claim."""

    kind: str
    """ON_SUCCESS, FAILURE_FINALIZER, CANCEL_FINALIZER, PREPARE_REPLAY or COMPENSATION."""
    failure: Failure | None = None
    """What the workflow failed with; None: it did not fail."""
    failed_step: str = ""
    """The step that failed."""
    cancel_reason: str = ""
    """Why it was cancelled."""
    unfinished: tuple[UnfinishedStep, ...] = ()
    """Steps that were cut short."""
    compensates: str = ""
    """For a compensation: the step to undo."""
    in_doubt: bool = False
    """For a compensation: the step was begun, and nobody knows whether it took effect."""
    compensated_idempotency_key: str = ""
    """For a compensation: what the step to undo handed to what it called."""
    compensated: payload_pb2.Payload | None = field(default=None, repr=False)

    def compensated_output(self, as_type: Any = Any) -> Any:
        """For a compensation: the output of the step to undo, decoded; None: in doubt, or none. Raises PayloadRejected."""
        return payloads.decode(self.compensated, as_type)


def hook_facts(message: claim_pb2.HookContext) -> HookFacts:
    """From the wire's form."""
    return HookFacts(
        enum_name(workflow_pb2.HookKind, message.kind, "HOOK_KIND_"),
        failure_of(message.failure) if message.HasField("failure") else None,
        message.failed_step,
        message.cancel.reason,
        tuple(
            UnfinishedStep(
                item.step, step_state(item.state), item.idempotency_key, item.checkpoint if item.HasField("checkpoint") else None
            )
            for item in message.unfinished
        ),
        message.compensates,
        message.in_doubt,
        message.compensated_idempotency_key,
        message.compensated_output if message.HasField("compensated_output") else None,
    )

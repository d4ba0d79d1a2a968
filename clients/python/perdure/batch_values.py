"""Batches as values: one deed on many workflows."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from google.protobuf.message import Message

from perdure import payloads
from perdure.resolution import Resolution
from perdure.steps import StepName, StepPolicy, step_names
from perdure.v1 import resource_pb2
from perdure.view import WorkflowRef, enum_name, ref_of, time_of


class BatchState(StrEnum):
    """Life of a batch."""

    UNKNOWN = "UNKNOWN"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    """Came to the end; the counts say how."""
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    """Could not go on."""


@dataclass(frozen=True, slots=True)
class BatchOperation:
    """What a batch does to each workflow, by the rules of the single verb; made by one of its ways."""

    message: resource_pb2.BatchOperation
    """The wire's form."""

    @staticmethod
    def cancel() -> "BatchOperation":
        """Cancel each."""
        return _operation("cancel")

    @staticmethod
    def terminate() -> "BatchOperation":
        """Terminate each: no hooks."""
        return _operation("terminate")

    @staticmethod
    def pause() -> "BatchOperation":
        """Pause each."""
        return _operation("pause")

    @staticmethod
    def resume() -> "BatchOperation":
        """Resume each."""
        return _operation("resume")

    @staticmethod
    def delete() -> "BatchOperation":
        """Delete each; only ended ones can be."""
        return _operation("delete")

    @staticmethod
    def signal(name: str, payload: object = None) -> "BatchOperation":
        """Signal each, once."""
        return _operation("signal", resource_pb2.BatchSignal(signal_name=name, payload=payloads.encode(payload)))

    @staticmethod
    def replay(*, reopen: StepName | Iterable[StepName] = ()) -> "BatchOperation":
        """Let each go on, with these completed steps done again."""
        return _operation("replay", resource_pb2.BatchReplay(reopen_steps=step_names(reopen)))

    @staticmethod
    def update_step(step: StepName, policy: StepPolicy, *, reset: Iterable[str] = ()) -> "BatchOperation":
        """Change the policy of one step in each; `reset` names fields that return to their defaults."""
        return _operation("update_step_options", resource_pb2.BatchUpdateStepOptions(update=policy_update(step, policy, reset)))

    @staticmethod
    def resolve(step: StepName, resolution: Resolution) -> "BatchOperation":
        """Decide about one step in each."""
        (name,) = step_names(step)
        return _operation("resolve_step", resource_pb2.BatchResolveStep(step=name, resolution=resolution.message))


def policy_update(step: StepName, policy: StepPolicy, reset: Iterable[str]) -> resource_pb2.StepPolicyUpdate:
    """What is set in a policy as an update of one step; `reset` names fields that return to their defaults."""
    (name,) = step_names(step)
    update = resource_pb2.StepPolicyUpdate(step=name, policy=policy.to_message())
    fields = [field.name for field, _ in update.policy.ListFields()]
    update.update_mask.paths.extend(sorted({*fields, *reset}))
    return update


def _operation(name: str, message: Message | None = None) -> BatchOperation:
    made = resource_pb2.BatchOperation()
    target: Message = getattr(made, name)
    target.SetInParent()
    if message is not None:
        target.CopyFrom(message)
    return BatchOperation(made)


@dataclass(frozen=True, slots=True)
class BatchError:
    """A refusal within a batch."""

    workflow: WorkflowRef
    message: str
    """Why, for people."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as it was when it was read."""

    batch_id: str
    """Empty: nothing was started, only counted."""
    state: BatchState
    operation: str
    """cancel, terminate, signal, ..., migrate, redact."""
    reason: str
    actor: str
    """Who started it; empty: unknown."""
    start_time: datetime | None
    end_time: datetime | None
    """None: it has not ended."""
    matched: int
    """How many workflows matched at the start."""
    matched_is_estimate: bool
    succeeded: int
    failed: int
    """Refused."""
    errors: tuple[BatchError, ...]
    """The first 20 refusals."""
    message: resource_pb2.Batch = field(repr=False)
    """All that the server told."""


@dataclass(frozen=True, slots=True)
class BatchStart:
    """What a purge or a redaction does, or would do."""

    matched: int
    """Workflows that match."""
    is_estimate: bool
    batch: Batch | None
    """The work in the background; None: it was only asked about, done at once, or nothing matched."""
    redacted: int = 0
    """Payloads that were, or would be, overwritten; only of one workflow."""


def batch_of(message: resource_pb2.Batch) -> Batch:
    """The value of a message."""
    state = BatchState.__members__.get(enum_name(resource_pb2.Batch.State, message.state), BatchState.UNKNOWN)
    return Batch(
        message.batch_id,
        state,
        message.operation.WhichOneof("operation") or "",
        message.reason,
        message.actor,
        time_of(message.start_time),
        time_of(message.end_time),
        message.matched_count,
        message.matched_estimate,
        message.succeeded_count,
        message.failed_count,
        tuple(BatchError(ref_of(error.workflow), error.status.message) for error in message.errors),
        message,
    )

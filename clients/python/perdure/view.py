"""Workflows as readers see them: plain values, with the wire's message at hand for the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from perdure import payloads
from perdure.codec import failure_text
from perdure.failure import Failure
from perdure.v1 import payload_pb2, workflow_pb2


class WorkflowState(StrEnum):
    """Life of a workflow."""

    UNKNOWN = "UNKNOWN"
    RUNNING = "RUNNING"
    CANCELLING = "CANCELLING"
    FAILING = "FAILING"
    PREPARING_REPLAY = "PREPARING_REPLAY"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TERMINATED = "TERMINATED"

    @property
    def is_ended(self) -> bool:
        """Whether it is an end state."""
        return self in {WorkflowState.COMPLETED, WorkflowState.FAILED, WorkflowState.CANCELLED, WorkflowState.TERMINATED}


class StepState(StrEnum):
    """Life of a step."""

    UNKNOWN = "UNKNOWN"
    BLOCKED = "BLOCKED"
    READY = "READY"
    RUNNING = "RUNNING"
    WAITING = "WAITING"
    BACKOFF = "BACKOFF"
    CANCELLING = "CANCELLING"
    HELD = "HELD"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    SKIPPED = "SKIPPED"
    COMPENSATED = "COMPENSATED"


@dataclass(frozen=True, slots=True)
class WorkflowRef:
    """Names a workflow."""

    workflow_type: str
    business_key: str
    namespace: str = ""
    """Empty: the client's."""
    round: int | None = None
    """None: the current one."""
    expected_fence: int | None = None
    """An expectation: if the run's fence is another, Conflict."""

    def to_message(self) -> workflow_pb2.WorkflowRef:
        """The wire's form."""
        return workflow_pb2.WorkflowRef(
            namespace=self.namespace,
            workflow_type=self.workflow_type,
            business_key=self.business_key,
            round=self.round,
            expected_fence=self.expected_fence,
        )


@dataclass(frozen=True, slots=True)
class StepView:
    """One step of one workflow."""

    name: str
    state: StepState
    phase: str
    """QUEUED, EXECUTING, WAITING, ...; empty when blocked or ended."""
    phase_reason: str
    """The phase in a sentence; may be empty."""
    attempt: int
    claim_no: int
    worker_id: str
    failure: Failure | None
    waits_for: tuple[str, ...]
    """Names of the signals that it waits for."""
    next_time: datetime | None
    """When it moves by itself; None: it does not."""
    message: workflow_pb2.StepView = field(repr=False)
    """All that the server told."""

    def output(self, as_type: Any = Any) -> Any:
        """Its output as `as_type`; None if it has none. Raises PayloadRejected."""
        return payloads.decode(self.message.output if self.message.HasField("output") else None, as_type)


@dataclass(frozen=True, slots=True)
class Workflow:
    """One execution of a definition for one business key, as it was when it was read."""

    workflow_type: str
    business_key: str
    namespace: str
    round: int
    run_id: str
    fence: int
    state: WorkflowState
    phase: str
    """QUEUED, EXECUTING, WAITING, ...; empty once ended."""
    phase_reason: str
    steps: Mapping[str, StepView]
    """By name; empty where the view has none."""
    failure: Failure | None
    failed_step: str
    labels: Mapping[str, str]
    start_time: datetime | None
    end_time: datetime | None
    next_time: datetime | None
    definition_fingerprint: str
    message: workflow_pb2.Workflow = field(repr=False)
    """All that the server told."""

    def input(self, as_type: Any = Any) -> Any:
        """Its input as `as_type`; None if it has none. Raises PayloadRejected."""
        return payloads.decode(self.message.input if self.message.HasField("input") else None, as_type)

    def output(self, as_type: Any = Any) -> Any:
        """Its output as `as_type`; None if it has none. Raises PayloadRejected."""
        return payloads.decode(self.message.output if self.message.HasField("output") else None, as_type)

    def waits_for(self, signal: str) -> bool:
        """Whether a step waits for this signal now."""
        return any(signal in step.waits_for for step in self.steps.values())


def ref_of(message: workflow_pb2.WorkflowRef) -> WorkflowRef:
    """The value of a message."""
    round_number = message.round if message.HasField("round") else None
    return WorkflowRef(message.workflow_type, message.business_key, message.namespace, round_number)


def workflow_of(message: workflow_pb2.Workflow) -> Workflow:
    """The value of a message."""
    ref = message.workflow
    return Workflow(
        ref.workflow_type,
        ref.business_key,
        ref.namespace,
        ref.round,
        message.run_id,
        message.fence,
        workflow_state(message.state),
        phase_name(message.phase),
        message.phase_reason,
        {step.name: _step_of(step) for step in message.steps},
        failure_of(message.failure) if message.HasField("failure") else None,
        message.failed_step,
        dict(message.labels),
        time_of(message.start_time),
        time_of(message.end_time),
        time_of(message.next_time),
        message.definition_fingerprint,
        message,
    )


def _step_of(message: workflow_pb2.StepView) -> StepView:
    return StepView(
        message.name,
        step_state(message.state),
        phase_name(message.phase),
        message.phase_reason,
        message.attempt,
        message.claim_no,
        message.worker_id,
        failure_of(message.failure) if message.HasField("failure") else None,
        signals_of(message.wait.any_of) if message.state == workflow_pb2.StepView.STATE_WAITING else (),
        time_of(message.next_time),
        message,
    )


def signals_of(conditions: Sequence[Any]) -> tuple[str, ...]:
    """Names of the signals among a wait's conditions."""
    return tuple(condition.signal.signal_name for condition in conditions if condition.HasField("signal"))


def failure_of(message: payload_pb2.Failure) -> Failure:
    """The value of a message. Details that cannot be decoded stay out."""
    details = payloads.inline(message.details) if message.HasField("details") else None
    retry_after = message.retry_after.ToTimedelta() if message.HasField("retry_after") else None
    return Failure(message.type, failure_text(message), details=details, non_retryable=message.non_retryable, retry_after=retry_after)


def workflow_state(value: int) -> WorkflowState:
    """The state; UNKNOWN for one that only newer servers know."""
    return WorkflowState.__members__.get(enum_name(workflow_pb2.Workflow.State, value), WorkflowState.UNKNOWN)


def step_state(value: int) -> StepState:
    """The state; UNKNOWN for one that only newer servers know."""
    return StepState.__members__.get(enum_name(workflow_pb2.StepView.State, value), StepState.UNKNOWN)


def phase_name(value: int) -> str:
    """The phase's name; empty for none."""
    return enum_name(workflow_pb2.Phase, value, "PHASE_")


def enum_name(enum: Any, value: int, prefix: str = "STATE_") -> str:
    """Name of an enum's value without its prefix; empty for unspecified, `UNKNOWN_<number>` for what is newer."""
    if value == 0:
        return ""
    found = enum.DESCRIPTOR.values_by_number.get(value)
    return found.name.removeprefix(prefix) if found is not None else f"UNKNOWN_{value}"


def time_of(timestamp: Timestamp) -> datetime | None:
    """The time in UTC; None for one that is not set."""
    return timestamp.ToDatetime(tzinfo=UTC) if timestamp.seconds or timestamp.nanos else None

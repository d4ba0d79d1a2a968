"""What a watcher is told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, cast

from perdure import payloads
from perdure.failure import Failure
from perdure.v1 import watch_pb2, workflow_pb2
from perdure.view import (
    StepState,
    Workflow,
    WorkflowState,
    enum_name,
    failure_of,
    signals_of,
    step_state,
    time_of,
    workflow_of,
    workflow_state,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened; `str(event)` is a line for people."""

    resume_token: str = field(default="", repr=False)
    """Give it to `run.watch` to go on after this event, in another process too."""

    def waits_for(self, signal: str) -> bool:
        """Whether this event says that a step now waits for the signal."""
        del signal
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot(Event):
    """The whole workflow; everything shown before is void."""

    workflow: Workflow

    def waits_for(self, signal: str) -> bool:
        """Whether a step waits for the signal."""
        return self.workflow.waits_for(signal)

    def __str__(self) -> str:
        steps = ", ".join(f"{step.name} {step.state}" for step in self.workflow.steps.values() if step.state is not StepState.BLOCKED)
        return f"{self.workflow.workflow_type}/{self.workflow.business_key} is {self.workflow.state}{': ' if steps else ''}{steps}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Event):
    """One change of state."""

    seq: int
    """Position in the order of the round's changes, without holes."""
    round: int
    reason: str
    """What happened, for people; an open set."""
    step: str
    """Empty: the change is about the workflow alone."""
    step_state: StepState | None
    """The step's new state; None: unchanged."""
    workflow_state: WorkflowState | None
    """The workflow's new state; None: unchanged."""
    attempt: int
    claim_no: int
    worker_id: str
    failure: Failure | None
    signals: tuple[str, ...]
    """Names of the signals that the step now waits for."""
    signal_name: str
    """Signal that arrived or was consumed; empty: none."""
    time: datetime | None
    """Store time of the change."""
    next_time: datetime | None
    """When the step moves by itself."""
    message: watch_pb2.StateChange = field(repr=False)
    """All that the server told."""

    def waits_for(self, signal: str) -> bool:
        """Whether the step now waits for the signal."""
        return signal in self.signals

    def output(self, as_type: Any = Any) -> Any:
        """The step's output as `as_type`, if it came along; None otherwise. Raises PayloadRejected."""
        return payloads.decode(self.message.output if self.message.HasField("output") else None, as_type)

    def __str__(self) -> str:
        parts = [self.step or "workflow", (self.step_state or self.workflow_state or self.reason or "changed")]
        if self.step and self.workflow_state is not None and self.step_state is not None:
            parts.append(f"(workflow {self.workflow_state})")
        if self.worker_id and self.step_state is StepState.RUNNING:
            parts.append(f"attempt {self.attempt} on {self.worker_id}")
        if self.signals:
            parts.append(f"for {' or '.join(self.signals)}")
        if self.failure is not None:
            parts.append(f"({self.failure})")
        return " ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame(Event):
    """A piece of progress of one claim."""

    step: str
    claim_no: int
    seq: int
    """From 1, without holes, within the claim."""
    kind: str
    """TEXT, PROGRESS or LOG."""
    message: watch_pb2.Frame = field(repr=False)
    """All that the server told."""

    @property
    def value(self) -> Any:
        """What was sent: text, a dict for progress; as sent by other languages for the rest."""
        return payloads.inline(self.message.payload)

    @property
    def text(self) -> str:
        """The text of a TEXT or LOG frame; of progress, its message or numbers."""
        value = self.value
        if not isinstance(value, dict):
            return str(value)
        value = cast("dict[str, object]", value)
        told = f"{value.get('done', '?')}" + (f"/{value['total']}" if value.get("total") is not None else "")
        return " ".join(part for part in (told, str(value.get("unit") or ""), str(value.get("message") or "")) if part)

    def __str__(self) -> str:
        return f"{self.step} [{self.claim_no}.{self.seq}] {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FramesReset(Event):
    """What was shown of this step's claim, and of those before it, is void."""

    step: str
    claim_no: int

    def __str__(self) -> str:
        return f"{self.step}: frames up to claim {self.claim_no} are void"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap(Event):
    """Something is no longer retained; a snapshot follows if changes are missing."""

    changes: bool
    frames: bool
    reason: str

    def __str__(self) -> str:
        missing = " and ".join(name for name, is_missing in (("changes", self.changes), ("frames", self.frames)) if is_missing)
        return f"gap: {missing or 'something'} missing ({self.reason})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle(Event):
    """Nothing happened for a while; only told to who asks for it (`idle=True`)."""

    def __str__(self) -> str:
        return "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class End(Event):
    """The workflow has ended."""

    state: WorkflowState
    failure: Failure | None
    time: datetime | None
    fence: int
    round: int
    message: watch_pb2.WatchEnd = field(repr=False)
    """All that the server told."""

    def output(self, as_type: Any = Any) -> Any:
        """Its output as `as_type`; None if there is none. Raises PayloadRejected."""
        return payloads.decode(self.message.output if self.message.HasField("output") else None, as_type)

    def __str__(self) -> str:
        return f"{self.state}{f': {self.failure}' if self.failure is not None else ''}"


def event_of(message: watch_pb2.WatchEvent) -> Event | None:
    """The value of a message; None for keep-alives and for kinds that only newer servers know."""
    kind = message.WhichOneof("event")
    make = _MAKERS.get(kind) if kind is not None else None
    return make(getattr(message, kind or ""), message.resume_token) if make is not None else None


def idle_of(token: str) -> Idle:
    """Nothing happened."""
    return Idle(resume_token=token)


def _snapshot_of(snapshot: workflow_pb2.Workflow, token: str) -> Snapshot:
    return Snapshot(resume_token=token, workflow=workflow_of(snapshot))


def _reset_of(reset: watch_pb2.FramesReset, token: str) -> FramesReset:
    return FramesReset(resume_token=token, step=reset.step, claim_no=reset.claim_no)


def _gap_of(gap: watch_pb2.Gap, token: str) -> Gap:
    return Gap(resume_token=token, changes=gap.changes, frames=gap.frames, reason=gap.reason)


def _change_of(change: watch_pb2.StateChange, token: str) -> Change:
    return Change(
        resume_token=token,
        seq=change.seq,
        round=change.round,
        reason=change.reason,
        step=change.step,
        step_state=step_state(change.step_state) if change.step_state else None,
        workflow_state=workflow_state(change.workflow_state) if change.workflow_state else None,
        attempt=change.attempt,
        claim_no=change.claim_no,
        worker_id=change.worker_id,
        failure=failure_of(change.failure) if change.HasField("failure") else None,
        signals=signals_of(change.wait.any_of),
        signal_name=change.signal_name,
        time=time_of(change.change_time),
        next_time=time_of(change.next_time),
        message=change,
    )


def _frame_of(frame: watch_pb2.Frame, token: str) -> Frame:
    kind = enum_name(watch_pb2.Frame.Kind, frame.kind, "KIND_")
    return Frame(resume_token=token, step=frame.step, claim_no=frame.claim_no, seq=frame.seq, kind=kind, message=frame)


def _end_of(end: watch_pb2.WatchEnd, token: str) -> End:
    return End(
        resume_token=token,
        state=workflow_state(end.state),
        failure=failure_of(end.failure) if end.HasField("failure") else None,
        time=time_of(end.end_time),
        fence=end.fence,
        round=end.round,
        message=end,
    )


_MAKERS: Final[Mapping[str, Callable[[Any, str], Event]]] = {
    "snapshot": _snapshot_of,
    "change": _change_of,
    "frame": _frame_of,
    "frames_reset": _reset_of,
    "gap": _gap_of,
    "end": _end_of,
}

"""What comes out of `client.definitions.test`."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from perdure import payloads
from perdure.failure import Failure
from perdure.v1 import admin_service_pb2, scripted_pb2
from perdure.view import StepState, Workflow, WorkflowState, failure_of, step_state, workflow_of, workflow_state


@dataclass(frozen=True, slots=True)
class TrialSignal:
    """A signal that arrives `after` the start, on the trial's clock."""

    name: str
    after: timedelta
    payload: object = None


@dataclass(frozen=True, slots=True)
class TrialCancel:
    """A cancel that is asked for `after` the start, on the trial's clock."""

    after: timedelta
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TrialChange:
    """One line of what happened."""

    after: timedelta
    """Since the start, on the trial's clock."""
    step: str
    """Empty: the workflow itself."""
    state: str
    """The new state: of the step, or of the workflow."""
    reason: str
    """What happened, as the transition table names it, such as GRANT, FAILED or DUE."""
    attempt: int
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class Trial:
    """A definition ran in memory, and nothing was stored."""

    workflow: Workflow
    """As it was at the end."""
    changes: tuple[TrialChange, ...]
    """Each change, in order; at most 10,000."""
    elapsed: timedelta
    """How long it took on the trial's clock."""
    fingerprint: str
    """The definition's."""
    warnings: tuple[str, ...] = ()
    """What is allowed but probably not meant."""
    message: admin_service_pb2.TestDefinitionResponse = field(default_factory=admin_service_pb2.TestDefinitionResponse, repr=False)
    """All that the server told."""

    @property
    def state(self) -> WorkflowState:
        """The workflow's state at the end; RUNNING if nothing could move it any more."""
        return self.workflow.state

    @property
    def failure(self) -> Failure | None:
        """Why it failed; None: it did not."""
        return self.workflow.failure

    def step(self, name: str) -> StepState:
        """A step's state at the end. Raises KeyError for a name that the definition does not have."""
        return self.workflow.steps[name].state


def trial_events(events: Iterable[TrialSignal | TrialCancel]) -> list[scripted_pb2.ScriptedEvent]:
    """The wire's form of what happens."""
    found: list[scripted_pb2.ScriptedEvent] = []
    for event in events:
        message = scripted_pb2.ScriptedEvent()
        message.after.FromTimedelta(event.after)
        if isinstance(event, TrialSignal):
            message.signal.CopyFrom(scripted_pb2.ScriptedSignal(signal_name=event.name, payload=payloads.encode(event.payload)))
        else:
            message.cancel.reason = event.reason
        found.append(message)
    return found


def trial_of(message: admin_service_pb2.TestDefinitionResponse) -> Trial:
    """The trial in an answer."""
    warnings = tuple(f"{warning.field}: {warning.description}" for warning in message.warnings)
    changes = tuple(_change(change) for change in message.changes)
    workflow = workflow_of(message.workflow)
    return Trial(workflow, changes, message.elapsed.ToTimedelta(), message.definition_fingerprint, warnings, message)


def _change(message: scripted_pb2.ScriptedChange) -> TrialChange:
    state = str(step_state(message.step_state) if message.step else workflow_state(message.workflow_state))
    failure = failure_of(message.failure) if message.HasField("failure") else None
    return TrialChange(message.after.ToTimedelta(), message.step, state, message.reason, message.attempt, failure)

"""What a watcher of many workflows is told."""

from dataclasses import dataclass, field

from perdure.v1 import workflow_service_pb2
from perdure.view import Workflow, WorkflowRef, ref_of, workflow_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyEvent:
    """One thing that happened among many workflows."""

    resume_token: str = field(default="", repr=False)
    """Give it to `client.watch_many` to go on after this event, in another process too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowChanged(ManyEvent):
    """A workflow that matches is new or changed: it replaces what was known of it."""

    workflow: Workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRemoved(ManyEvent):
    """A workflow does not match any more, or is deleted."""

    ref: WorkflowRef


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingSent(ManyEvent):
    """All that there was at the beginning has been told."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOver(ManyEvent):
    """Something was missed: forget all, what there is comes again."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyIdle(ManyEvent):
    """Nothing happened for a while; only told to who asks for it (`idle=True`)."""


def many_idle_of(token: str) -> ManyIdle:
    """Nothing happened."""
    return ManyIdle(resume_token=token)


def many_event_of(message: workflow_service_pb2.WorkflowsEvent) -> ManyEvent | None:
    """The value of a message; None for keep-alives and for kinds that only newer servers know."""
    token = message.resume_token
    match message.WhichOneof("event"):
        case "changed":
            return WorkflowChanged(resume_token=token, workflow=workflow_of(message.changed))
        case "removed":
            return WorkflowRemoved(resume_token=token, ref=ref_of(message.removed))
        case "existing_sent":
            return ExistingSent(resume_token=token, count=message.existing_sent.count)
        case "gap":
            return StartOver(resume_token=token, reason=message.gap.reason)
        case _:
            return None

"""Limits and times of a whole workflow."""

from dataclasses import dataclass
from datetime import timedelta

from perdure.v1 import definition_pb2


@dataclass(frozen=True, slots=True)
class WorkflowPolicy:
    """Limits and times of a whole workflow; they may change under running ones. What is None is the server's default."""

    workflow_timeout: timedelta | None = None
    """From the start of the round until it must have ended."""
    cancel_grace: timedelta | None = None
    """How long running steps may go on after a cancel or a failure. None: 30 s."""
    max_lost_claims: int | None = None
    """How many claims of one step may be lost with their worker. None: 5."""
    retention: timedelta | None = None
    """How long an ended workflow is kept. None: the namespace's."""

    def to_message(self) -> definition_pb2.WorkflowPolicy:
        """The wire's form."""
        message = definition_pb2.WorkflowPolicy(max_lost_claims=self.max_lost_claims)
        for name in ("workflow_timeout", "cancel_grace", "retention"):
            duration = getattr(self, name)
            if duration is not None:
                getattr(message, name).FromTimedelta(duration)
        return message

"""What moving workflows to another definition does, as values."""

from dataclasses import dataclass, field

from perdure.batch_values import Batch, batch_of
from perdure.v1 import admin_service_pb2
from perdure.view import WorkflowRef, enum_name, ref_of


@dataclass(frozen=True, slots=True)
class MigrationIssue:
    """What one workflow would lose."""

    workflow: WorkflowRef
    step: str
    loss: str
    """COMPLETED_OUTPUT, OPEN_WAIT, CHECKPOINT, HELD_PERMIT, RUNNING_CLAIM or OPEN_CHILDREN: what `accept` takes."""
    description: str
    """For people."""


@dataclass(frozen=True, slots=True)
class Migration:
    """What a migration does, or would do."""

    batch: Batch | None
    """The work in the background; None: it was only asked about, or nothing matched."""
    matched: int
    """Workflows that match."""
    movable: int
    """Of those: could be moved."""
    refused: int
    """Of those: would lose something that is not accepted; they are left alone."""
    issues: tuple[MigrationIssue, ...]
    """What would be lost; the first 100."""
    is_estimate: bool
    """Of the counts."""
    message: admin_service_pb2.MigrateWorkflowsResponse = field(repr=False)
    """All that the server told."""


def migration_of(message: admin_service_pb2.MigrateWorkflowsResponse) -> Migration:
    """The value of a message."""
    return Migration(
        batch_of(message.batch) if message.HasField("batch") else None,
        message.matched_count,
        message.movable_count,
        message.refused_count,
        tuple(_issue_of(issue) for issue in message.issues),
        message.estimate,
        message,
    )


def _issue_of(message: admin_service_pb2.MigrationIssue) -> MigrationIssue:
    loss = enum_name(admin_service_pb2.MigrationLoss, message.loss, "MIGRATION_LOSS_")
    return MigrationIssue(ref_of(message.workflow), message.step, loss, message.description)

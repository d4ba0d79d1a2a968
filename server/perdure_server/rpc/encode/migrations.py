"""What a migration does or would do."""

from perdure.v1 import admin_service_pb2 as wire
from perdure_server.engine.migrations import Examined
from perdure_server.ports.batches import Batch
from perdure_server.rpc.encode import batches, values


def response(source: Examined, batch: Batch | None) -> wire.MigrateWorkflowsResponse:
    """The answer, with the batch if there is one."""
    answer = wire.MigrateWorkflowsResponse(
        matched_count=source.matched, movable_count=source.movable, refused_count=source.refused, estimate=source.estimate
    )
    for found in source.issues:
        issue = answer.issues.add()
        values.ref(issue.workflow, found.key, found.round)
        if found.lost is None:
            issue.description = "It is about to end, so it is left alone."
            continue
        issue.step, issue.description = found.lost.step, found.lost.text
        issue.loss = wire.MigrationLoss.ValueType(found.lost.loss)
    if batch is not None:
        batches.batch(answer.batch, batch)
    return answer

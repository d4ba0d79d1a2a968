"""Batches, as people see them."""

from perdure.v1 import resource_pb2 as wire
from perdure_server.ports.batches import Batch
from perdure_server.rpc.encode import values
from perdure_server.rpc.errors import CallRefused, to_status


def batch(target: wire.Batch, source: Batch) -> None:
    """One batch."""
    target.MergeFromString(source.told)
    target.namespace = source.namespace
    target.batch_id = source.batch_id
    target.state = wire.Batch.State.ValueType(source.state)
    target.reason = source.reason
    target.actor = source.actor
    values.time(target.start_time, source.start_time)
    if source.end_time is not None:
        values.time(target.end_time, source.end_time)
    target.matched_count = source.matched
    target.matched_estimate = source.matched_estimate
    target.succeeded_count = source.succeeded
    target.failed_count = source.failed
    target.max_per_second = source.max_per_second
    for refusal in source.refusals:
        error = target.errors.add()
        error.status.CopyFrom(to_status(CallRefused(refusal.reason, refusal.message)))
        if refusal.business_key:
            error.workflow.namespace = source.namespace
            error.workflow.workflow_type = refusal.workflow_type
            error.workflow.business_key = refusal.business_key
            error.workflow.round = refusal.round

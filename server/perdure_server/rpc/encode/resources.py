"""Resources of permits, as people see them."""

from perdure.v1 import resource_pb2 as wire
from perdure_server.engine.resources import Usage
from perdure_server.kernel.resources import Resource
from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.rpc.encode import values


def etag_of(resource: Resource) -> str:
    """What changes with every change."""
    return f"r{resource.revision}"


def resource(target: wire.Resource, source: Resource) -> None:
    """What was put."""
    target.namespace = source.namespace
    target.resource = source.name
    target.description = source.description
    target.etag = etag_of(source)
    if source.capacity is not None:
        target.capacity = source.capacity
    if source.rate is not None:
        target.rate.units = source.rate.units
        target.rate.burst = source.rate.burst
        values.duration(target.rate.period, source.rate.period)
    if source.by_fairness_key:
        target.key.fairness_key = True
    elif source.key_label:
        target.key.label = source.key_label
    if source.update_time:
        values.time(target.update_time, source.update_time)


def usage(target: wire.Resource, source: Usage, now: int) -> None:
    """A resource with who uses it."""
    resource(target, source.resource)
    use = target.usage
    use.in_use = source.in_use
    use.waiting_count = source.waiting
    if source.oldest is not None:
        values.duration(use.oldest_wait, max(0, now - source.oldest))
    for key in source.keys:
        use.keys.add(key=key.key, in_use=key.in_use, waiting_count=key.waiting)
    for holder in source.holders:
        shown = use.holders.add(step=holder.step, claim_no=holder.claim_no, units=holder.units)
        values.ref(shown.workflow, WorkflowKey(source.resource.namespace, holder.workflow_type, holder.business_key), holder.round)
        values.time(shown.hold_time, holder.since)

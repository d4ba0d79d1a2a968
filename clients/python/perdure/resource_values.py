"""Resources of permits, as values."""

from dataclasses import dataclass, field
from datetime import timedelta

from perdure.v1 import resource_pb2
from perdure.view import WorkflowRef, ref_of


@dataclass(frozen=True, slots=True)
class Rate:
    """So many starts per period."""

    units: int
    period: timedelta
    burst: int = 0
    """How many at once after a quiet time; 0: as `units`."""


@dataclass(frozen=True, slots=True)
class PermitHolder:
    """A step that holds units of a resource."""

    workflow: WorkflowRef
    step: str
    units: int


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource as the server keeps it, and who uses it (at most a second old)."""

    name: str
    capacity: int | None
    rate: Rate | None
    per_label: str
    per_fairness_key: bool
    description: str
    etag: str
    in_use: int
    """Units held."""
    waiting: int
    """Steps that wait."""
    oldest_wait: timedelta | None
    """How long the first of them has been ready; None: none waits."""
    holders: tuple[PermitHolder, ...]
    """Some of those who hold units."""
    message: resource_pb2.Resource = field(repr=False)
    """All that the server told."""


def resource_of(message: resource_pb2.Resource) -> Resource:
    """The value of a message."""
    rate = message.rate
    usage = message.usage
    return Resource(
        name=message.resource,
        capacity=message.capacity if message.HasField("capacity") else None,
        rate=Rate(rate.units, rate.period.ToTimedelta(), rate.burst) if message.HasField("rate") else None,
        per_label=message.key.label,
        per_fairness_key=message.key.fairness_key,
        description=message.description,
        etag=message.etag,
        in_use=usage.in_use,
        waiting=usage.waiting_count,
        oldest_wait=usage.oldest_wait.ToTimedelta() if usage.HasField("oldest_wait") else None,
        holders=tuple(_holder(holder) for holder in usage.holders),
        message=message,
    )


def _holder(message: resource_pb2.PermitHolder) -> PermitHolder:
    return PermitHolder(ref_of(message.workflow), message.step, message.units)

"""Namespaces as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from perdure.times import span_of
from perdure.v1 import resource_pb2


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceLimits:
    """Limits of a namespace; None: no such limit. They never refuse results, renewals or cancels."""

    open_workflows: int | None = None
    """Workflows open at once."""
    starts_per_second: float | None = None
    stored_bytes: int | None = None
    """Documents and payloads."""
    watchers: int | None = None
    """Watch streams at once."""
    sessions: int | None = None
    """Worker sessions at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceUsage:
    """What a namespace uses; at most a minute old."""

    open_workflows: int
    starts_per_second: float
    """Of the last minute."""
    stored_bytes: int
    watchers: int
    sessions: int


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace as the server keeps it."""

    name: str
    description: str
    limits: NamespaceLimits
    retention: timedelta | None
    """How long ended workflows are kept where the definition does not say; None: 30 days."""
    tombstone_retention: timedelta | None
    """How long identity and fence are remembered after that; None: 30 days."""
    labels: Mapping[str, str]
    etag: str
    usage: NamespaceUsage
    created: bool
    """Whether this call made it."""
    message: resource_pb2.Namespace = field(repr=False)
    """All that the server told."""


def limits_message(limits: NamespaceLimits) -> resource_pb2.NamespaceLimits:
    """The wire's form."""
    return resource_pb2.NamespaceLimits(
        open_workflows=limits.open_workflows,
        starts_per_second=limits.starts_per_second,
        stored_bytes=limits.stored_bytes,
        watchers=limits.watchers,
        sessions=limits.sessions,
    )


def namespace_of(message: resource_pb2.Namespace, *, created: bool = False) -> Namespace:
    """The value of a message."""
    limits, usage = message.limits, message.usage
    return Namespace(
        name=message.namespace,
        description=message.description,
        limits=NamespaceLimits(
            open_workflows=limits.open_workflows if limits.HasField("open_workflows") else None,
            starts_per_second=limits.starts_per_second if limits.HasField("starts_per_second") else None,
            stored_bytes=limits.stored_bytes if limits.HasField("stored_bytes") else None,
            watchers=limits.watchers if limits.HasField("watchers") else None,
            sessions=limits.sessions if limits.HasField("sessions") else None,
        ),
        retention=span_of(message, "retention"),
        tombstone_retention=span_of(message, "tombstone_retention"),
        labels=dict(message.labels),
        etag=message.etag,
        usage=NamespaceUsage(
            open_workflows=usage.open_workflows,
            starts_per_second=usage.starts_per_second,
            stored_bytes=usage.stored_bytes,
            watchers=usage.watchers,
            sessions=usage.sessions,
        ),
        created=created,
        message=message,
    )

"""Schedules and namespaces, as the wire shows them."""

from typing import Final

from google.rpc.status_pb2 import Status
from grpc import StatusCode

from perdure.v1 import resource_pb2
from perdure_server.engine.calendar import default_template
from perdure_server.engine.namespaces import Usage
from perdure_server.kernel.namespace import Namespace, NamespaceSettings
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.schedule import MISSED, Cron, Fired, Schedule, ScheduledStart
from perdure_server.rpc.encode import values
from perdure_server.rpc.errors import to_status

SERVERS_OWN: Final = frozenset(
    {"namespace", "schedule_id", "etag", "next_fire_times", "recent_firings", "fired_count", "skipped_count", "missed_count", "update_time"}
)
"""Fields of a Schedule that a Put does not change."""

NAMESPACE_FIXED: Final = frozenset({"namespace", "etag", "usage", "update_time"})
"""Fields of a Namespace that a Put does not change."""


def schedule(target: resource_pb2.Schedule, source: Schedule, next_times: list[int]) -> None:
    """A schedule with what has come of it, and its next planned times."""
    settings = source.settings
    target.namespace = source.namespace
    target.schedule_id = source.schedule_id
    for trigger in settings.triggers:
        added = target.triggers.add()
        if isinstance(trigger, Cron):
            added.cron.expression, added.cron.time_zone = trigger.expression, trigger.time_zone
        else:
            values.duration(added.interval.every, trigger.every)
            if trigger.phase:
                values.duration(added.interval.phase, trigger.phase)
    _start(target.start, settings.start, source.schedule_id)
    if settings.from_time is not None:
        values.time(target.from_time, settings.from_time)
    if settings.to_time is not None:
        values.time(target.to_time, settings.to_time)
    if settings.jitter:
        values.duration(target.jitter, settings.jitter)
    target.overlap = resource_pb2.Schedule.Overlap.ValueType(settings.overlap)
    values.duration(target.catch_up_window, settings.catch_up_window)
    target.paused = settings.paused
    target.note = settings.note
    target.etag = source.etag
    for time in next_times:
        values.time(target.next_fire_times.add(), time)
    for fired in source.recent:
        firing(target.recent_firings.add(), fired)
    target.fired_count = source.fired_count
    target.skipped_count = source.skipped_count
    target.missed_count = source.missed_count
    values.time(target.update_time, source.update_time)


def firing(target: resource_pb2.ScheduleFiring, source: Fired) -> None:
    """One firing and what came of it."""
    values.time(target.planned_time, source.planned)
    values.time(target.fire_time, source.time)
    if source.run is not None:
        values.ref(target.workflow, source.run.key, source.run.round)
    if source.reason == MISSED:
        target.status.CopyFrom(Status(code=StatusCode.DEADLINE_EXCEEDED.value[0], message=source.message))
    elif source.reason and source.reason not in Reason.__members__:
        target.status.CopyFrom(Status(code=StatusCode.UNKNOWN.value[0], message=source.message))  # a newer server's
    elif source.reason:
        target.status.CopyFrom(to_status(Rejection(Reason[source.reason], source.message, **source.facts)))


def namespace(target: resource_pb2.Namespace, source: Namespace, usage: Usage | None) -> None:
    """A namespace, with its use if it was asked for."""
    target.namespace = source.name
    _settings(target, source.settings)
    if source.revision:
        target.etag = source.etag
        values.time(target.update_time, source.update_time)
    if usage is not None:
        target.usage.open_workflows = usage.open_workflows
        target.usage.starts_per_second = usage.starts_per_second
        target.usage.sessions = usage.sessions
        target.usage.watchers = usage.watchers
        target.usage.stored_bytes = usage.stored_bytes


def _settings(target: resource_pb2.Namespace, source: NamespaceSettings) -> None:
    target.description = source.description
    if source.limits is not None:
        target.limits.SetInParent()
        for name in source.limits.__struct_fields__:
            value = getattr(source.limits, name)
            if value is not None:
                setattr(target.limits, name, value)
    if source.retention is not None:
        values.duration(target.retention, source.retention)
    if source.tombstone_retention is not None:
        values.duration(target.tombstone_retention, source.tombstone_retention)
    target.labels.update(source.labels)


def _start(target: resource_pb2.ScheduledStart, source: ScheduledStart, schedule_id: str) -> None:
    target.workflow_type = source.workflow_type
    target.business_key_template = source.key_template or default_template(schedule_id)
    if source.input is not None:
        values.payload(target.input, source.input)
    target.labels.update(source.labels)
    if source.priority is not None:
        target.priority = source.priority
    target.fairness_key = source.fairness_key
    target.queue = source.queue
    if source.workflow_timeout is not None:
        values.duration(target.workflow_timeout, source.workflow_timeout)
    if source.retention is not None:
        values.duration(target.retention, source.retention)

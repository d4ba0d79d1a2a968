"""Schedules as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias, cast

from perdure import payloads
from perdure.definition import Definition
from perdure.filtering import type_names
from perdure.known_types import KnownTypes
from perdure.times import put_spans, put_times, span_of
from perdure.v1 import payload_pb2, resource_pb2
from perdure.view import WorkflowRef, enum_name, ref_of, time_of

Overlap: TypeAlias = Literal["skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other", "allow"]


@dataclass(frozen=True, slots=True)
class Cron:
    """By the calendar: minute, hour, day of month, month, day of week."""

    expression: str
    time_zone: str = ""
    """IANA name, such as `Europe/Berlin`; empty: UTC."""


@dataclass(frozen=True, slots=True)
class Every:
    """At a fixed interval, counted from the epoch."""

    interval: timedelta
    """At least 1 s."""
    phase: timedelta | None = None
    """Shift against the epoch, less than the interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledStart:
    """What a schedule starts at each firing."""

    workflow: Definition | str
    """The type; its active definition at the time of the firing."""
    key: str = ""
    """Key of each workflow; `{fire_time}` in it becomes the planned time and must be there. Empty: the schedule's id, `@` and that time."""
    input: object = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    priority: int | None = None
    """0 to 9, higher sooner; None: 5."""
    queue: str = ""
    """Of all steps; empty: by policy."""
    fairness_key: str = ""
    workflow_timeout: timedelta | None = None
    """None: by policy."""
    retention: timedelta | None = None
    """None: by policy."""

    def to_message(self) -> resource_pb2.ScheduledStart:
        """The wire's form. Raises InvalidRequest if the input is of another type than the definition says, PayloadRejected."""
        (workflow_type,) = type_names(self.workflow)
        value = self.input if isinstance(self.input, payload_pb2.Payload) else payloads.encode(self.input)
        KnownTypes(self.workflow).check_input(value, "start.input")
        message = resource_pb2.ScheduledStart(
            workflow_type=workflow_type,
            business_key_template=self.key,
            input=value,
            labels=self.labels,
            priority=self.priority,
            queue=self.queue,
            fairness_key=self.fairness_key,
        )
        put_spans(message, {"workflow_timeout": self.workflow_timeout, "retention": self.retention})
        return message


@dataclass(frozen=True, slots=True)
class Firing:
    """One firing of a schedule."""

    planned_time: datetime | None
    fire_time: datetime | None
    workflow: WorkflowRef | None
    """What it started; None: nothing."""
    problem: str
    """Why it started nothing; empty: it did."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as the server keeps it."""

    schedule_id: str
    triggers: tuple[Cron | Every, ...]
    start: ScheduledStart
    overlap: Overlap
    paused: bool
    note: str
    etag: str
    next_fire_times: tuple[datetime, ...]
    """The next firings, at most 10."""
    recent: tuple[Firing, ...]
    """The last firings, newest first, at most 10."""
    fired: int
    skipped: int
    """Firings skipped for overlap."""
    missed: int
    """Firings dropped because no server ran for too long."""
    created: bool
    """Whether this call made it."""
    message: resource_pb2.Schedule = field(repr=False)
    """All that the server told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleTimes:
    """When a schedule may fire, and what becomes of firings that were missed."""

    from_time: datetime | None = None
    """No firing before; None: from now. With a time zone."""
    to_time: datetime | None = None
    """No firing from then on; None: for ever."""
    jitter: timedelta | None = None
    """Random delay of each firing, up to this; None: none."""
    catch_up_window: timedelta | None = None
    """Firings missed for longer than this are dropped; None: 1 min."""

    def put(self, message: resource_pb2.Schedule) -> None:
        """Into a schedule of the wire. Raises ValueError for a time without a zone."""
        put_times(message, {"from_time": self.from_time, "to_time": self.to_time})
        put_spans(message, {"jitter": self.jitter, "catch_up_window": self.catch_up_window})


def triggers_of(triggers: Sequence[Cron | Every]) -> list[resource_pb2.ScheduleTrigger]:
    """The wire's form."""
    found: list[resource_pb2.ScheduleTrigger] = []
    for trigger in triggers:
        message = resource_pb2.ScheduleTrigger()
        if isinstance(trigger, Cron):
            message.cron.expression, message.cron.time_zone = trigger.expression, trigger.time_zone
        else:
            put_spans(message.interval, {"every": trigger.interval, "phase": trigger.phase})
        found.append(message)
    return found


def overlap_value(overlap: Overlap | None) -> Any:
    """The wire's number; None: the schedule's own, or skip."""
    name = f"OVERLAP_{overlap.upper()}" if overlap is not None else "OVERLAP_UNSPECIFIED"
    return resource_pb2.Schedule.Overlap.Value(name)


def schedule_of(message: resource_pb2.Schedule, *, created: bool = False) -> Schedule:
    """The value of a message."""
    overlap = enum_name(resource_pb2.Schedule.Overlap, message.overlap, "OVERLAP_").lower() or "skip"
    return Schedule(
        schedule_id=message.schedule_id,
        triggers=tuple(_trigger_of(trigger) for trigger in message.triggers),
        start=_start_of(message.start),
        overlap=cast("Overlap", overlap),
        paused=message.paused,
        note=message.note,
        etag=message.etag,
        next_fire_times=tuple(time.ToDatetime(tzinfo=UTC) for time in message.next_fire_times),
        recent=tuple(firing_of(firing) for firing in message.recent_firings),
        fired=message.fired_count,
        skipped=message.skipped_count,
        missed=message.missed_count,
        created=created,
        message=message,
    )


def firing_of(message: resource_pb2.ScheduleFiring) -> Firing:
    """The value of a message."""
    started = ref_of(message.workflow) if message.HasField("workflow") else None
    problem = message.status.message if message.status.code else ""
    return Firing(time_of(message.planned_time), time_of(message.fire_time), started, problem)


def _trigger_of(message: resource_pb2.ScheduleTrigger) -> Cron | Every:
    if message.HasField("interval"):
        return Every(message.interval.every.ToTimedelta(), span_of(message.interval, "phase"))
    return Cron(message.cron.expression, message.cron.time_zone)


def _start_of(message: resource_pb2.ScheduledStart) -> ScheduledStart:
    return ScheduledStart(
        workflow=message.workflow_type,
        key=message.business_key_template,
        input=message.input if message.HasField("input") else None,
        labels=dict(message.labels),
        priority=message.priority if message.HasField("priority") else None,
        queue=message.queue,
        fairness_key=message.fairness_key,
        workflow_timeout=span_of(message, "workflow_timeout"),
        retention=span_of(message, "retention"),
    )

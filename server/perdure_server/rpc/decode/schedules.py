"""What operators send about schedules and namespaces."""

import re
from collections.abc import Collection
from typing import Final

from perdure.v1 import admin_service_pb2 as wire
from perdure.v1 import resource_pb2
from perdure_server.engine.calendar import FIRE_TIME, CalendarError, check, default_template, time_text
from perdure_server.engine.people import Conditions
from perdure_server.kernel import limits
from perdure_server.kernel.namespace import NamespaceLimits, NamespaceSettings
from perdure_server.kernel.policy_validation import QUEUE_NAME
from perdure_server.kernel.rejection import Reason
from perdure_server.kernel.schedule import Cron, Firing, Interval, Overlap, ScheduledStart, ScheduleSettings
from perdure_server.kernel.validation import TYPE_NAME
from perdure_server.rpc import limits as rpc_limits
from perdure_server.rpc.decode import values
from perdure_server.rpc.decode.content import content_of
from perdure_server.rpc.decode.workflows import page_size
from perdure_server.rpc.faults import Faults

_NAMESPACE_NAME: Final = re.compile(rf"[a-z0-9][a-z0-9-]{{0,{limits.NAME_LENGTH - 1}}}\Z")
_OVERLAPS: Final = {resource_pb2.Schedule.OVERLAP_UNSPECIFIED: Overlap.SKIP} | {int(overlap): overlap for overlap in Overlap}

PutMessage = wire.PutScheduleRequest | wire.PutNamespaceRequest


def put_conditions(message: PutMessage, put: str, owned: Collection[str]) -> Conditions:
    """Under which conditions something is put: the field `put`, whose fields `owned` are the server's. Raises FieldViolation."""
    etag: str = getattr(message, put).etag
    faults = Faults()
    values.identifier(message.request_id, "request_id", faults)
    if len(etag) > rpc_limits.ETAG:
        faults.add(f"{put}.etag", "is none that this server gave out")
    faults.check()
    return Conditions(message.request_id, etag, message.validate_only, content_of(message, put, owned))


def schedule_name(namespace: str, schedule_id: str, prefix: str = "") -> tuple[str, str]:
    """Which schedule. Raises FieldViolation."""
    faults = Faults()
    found = values.namespace(namespace, f"{prefix}namespace", faults)
    _schedule_id(schedule_id, f"{prefix}schedule_id", faults)
    faults.check()
    return found, schedule_id


def schedule(message: resource_pb2.Schedule) -> ScheduleSettings:
    """The settings of a schedule. Raises FieldViolation with all faults."""
    faults = Faults()
    triggers = message.triggers
    if not 1 <= len(triggers) <= limits.TRIGGERS:
        faults.add("schedule.triggers", f"must have 1 to {limits.TRIGGERS} entries", Reason.SCHEDULE_INVALID)
    found = [_trigger(item, f"schedule.triggers[{index}]", faults) for index, item in enumerate(triggers[: limits.TRIGGERS])]
    from_time = values.time(message.from_time, "schedule.from_time", faults) if message.HasField("from_time") else None
    to_time = values.time(message.to_time, "schedule.to_time", faults) if message.HasField("to_time") else None
    if from_time is not None and to_time is not None and to_time <= from_time:
        faults.add("schedule.to_time", "must be after from_time")
    window = limits.CATCH_UP_WINDOW
    if message.HasField("catch_up_window"):
        window = values.duration(message.catch_up_window, "schedule.catch_up_window", faults)
    if len(message.note.encode()) > limits.NOTE:
        faults.add("schedule.note", f"is longer than {limits.NOTE} bytes")
    settings = ScheduleSettings(
        triggers=tuple(trigger for trigger in found if trigger is not None),
        start=_start(message, faults),
        from_time=from_time,
        to_time=to_time,
        jitter=values.duration(message.jitter, "schedule.jitter", faults) if message.HasField("jitter") else 0,
        overlap=_overlap(message.overlap, "schedule.overlap", faults) or Overlap.SKIP,
        catch_up_window=window,
        paused=message.paused,
        note=message.note,
    )
    faults.check()
    return settings


def trigger(message: wire.TriggerScheduleRequest, now: int) -> tuple[str, str, Firing]:
    """Which schedule, and the firing that is asked for. Raises FieldViolation with all faults."""
    faults = Faults()
    namespace = values.namespace(message.namespace, "namespace", faults)
    _schedule_id(message.schedule_id, "schedule_id", faults)
    values.identifier(message.request_id, "request_id", faults, required=True)
    planned = values.time(message.planned_time, "planned_time", faults) if message.HasField("planned_time") else now
    overlap = _overlap(message.overlap, "overlap", faults) if message.overlap else None
    faults.check()
    content = content_of(message)
    return namespace, message.schedule_id, Firing(planned, now, message.request_id, overlap, content)


def delete(message: wire.DeleteScheduleRequest) -> tuple[str, str, Conditions]:
    """Which schedule goes. Raises FieldViolation with all faults."""
    namespace, schedule_id = schedule_name(message.namespace, message.schedule_id)
    faults = Faults()
    values.identifier(message.request_id, "request_id", faults)
    if len(message.etag) > rpc_limits.ETAG:
        faults.add("etag", "is none that this server gave out")
    faults.check()
    return namespace, schedule_id, Conditions(message.request_id, message.etag, message.validate_only)


def schedule_list(message: wire.ListSchedulesRequest) -> tuple[str, int]:
    """Of which namespace, and how many a page. Raises FieldViolation with all faults."""
    faults = Faults()
    namespace = values.namespace(message.namespace, "namespace", faults)
    if message.schedule_id:
        _schedule_id(message.schedule_id, "schedule_id", faults)
    if message.workflow_type:
        values.name(message.workflow_type, "workflow_type", TYPE_NAME, faults)
    size = page_size(message.page_size, faults)
    faults.check()
    return namespace, size


def namespace_name(message: resource_pb2.Namespace) -> str:
    """Which namespace. Raises FieldViolation."""
    faults = Faults()
    values.name(message.namespace, "namespace.namespace", _NAMESPACE_NAME, faults)
    faults.check()
    return message.namespace


def namespace(message: resource_pb2.Namespace) -> NamespaceSettings:
    """The settings of a namespace. Raises FieldViolation with all faults."""
    faults = Faults()
    if len(message.description.encode()) > limits.NOTE:
        faults.add("namespace.description", f"is longer than {limits.NOTE} bytes")
    found: dict[str, int | float] = {}
    for field, value in message.limits.ListFields():
        if not 0 <= value < float("inf"):
            faults.add(f"namespace.limits.{field.name}", "must be a number from 0 up")
        found[field.name] = value
    durations = {
        name: values.duration(getattr(message, name), f"namespace.{name}", faults) if message.HasField(name) else None
        for name in ("retention", "tombstone_retention")
    }
    settings = NamespaceSettings(
        description=message.description,
        limits=NamespaceLimits(**found) if message.HasField("limits") else None,  # type: ignore[arg-type]  # fields of the same names
        labels=values.labels(message.labels, "namespace.labels", faults, limits.NAMESPACE_LABELS),
        **durations,
    )
    faults.check()
    return settings


def namespace_list(message: wire.ListNamespacesRequest) -> int:
    """How many a page. Raises FieldViolation with all faults."""
    faults = Faults()
    if message.namespace:
        values.name(message.namespace, "namespace", QUEUE_NAME, faults)
    size = page_size(message.page_size, faults)
    faults.check()
    return size


def _schedule_id(text: str, field: str, faults: Faults) -> None:
    if not 1 <= len(text.encode()) <= limits.SCHEDULE_ID_LENGTH:
        faults.add(field, f"must have 1 to {limits.SCHEDULE_ID_LENGTH} bytes")


def _overlap(number: int, field: str, faults: Faults) -> Overlap | None:
    found = _OVERLAPS.get(number)
    if found is None:
        faults.add(field, "is not known")
    return found


def _trigger(message: resource_pb2.ScheduleTrigger, field: str, faults: Faults) -> Cron | Interval | None:
    kind = message.WhichOneof("kind")
    if kind == "cron":
        return _cron(message.cron, f"{field}.cron", faults)
    if kind == "interval":
        return _interval(message.interval, f"{field}.interval", faults)
    faults.add(field, "is neither cron nor interval", Reason.SCHEDULE_INVALID)
    return None


def _cron(message: resource_pb2.CronTrigger, field: str, faults: Faults) -> Cron:
    found = Cron(message.expression, message.time_zone or "UTC")
    if len(message.expression) > limits.SCHEDULE_ID_LENGTH or len(found.time_zone) > limits.ID_LENGTH:
        faults.add(f"{field}.expression", "is too long, or its time_zone is", Reason.SCHEDULE_INVALID)
        return found
    try:
        check(found)
    except CalendarError as error:
        faults.add(f"{field}.{error.field}", str(error), Reason.SCHEDULE_INVALID)
    return found


def _interval(message: resource_pb2.IntervalTrigger, field: str, faults: Faults) -> Interval:
    every = values.duration(message.every, f"{field}.every", faults)
    phase = values.duration(message.phase, f"{field}.phase", faults)
    if every < limits.INTERVAL_MIN:
        faults.add(f"{field}.every", f"must be at least {limits.INTERVAL_MIN} ms", Reason.SCHEDULE_INVALID)
    elif phase >= every:
        faults.add(f"{field}.phase", "must be less than `every`", Reason.SCHEDULE_INVALID)
    return Interval(every, phase)


def _start(message: resource_pb2.Schedule, faults: Faults) -> ScheduledStart:
    start, field = message.start, "schedule.start"
    values.name(start.workflow_type, f"{field}.workflow_type", TYPE_NAME, faults)
    template = "" if start.business_key_template == default_template(message.schedule_id) else start.business_key_template
    if template and FIRE_TIME not in template:
        text = f"must contain {FIRE_TIME}, so that each firing has a key of its own"
        faults.add(f"{field}.business_key_template", text, Reason.SCHEDULE_INVALID)
    longest = time_text(limits.TIME)
    if len((template.replace(FIRE_TIME, longest) if template else f"{message.schedule_id}@{longest}").encode()) > limits.KEY_LENGTH:
        faults.add(f"{field}.business_key_template", f"makes keys of more than {limits.KEY_LENGTH} bytes")
    if start.HasField("priority") and not 0 <= start.priority <= limits.PRIORITY_MAX:
        faults.add(f"{field}.priority", f"must be from 0 to {limits.PRIORITY_MAX}")
    if len(start.fairness_key.encode()) > rpc_limits.FAIRNESS_KEY:
        faults.add(f"{field}.fairness_key", f"is longer than {rpc_limits.FAIRNESS_KEY} bytes")
    if start.queue:
        values.name(start.queue, f"{field}.queue", QUEUE_NAME, faults)
    timeout = values.duration(start.workflow_timeout, f"{field}.workflow_timeout", faults) if start.HasField("workflow_timeout") else None
    if timeout == 0:
        faults.add(f"{field}.workflow_timeout", "must be longer than zero")
    return ScheduledStart(
        workflow_type=start.workflow_type,
        key_template=template,
        input=values.payload(start.input, f"{field}.input", faults) if start.HasField("input") else None,
        labels=values.labels(start.labels, f"{field}.labels", faults),
        priority=start.priority if start.HasField("priority") else None,
        fairness_key=start.fairness_key,
        queue=start.queue,
        workflow_timeout=timeout,
        retention=values.duration(start.retention, f"{field}.retention", faults) if start.HasField("retention") else None,
    )

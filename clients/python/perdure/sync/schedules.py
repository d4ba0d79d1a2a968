# Made by `python tools/sync_client.py` from perdure/schedules.py; do not edit.
"""Schedules on the server: starts by the clock, each firing once, however many servers run."""

import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime

from perdure.definition import Definition
from perdure.errors import NotFound
from perdure.filtering import type_names
from perdure.reasons import ErrorReason
from perdure.schedule_values import (
    Cron,
    Every,
    Firing,
    Overlap,
    Schedule,
    ScheduledStart,
    ScheduleTimes,
    firing_of,
    overlap_value,
    schedule_of,
    triggers_of,
)
from perdure.sync.calls import Calls
from perdure.sync.pages import pages
from perdure.times import put_times
from perdure.v1 import admin_service_pb2, resource_pb2


class Schedules:
    """The schedules of one namespace; `client.schedules`."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def put(
        self,
        schedule_id: str,
        triggers: Cron | Every | Iterable[Cron | Every],
        start: ScheduledStart,
        *,
        times: ScheduleTimes | None = None,
        overlap: Overlap | None = None,
        paused: bool = False,
        note: str = "",
        etag: str = "",
        validate_only: bool = False,
        request_id: str = "",
    ) -> Schedule:
        """Makes a schedule, or replaces the one of this id.

        Args:
            schedule_id: Its name in the namespace.
            triggers: When it fires; of several, all.
            start: What it starts.
            times: From when until when, jitter, and what becomes of missed firings.
            overlap: What if the workflow of the firing before is still open. None: `skip`.
            paused: It rests.
            note: Why it rests, or what it is for.
            etag: Only if it is unchanged since it was read; empty: always.
            validate_only: Checks, tells the next firings, and stores nothing.
            request_id: Makes a repeat recognisable; empty: a new one.

        Raises:
            InvalidRequest: A trigger or the start is wrong.
            Conflict: Another has changed it.
        """
        given = (triggers,) if isinstance(triggers, Cron | Every) else tuple(triggers)
        message = resource_pb2.Schedule(
            namespace=self._calls.config.namespace,
            schedule_id=schedule_id,
            triggers=triggers_of(given),
            start=start.to_message(),
            overlap=overlap_value(overlap),
            paused=paused,
            note=note,
            etag=etag,
        )
        (times or ScheduleTimes()).put(message)
        return self._put(message, (), request_id, validate_only=validate_only)

    def pause(self, schedule_id: str, *, note: str = "") -> Schedule:
        """Lets a schedule rest. Raises NotFound."""
        return self._rest(schedule_id, note, paused=True)

    def resume(self, schedule_id: str, *, note: str = "") -> Schedule:
        """Ends its rest. Raises NotFound."""
        return self._rest(schedule_id, note, paused=False)

    def get(self, schedule_id: str) -> Schedule:
        """One schedule. Raises NotFound."""
        request = admin_service_pb2.ListSchedulesRequest(namespace=self._calls.config.namespace, schedule_id=schedule_id)
        answer = self._calls.unary(self._calls.admin.ListSchedules, request)
        if not answer.schedules:
            raise NotFound(f"there is no schedule {schedule_id}", reason=ErrorReason.SCHEDULE_NOT_FOUND, code="NOT_FOUND")
        return schedule_of(answer.schedules[0])

    def list(self, workflow: Definition | str = "") -> Iterator[Schedule]:
        """Schedules by id, of one type or all; pages are fetched as they are needed."""
        names = type_names(workflow)
        request = admin_service_pb2.ListSchedulesRequest(namespace=self._calls.config.namespace, workflow_type=names[0])
        for answer in pages(self._calls, self._calls.admin.ListSchedules, request):
            for message in answer.schedules:
                yield schedule_of(message)

    def trigger(
        self, schedule_id: str, *, overlap: Overlap | None = None, planned_time: datetime | None = None, request_id: str = ""
    ) -> Firing:
        """Fires a schedule now, whether it rests or not.

        Args:
            schedule_id: Which.
            overlap: Instead of the schedule's.
            planned_time: What to put into the key; None: now.
            request_id: Makes a repeat answer the same firing; empty: a new one.

        Raises:
            NotFound: There is no such schedule.
        """
        request = admin_service_pb2.TriggerScheduleRequest(
            namespace=self._calls.config.namespace,
            schedule_id=schedule_id,
            overlap=overlap_value(overlap),
            request_id=request_id or uuid.uuid4().hex,
        )
        put_times(request, {"planned_time": planned_time})
        return firing_of((self._calls.unary(self._calls.admin.TriggerSchedule, request)).firing)

    def delete(self, schedule_id: str, *, etag: str = "", request_id: str = "") -> None:
        """Removes a schedule; workflows that it started go on. Raises NotFound, Conflict."""
        request = admin_service_pb2.DeleteScheduleRequest(
            namespace=self._calls.config.namespace, schedule_id=schedule_id, etag=etag, request_id=request_id or uuid.uuid4().hex
        )
        self._calls.unary(self._calls.admin.DeleteSchedule, request)

    def _rest(self, schedule_id: str, note: str, *, paused: bool) -> Schedule:
        found = self.get(schedule_id)  # a Put would make one that is not there
        message = resource_pb2.Schedule(
            namespace=self._calls.config.namespace, schedule_id=schedule_id, paused=paused, note=note, etag=found.etag
        )
        return self._put(message, ("paused", "note") if note else ("paused",))

    def _put(
        self, message: resource_pb2.Schedule, fields: tuple[str, ...], request_id: str = "", *, validate_only: bool = False
    ) -> Schedule:
        request = admin_service_pb2.PutScheduleRequest(
            schedule=message, request_id=request_id or uuid.uuid4().hex, validate_only=validate_only
        )
        request.update_mask.paths.extend(fields)
        answer = self._calls.unary(self._calls.admin.PutSchedule, request)
        return schedule_of(answer.schedule, created=answer.created)

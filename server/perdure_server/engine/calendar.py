"""The calendar of schedules: cron expressions in time zones, intervals, and planned times as text.

Cron is Debian's (cronsim): a time of day that a clock change skips fires right after it, one that it repeats fires once; an expression
whose minute or hour begins with `*` goes by elapsed time, so that "every ten minutes" is every ten minutes through both.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from perdure_server.kernel import limits
from perdure_server.kernel.schedule import Cron, Interval, Schedule, ScheduleSettings

FIRE_TIME: Final = "{fire_time}"
_FIELDS: Final = 5
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_OF_THIS_MACHINE: Final = frozenset({"localtime", "posixrules", "Factory"})  # the same name means another zone elsewhere
_MINUTES_OF_A_DAY: Final = 1_440


class CalendarError(ValueError):
    """Says what is wrong with an expression or a time zone; `field` is which of the two."""

    def __init__(self, text: str, field: str = "expression") -> None:
        super().__init__(text)
        self.field = field


class Calendar:
    """The planned times of one schedule."""

    def __init__(self, settings: ScheduleSettings) -> None:
        self._triggers = settings.triggers
        self._from = settings.from_time

    def following(self, after: int) -> int | None:
        """The first planned time after `after` (ms); None = there is none any more. Times that coincide are one."""
        if self._from is not None:
            after = max(after, self._from - 1)
        found = [_following(trigger, after) for trigger in self._triggers]
        return min((time for time in found if time is not None and time <= limits.TIME), default=None)


def check(trigger: Cron) -> None:
    """Raise CalendarError unless it names a time zone and a time that comes."""
    _zone(trigger.time_zone)
    if len(trigger.expression.split()) != _FIELDS:
        raise CalendarError("must have five fields: minute, hour, day of month, month, day of week")
    try:
        comes = _following_cron(trigger, 0)
    except CronSimError as error:
        raise CalendarError(f"is no cron expression: {error}") from error
    if comes is None:
        raise CalendarError("names a time that never comes")


def time_text(time: int) -> str:
    """RFC 3339, UTC; milliseconds only if there are some."""
    moment = _EPOCH + timedelta(milliseconds=time)
    text = moment.isoformat(timespec="milliseconds" if time % limits.SECOND else "seconds")
    return text.removesuffix("+00:00") + "Z"


def key_of(schedule: Schedule, planned: int) -> str:
    """The business key of the firing planned for this time."""
    start = schedule.settings.start
    return (start.key_template or default_template(schedule.schedule_id)).replace(FIRE_TIME, time_text(planned))


def default_template(schedule_id: str) -> str:
    """The template of the keys where none is given."""
    return f"{schedule_id}@{FIRE_TIME}"


def _following(trigger: Cron | Interval, after: int) -> int | None:
    return trigger.following(after) if isinstance(trigger, Interval) else _following_cron(trigger, after)


def _following_cron(trigger: Cron, after: int) -> int | None:
    moment = (_EPOCH + timedelta(milliseconds=after)).astimezone(_zone(trigger.time_zone))
    times = CronSim(trigger.expression, moment)
    try:
        for _ in range(_MINUTES_OF_A_DAY):
            # Asked in the second pass of a repeated hour, it first names times of the first pass.
            time = (next(times) - _EPOCH) // timedelta(milliseconds=1)
            if time > after:
                return time
    except (StopIteration, OverflowError, ValueError):
        pass  # not within 50 years, or beyond the year 9999
    return None


@lru_cache(maxsize=1_000)
def _zone(name: str) -> ZoneInfo:
    if name in _OF_THIS_MACHINE:
        raise CalendarError(f"{name!r} is no IANA time zone, such as Europe/Berlin", "time_zone")
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise CalendarError(f"{name!r} is no IANA time zone, such as Europe/Berlin", "time_zone") from error

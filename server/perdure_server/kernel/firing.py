"""When a schedule fires, and what a firing does: pure steps from one stored schedule to the next.

The engine repeats: `plan` (the calendar's due times join `waiting`), then `decide`, with what it knows of the last workflow, then the
effect, which the decision has stored before. A crash between the two repeats the effect, and a start is recognised by its request id.
"""

import hashlib
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.schedule import MISSED, Fired, Firing, Overlap, Run, Schedule, ScheduleSettings

Following = Callable[[int], int | None]
"""The calendar: the first planned time after the given one, or None."""


class Decision(Struct, frozen=True):
    """The schedule with the decision in it, and what is to be done to the last workflow: nothing, cancel or terminate."""

    schedule: Schedule
    end_last: Overlap | None = None


def delay_of(schedule: Schedule, planned: int) -> int:
    """The jitter of one firing: the same on every server."""
    if not schedule.settings.jitter:
        return 0
    seed = f"{schedule.namespace}\0{schedule.schedule_id}\0{planned}".encode()
    return int.from_bytes(hashlib.blake2b(seed, digest_size=8).digest(), "big") % (schedule.settings.jitter + 1)


def start_id(schedule: Schedule, firing: Firing) -> str:
    """The request id of the start: every try of one firing has the same, no two firings do."""
    digest = hashlib.sha256()
    for part in (schedule.namespace, schedule.schedule_id, str(firing.planned), firing.request_id):
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(4, "big"))
        digest.update(encoded)
    return f"schedule-{digest.hexdigest()[:40]}"


def plan(schedule: Schedule, now: int, following: Following) -> Schedule:
    """Move due times of the calendar to `waiting`, oldest first; drop those that were missed for too long."""
    settings = schedule.settings
    if settings.paused:
        return schedule
    floor = now - settings.catch_up_window
    cursor, waiting, missed = schedule.cursor, list(schedule.waiting), 0
    while len(waiting) <= limits.BUFFERED_FIRINGS:
        planned = following(cursor)
        if planned is None or (settings.to_time is not None and planned >= settings.to_time):
            break
        due = planned + delay_of(schedule, planned)
        if due > now:
            break
        if due >= floor:
            waiting.append(Firing(planned, now))
        else:
            missed += 1
        cursor = planned
        if missed >= limits.MISSED_COUNTED:
            cursor = max(cursor, floor - settings.jitter - 1)
            break
    if cursor == schedule.cursor:
        return schedule
    planned_schedule = replace(schedule, cursor=cursor, waiting=tuple(waiting), missed_count=schedule.missed_count + missed)
    if missed:
        text = f"{missed} firings were missed for longer than the catch-up window of {settings.catch_up_window} ms; the last is shown."
        last_missed = min(cursor, floor)
        planned_schedule = _note(planned_schedule, Fired(last_missed, now, None, MISSED, text))
    return planned_schedule


def asks_for_last(schedule: Schedule) -> bool:
    """Whether `decide` needs to know if the last workflow is open."""
    return schedule.starting is None and schedule.last is not None and bool(_eligible(schedule))


def decide(schedule: Schedule, now: int, last_open: bool) -> Decision:
    """Settle what waits, as far as the last workflow allows. At most one firing becomes `starting`."""
    eligible = _eligible(schedule)
    if schedule.starting is not None or not eligible:
        return Decision(schedule)
    if not last_open:
        return Decision(_begin_first(schedule, eligible, now))
    kept: list[Firing] = []
    end_last: Overlap | None = None
    for firing in eligible:
        overlap = firing.overlap or schedule.settings.overlap
        if overlap is Overlap.ALLOW:
            return Decision(_begin(schedule, firing), end_last)
        if _ends_other(schedule, firing):
            for older in kept:
                schedule = _skip(schedule, older, now)
            kept, end_last = [firing], overlap
        elif (overlap is Overlap.BUFFER_ONE and not kept) or (overlap is Overlap.BUFFER_ALL and len(kept) < limits.BUFFERED_FIRINGS):
            kept.append(firing)
        else:
            schedule = _skip(schedule, firing, now)
    return Decision(schedule, end_last)


def settled(schedule: Schedule, fired: Fired) -> Schedule:
    """The start of `starting` has an answer."""
    count = schedule.fired_count + (fired.run is not None)
    return _note(replace(schedule, starting=None, last=fired.run or schedule.last, fired_count=count), fired)


def with_due(schedule: Schedule, now: int, following: Following) -> Schedule:
    """The schedule with the time at which it must be looked at again."""
    times: list[int] = []
    settings = schedule.settings
    if schedule.starting is not None:
        times.append(now + limits.FIRING_RETRY)
    waiting = _eligible(schedule)
    if waiting:
        waited = now - waiting[0].since
        times.append(now + min(max(waited // limits.FIRING_PATIENCE, limits.SWEEP_INTERVAL), limits.FIRING_RETRY))
    planned = None if settings.paused else following(schedule.cursor)
    if planned is not None and (settings.to_time is None or planned < settings.to_time):
        times.append(planned + delay_of(schedule, planned))
    return replace(schedule, due=min(times, default=None))


def next_times(schedule: Schedule, count: int, following: Following) -> list[int]:
    """The next planned times."""
    found: list[int] = []
    cursor, settings = schedule.cursor, schedule.settings
    while not settings.paused and len(found) < count:
        planned = following(cursor)
        if planned is None or (settings.to_time is not None and planned >= settings.to_time):
            break
        found.append(planned)
        cursor = planned
    return found


def _eligible(schedule: Schedule) -> list[Firing]:
    # A rest holds back what the calendar asked for; what a person asks for is done.
    return [firing for firing in schedule.waiting if firing.by_hand or not schedule.settings.paused]


def _begin_first(schedule: Schedule, eligible: list[Firing], now: int) -> Schedule:
    # Of several that would each end the one before, only the newest is worth a start.
    for index, firing in enumerate(eligible):
        newer = eligible[index + 1 :]
        if not newer or not all(_ends_other(schedule, one) for one in (firing, newer[0])):
            return _begin(schedule, firing)
        schedule = _skip(schedule, firing, now)
    return schedule


def _ends_other(schedule: Schedule, firing: Firing) -> bool:
    return (firing.overlap or schedule.settings.overlap) in (Overlap.CANCEL_OTHER, Overlap.TERMINATE_OTHER)


def _begin(schedule: Schedule, firing: Firing) -> Schedule:
    return replace(schedule, starting=firing, waiting=tuple(other for other in schedule.waiting if other is not firing))


def _skip(schedule: Schedule, firing: Firing, now: int) -> Schedule:
    text = "The workflow of the firing before is still open."
    facts = {"business_key": schedule.last.key.business_key} if schedule.last is not None else {}
    fired = refused(firing, now, Reason.WORKFLOW_NOT_CLOSED.name, text, facts)
    waiting = tuple(other for other in schedule.waiting if other is not firing)
    return _note(replace(schedule, waiting=waiting, skipped_count=schedule.skipped_count + 1), fired)


def _note(schedule: Schedule, fired: Fired) -> Schedule:
    schedule = replace(schedule, recent=(fired, *schedule.recent)[: limits.RECENT_FIRINGS])
    if not fired.request_id:
        return schedule
    return replace(schedule, by_hand=(fired, *schedule.by_hand)[: limits.REQUEST_IDS])


def started(firing: Firing, now: int, run: Run) -> Fired:
    """It has started a workflow."""
    return Fired(firing.planned, now, run, request_id=firing.request_id, content=firing.content)


def refused(firing: Firing, now: int, reason: str, message: str, facts: dict[str, str]) -> Fired:
    """It has started nothing, for a Reason of this name."""
    return Fired(firing.planned, now, None, reason, message, facts, firing.request_id, firing.content)


def answer_to(schedule: Schedule, asked: Firing) -> Fired | None:
    """What came of the firing that a person asked for, or that it waits; None = nobody remembers such a request.

    Raises Rejection REQUEST_ID_REUSED if the request asked for another firing.
    """
    settled = next((fired for fired in schedule.by_hand if fired.request_id == asked.request_id), None)
    waiting = next((firing for firing in _open(schedule) if firing.request_id == asked.request_id), None)
    known = settled or waiting
    if known is not None and known.content != asked.content:
        text = "This request_id was used before for another firing of the schedule: make a new one."
        raise Rejection(Reason.REQUEST_ID_REUSED, text, request_id=asked.request_id)
    if settled is not None or waiting is None:
        return settled
    text = "It waits until the workflow of the firing before has ended."
    return refused(waiting, waiting.since, Reason.WORKFLOW_NOT_CLOSED.name, text, {})


def waits(schedule: Schedule, request_id: str) -> bool:
    """Whether the firing that a person asked for is not settled."""
    return any(firing.request_id == request_id for firing in _open(schedule))


def _open(schedule: Schedule) -> tuple[Firing, ...]:
    return schedule.waiting if schedule.starting is None else (schedule.starting, *schedule.waiting)


def put_back(schedule: Schedule) -> Schedule:
    """The start was refused for now, so nothing has happened: the firing waits again."""
    assert schedule.starting is not None, "something was being started"
    return replace(schedule, starting=None, waiting=(schedule.starting, *schedule.waiting))


def ask(schedule: Schedule, firing: Firing) -> Schedule:
    """A person asks for a firing."""
    return replace(schedule, waiting=(*schedule.waiting, firing))


def change(schedule: Schedule, settings: ScheduleSettings, now: int) -> Schedule:
    """Other settings. What the calendar asked for before now is over if it is another calendar, or if the schedule rested."""
    before = schedule.settings
    if settings == before:
        return schedule
    other = any(getattr(before, name) != getattr(settings, name) for name in ("triggers", "from_time", "to_time", "jitter"))
    begins = other or (before.paused and not settings.paused)
    cursor = max(schedule.cursor, now) if begins else schedule.cursor
    return replace(schedule, settings=settings, cursor=cursor, version=schedule.version + 1, update_time=now)

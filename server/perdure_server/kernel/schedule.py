"""What a schedule is. Its times are milliseconds; the calendar itself (cron, time zones) is the engine's."""

from enum import IntEnum

from msgspec import Struct

from perdure_server.kernel import limits
from perdure_server.kernel.values import Payload
from perdure_server.kernel.workflow import WorkflowKey


class Overlap(IntEnum):
    """What a firing does while the workflow of the one before is open."""

    SKIP = 1
    BUFFER_ONE = 2
    BUFFER_ALL = 3
    CANCEL_OTHER = 4
    TERMINATE_OTHER = 5
    ALLOW = 6


class Cron(Struct, frozen=True, tag="cron"):
    """By the calendar of a time zone (IANA name)."""

    expression: str
    time_zone: str = "UTC"


class Interval(Struct, frozen=True, tag="interval"):
    """Every `every` ms since the epoch, shifted by `phase`."""

    every: int
    phase: int = 0

    def following(self, after: int) -> int:
        """The first time after `after`."""
        return (after - self.phase) // self.every * self.every + self.every + self.phase


class ScheduledStart(Struct, frozen=True, omit_defaults=True):
    """What each firing starts. `key_template` "" = the schedule's id, `@` and the planned time."""

    workflow_type: str
    key_template: str = ""
    input: Payload | None = None
    labels: dict[str, str] = {}
    priority: int | None = None
    fairness_key: str = ""
    queue: str = ""
    workflow_timeout: int | None = None
    retention: int | None = None


class Firing(Struct, frozen=True, omit_defaults=True):
    """A firing that came due and is not settled. `request_id` = a person's, `content` = its digest; `overlap` None = the schedule's."""

    planned: int
    since: int
    request_id: str = ""
    overlap: Overlap | None = None
    content: str = ""

    @property
    def by_hand(self) -> bool:
        """Whether a person asked for it."""
        return bool(self.request_id)


class Run(Struct, frozen=True):
    """A workflow that a firing started."""

    key: WorkflowKey
    run_id: str
    round: int


class Fired(Struct, frozen=True, omit_defaults=True):
    """What came of a firing. `run` None: nothing, for `reason` (a Reason's name, or MISSED)."""

    planned: int
    time: int
    run: Run | None = None
    reason: str = ""
    message: str = ""
    facts: dict[str, str] = {}
    request_id: str = ""
    content: str = ""


MISSED = "MISSED"


class ScheduleSettings(Struct, frozen=True, omit_defaults=True):
    """What its owner decides."""

    triggers: tuple[Cron | Interval, ...]
    start: ScheduledStart
    from_time: int | None = None
    to_time: int | None = None
    jitter: int = 0
    overlap: Overlap = Overlap.SKIP
    catch_up_window: int = limits.CATCH_UP_WINDOW
    paused: bool = False
    note: str = ""


class Schedule(Struct, frozen=True, omit_defaults=True):
    """One schedule as stored.

    Every planned time up to `cursor` is settled, waiting or starting. `starting` is the one decision that is stored before its effect;
    nobody changes the settings while it is there. `due` is when a server must look at it again.
    """

    namespace: str
    schedule_id: str
    settings: ScheduleSettings
    cursor: int
    update_time: int
    revision: int = 1  # of the document
    version: int = 1  # of the settings: the etag
    due: int | None = None
    waiting: tuple[Firing, ...] = ()  # by planned time
    starting: Firing | None = None
    last: Run | None = None
    recent: tuple[Fired, ...] = ()  # newest first
    by_hand: tuple[Fired, ...] = ()  # those that people asked for, so that a repeat is answered
    fired_count: int = 0
    skipped_count: int = 0
    missed_count: int = 0
    requests: tuple[str, ...] = ()  # of the last changes of the settings, as kernel/requests.py writes them
    first_request: str = ""  # the one that made it
    deleted: str = ""  # the request that deleted it: only so that its repeat is recognised, until `due`

    @property
    def etag(self) -> str:
        """What changes with the settings, and with nothing else."""
        return f"{self.version}-{self.update_time}"

"""A namespace: a place of its own for workflows. One that nobody has put exists all the same, with the defaults."""

from msgspec import Struct


class NamespaceLimits(Struct, frozen=True, omit_defaults=True):
    """How much at once; None = no limit but the server's."""

    open_workflows: int | None = None
    starts_per_second: float | None = None
    stored_bytes: int | None = None
    watchers: int | None = None
    sessions: int | None = None


class Measure(Struct, frozen=True):
    """How many bytes a namespace stores. Times in ms."""

    bytes: int
    time: int  # when measuring began; 0 = never measured
    again: int  # not to be measured anew before


class Tally(Struct, frozen=True, omit_defaults=True):
    """What the servers have to know of one another to keep the limits of a namespace."""

    namespace: str
    revision: int = 0
    window: int = 0  # which second, or longer time, `taken` is of
    taken: int = 0  # starts that servers have taken of it
    watchers: dict[str, tuple[int, int]] = {}  # server id to how many are open there, and when that was said
    measure: Measure | None = None  # where the bytes are limited


class NamespaceSettings(Struct, frozen=True, omit_defaults=True):
    """What its owner decides. Durations in ms; None = the product's default."""

    description: str = ""
    limits: NamespaceLimits | None = None
    retention: int | None = None
    tombstone_retention: int | None = None
    labels: dict[str, str] = {}


class Namespace(Struct, frozen=True, omit_defaults=True):
    """One namespace as stored."""

    name: str
    settings: NamespaceSettings
    update_time: int
    revision: int = 1
    requests: tuple[str, ...] = ()  # of the last changes, as kernel/requests.py writes them
    first_request: str = ""

    @property
    def etag(self) -> str:
        """What changes with every change."""
        return f"{self.revision}-{self.update_time}"

"""The small values that instances and definitions are made of.

All times are integer milliseconds since the epoch, in store time; all durations are integer milliseconds.
msgspec.Struct is used instead of dataclasses because a frozen one is made and copied about eight times faster, and the kernel makes
several per step.
"""

import math
from enum import IntEnum

from msgspec import Struct

from perdure_server.kernel import limits


class Deletion(Struct, frozen=True):
    """A definition was deleted: since when, and by which request (its id, or one that was made for it)."""

    since: int
    request_id: str


class Paused(Struct, frozen=True, omit_defaults=True):
    """No grants, until somebody resumes."""

    since: int
    actor: str = ""
    reason: str = ""


class PayloadRef(Struct, frozen=True):
    """A payload kept in a document of its own: its id and size in bytes."""

    payload_id: str
    size: int


class Payload(Struct, frozen=True, omit_defaults=True):
    """One value of a user. Exactly one of `json`, `binary` and `ref` is set; the server looks into none of them."""

    json: str | None = None
    binary: bytes | None = None
    ref: PayloadRef | None = None
    content_type: str = ""
    encoding: str = ""
    digest: str = ""
    metadata: dict[str, bytes] = {}

    @property
    def inline_size(self) -> int:
        """Bytes that this payload takes inside the document (a ref is charged 64)."""
        if self.ref is not None:
            return 64
        if self.json is None:
            return len(self.binary or b"")
        return len(self.json) if self.json.isascii() else len(self.json.encode("utf-8", "surrogatepass"))


class Failure(Struct, frozen=True, omit_defaults=True):
    """Why an attempt, a step or a workflow failed. `type` is the author's dotted string, or one of ours in capitals."""

    type: str
    message: str = ""
    details: Payload | None = None
    non_retryable: bool = False
    retry_after: int | None = None


class Condition(Struct, frozen=True, omit_defaults=True):
    """One way to end a wait: `signal` (`count` of them), `after` (from the opening of the wait), or `at` (a time)."""

    name: str
    signal: str = ""
    count: int = 1
    after: int | None = None
    at: int | None = None
    choose: tuple[str, ...] = ()


class Wait(Struct, frozen=True):
    """A durable wait: the first condition that holds wins."""

    any_of: tuple[Condition, ...]


class Wake(Struct, frozen=True, omit_defaults=True):
    """What won a wait: the condition's name; for a signal its id, payload and name; when it fired (a time) or was stored (a signal)."""

    condition: str
    signal_id: str = ""
    payload: Payload | None = None
    signal_name: str = ""
    time: int = 0


class RetryPolicy(Struct, frozen=True, omit_defaults=True):
    """When a failed attempt is tried again. `max_attempts` None means without limit."""

    max_attempts: int | None = limits.MAX_ATTEMPTS
    initial_interval: int = limits.RETRY_INITIAL_INTERVAL
    coefficient: float = limits.RETRY_COEFFICIENT
    max_interval: int = limits.RETRY_MAX_INTERVAL
    jitter: float = limits.RETRY_JITTER
    non_retryable_types: tuple[str, ...] = ()

    def delay(self, attempt: int, dice: float) -> int:
        """The pause in ms after the failed `attempt` (1 = the first); `dice` in [0, 1) places it inside the jitter band.

        The longest interval caps before jitter. Whether it is reached is asked of the exponent, so that nothing overflows (case C23).
        """
        interval = float(min(self.initial_interval, self.max_interval))
        if self.coefficient > 1.0 and interval > 0:
            steps_to_cap = math.log(self.max_interval / interval) / math.log(self.coefficient)
            interval = float(self.max_interval) if attempt - 1 >= steps_to_cap else interval * self.coefficient ** (attempt - 1)
        return max(0, round(interval * (1.0 + self.jitter * (2.0 * dice - 1.0))))


class Trace(Struct, frozen=True, omit_defaults=True):
    """W3C trace context of one workflow: the caller's parent, and the span id that the workflow's root span has.

    `link` names a span of another trace that this one came of, as `<trace id>-<span id>`: the root of the round before it, or, of an item
    of a map, the map step of the parent.
    """

    trace_id: str  # 32 hex digits
    root_span_id: str  # 16 hex digits
    parent_span_id: str = ""
    flags: int = 1
    state: str = ""
    link: str = ""


class LossCause(IntEnum):
    """Why a claim token is no longer current; travels as `cause` with CLAIM_LOST."""

    UNKNOWN = 0
    EXPIRED = 1
    CANCELLED = 2
    SUPERSEDED = 3
    CLOSED = 4
    TIMED_OUT = 5

"""Durable waits: what a step waits for while it holds no worker, and what woke it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, TypeVar

from google.protobuf import json_format

from perdure import payloads
from perdure.errors import PayloadRejected
from perdure.reasons import ErrorReason
from perdure.v1 import payload_pb2, wait_pb2

T = TypeVar("T")

WAIT_RESULT_TYPE: Final = "application/vnd.perdure.wait-result+json"


class Keep:
    """Says that the stored checkpoint stays as it is."""

    def __repr__(self) -> str:
        return "KEEP"


KEEP: Final = Keep()


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing to wait for: signals, a duration, or a time. Exactly one of the three."""

    signal: str = ""
    """Name of the signals."""
    after: timedelta | None = None
    """This long after the wait was stored."""
    at: datetime | None = None
    """At this time; it must know its time zone."""
    count: int = 1
    """How many signals of that name, oldest first; at most 100."""
    name: str = ""
    """Told when this condition won. Empty: the signal's name, `after` or `at_time`."""
    choose: tuple[str, ...] = ()
    """In a wait step with branches: those that are taken when this condition wins."""

    def __post_init__(self) -> None:
        if bool(self.signal) + (self.after is not None) + (self.at is not None) != 1:
            raise ValueError("a condition is one of: a signal, a duration (`after`), a time (`at`)")
        if self.at is not None and self.at.tzinfo is None:
            raise ValueError("`at` needs a time zone, such as datetime.now(UTC) + ...")

    def to_message(self) -> wait_pb2.WaitCondition:
        """The wire's form."""
        message = wait_pb2.WaitCondition(name=self.name, choose=self.choose)
        if self.signal:
            message.signal.signal_name = self.signal
            message.signal.count = self.count
        elif self.after is not None:
            message.after.FromTimedelta(self.after)
        elif self.at is not None:
            message.at_time.FromDatetime(self.at)
        return message


@dataclass(frozen=True, slots=True)
class Wait:
    """Return it from an activity to wait without holding a worker; the step is then run again from its top.

    Nothing is charged, and the checkpoint stays unless another is given. The first condition to come true wins.
    """

    conditions: tuple[Condition, ...]
    """1 to 16, with distinct names."""
    checkpoint: object = KEEP
    """Stored with the wait. KEEP: the stored one stays. None: it is cleared."""

    @staticmethod
    def any(
        *conditions: Condition,
        signal: str = "",
        count: int = 1,
        after: timedelta | None = None,
        at: datetime | None = None,
        checkpoint: object = KEEP,
    ) -> "Wait":
        """Wait for the first of: `count` signals of a name, a duration, a time, and further conditions.

        Raises:
            ValueError: There is no condition.
        """
        found = list(conditions)
        if signal:
            found.append(Condition(signal, count=count))
        if after is not None:
            found.append(Condition(after=after))
        if at is not None:
            found.append(Condition(at=at))
        if not found:
            raise ValueError("Wait.any: give at least one of signal, after, at")
        return Wait(tuple(found), checkpoint)

    def to_message(self) -> wait_pb2.Wait:
        """The wire's form, without the checkpoint."""
        return wait_pb2.Wait(any_of=[condition.to_message() for condition in self.conditions])


@dataclass(frozen=True, slots=True)
class Wake(Generic[T]):
    """One thing that ended a wait: a signal that was consumed, or a time that came."""

    condition: str
    """Name of the condition that won."""
    value: T | None = None
    """What the signal carried; None for a time, or a signal without content."""
    signal_name: str = ""
    """Empty for a time."""
    signal_id: str | None = None
    """None for a time."""
    time: datetime | None = None
    """Store time at which the timer fired or the signal was stored."""


@dataclass(frozen=True, slots=True)
class Woken(Generic[T]):
    """How a wait ended: which condition won, and what the signals carried."""

    condition: str
    """Name of the condition that won: the signal's name, `after`, `at_time`, or the name that was given to it."""
    wakes: Sequence[Wake[T]] = ()
    """What was consumed, oldest first; one for a time."""

    @property
    def value(self) -> T | None:
        """What the first signal carried; None when a time won."""
        return self.wakes[0].value if self.wakes else None

    @property
    def values(self) -> list[T | None]:
        """What each signal carried."""
        return [wake.value for wake in self.wakes if wake.signal_id is not None]

    @property
    def timed_out(self) -> bool:
        """Whether a duration or a time won."""
        return not any(wake.signal_id is not None for wake in self.wakes)


def parse_wait_result(payload: payload_pb2.Payload) -> wait_pb2.WaitResult:
    """The output of a wait step. Raises PayloadRejected if it is something else."""
    try:
        return json_format.Parse(payload.json, wait_pb2.WaitResult(), ignore_unknown_fields=True)
    except json_format.ParseError as error:
        raise PayloadRejected(f"not the output of a wait step: {error}", reason=ErrorReason.PAYLOAD_INVALID) from error


def woken(condition: str, wakes: Sequence[wait_pb2.Wake], as_type: Any) -> Woken[Any]:
    """The wire's wakes with their payloads decoded. Raises PayloadRejected."""
    return Woken(condition, tuple(_wake(wake, as_type) for wake in wakes))


def _wake(wake: wait_pb2.Wake, as_type: Any) -> Wake[Any]:
    carried = wake.payload if wake.HasField("payload") else None
    return Wake(
        wake.condition,
        payloads.decode(carried, as_type) if carried is not None else None,
        wake.signal_name,
        wake.signal_id if wake.HasField("signal_id") else None,
        wake.wake_time.ToDatetime(tzinfo=UTC) if wake.HasField("wake_time") else None,
    )

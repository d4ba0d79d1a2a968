"""What an activity knows and can do: facts of its claim, checkpoints, progress."""

import asyncio
from collections.abc import Awaitable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, overload

from perdure import payloads
from perdure.failure import Failure
from perdure.hook_facts import HookFacts
from perdure.v1 import payload_pb2, wait_pb2, watch_pb2
from perdure.waits import Woken, woken

C = TypeVar("C")
T = TypeVar("T")
V = TypeVar("V")

FrameKind: TypeAlias = "watch_pb2.Frame.Kind.ValueType"


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """What a claim says, apart from its secret and its values."""

    namespace: str
    workflow_type: str
    business_key: str
    round: int
    step: str
    claim_no: int
    attempt: int
    fence: int
    idempotency_key: str
    wake_token: str = field(repr=False)
    generation: int = 0
    max_attempts: int = 0
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    traceparent: str = ""
    tracestate: str = ""
    last_failure: Failure | None = None
    attempt_remaining: timedelta | None = None
    hook: HookFacts | None = None


class ActivityLink(Protocol):
    """The way from an activity to its worker."""

    def save(self, payload: payload_pb2.Payload) -> Awaitable[None]:
        """Stores a checkpoint; awaited on the activity's loop. Raises ClaimLost."""
        raise NotImplementedError

    def save_blocking(self, payload: payload_pb2.Payload) -> None:
        """Stores a checkpoint; for activities in threads and processes. Raises ClaimLost."""

    def frame(self, kind: "FrameKind", payload: payload_pb2.Payload) -> None:
        """Sends progress, without waiting."""

    def alive(self) -> None:
        """Notes a sign of life."""

    def cancel_reason(self) -> str:
        """Why the activity should stop; empty: it should not."""
        raise NotImplementedError


class Ready(Generic[V]):
    """A value that is there already; `await` gives it at once, so that `ctx.frame` can stand in any expression."""

    __slots__ = ("value",)

    def __init__(self, value: V) -> None:
        self.value = value

    def __await__(self) -> Generator[None, None, V]:
        yield from ()
        return self.value


class Context(Generic[C]):
    """Given to every activity. C is the type of its checkpoint, None if it has none.

    All methods but `save` work in `async def` activities, threads and processes alike.
    """

    def __init__(
        self,
        facts: ClaimFacts,
        link: ActivityLink,
        *,
        checkpoint: C | None = None,
        wakes: Sequence[wait_pb2.Wake] = (),
        cursor: Any = None,
    ) -> None:
        self._facts = facts
        self._link = link
        self._checkpoint = checkpoint
        self._wakes = wakes
        self._cursor = cursor

    def __repr__(self) -> str:
        return f"<Context {self._facts.workflow_type}/{self._facts.business_key} {self._facts.step} attempt {self._facts.attempt}>"

    @property
    def checkpoint(self) -> C | None:
        """The last checkpoint that was saved, by this attempt or an earlier one; None: none."""
        return self._checkpoint

    @property
    def cursor(self) -> Any:
        """Of a paging step: what the Page before had as its cursor; None: this is the first page."""
        return self._cursor

    async def save(self, checkpoint: C) -> C:
        """Stores a checkpoint and returns it, once it is stored. Also a sign of life.

        In a plain `def` activity use `save_blocking`.

        Raises:
            ClaimLost: The claim is not yours any more; stop.
            PayloadRejected: The value cannot travel, or is too large.
        """
        await self._link.save(payloads.encode(checkpoint) or payloads.NO_VALUE)
        self._checkpoint = checkpoint
        return checkpoint

    def save_blocking(self, checkpoint: C) -> C:
        """As `save`, for a plain `def` activity in a thread or process.

        Raises:
            ClaimLost: The claim is not yours any more; stop.
            PayloadRejected: The value cannot travel, or is too large.
            RuntimeError: Called on the event loop, where it would block everything.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            raise RuntimeError("save_blocking would block the event loop: use `await ctx.save(...)`")
        self._link.save_blocking(payloads.encode(checkpoint) or payloads.NO_VALUE)
        self._checkpoint = checkpoint
        return checkpoint

    def frame(self, text: str) -> Ready[str]:
        """Sends a piece of text to watchers, appended to the text before; never waits. `await` gives the text back.

        Raises:
            ValueError: It has more than 64 KiB.
        """
        self._link.frame(watch_pb2.Frame.KIND_TEXT, payload_pb2.Payload(json=payloads.to_json(text)))
        return Ready(text)

    def progress(self, done: float, total: float | None = None, *, unit: str = "", message: str = "") -> Ready[None]:
        """Tells watchers how far the activity is; replaces what was told before; never waits."""
        told: dict[str, object] = {"done": done}
        told |= {name: value for name, value in (("total", total), ("unit", unit), ("message", message)) if value not in {None, ""}}
        self._link.frame(watch_pb2.Frame.KIND_PROGRESS, payload_pb2.Payload(json=payloads.to_json(told)))
        return Ready(None)

    def log(self, line: str) -> Ready[None]:
        """Sends a line for people to watchers; never waits.

        Raises:
            ValueError: It has more than 64 KiB.
        """
        self._link.frame(watch_pb2.Frame.KIND_LOG, payload_pb2.Payload(json=payloads.to_json(line)))
        return Ready(None)

    def alive(self) -> None:
        """A sign of life, for steps with a silence_timeout; costs next to nothing."""
        self._link.alive()

    @property
    def cancelled(self) -> bool:
        """Whether the activity should stop. An `async def` also gets asyncio.CancelledError; a `def` has to look here."""
        return bool(self._link.cancel_reason())

    @property
    def cancel_reason(self) -> str:
        """Why it should stop; empty: it should not.

        WORKFLOW_CANCELLED (or a person ended the step), WORKFLOW_FAILING and TERMINATED are about the work: end what you began elsewhere,
        too. TIMED_OUT (attempt_timeout, silence_timeout or step_timeout is over) is about this attempt, CLAIM_LOST (the lease is over, or a
        newer claim was granted) and DRAINING are about this worker: after them a next attempt may go on with it.
        """
        return self._link.cancel_reason()

    def raise_if_cancelled(self) -> None:
        """Ends a plain `def` activity that should stop, by asyncio.CancelledError."""
        reason = self._link.cancel_reason()
        if reason:
            raise asyncio.CancelledError(reason)

    @overload
    def woken(self) -> Woken[Any] | None: ...
    @overload
    def woken(self, payload: type[T]) -> Woken[T] | None: ...
    def woken(self, payload: Any = Any) -> Woken[Any] | None:
        """What ended this step's last wait, with the signals' content decoded as `payload`; None: it has not waited.

        Raises:
            PayloadRejected: The content is of another type.
        """
        return woken(self._wakes[0].condition, self._wakes, payload) if self._wakes else None

    @property
    def workflow_type(self) -> str:
        """The definition's name."""
        return self._facts.workflow_type

    @property
    def business_key(self) -> str:
        """The caller's name of the business object."""
        return self._facts.business_key

    @property
    def namespace(self) -> str:
        """Namespace of the workflow."""
        return self._facts.namespace

    @property
    def round(self) -> int:
        """Which round of the key."""
        return self._facts.round

    @property
    def step(self) -> str:
        """Name of the step."""
        return self._facts.step

    @property
    def attempt(self) -> int:
        """Charged executions of this generation, this one included."""
        return self._facts.attempt

    @property
    def claim_no(self) -> int:
        """Rises with every grant of the step."""
        return self._facts.claim_no

    @property
    def fence(self) -> int:
        """The run's fence; hand it to your own store's conditional writes."""
        return self._facts.fence

    @property
    def idempotency_key(self) -> str:
        """The same in all attempts of this generation; hand it to what you call."""
        return self._facts.idempotency_key

    @property
    def wake_token(self) -> str:
        """For callbacks: whoever has it may signal this step. A secret."""
        return self._facts.wake_token

    @property
    def hook(self) -> HookFacts | None:
        """Why this runs, if it is a hook or a compensation; None: an ordinary step."""
        return self._facts.hook

    @property
    def labels(self) -> Mapping[str, str]:
        """The workflow's labels."""
        return self._facts.labels

    @property
    def traceparent(self) -> str:
        """W3C trace context of this attempt's span; empty: not traced."""
        return self._facts.traceparent

    @property
    def facts(self) -> ClaimFacts:
        """All facts of the claim."""
        return self._facts

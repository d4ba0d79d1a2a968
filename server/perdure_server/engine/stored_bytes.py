"""The limit on what a namespace stores: measured now and then, and between two measures what came in here is added.

One server measures for all, not before the last measure is QUOTA_FRESH old, nor before twenty times as long has passed as it took: it takes
no more than a twentieth of the time. Results, checkpoints and what other servers let in are seen at the next measure, and so is what
was removed; as each measure starts anew, no error lasts. A namespace without the limit is neither measured nor asked about.
"""

from collections import deque
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from perdure_server.engine.namespaces import Namespaces
from perdure_server.engine.parts import Parts
from perdure_server.engine.signal_check import check_signal
from perdure_server.engine.values import Ref
from perdure_server.kernel import limits
from perdure_server.kernel.namespace import Measure, Tally
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.start import Start
from perdure_server.kernel.tokens import decode_wake_token
from perdure_server.kernel.workflow import Signal
from perdure_server.ports.errors import StoreUnavailable

if TYPE_CHECKING:
    from perdure_server.engine.service import Engine

NAME: Final = "stored_bytes"

_LOST_RACES: Final = 50
_MEASURING_PART: Final = 20  # measuring may take a twentieth of the time


class _Here(Struct):
    """What this server knows of one namespace. `brought`: when bytes were let in here, to the second, and how many."""

    measure: Measure = Measure(0, 0, 0)
    brought: deque[tuple[int, int]] = field(default_factory=deque)
    total: int = 0  # of `brought`
    measuring: bool = False


class StoredBytes:
    """Asked before what brings new bytes to a namespace with this limit."""

    def __init__(self, parts: Parts, namespaces: Namespaces) -> None:
        self._namespaces = namespaces
        self._store = parts.store.namespaces
        self._clock = parts.clock
        self._supervisor = parts.supervisor
        self._known: dict[str, _Here] = {}

    def is_full(self, namespace: str) -> bool:
        """Whether it stores as much as it may. False until it was measured for the first time."""
        most = self._namespaces.byte_limits.get(namespace)
        here = self._known.get(namespace)
        return most is not None and here is not None and here.measure.time > 0 and here.measure.bytes + here.total >= most

    def refusal(self, namespace: str) -> Rejection:
        """What a caller hears when it is full."""
        again = self._known[namespace].measure.again - self._clock.unshifted()
        return exceeded(namespace, NAME, self._namespaces.byte_limits[namespace], max(again, limits.QUOTA_LOOK_AGAIN))

    def add(self, namespace: str, size: int) -> None:
        """So many bytes are let in here."""
        if namespace not in self._namespaces.byte_limits:
            return
        here, now = self._here(namespace), self._clock.unshifted()
        if here.brought and now - here.brought[-1][0] < limits.SECOND:
            last, before = here.brought.pop()
            here.brought.append((last, before + size))
        else:
            here.brought.append((now, size))
        here.total += size

    def admit_import(self, namespace: str, size: int) -> None:
        """Let a file of so many bytes in. Raises Rejection QUOTA_EXCEEDED."""
        if self.is_full(namespace):
            raise self.refusal(namespace)
        self.add(namespace, size)

    async def admit_signal(self, engine: "Engine", target: Ref | str, signal: Signal) -> None:
        """Let a signal in; one that is stored already is none. Raises Rejection, StoreUnavailable."""
        if isinstance(target, Ref):
            namespace = target.key.namespace
        else:
            namespace = (await engine.queries.load(decode_wake_token(target).workflow_id, None)).key.namespace
        if self.is_full(namespace) and not (await check_signal(engine, target, signal)).duplicate:
            raise self.refusal(namespace)
        self.add(namespace, size_of(signal))

    async def step(self) -> None:
        """Hear of the measures of other servers, and measure what is due."""
        for gone in self._known.keys() - self._namespaces.byte_limits.keys():
            del self._known[gone]
        for namespace in tuple(self._namespaces.byte_limits):
            here = self._here(namespace)
            tally = await self._store.tally(namespace)
            if tally is not None and tally.measure is not None:
                self._learn(here, tally.measure)
            if here.measuring or self._clock.unshifted() < here.measure.again:
                continue
            # Whoever writes first measures; if it breaks off, somebody else does after a minute.
            mine = replace(here.measure, again=self._clock.unshifted() + limits.QUOTA_MEASURED_WITHIN)
            if await self._put(tally, replace(tally or Tally(namespace), measure=mine)):
                here.measure, here.measuring = mine, True
                self._supervisor.run(self._measure(namespace, here), "measure of stored bytes")

    async def _measure(self, namespace: str, here: _Here) -> None:
        try:
            began = self._clock.unshifted()
            found = await self._store.stored_bytes(namespace)
            now = self._clock.unshifted()
            measure = Measure(found, began, max(began + limits.QUOTA_FRESH, now + _MEASURING_PART * (now - began)))
            for _ in range(_LOST_RACES):
                old = await self._store.tally(namespace)
                if await self._put(old, replace(old or Tally(namespace), measure=measure)):
                    self._learn(here, measure)
                    return
            raise StoreUnavailable("the tally of the namespace is being changed by too many at once")
        finally:
            here.measuring = False

    async def _put(self, old: Tally | None, new: Tally) -> bool:
        return await self._store.put_tally(old, replace(new, revision=old.revision + 1 if old is not None else 1))

    def _learn(self, here: _Here, measure: Measure) -> None:
        here.measure = measure
        while here.brought and here.brought[0][0] + limits.SECOND <= measure.time:
            here.total -= here.brought.popleft()[1]

    def _here(self, namespace: str) -> _Here:
        return self._known.setdefault(namespace, _Here())


def size_of(brought: Start | Signal) -> int:
    """Bytes that a start or a signal adds, about."""
    if isinstance(brought, Signal):
        return limits.SIGNAL_BYTES + (brought.payload.inline_size if brought.payload is not None else 0)
    size = brought.input.inline_size if brought.input is not None else 0
    return limits.START_BYTES + size + sum(size_of(signal) for signal in brought.signals)


def exceeded(namespace: str, name: str, limit: float, retry_after: int = 0) -> Rejection:
    """A limit of a namespace is reached. `retry_after` in ms; 0 = as usual."""
    shown = str(limit).removesuffix(".0")
    text = f"Namespace {namespace} is at its limit of {shown} {name.replace('_', ' ')}; see PutNamespace."
    rejection = Rejection(Reason.QUOTA_EXCEEDED, text, scope="namespace", namespace=namespace, limit_name=name, limit=shown)
    rejection.retry_after = retry_after
    return rejection

"""The limits of namespaces. A namespace without limits costs nothing here; results, renewals, heartbeats and cancels are never asked.

| limit | how exact |
| --- | --- |
| starts per second | exact over all servers: each takes small shares of the current second from one stored tally |
| open workflows | exact on one server; what other servers have started is counted every 5 s (less often where counting takes long) |
| sessions | counted in the store when a new one comes |
| watchers | exact on one server; those of other servers are known within 5 s |
| stored bytes | measured every 5 s or more seldom: stored_bytes.py |

Children are never refused: their parent was let in. A start whose key has an open workflow is no new one, and is let through.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Final, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from perdure_server.engine.namespaces import Namespaces
from perdure_server.engine.parts import Parts
from perdure_server.engine.stored_bytes import StoredBytes, exceeded, size_of
from perdure_server.engine.values import Started
from perdure_server.kernel import limits
from perdure_server.kernel.namespace import NamespaceLimits, Tally
from perdure_server.kernel.start import Start
from perdure_server.kernel.workflow import ENDED, WorkflowState
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.ports.store import WorkflowQuery

T = TypeVar("T")

_LOST_RACES: Final = 50
_SHARES: Final = 20  # of a second's starts; a share is what one server takes from the tally at once
_COUNTING_PART: Final = 100  # counting may take a hundredth of the time
_OPEN: Final = tuple(state for state in WorkflowState if state not in ENDED)

Check = Callable[[], Awaitable[Started]]


class _Here(Struct):
    """What this server knows of one namespace."""

    lock: asyncio.Lock
    tally: Tally | None = None
    tally_read: int | None = None
    window: int = -1
    left: int = 0
    open: int = 0
    counted: int | None = None
    count_again: int = 0  # not before this time
    watchers: int = 0
    told_watchers: int = 0
    told: int = 0


class Quotas:
    """Asked before a start, a new session and a new watch of a namespace that has limits."""

    def __init__(self, parts: Parts, namespaces: Namespaces) -> None:
        self._namespaces = namespaces
        self._store = parts.store.namespaces
        self._workflows = parts.store.workflows
        self._sessions = parts.store.sessions
        self._clock = parts.clock
        self._server_id = parts.settings.server_id
        self._known: dict[str, _Here] = {}
        self.bytes = StoredBytes(parts, namespaces)

    async def admit_start(self, command: Start, limit: NamespaceLimits, check: Check) -> None:
        """Let a start in. `check` tells what would come of it. Raises Rejection QUOTA_EXCEEDED, StoreUnavailable."""
        namespace = command.key.namespace
        here = self._here(namespace)
        if self.bytes.is_full(namespace) and (command.signals or (await check()).created):
            raise self.bytes.refusal(namespace)
        if limit.open_workflows is not None:
            await self._count_open(namespace, here, limit.open_workflows)
            if here.open >= limit.open_workflows and (await check()).created:
                raise exceeded(namespace, "open_workflows", limit.open_workflows)
        if limit.starts_per_second is not None:
            await self._take_start(namespace, here, limit.starts_per_second)
        here.open += 1
        self.bytes.add(namespace, size_of(command))

    async def admit_session(self, namespace: str) -> None:
        """Let a new worker session in. Raises Rejection QUOTA_EXCEEDED, StoreUnavailable."""
        limit = self._namespaces.limited(namespace)
        if limit is None or limit.sessions is None:
            return
        found = await self._sessions.list(namespace, min(limit.sessions, limits.SESSIONS_COUNTED))
        if len(found) >= limit.sessions:
            raise exceeded(namespace, "sessions", limit.sessions)

    def watched(self, namespace: str, batches: AsyncIterator[T]) -> AsyncIterator[T]:
        """The batches of a watch, counted while it is open. The first may raise Rejection QUOTA_EXCEEDED, StoreUnavailable."""
        limit = self._namespaces.limited(namespace)
        if limit is None or limit.watchers is None:
            return batches
        return self._counted(namespace, limit.watchers, batches)

    async def step(self) -> None:
        """Tell the other servers how many watchers are here, where that is limited, and measure bytes, where those are."""
        await self._clock.sleep(self._clock.together(limits.QUOTA_TELL))
        now = self._clock.unshifted()
        for namespace, here in tuple(self._known.items()):
            if here.watchers != here.told_watchers or (here.watchers and now - here.told >= limits.QUOTA_TELL_AGAIN):
                await self._tell_watchers(namespace, here)
        await self.bytes.step()

    async def _counted(self, namespace: str, most: int, batches: AsyncIterator[T]) -> AsyncIterator[T]:
        here = self._here(namespace)
        others = await self._watchers_elsewhere(namespace, here)
        if here.watchers + others >= most:
            raise exceeded(namespace, "watchers", most)
        here.watchers += 1
        try:
            async with aclosing(cast("AsyncGenerator[T]", batches)) as source:
                async for batch in source:
                    yield batch
        finally:
            here.watchers -= 1

    async def _watchers_elsewhere(self, namespace: str, here: _Here) -> int:
        now = self._clock.unshifted()
        if here.tally_read is None or now - here.tally_read >= limits.QUOTA_TELL:
            await self._read(namespace, here)
        told = here.tally.watchers if here.tally is not None else {}
        fresh = now - limits.QUOTA_FORGET
        return sum(count for server, (count, time) in told.items() if server != self._server_id and time >= fresh)

    async def _tell_watchers(self, namespace: str, here: _Here) -> None:
        async with here.lock:
            for _ in range(_LOST_RACES):
                now, count = self._clock.unshifted(), here.watchers
                old = await self._read(namespace, here)
                told = {} if old is None else {name: word for name, word in old.watchers.items() if word[1] >= now - limits.QUOTA_FORGET}
                told.pop(self._server_id, None)
                if count:
                    told[self._server_id] = (count, now)
                if await self._put(here, old, replace(old or Tally(namespace), watchers=told)):
                    here.told_watchers, here.told = count, now
                    return

    async def _count_open(self, namespace: str, here: _Here, most: int) -> None:
        """Count them anew if the last count is too old, or says that there is no room and is a second old."""
        if not self._is_old(here, most):
            return
        async with here.lock:
            if not self._is_old(here, most):
                return
            began = self._clock.unshifted()
            here.open = await self._workflows.count(WorkflowQuery(namespace, states=_OPEN), most + 1)
            here.counted = self._clock.unshifted()
            here.count_again = here.counted + max(limits.QUOTA_FRESH, _COUNTING_PART * (here.counted - began))

    def _is_old(self, here: _Here, most: int) -> bool:
        now = self._clock.unshifted()
        if here.counted is None or now >= here.count_again:
            return True
        return here.open >= most and now - here.counted >= limits.QUOTA_LOOK_AGAIN

    async def _take_start(self, namespace: str, here: _Here, rate: float) -> None:
        length = limits.SECOND if rate >= 1 or not rate else math.ceil(limits.SECOND / rate)
        most = math.floor(rate * length / limits.SECOND + 1e-9)
        while True:
            window = self._clock.now() // length
            if here.window == window and here.left > 0:
                here.left -= 1
                return
            async with here.lock:
                if here.window == window and here.left > 0:
                    continue
                here.left = await self._share(namespace, here, window, most)
                here.window = window
                if not here.left:
                    rest = (window + 1) * length - self._clock.now()
                    raise exceeded(namespace, "starts_per_second", rate, max(rest, 1))

    async def _share(self, namespace: str, here: _Here, window: int, most: int) -> int:
        """Take a share of the window's starts; 0 = there are no more."""
        for _ in range(_LOST_RACES):
            old = here.tally if here.tally is not None else await self._read(namespace, here)
            taken = old.taken if old is not None and old.window == window else 0
            share = min(math.ceil(most / _SHARES), most - taken)
            if share <= 0:
                return 0
            if await self._put(here, old, replace(old or Tally(namespace), window=window, taken=taken + share)):
                return share
            here.tally = None
        raise StoreUnavailable("the tally of the namespace is being changed by too many at once")

    async def _read(self, namespace: str, here: _Here) -> Tally | None:
        here.tally = await self._store.tally(namespace)
        here.tally_read = self._clock.unshifted()
        return here.tally

    async def _put(self, here: _Here, old: Tally | None, new: Tally) -> bool:
        new = replace(new, revision=old.revision + 1 if old is not None else 1)
        stored = await self._store.put_tally(old, new)
        here.tally = new if stored else None
        return stored

    def _here(self, namespace: str) -> _Here:
        return self._known.setdefault(namespace, _Here(asyncio.Lock()))

"""What the store and the coordination do to a server that calls them: answers late, not at all, or wrongly as far as their ports allow."""

import asyncio
import copy
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from msgspec.structs import replace

from perdure_server.coordination.local import LocalCoordination
from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.coordination import Coordination, Frame, FrameBatch, ReadyItem, WakeUp
from perdure_server.ports.errors import CoordinationUnavailable, StoreError, StoreUnavailable
from perdure_server.ports.store import Due, Read, ReadyStep, WorkflowRows
from perdure_server.store.memory import MemoryStore, MemoryWorkflows
from perdure_server.store.outlines import outline
from tests.engine.virtual_loop import pause

if TYPE_CHECKING:
    from tests.simulation.oracle import Oracle

T = TypeVar("T")


class Weather:
    """How bad it is now; the chaos of a seed changes it. Rates are chances per operation."""

    def __init__(self) -> None:
        self.store_away = False
        self.failures = 0.0
        self.delays = 0.0
        self.stale = 0.0
        self.redis = "well"  # or away, deaf (what is offered is lost), refusing (writes fail)

    def clear_up(self) -> None:
        """No more faults."""
        self.__init__()  # type: ignore[misc]  # every field is as it was at first


class Caller(Protocol):
    """The server that an operation belongs to."""

    source: random.Random
    crashed: bool

    def operated(self) -> None:
        """One operation begins or ends; it may be this server's last. Raises nothing: a crashed server is cancelled."""


class Around:
    """The memory store's `Around` of one server: each operation crosses a network."""

    def __init__(self, caller: Caller, weather: Weather) -> None:
        self._caller = caller
        self._weather = weather

    async def __call__(self, operation: str, apply: Callable[[], T]) -> T:
        """Apply it once, perhaps late, perhaps never; the caller hears of it, perhaps."""
        await self._crossing()
        if self._weather.store_away:
            raise StoreUnavailable(f"{operation}: away")
        if self._caller.source.random() < self._weather.failures:
            await self._fail(operation, apply)
        result = apply()
        await self._crossing()
        return result

    async def _crossing(self) -> None:
        self._caller.operated()
        delay = 0.0
        if self._caller.source.random() < self._weather.delays:
            delay = self._caller.source.choice((0.002, 0.005, 0.02, 0.2, 1.5))
        await pause(delay)
        if self._caller.crashed:
            await asyncio.get_running_loop().create_future()  # nothing of a dead server is ever answered

    async def _fail(self, operation: str, apply: Callable[[], Any]) -> None:
        source = self._caller.source
        kind = source.choice(("not done", "done", "done later"))
        if kind == "done":
            with suppress(StoreError):
                apply()
        elif kind == "done later":
            asyncio.get_running_loop().call_later(source.random() * 2.0, _quietly, apply)
        if source.random() < 0.3:
            await pause(source.random() * 3.0)  # a timeout
        raise StoreUnavailable(f"{operation}: {kind}")


def _quietly(apply: Callable[[], Any]) -> None:
    with suppress(StoreError):
        apply()


class ServersWorkflows(MemoryWorkflows):
    """The workflows as one server sees them. Everything that is stored is told to the oracle."""

    oracle: "Oracle"
    weather: Weather
    source: random.Random

    async def load(self, workflow_id: bytes, read: Read = Read.LOCAL, **options: Any) -> Workflow | None:
        """A local read may be answered by a primary that does not know yet that it is none."""
        if read is Read.LOCAL and self.weather.stale and self.source.random() < self.weather.stale:
            older = await self._around("workflows.load", lambda: self.oracle.stale(workflow_id))
            return older if older is None or older.tombstone is None else None
        return await super().load(workflow_id, read, **options)

    async def due(self, *asked: Any, **options: Any) -> Sequence[Due]:
        """The same."""
        return self._some(await super().due(*asked, **options))

    async def ready(self, *asked: Any, **options: Any) -> Sequence[ReadyStep]:
        """The same."""
        return self._some(await super().ready(*asked, **options))

    async def claimed_by(self, *asked: Any, **options: Any) -> Sequence[bytes]:
        """The same."""
        return self._some(await super().claimed_by(*asked, **options))

    async def find(self, *asked: Any, **options: Any) -> WorkflowRows:
        """A list, too, may be one of a moment ago."""
        found = await super().find(*asked, **options)
        rows = [self._as_it_was(row) for row in found.rows]
        return replace(found, rows=tuple(row for row in rows if row is not None))

    async def outlines(self, *asked: Any, **options: Any) -> Mapping[bytes, Workflow]:
        """The same, with steps."""
        found = {}
        for workflow_id, row in (await super().outlines(*asked, **options)).items():
            older = self.oracle.stale(workflow_id) if self._is_late() else row
            if older is not None and older.tombstone is None:
                found[workflow_id] = outline(older)
        return found

    async def revisions(self, *asked: Any, **options: Any) -> Mapping[bytes, tuple[str, int]]:
        """The same: what was seen then."""
        found = dict(await super().revisions(*asked, **options))
        if options.get("read", asked[1] if len(asked) > 1 else Read.LOCAL) is Read.LOCAL:
            for workflow_id in [workflow_id for workflow_id in found if self._is_late()]:
                older = self.oracle.stale(workflow_id)
                if older is None:
                    del found[workflow_id]
                else:
                    found[workflow_id] = (older.run_id, older.revision)
        return found

    async def ready_queues(self) -> Sequence[str]:
        """The same."""
        return self._some(await super().ready_queues())

    def _is_late(self) -> bool:
        return bool(self.weather.stale) and self.source.random() < self.weather.stale

    def _as_it_was(self, row: Workflow) -> Workflow | None:
        if not self._is_late():
            return row
        older = self.oracle.stale(row.workflow_id)
        if older is None or older.run_id != row.run_id:
            return row if older is not None else None
        fields = ("state", "revision", "paused", "update_time", "end_time", "fingerprint", "tombstone")
        return replace(row, **{field: getattr(older, field) for field in fields})

    def _some(self, rows: Sequence[T]) -> Sequence[T]:
        return rows if not self.weather.stale else [row for row in rows if self.source.random() >= self.weather.stale]

    def _commit(self, old: Workflow | None, new: Workflow, written: Any) -> bool:
        stored = super()._commit(old, new, written)
        if stored:
            self.oracle.stored(old, new)
        return stored


def view_of(store: MemoryStore, caller: Caller, weather: Weather, oracle: "Oracle") -> MemoryStore:
    """The same store, as this server reaches it."""
    around = Around(caller, weather)
    view = copy.copy(store)
    view._around = around  # type: ignore[method-assign]  # every operation of this server goes through it
    for name, part in vars(store).items():
        if hasattr(part, "_around"):
            mine = copy.copy(part)
            mine._around = around
            setattr(view, name, mine)
    workflows = cast("MemoryWorkflows", view.workflows)
    workflows.__class__ = ServersWorkflows
    mine = cast("ServersWorkflows", workflows)
    mine.oracle, mine.weather, mine.source = oracle, weather, caller.source
    view.documents = mine
    return view


class ServersCoordination:
    """Redis as one server reaches it."""

    def __init__(self, shared: LocalCoordination, caller: Caller, weather: Weather) -> None:
        self._shared = shared
        self._caller = caller
        self._weather = weather

    async def _reach(self, *, writes: bool = False) -> bool:
        """Cross the network. False = what is written is lost."""
        self._caller.operated()
        if self._caller.crashed:
            await asyncio.get_running_loop().create_future()
        if self._weather.delays and self._caller.source.random() < self._weather.delays:
            await pause(self._caller.source.choice((0.001, 0.01, 0.3)))
        if self._weather.redis == "away" or (writes and self._weather.redis == "refusing"):
            raise CoordinationUnavailable(self._weather.redis)
        return not (writes and self._weather.redis == "deaf")

    async def open(self) -> None:
        """As the port says."""

    async def close(self) -> None:
        """As the port says; others go on with the shared one."""

    def description(self) -> Mapping[str, str]:
        """As the port says."""
        return self._shared.description()

    async def announce(self, items: Sequence[ReadyItem]) -> None:
        """As the port says."""
        if await self._reach(writes=True):
            await self._shared.announce(items)

    async def take(self, queues: Sequence[str], limit: int, wait: int) -> Sequence[ReadyItem]:
        """As the port says."""
        await self._reach()
        items = await self._shared.take(queues, limit, wait)
        self._caller.operated()  # dying now loses them
        return items

    async def backlog(self, queues: Sequence[str]) -> Mapping[str, int]:
        """As the port says."""
        await self._reach()
        return await self._shared.backlog(queues)

    async def ahead(self, item: ReadyItem) -> int:
        """As the port says."""
        await self._reach()
        return await self._shared.ahead(item)

    async def remove(self, items: Sequence[ReadyItem]) -> None:
        """As the port says."""
        if await self._reach(writes=True):
            await self._shared.remove(items)

    async def set_timers(self, due: Mapping[bytes, int]) -> None:
        """As the port says."""
        if await self._reach(writes=True):
            await self._shared.set_timers(due)

    async def due_timers(self, now: int, limit: int) -> Sequence[bytes]:
        """As the port says."""
        await self._reach()
        due = await self._shared.due_timers(now, limit)
        self._caller.operated()
        return due

    async def next_timer(self) -> int | None:
        """As the port says."""
        await self._reach()
        return await self._shared.next_timer()

    async def publish(self, wakeups: Sequence[WakeUp]) -> None:
        """As the port says."""
        if await self._reach(writes=True):
            await self._shared.publish(wakeups)

    def subscribe(self) -> AsyncIterator[WakeUp]:
        """As the port says; a subscription outlives a short outage of this simulation's Redis, and misses what is said meanwhile."""
        return self._shared.subscribe()

    async def append_frames(self, run_id: str, frames: Sequence[Frame]) -> None:
        """As the port says."""
        if await self._reach(writes=True):
            await self._shared.append_frames(run_id, frames)

    async def read_frames(self, run_id: str, after: str, limit: int) -> FrameBatch:
        """As the port says."""
        await self._reach()
        return await self._shared.read_frames(run_id, after, limit)

    async def drop_frames(self, run_id: str) -> None:
        """As the port says."""
        if await self._reach(writes=True):
            await self._shared.drop_frames(run_id)


def flush(shared: LocalCoordination) -> None:
    """As FLUSHALL would."""
    shared._queues.clear()
    shared._due.clear()
    shared._heap.clear()
    for run_id in list(shared._runs):
        shared._forget(run_id)


_PORT: type[Coordination] = ServersCoordination

"""What is true of a queue (type, fingerprint, step) as a whole: who serves it, whether it is paused, that nobody takes from it.

Such facts are computed from the sessions and definitions in the store and shown on every instance; none is stored in one.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from perdure_server.engine.catalog import Catalog
from perdure_server.engine.parts import Parts
from perdure_server.engine.subscriptions import matches
from perdure_server.engine.values import QueueFact, Unserved
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.rejection import Rejection
from perdure_server.ports.store import Session, Subscription

logger = logging.getLogger(__name__)

_FRESH_FOR = limits.SECOND
_LOOK = 10 * limits.SECOND
_NAMED = 3  # queues in one line of the log
_encoder = msgspec.msgpack.Encoder(order="deterministic")


class Serving(Struct, frozen=True):
    """Who serves one queue. `incompatible`: workers that were built for another contract of its step."""

    workers: int = 0
    slots: int = 0
    incompatible: int = 0


class Place(Struct, frozen=True):
    """The parts of a queue id; `fingerprint` is its first 16 digits."""

    namespace: str
    queue: str
    workflow_type: str
    fingerprint: str
    step: str


_NOBODY = Serving()


class Served(Struct, frozen=True):
    """All queues that sessions of a namespace serve, or would if their contracts fitted, as of `taken` (ms)."""

    taken: int
    queues: Mapping[str, Serving]
    sessions: tuple[Session, ...]


class QueueBook:
    """Looks, at most once a second a namespace, who serves what, and remembers since when nobody serves a queue.

    That nobody does is a fact after `settings.unserved_after` ms only, so that a deployment does not flicker.
    """

    def __init__(self, parts: Parts, catalog: Catalog, is_mine: Callable[[bytes, int], bool]) -> None:
        self._workflows = parts.store.workflows
        self._sessions = parts.store.sessions
        self._clock = parts.clock
        self._catalog = catalog
        self._after = parts.settings.unserved_after
        self._served: dict[str, Served] = {}
        self._unserved: dict[str, int] = {}  # since when, as far as this server knows
        self._told: set[str] = set()
        self._told_at: dict[str, int] = {}  # when a line of the log named it last
        self._is_mine = is_mine  # of several servers one tells of a queue

    async def facts(self, queues: Iterable[str]) -> dict[str, QueueFact]:
        """Of those of these queues from which nobody takes: why, and since when. Raises StoreUnavailable."""
        found: dict[str, QueueFact] = {}
        for queue in queues:
            fact = await self._fact(queue)
            if fact is not None:
                found[queue] = fact
        return found

    async def served(self, namespace: str) -> Served:
        """Who serves what, at most a second old. Raises StoreUnavailable."""
        known = self._served.get(namespace)
        now = self._clock.unshifted()
        if known is not None and now - known.taken < _FRESH_FOR:
            return known
        sessions = await self._sessions.list(namespace, limits.SESSIONS_LISTED)
        by_pools: dict[bytes, list[Session]] = {}  # a fleet of equal workers is looked at once
        for session in sessions:
            by_pools.setdefault(_encoder.encode(session.pools), []).append(session)
        counts: dict[str, list[int]] = {}
        for alike in by_pools.values():
            await self._count(namespace, alike, counts)
        found = Served(now, {queue: Serving(*numbers) for queue, numbers in counts.items()}, tuple(sessions))
        self._served[namespace] = found
        return found

    async def look_step(self) -> None:
        """Every 10 s: tell, once a queue, that nobody serves what is ready in it, and that somebody does again.

        All that is new goes into one line. A queue that comes and goes is not named again within limits.UNSERVED_TOLD_AGAIN.
        """
        await self._clock.sleep(self._clock.together(_LOOK))
        queues = [queue for queue in await self._workflows.ready_queues() if place_of(queue) is not None]
        fresh: dict[str, QueueFact] = {}
        for queue in queues:
            fact = await self._fact(queue)
            if fact is not None and fact.kind is not Unserved.PAUSED and queue not in self._told:
                fresh[queue] = fact
        self._tell(fresh)
        gone = self._told - {queue for queue in queues if queue in self._unserved}
        if gone:
            logger.info("nothing waits without a worker any more in %s", _some(sorted(gone)))
        self._told -= gone
        self._unserved = {queue: since for queue, since in self._unserved.items() if queue in queues}

    def _tell(self, fresh: Mapping[str, QueueFact]) -> None:
        now = self._clock.now()
        self._told |= fresh.keys()
        self._told_at = {queue: at for queue, at in self._told_at.items() if now - at < limits.UNSERVED_TOLD_AGAIN}
        named = [queue for queue in sorted(fresh) if queue not in self._told_at and self._is_mine(queue.encode(), now)]
        if named:
            self._told_at |= dict.fromkeys(named, now)
            logger.warning("no worker takes what is ready in %s", _some([f"{queue} ({fresh[queue].kind.name})" for queue in named]))

    async def _fact(self, queue: str) -> QueueFact | None:
        place = place_of(queue)
        if place is None:
            return None
        definition = await self.definition_of(place)
        if definition is not None and definition.paused is not None:
            paused = definition.paused
            return QueueFact(Unserved.PAUSED, paused.since, paused)
        serving = (await self.served(place.namespace)).queues.get(queue, _NOBODY)
        if serving.workers:
            self._unserved.pop(queue, None)
            return None
        now = self._clock.now()
        since = self._unserved.setdefault(queue, now)
        if now - since < self._after:
            return None
        return QueueFact(Unserved.INCOMPATIBLE if serving.incompatible else Unserved.NO_WORKER, since)

    async def definition_of(self, place: Place) -> Definition | None:
        """The definition of a queue, None = it is not registered. Raises StoreUnavailable."""
        try:
            versions = await self._catalog.versions(place.namespace, place.workflow_type)
        except Rejection:
            return None
        return next((version for version in versions if version.fingerprint.startswith(place.fingerprint)), None)

    async def _count(self, namespace: str, alike: Sequence[Session], counts: dict[str, list[int]]) -> None:
        held = sum(len(session.held) for session in alike)
        mine: dict[str, list[int]] = {}
        for pool in alike[0].pools:
            versions = await self._catalog.versions(namespace, pool.workflow_type)
            for queue, serves in [fed for version in versions for fed in _fed(version, pool)]:
                numbers = mine.setdefault(queue, [0, 0, 0])
                if serves:
                    numbers[0], numbers[1] = len(alike), numbers[1] + pool.slots * len(alike)
                else:
                    numbers[2] = len(alike)
        for queue, (workers, slots, incompatible) in mine.items():
            numbers = counts.setdefault(queue, [0, 0, 0])
            numbers[0] += workers
            numbers[1] += max(0, slots - held)
            numbers[2] += 0 if workers else incompatible


def _some(names: Sequence[str]) -> str:
    if len(names) <= _NAMED:
        return ", ".join(names)
    return f"{len(names)} queues, such as {', '.join(names[:_NAMED])}"


def place_of(queue: str) -> Place | None:
    """The parts of a queue id; None for a line of those who wait for permits, and for what waits for a person."""
    parts = queue.split("/")
    return Place(*parts) if len(parts) == 5 and parts[1] else None


def _fed(version: Definition, pool: Subscription) -> Iterable[tuple[str, bool]]:
    for plan in version.steps:
        if plan.by_worker and (not pool.step_contracts or plan.name in pool.step_contracts):
            contract = pool.step_contracts.get(plan.name, "")
            yield version.queue_id(plan.name, pool.queue), matches(version, plan.name, contract)

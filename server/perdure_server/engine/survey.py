"""The survey: what stands in the queues, in the resources and before people, asked of the store now and then for the metrics.

All servers would find the same, so one of them asks, and the others keep silent: summed over servers the numbers are right. Asked only
where somebody reads metrics. Each pass is bounded: so many queues, so many resources; what is beyond is not told.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from perdure_server.engine.parts import Parts
from perdure_server.engine.queue_list import QueueList, QueueQuery, QueueRow
from perdure_server.engine.queues import place_of
from perdure_server.engine.resources import ResourceAdmin
from perdure_server.engine.sweep import Sweep
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.seal import HELD, LINES
from perdure_server.kernel.seal import PAUSED as PAUSED_LINES
from perdure_server.ports.instruments import (
    HELD_OLDEST,
    HELD_STEPS,
    PARKED_OLDEST,
    PARKED_STEPS,
    PAUSED,
    PAUSED_OLDEST,
    QUEUE_OLDEST,
    QUEUE_READY,
    QUEUE_RUNNING,
    QUEUE_THROTTLED,
    RESOURCE_CAPACITY,
    RESOURCE_OLDEST,
    RESOURCE_USED,
    RESOURCE_WAITING,
)
from perdure_server.ports.store import ReadyStep
from perdure_server.ports.telemetry import Point

_NAME: Final = b"survey"
_NAMESPACES: Final = 50
_QUEUES: Final = 200  # of a namespace
_RESOURCES: Final = 100  # of a namespace
_SAMPLE: Final = 1_000
_COUNTED: Final = 100_000


class Survey:
    """Keeps what it found last, for those who read the metrics."""

    def __init__(self, parts: Parts, queues: QueueList, resources: ResourceAdmin, sweep: Sweep) -> None:
        self._workflows = parts.store.workflows
        self._namespaces = parts.store.namespaces
        self._definitions = parts.store.definitions
        self._clock = parts.clock
        self._queues = queues
        self._resources = resources
        self._is_mine = sweep.is_mine
        self._found: tuple[Point, ...] = ()
        parts.telemetry.observe(lambda: self._found)

    async def step(self) -> None:
        """Every 15 s, on one server of all."""
        await self._clock.sleep(limits.SURVEY_INTERVAL)
        await self.look()

    async def look(self) -> None:
        """Ask now. Raises StoreUnavailable."""
        if not self._is_mine(_NAME, self._clock.now()):
            self._found = ()
            return
        ready = await self._workflows.ready_queues()
        found: list[Point] = []
        for namespace in await self._names(ready):
            rows, _ = await self._queues.page(QueueQuery(namespace, "", "", lambda _fact, _ready: True), _QUEUES, "")
            found += _of_queues(rows, self._clock.now())
            found += await self._of_resources(namespace)
        for queue in ready:
            if queue.startswith(HELD):
                found += await self._of_held(queue)
            elif queue.startswith(PAUSED_LINES):
                found += await self._of_paused(queue)
        found += _of_definitions(await self._definitions.paused(), self._clock.now())
        self._found = _together(found)

    async def _names(self, ready: Sequence[str]) -> list[str]:
        names = {"default"} | {known.name for known in await self._namespaces.list("", _NAMESPACES)}
        for queue in ready:
            place = place_of(queue)
            if place is not None:
                names.add(place.namespace)
            elif queue.startswith(LINES):
                names.add(queue.removeprefix(LINES).partition("/")[0])
        return sorted(names)[:_NAMESPACES]

    async def _of_resources(self, namespace: str) -> list[Point]:
        points: list[Point] = []
        for usage in await self._resources.list(namespace, "", _RESOURCES):
            resource = usage.resource
            labels = (namespace, resource.name)
            points += [(RESOURCE_USED, labels, usage.in_use), (RESOURCE_WAITING, labels, usage.waiting)]
            if resource.capacity is not None and not resource.is_keyed:
                points.append((RESOURCE_CAPACITY, labels, resource.capacity))
            if usage.oldest is not None:
                points.append((RESOURCE_OLDEST, labels, max(0, self._clock.now() - usage.oldest)))
        return points

    async def _of_held(self, queue: str) -> list[Point]:
        namespace, workflow_type, _ = queue.removeprefix(HELD).split("/")
        count, rows = await self._found_in(queue)
        labels = (namespace, workflow_type)
        return [
            (HELD_STEPS, labels, count),
            (HELD_OLDEST, labels, self._age(min(row.ready_times.values(), default=row.since) for row in rows)),
        ]

    async def _of_paused(self, queue: str) -> list[Point]:
        count, rows = await self._found_in(queue)
        labels = (*queue.removeprefix(PAUSED_LINES).split("/"), "workflow")
        return [(PAUSED, labels, count), (PAUSED_OLDEST, labels, self._age(row.paused or row.since for row in rows))]

    async def _found_in(self, queue: str) -> tuple[int, Sequence[ReadyStep]]:
        rows = await self._workflows.ready([queue], _SAMPLE)
        return len(rows) if len(rows) < _SAMPLE else await self._workflows.ready_count(queue, _COUNTED), rows

    def _age(self, since: Iterable[int]) -> int:
        now = self._clock.now()
        return max(0, now - min(since, default=now))


def _of_queues(rows: Sequence[QueueRow], now: int) -> Iterator[Point]:
    for row in rows:
        place = row.place
        labels = (place.namespace, place.queue, place.workflow_type, place.step)
        yield QUEUE_READY, labels, row.ready
        yield QUEUE_RUNNING, labels, row.running
        yield QUEUE_THROTTLED, labels, row.throttled
        yield QUEUE_OLDEST, labels, now - row.oldest if row.oldest is not None else 0
        if row.fact is not None:
            parked = (*labels, row.fact.kind.name.lower())
            yield PARKED_STEPS, parked, row.ready
            yield PARKED_OLDEST, parked, max(0, now - row.fact.since)


def _of_definitions(paused: Sequence[Definition], now: int) -> Iterator[Point]:
    for definition in paused:
        if definition.paused is not None and definition.deleted is None:
            labels = (definition.namespace, definition.workflow_type, "definition")
            yield PAUSED, labels, 1
            yield PAUSED_OLDEST, labels, max(0, now - definition.paused.since)


def _together(points: Sequence[Point]) -> tuple[Point, ...]:
    """One point a series: several fingerprints of a type stand in one queue. Numbers are added, of ages the highest counts."""
    found: dict[tuple[object, tuple[str, ...]], Point] = {}
    for instrument, labels, value in points:
        known = found.get((instrument, labels))
        if known is None:
            found[instrument, labels] = (instrument, labels, value)
        else:
            found[instrument, labels] = (instrument, labels, max(known[2], value) if instrument.is_duration else known[2] + value)
    return tuple(found.values())

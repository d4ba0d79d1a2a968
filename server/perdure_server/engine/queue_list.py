"""ListQueues: what is ready and running in each queue, who serves it, and why nobody takes from it."""

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from perdure_server.engine.catalog import Catalog
from perdure_server.engine.parts import Parts
from perdure_server.engine.queues import Place, QueueBook, Served, Serving, place_of
from perdure_server.engine.values import QueueFact
from perdure_server.kernel.rejection import Rejection
from perdure_server.kernel.seal import LINES, queue_id
from perdure_server.kernel.workflow import Step
from perdure_server.ports.errors import CorruptDocument

_SAMPLE = 1_000  # of the ready ones of a queue, for the age of the oldest
_COUNTED = 100_000
_LOOKED_AT = 500  # workflows with claims, and with steps that lack permits

Wanted = Callable[[QueueFact | None, bool], bool]


class QueueRow(Struct, frozen=True):
    """One queue. `oldest`: since when its first step is ready. `estimate`: a count has reached its bound."""

    place: Place
    fact: QueueFact | None
    ready: int
    throttled: int
    running: int
    oldest: int | None
    serving: Serving
    estimate: bool


class QueueQuery(Struct, frozen=True):
    """Which queues: empty strings mean any; `wanted` looks at the fact and whether something is ready."""

    namespace: str
    queue: str
    workflow_type: str
    wanted: Wanted


class QueueList:
    """Figures are at most a second old. Raises StoreUnavailable."""

    def __init__(self, parts: Parts, catalog: Catalog, book: QueueBook) -> None:
        self._workflows = parts.store.workflows
        self._catalog = catalog
        self._book = book

    async def page(self, query: QueueQuery, limit: int, after: str) -> tuple[list[QueueRow], str]:
        """Rows by queue, type, fingerprint and step that come after the queue id `after`; the last id if there are more, else ""."""
        served = await self._book.served(query.namespace)
        ready = set(await self._workflows.ready_queues())
        running, many_run = await self._running(served)
        throttled, many_wait = await self._throttled([line for line in ready if line.startswith(f"{LINES}{query.namespace}/")])
        names = sorted(name for name in {*ready, *served.queues, *running, *throttled} if _matches(name, query) and name > after)
        rows: list[QueueRow] = []
        for name in names:
            fact = (await self._book.facts([name])).get(name) if name in ready else None
            if not query.wanted(fact, name in ready):
                continue
            if len(rows) == limit:
                return rows, after
            row = await self._row(name, fact, served.queues.get(name, Serving()))
            estimate = row.estimate or many_run or many_wait
            rows.append(replace(row, running=running[name], throttled=throttled[name], estimate=estimate))
            after = name
        return rows, ""

    async def _row(self, name: str, fact: QueueFact | None, serving: Serving) -> QueueRow:
        place = place_of(name)
        assert place is not None, "only queue ids are listed"
        found = await self._workflows.ready([name], _SAMPLE)
        count = len(found) if len(found) < _SAMPLE else await self._workflows.ready_count(name, _COUNTED)
        times = [row.ready_times.get(place.step, row.since) for row in found]
        whole = await self._book.definition_of(place)
        if whole is not None:
            place = Place(place.namespace, place.queue, place.workflow_type, whole.fingerprint, place.step)
        return QueueRow(place, fact, count, 0, 0, min(times, default=None), serving, count >= _COUNTED)

    async def _running(self, served: Served) -> tuple[Counter[str], bool]:
        ids = (
            await self._workflows.claimed_by([session.session_id for session in served.sessions], _LOOKED_AT + 1) if served.sessions else ()
        )
        return await self._queues(ids[:_LOOKED_AT], lambda step: step.claim is not None), len(ids) > _LOOKED_AT

    async def _throttled(self, lines: Sequence[str]) -> tuple[Counter[str], bool]:
        found = await self._workflows.ready(sorted(lines), _LOOKED_AT + 1) if lines else ()
        ids = [row.workflow_id for row in found[:_LOOKED_AT]]
        return await self._queues(ids, lambda step: step.throttled is not None), len(found) > _LOOKED_AT

    async def _queues(self, ids: Sequence[bytes], counts: Callable[[Step], bool]) -> Counter[str]:
        """In which queues steps of these workflows stand, or stood, that count."""
        queues: Counter[str] = Counter()
        for workflow_id in ids:
            try:
                workflow = await self._workflows.load(workflow_id)
                if workflow is None:
                    continue
                definition = await self._catalog.of(workflow)
            except (CorruptDocument, Rejection):
                continue
            queues.update(queue_id(definition, workflow, name) for name, step in workflow.steps.items() if counts(step))
        return queues


def _matches(name: str, query: QueueQuery) -> bool:
    place = place_of(name)
    if place is None or place.namespace != query.namespace:
        return False
    return query.queue in {"", place.queue} and query.workflow_type in {"", place.workflow_type}

"""ListQueues: what is ready and running in each queue, who serves it, and why nobody takes from it."""

from collections import Counter
from collections.abc import Callable

from msgspec import Struct

from perdure_server.engine.catalog import Catalog
from perdure_server.engine.parts import Parts
from perdure_server.engine.queues import Place, QueueBook, Served, Serving, place_of
from perdure_server.engine.values import QueueFact
from perdure_server.kernel.rejection import Rejection
from perdure_server.kernel.seal import queue_id
from perdure_server.ports.errors import CorruptDocument

_SAMPLE = 1_000  # of the ready ones of a queue, for the age of the oldest
_COUNTED = 100_000
_RUNNING = 500  # workflows with claims that are looked at

Wanted = Callable[[QueueFact | None, bool], bool]


class QueueRow(Struct, frozen=True):
    """One queue. `oldest`: since when its first step is ready. `estimate`: a count has reached its bound."""

    place: Place
    fact: QueueFact | None
    ready: int
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
        running, is_partial = await self._running(served)
        names = sorted(name for name in {*ready, *served.queues, *running} if _matches(name, query) and name > after)
        rows: list[QueueRow] = []
        for name in names:
            fact = (await self._book.facts([name])).get(name) if name in ready else None
            if not query.wanted(fact, name in ready):
                continue
            if len(rows) == limit:
                return rows, after
            rows.append(await self._row(name, fact, (running[name], is_partial), served.queues.get(name, Serving())))
            after = name
        return rows, ""

    async def _row(self, name: str, fact: QueueFact | None, running: tuple[int, bool], serving: Serving) -> QueueRow:
        place = place_of(name)
        assert place is not None, "only queue ids are listed"
        found = await self._workflows.ready([name], _SAMPLE)
        count = len(found) if len(found) < _SAMPLE else await self._workflows.ready_count(name, _COUNTED)
        times = [row.ready_times.get(place.step, row.since) for row in found]
        whole = await self._book.definition_of(place)
        if whole is not None:
            place = Place(place.namespace, place.queue, place.workflow_type, whole.fingerprint, place.step)
        return QueueRow(place, fact, count, running[0], min(times, default=None), serving, count >= _COUNTED or running[1])

    async def _running(self, served: Served) -> tuple[Counter[str], bool]:
        counts: Counter[str] = Counter()
        ids = await self._workflows.claimed_by([session.session_id for session in served.sessions], _RUNNING + 1) if served.sessions else ()
        for workflow_id in ids[:_RUNNING]:
            try:
                workflow = await self._workflows.load(workflow_id)
                if workflow is None:
                    continue
                definition = await self._catalog.of(workflow)
            except (CorruptDocument, Rejection):
                continue
            counts.update(queue_id(definition, workflow, name) for name, step in workflow.steps.items() if step.claim is not None)
        return counts, len(ids) > _RUNNING


def _matches(name: str, query: QueueQuery) -> bool:
    place = place_of(name)
    if place is None or place.namespace != query.namespace:
        return False
    return query.queue in {"", place.queue} and query.workflow_type in {"", place.workflow_type}

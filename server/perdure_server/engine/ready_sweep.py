"""The sweep's second question: what is READY in the store for the queues that this server serves? It finds what was never announced.

What it finds goes into the ready queues with its own priority, fairness key and ready time, so that a rebuild (Redis flushed) serves in
the same order as before. Needs no coordination for this server's own free slots.
"""

from collections.abc import Iterable, Mapping, Sequence

from perdure_server.engine.catalog import Catalog
from perdure_server.engine.dispatch import Dispatch
from perdure_server.engine.parts import Parts
from perdure_server.kernel import limits
from perdure_server.kernel.ordering import place, share_of
from perdure_server.kernel.rejection import Rejection
from perdure_server.ports.coordination import ReadyItem
from perdure_server.ports.errors import CoordinationUnavailable
from perdure_server.ports.store import ReadyStep

_WINDOW = 500
_WINDOWS = 40  # in one pass, while the ready queues lack what the store has
_FAIRNESS_KEYS = 10_000
_BUSY_SWEEP = 10 * limits.SECOND


class ReadySweep:
    """Looks in windows, one a pass, in turn; more only where the queues turn out to be empty."""

    def __init__(self, parts: Parts, dispatch: Dispatch, catalog: Catalog) -> None:
        self._dispatch = dispatch
        self._desk = dispatch.desk
        self._catalog = catalog
        self._coordination = parts.coordination
        self._workflows = parts.store.workflows
        self._clock = parts.clock
        self._swept_busy = parts.clock.unshifted()
        self._interval = parts.settings.sweep_interval
        self._skip = 0
        self._served: dict[tuple[str, str], float] = {}  # (queue, fairness key) -> place of the last that got a slot here
        self.swept = 0

    async def step(self) -> None:
        """Each pass for queues with idle credit, every 10 s for all that this server serves. Raises StoreUnavailable."""
        await self._clock.sleep(self._clock.together(self._interval))
        wanted = frozenset(self._desk.idle_queues())
        unshifted = self._clock.unshifted()
        if unshifted - self._swept_busy >= _BUSY_SWEEP:
            self._swept_busy = unshifted
            wanted = frozenset(self._desk.served_queues())
        if not wanted:
            return
        now = self._clock.now()
        for _ in range(_WINDOWS):
            rows = await self._workflows.ready(sorted(wanted), _WINDOW, self._skip)
            is_last = len(rows) < _WINDOW
            self._skip = 0 if is_last else self._skip + len(rows)
            items = await self._items(rows, wanted, now)
            self.swept += len(items)
            if not await self._offer(items, is_last) or is_last:
                return

    async def _items(self, rows: Sequence[ReadyStep], wanted: frozenset[str], now: int) -> list[ReadyItem]:
        items: list[ReadyItem] = []
        for row in rows:
            if now - row.since < limits.SECOND:
                continue  # its announcement is on the way
            try:
                definition = await self._catalog.get(row.namespace, row.workflow_type, row.fingerprint)
                definition = definition.with_options(row.step_options)
            except Rejection:
                continue  # nobody could run it
            for queue in sorted(wanted.intersection(row.queues)):
                name = queue.rpartition("/")[2]
                plan = definition.by_name.get(name)
                if plan is None or self._dispatch.is_granting(row.workflow_id, name):
                    continue
                priority = row.priority if plan.priority is None else plan.priority
                since = row.ready_times.get(name, row.since)
                items.append(ReadyItem(queue, row.workflow_id, name, since, priority, row.fairness_key, row.fairness_weight))
        return items

    async def _offer(self, items: list[ReadyItem], is_all: bool) -> bool:
        """Bring them to slots or into their queues. True = the queues lacked most of them, and there may be more."""
        if not items:
            return True
        queues = sorted({item.queue for item in items})
        try:
            before = await self._waiting(queues)
            if before or not is_all:
                await self._coordination.announce(items)
                after = await self._waiting(queues)
                for queue in queues:
                    self._desk.look_again(queue)
                if before or after:
                    return 2 * (after - before) > len(items)
        except CoordinationUnavailable:
            pass
        self._place(items)
        return False

    def _place(self, items: list[ReadyItem]) -> None:
        """As a queue would serve them; what it would know of who was served before is remembered here."""
        if len(self._served) > _FAIRNESS_KEYS:
            self._served.clear()
        for here, item in _in_order(items, self._served):
            if self._dispatch.place(item) and item.fairness_key:
                self._served[item.queue, item.fairness_key] = here

    async def _waiting(self, queues: Sequence[str]) -> int:
        return sum((await self._coordination.backlog(queues)).values())


def _in_order(items: Iterable[ReadyItem], served: Mapping[tuple[str, str], float]) -> list[tuple[float, ReadyItem]]:
    last = dict(served)
    placed: list[tuple[float, ReadyItem]] = []
    for item in sorted(items, key=lambda item: place(item.ready_time, item.priority)):
        key = item.queue, item.fairness_key
        here = place(item.ready_time, item.priority, last.get(key), share_of(item.fairness_weight))
        if item.fairness_key:
            last[key] = here
        placed.append((here, item))
    return sorted(placed, key=lambda entry: entry[0])

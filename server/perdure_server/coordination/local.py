"""Coordination inside one process, for a server without Redis: right for one server, still correct, by the sweep, for several."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from weakref import WeakKeyDictionary

from perdure_server.coordination.limits import FAIRNESS_KEYS, QUEUE_ITEMS, TIMERS
from perdure_server.coordination.local_frames import LocalFrames
from perdure_server.coordination.ready import Rotation, decode_item, encode_item
from perdure_server.coordination.subscription import Subscription
from perdure_server.kernel.ordering import place, share_of
from perdure_server.ports.clock import Clock
from perdure_server.ports.coordination import RE_READ, ReadyItem, WakeUp
from perdure_server.ports.errors import CoordinationUnavailable

# Withdrawn entries stay in a heap until they are on top; above this many it is made anew.
_STALE_ENTRIES = 1_000


class _ReadyQueue:
    """One queue: `places` says what is in it, and where; the heap in which order it goes."""

    def __init__(self, name: str) -> None:
        self.places: dict[bytes, float] = {}
        self._name = name
        self._heap: list[tuple[float, bytes]] = []
        self._last_places: dict[str, float] = {}

    def add(self, item: ReadyItem) -> None:
        member = encode_item(item)
        if member in self.places or len(self.places) >= QUEUE_ITEMS:
            return
        here = place(item.ready_time, item.priority, self._last_places.get(item.fairness_key), share_of(item.fairness_weight))
        self.places[member] = here
        heappush(self._heap, (here, member))
        if item.fairness_key:
            if len(self._last_places) >= FAIRNESS_KEYS:
                self._last_places.clear()
            self._last_places[item.fairness_key] = here

    def pop(self) -> ReadyItem | None:
        while self._heap:
            here, member = heappop(self._heap)
            if self.places.get(member) == here:
                del self.places[member]
                return decode_item(self._name, member, here)
        return None

    def ahead(self, item: ReadyItem) -> int:
        member = encode_item(item)
        here = self.places.get(member)
        if here is None:
            here, member = place(item.ready_time, item.priority), b""
        return sum((there, other) < (here, member) for other, there in self.places.items())

    def discard(self, item: ReadyItem) -> None:
        if self.places.pop(encode_item(item), None) is None:
            return
        if len(self._heap) > 2 * len(self.places) + _STALE_ENTRIES:
            self._heap = [(here, member) for member, here in self.places.items()]
            heapify(self._heap)


class LocalReadyQueues:
    """The ReadyQueues port, in this process. A queue lives while it holds an item, and its fairness is forgotten with it."""

    def __init__(self) -> None:
        self._queues: dict[str, _ReadyQueue] = {}
        self._takers: dict[str, dict[asyncio.Event, None]] = {}
        self._rotation = Rotation()
        self._closed = False

    async def announce(self, items: Sequence[ReadyItem]) -> None:
        """See the port."""
        self._check()
        for item in items:
            queue = self._queues.get(item.queue)
            if queue is None:
                queue = self._queues[item.queue] = _ReadyQueue(item.queue)
            queue.add(item)
        self._wake({item.queue for item in items})

    async def take(self, queues: Sequence[str], limit: int, wait: int) -> Sequence[ReadyItem]:
        """See the port."""
        self._check()
        taken = self._pop(queues, limit)
        if taken or wait <= 0 or limit <= 0 or not queues:
            return taken
        arrived = asyncio.Event()
        for queue in queues:
            self._takers.setdefault(queue, {})[arrived] = None
        try:
            async with asyncio.timeout(wait / 1_000):
                while not taken:
                    await arrived.wait()
                    arrived.clear()
                    self._check()
                    # Nothing is awaited after this, so a cancelled call has taken nothing.
                    taken = self._pop(queues, limit)
        except TimeoutError:
            return ()
        finally:
            self._leave(queues, arrived)
        return taken

    async def backlog(self, queues: Sequence[str]) -> Mapping[str, int]:
        """See the port."""
        self._check()
        return {queue: len(self._queues[queue].places) if queue in self._queues else 0 for queue in queues}

    async def ahead(self, item: ReadyItem) -> int:
        """See the port."""
        self._check()
        queue = self._queues.get(item.queue)
        return queue.ahead(item) if queue is not None else 0

    async def remove(self, items: Sequence[ReadyItem]) -> None:
        """See the port."""
        self._check()
        for item in items:
            queue = self._queues.get(item.queue)
            if queue is not None:
                queue.discard(item)
                if not queue.places:
                    del self._queues[item.queue]

    def _pop(self, names: Sequence[str], limit: int) -> list[ReadyItem]:
        taken: list[ReadyItem] = []
        for name in self._rotation.order(names):
            queue = self._queues.get(name)
            while queue is not None and len(taken) < limit and (item := queue.pop()) is not None:
                taken.append(item)
            if queue is not None and not queue.places:
                del self._queues[name]
            if len(taken) >= limit:
                break
        if taken:
            self._rotation.served(taken[-1].queue)
        return taken

    def _wake(self, names: Iterable[str]) -> None:
        for name in names:
            for arrived in self._takers.get(name, ()):
                arrived.set()

    def _leave(self, names: Sequence[str], arrived: asyncio.Event) -> None:
        for name in names:
            takers = self._takers.get(name)
            if takers is not None:
                takers.pop(arrived, None)
                if not takers:
                    del self._takers[name]

    def _check(self) -> None:
        if self._closed:
            raise CoordinationUnavailable("the in-process coordination is closed")

    def _close_queues(self) -> None:
        self._closed = True
        self._wake(list(self._takers))


class LocalTimers:
    """The Timers port, in this process."""

    def __init__(self) -> None:
        self._due: dict[bytes, int] = {}
        self._heap: list[tuple[int, bytes]] = []

    async def set_timers(self, due: Mapping[bytes, int]) -> None:
        """See the port."""
        for workflow_id, time in due.items():
            known = self._due.get(workflow_id)
            if (known is None and len(self._due) < TIMERS) or (known is not None and time < known):
                self._due[workflow_id] = time
                heappush(self._heap, (time, workflow_id))

    async def due_timers(self, now: int, limit: int) -> Sequence[bytes]:
        """See the port."""
        due: list[bytes] = []
        while len(due) < limit and (first := self._first()) is not None and first[0] <= now:
            heappop(self._heap)
            del self._due[first[1]]
            due.append(first[1])
        return due

    async def next_timer(self) -> int | None:
        """See the port."""
        first = self._first()
        return None if first is None else first[0]

    def _first(self) -> tuple[int, bytes] | None:
        # An entry that was brought forward leaves its old one behind.
        while self._heap and self._due.get(self._heap[0][1]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0] if self._heap else None


class LocalWakeUps:
    """The WakeUps port, in this process; any number of listeners."""

    def __init__(self) -> None:
        self._subscriptions: WeakKeyDictionary[Subscription, None] = WeakKeyDictionary()

    async def publish(self, wakeups: Sequence[WakeUp]) -> None:
        """See the port."""
        for subscription in list(self._subscriptions):
            subscription.offer(wakeups)

    def subscribe(self) -> AsyncIterator[WakeUp]:
        """See the port."""
        subscription = Subscription()
        subscription.offer((RE_READ,))
        self._subscriptions[subscription] = None
        return subscription

    def _close_subscriptions(self) -> None:
        for subscription in list(self._subscriptions):
            subscription.close()


class LocalCoordination(LocalReadyQueues, LocalTimers, LocalWakeUps, LocalFrames):
    """The whole Coordination port, in this process; `clock` only tells when frames expire."""

    def __init__(self, clock: Clock) -> None:
        LocalReadyQueues.__init__(self)
        LocalTimers.__init__(self)
        LocalWakeUps.__init__(self)
        LocalFrames.__init__(self, clock)

    async def open(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Ends subscriptions; waiting takers get CoordinationUnavailable."""
        self._close_queues()
        self._close_subscriptions()

    def description(self) -> Mapping[str, str]:
        """See the port."""
        return {"kind": "in-process", "version": "", "health": "closed" if self._closed else "ok"}

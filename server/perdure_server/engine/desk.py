"""The desk: where free slots of connected workers meet READY steps.

Credit is per pool. A slot is reserved (one credit down) before its claim is written and given back if the write does not happen.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from msgspec import Struct

from perdure_server.engine.entropy import Entropy
from perdure_server.engine.values import GrantedClaim
from perdure_server.kernel.claims import Ticket
from perdure_server.ports.clock import Clock

_VIEW_FRESH_FOR = 1_000
_NONCE_SIZE = 14
_SPAN_SIZE = 8


class Pool:
    """One pool of one connected holder: how many slots are free, and which queues feed them."""

    def __init__(self, name: str, session_id: Callable[[], str], deliver: Callable[[Sequence[GrantedClaim]], None]) -> None:
        self.name = name
        self.credit = 0
        self.queues: frozenset[str] = frozenset()
        self.session_id = session_id  # of a stream it is fixed; a unary poll makes a session for every claim
        self.deliver = deliver
        self.connection_no = 0
        self.acknowledged = False
        self.closed = False
        self.worker_id = ""
        self.lease_remaining: Callable[[], int] = lambda: 0
        self.released: Callable[[], None] = lambda: None  # told when a reserved slot comes back
        self.prepare: Callable[[str], Awaitable[None]] | None = None  # opens the session that a unary claim gets
        self.unseen = False  # it had no free slot, has one, and nobody looked into its queues since

    @property
    def is_open(self) -> bool:
        """Whether it has a free slot, and a lease that lasts."""
        return self.credit > 0 and self.lease_remaining() > 0

    def free(self, count: int = 1) -> None:
        """Slots became free. `Desk.notice` follows, once it is known whether something took them."""
        self.unseen = self.unseen or not self.is_open
        self.credit += count


class Slot(Struct):
    """A slot that is reserved for a step of this queue. It goes out with its claim or is given back: one of both, once."""

    pool: Pool
    ticket: Ticket
    queue: str
    gone: bool = False


class Desk:
    """Every pool of this server, by queue."""

    def __init__(self, clock: Clock, entropy: Entropy) -> None:
        self._clock = clock
        self._entropy = entropy
        self._by_queue: dict[str, list[Pool]] = {}
        self._backlog: dict[str, tuple[int, int]] = {}  # queue -> (view taken at, items, never 0)
        self._fresh: dict[Pool, None] = {}  # pools whose queues were not looked at since they got slots
        self._idle: list[str] | None = None
        self.changed = asyncio.Event()  # set when there are fresh pools
        self.free = asyncio.Event()  # set when there are idle queues, perhaps
        self.taken = asyncio.Event()  # set when there are queues without a free slot, perhaps
        self.closed = False

    def subscribe(self, pool: Pool, queues: Iterable[str]) -> None:
        """Set the queues that feed a pool."""
        self.unsubscribe(pool)
        pool.queues = frozenset(queues)
        for queue in sorted(pool.queues):
            self._by_queue.setdefault(queue, []).append(pool)
        self.taken.set()
        self.look(pool)

    def unsubscribe(self, pool: Pool) -> None:
        """Take a pool out of all queues."""
        for queue in pool.queues:
            pools = self._by_queue[queue]
            pools.remove(pool)
            if not pools:
                del self._by_queue[queue]
                self._backlog.pop(queue, None)
        pool.queues = frozenset()
        self._fresh.pop(pool, None)
        self._idle = None

    def add_credit(self, pool: Pool, count: int) -> None:
        """Slots became free."""
        pool.free(count)
        self.notice(pool)

    def notice(self, pool: Pool) -> None:
        """Look for work if these are its first free slots. Where it had some, its queues were looked into, and are waited at since."""
        if pool.unseen:
            pool.unseen = False
            self.look(pool)

    def look(self, pool: Pool) -> None:
        """Something may wait for this pool's slots."""
        if pool.credit > 0 and pool.queues:
            self._fresh[pool] = None
            self._idle = None
            self.changed.set()
            self.free.set()

    def fresh(self) -> list[Pool]:
        """The pools to look at, once."""
        found = [] if self.closed else [pool for pool in self._fresh if pool.is_open]
        self._fresh.clear()
        self.changed.clear()
        return found

    def reserve(self, queue: str, prefer: Pool | None = None) -> Slot | None:
        """Take a free slot for an item of this queue; the fullest pool first, so that workers share.

        A session whose lease is over as far as this server knows gets nothing (case C57).
        """
        if self.closed:
            return None
        if prefer is not None and queue in prefer.queues and not prefer.closed and prefer.is_open:
            return self._take(prefer, queue)
        pools = self._by_queue.get(queue)
        if not pools:
            return None
        pool = max(pools, key=_credit)
        if pool.credit > 0 and not pool.is_open:
            pool = max((pool for pool in pools if pool.is_open), key=_credit, default=pool)
        return self._take(pool, queue) if pool.is_open else None

    def reserve_eager(self, queue: str, prefer: Pool | None) -> Slot | None:
        """Take a free slot for a step that becomes ready in this very write, unless something is known to come before it."""
        if self.has_backlog(queue):
            return None
        slot = self.reserve(queue, prefer)
        if slot is not None and slot.pool.prepare is not None:
            self.release(slot)
            return None
        return slot

    def release(self, slot: Slot) -> None:
        """The claim was not written after all, or reached nobody. Nothing happens to a slot that is gone."""
        if slot.gone:
            return
        slot.gone = True
        self.add_credit(slot.pool, 1)
        slot.pool.released()

    def occupy(self, pool: Pool) -> None:
        """A claim for which no slot is reserved here, from an answer that is repeated, fills one all the same."""
        pool.credit -= 1
        self._idle = None

    def idle_queues(self) -> list[str]:
        """Queues with free slots."""
        if self.closed:
            return []
        if self._idle is None:
            self._idle = [queue for queue, pools in self._by_queue.items() if any(pool.is_open for pool in pools)]
        return self._idle

    def doubt(self) -> None:
        """A queue that counted as idle has no slot: count again."""
        self._idle = None

    def busy_queues(self) -> list[str]:
        """Queues that this server serves and has no free slot for."""
        return [queue for queue, pools in self._by_queue.items() if all(pool.credit <= 0 for pool in pools)]

    def served_queues(self) -> list[str]:
        """Every queue that this server serves."""
        return list(self._by_queue)

    def look_again(self, queue: str) -> None:
        """More may wait in this queue."""
        for pool in self._by_queue.get(queue, ()):
            self.look(pool)

    def has_backlog(self, queue: str) -> bool:
        """Whether something is known to wait in this queue, by a view that is fresh enough."""
        view = self._backlog.get(queue)
        return view is not None and self._clock.unshifted() - view[0] <= _VIEW_FRESH_FOR

    def note_backlog(self, queue: str, items: int) -> None:
        """What coordination says of a queue now."""
        if items and queue in self._by_queue:
            self._backlog[queue] = (self._clock.unshifted(), items)
        else:
            self._backlog.pop(queue, None)

    def _take(self, pool: Pool, queue: str) -> Slot:
        pool.credit -= 1
        if pool.credit <= 0:
            self._idle = None
            self.taken.set()
        nonce, span_id = self._entropy.hex(_NONCE_SIZE), self._entropy.hex(_SPAN_SIZE)
        return Slot(pool, Ticket(nonce, span_id, pool.session_id(), pool.connection_no, pool.acknowledged, pool.worker_id), queue)


def _credit(pool: Pool) -> int:
    return pool.credit

"""The ReadyQueues port on Redis: a sorted set per queue."""

import asyncio
import contextlib
import logging
import random
from collections.abc import Iterable, Mapping, Sequence

from perdure_server.coordination.blocked import BlockedPop, Popped, Scored, popped_of, put_back
from perdure_server.coordination.commands import Commands
from perdure_server.coordination.keys import Keys
from perdure_server.coordination.limits import (
    FAIRNESS_KEPT,
    FAIRNESS_KEYS,
    POLL_MAX,
    POLL_MIN,
    QUEUE_ITEMS,
    READY_KEPT,
    TEND,
    TENDED_KEYS,
)
from perdure_server.coordination.ready import Rotation, decode_item, encode_item
from perdure_server.coordination.scripts import OFFER_FAIRLY, Argument, Command
from perdure_server.coordination.wire import Reply
from perdure_server.kernel.ordering import place, share_of
from perdure_server.ports.coordination import ReadyItem

_log = logging.getLogger(__name__)

_ITEMS_PER_COMMAND = 500


class RedisReadyQueues:
    """See the port."""

    def __init__(self, commands: Commands, blocked: BlockedPop, keys: Keys) -> None:
        self._queue_commands = commands
        self._blocked_pop = blocked
        self._queue_keys = keys
        self._rotation = Rotation()
        self._tended: dict[str, float] = {}
        self._fair_queues: set[str] = set()  # a script costs four times a ZADD: only where a fairness key was seen
        self._offered: dict[str, set[asyncio.Event]] = {}

    async def announce(self, items: Sequence[ReadyItem]) -> None:
        """See the port."""
        by_queue: dict[str, list[ReadyItem]] = {}
        for item in items:
            by_queue.setdefault(item.queue, []).append(item)
        commands: list[Command] = []
        for queue, offered in by_queue.items():
            starts = range(0, len(offered), _ITEMS_PER_COMMAND)
            commands += [self._offer(queue, offered[start : start + _ITEMS_PER_COMMAND]) for start in starts]
            commands += self._tend(queue)
        if commands:
            await self._queue_commands.call(commands)
        for queue in by_queue:
            for offered_here in self._offered.get(queue, ()):
                offered_here.set()

    async def take(self, queues: Sequence[str], limit: int, wait: int) -> Sequence[ReadyItem]:
        """See the port. All items of one answer may come from one queue."""
        if not queues or limit <= 0:
            return ()
        if not self._queue_commands.pops_block:
            return await self._take_polling(queues, limit, wait)
        popped = await self._pop_one(queues, limit)
        if popped is None and wait > 0:
            popped = await self._blocked_pop.wait(queues, limit, wait)
        return () if popped is None else self._items([popped])

    async def backlog(self, queues: Sequence[str]) -> Mapping[str, int]:
        """See the port."""
        if not queues:
            return {}
        counts = await self._queue_commands.call([("ZCARD", self._queue_keys.ready(queue)) for queue in queues])
        return dict(zip(queues, counts, strict=True))

    async def ahead(self, item: ReadyItem) -> int:
        """See the port. A place that it would get is told without what its fairness key would add."""
        key = self._queue_keys.ready(item.queue)
        would_be = ("ZCOUNT", key, "-inf", f"({place(item.ready_time, item.priority)!r}")
        rank, lower = await self._queue_commands.call([("ZRANK", key, encode_item(item)), would_be])
        return int(lower if rank is None else rank)

    async def remove(self, items: Sequence[ReadyItem]) -> None:
        """See the port."""
        by_queue: dict[str, list[bytes]] = {}
        for item in items:
            by_queue.setdefault(item.queue, []).append(encode_item(item))
        if by_queue:
            await self._queue_commands.call([("ZREM", self._queue_keys.ready(queue), *members) for queue, members in by_queue.items()])

    def _offer(self, queue: str, items: Sequence[ReadyItem]) -> Command:
        key = self._queue_keys.ready(queue)
        arguments: list[Argument] = []
        if any(item.fairness_key for item in items):
            self._fair_queues.add(queue)
        if queue not in self._fair_queues:
            for item in items:
                arguments += [place(item.ready_time, item.priority), encode_item(item)]
            return ("ZADD", key, "NX", *arguments)
        for item in items:
            arguments += [place(item.ready_time, item.priority), encode_item(item), item.fairness_key, share_of(item.fairness_weight)]
        return OFFER_FAIRLY.call([key, self._queue_keys.fairness(queue)], [FAIRNESS_KEPT, FAIRNESS_KEYS, READY_KEPT, *arguments])

    def _tend(self, queue: str) -> list[Command]:
        """Now and then: the expiry of the queue, so that one that nobody serves any more goes away, and its cap."""
        now = asyncio.get_running_loop().time()
        if now < self._tended.get(queue, 0.0):
            return []
        if len(self._tended) >= TENDED_KEYS:
            self._tended.clear()
            self._fair_queues.clear()
        self._tended[queue] = now + TEND / 1_000
        key = self._queue_keys.ready(queue)
        return [("ZREMRANGEBYRANK", key, QUEUE_ITEMS, -1), ("PEXPIRE", key, READY_KEPT)]

    async def _pop_one(self, queues: Sequence[str], limit: int) -> Popped | None:
        order = self._rotation.order(queues)
        keys = [self._queue_keys.ready(queue) for queue in order]

        def abandoned(replies: list[Reply]) -> None:
            if replies[0] is not None:
                self._queue_commands.post([put_back(*popped_of(replies[0]))])

        (reply,) = await self._queue_commands.call([("ZMPOP", len(keys), *keys, "MIN", "COUNT", limit)], abandoned=abandoned)
        if reply is None:
            return None
        key, popped = popped_of(reply)
        queue = self._queue_keys.queue_of(key)
        self._rotation.served(queue)
        return queue, popped

    async def _take_polling(self, queues: Sequence[str], limit: int, wait: int) -> Sequence[ReadyItem]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait / 1_000
        offered_here = asyncio.Event()
        for queue in queues:
            self._offered.setdefault(queue, set()).add(offered_here)
        try:
            while True:
                offered_here.clear()
                popped = await self._pop_each(queues, limit)
                remaining = deadline - loop.time()
                if popped or remaining <= 0:
                    return self._items(popped)
                await _pause(offered_here, remaining)
        finally:
            for queue in queues:
                self._forget_taker(queue, offered_here)

    async def _pop_each(self, queues: Sequence[str], limit: int) -> list[Popped]:
        """Pops from each queue by itself, so that no command spans slots: asks for the counts, then pops no more than these."""
        order = self._rotation.order(queues)
        counts = await self.backlog(order)
        quotas: dict[str, int] = {}
        for queue in order:
            quota = min(counts[queue], limit - sum(quotas.values()))
            if quota > 0:
                quotas[queue] = quota
        if not quotas:
            return []
        self._rotation.served(list(quotas)[-1])

        def abandoned(replies: list[Reply]) -> None:
            found = _per_queue(quotas, replies)
            self._queue_commands.post([put_back(self._queue_keys.ready(queue), popped) for queue, popped in found])

        commands = [("ZPOPMIN", self._queue_keys.ready(queue), quota) for queue, quota in quotas.items()]
        return _per_queue(quotas, await self._queue_commands.call(commands, abandoned=abandoned))

    def _forget_taker(self, queue: str, offered_here: asyncio.Event) -> None:
        takers = self._offered.get(queue)
        if takers is not None:
            takers.discard(offered_here)
            if not takers:
                del self._offered[queue]

    @staticmethod
    def _items(found: Iterable[Popped]) -> list[ReadyItem]:
        items: list[ReadyItem] = []
        for queue, popped in found:
            for member, found_at in popped:
                try:
                    items.append(decode_item(queue, member, float(found_at)))
                except ValueError:
                    _log.warning("an item of a ready queue does not decode and is passed over", exc_info=True)
        return items


async def _pause(offered_here: asyncio.Event, longest: float) -> None:
    pause = random.uniform(POLL_MIN, POLL_MAX) / 1_000  # noqa: S311 -- jitter, not a secret
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(min(pause, longest)):
            await offered_here.wait()


def _per_queue(queues: Iterable[str], replies: list[Reply]) -> list[Popped]:
    found: list[Popped] = []
    for queue, reply in zip(queues, replies, strict=True):
        popped: list[Scored] = list(zip(reply[::2], reply[1::2], strict=True))
        if popped:
            found.append((queue, popped))
    return found

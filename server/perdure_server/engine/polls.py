"""Unary claims: PollClaims, and the sessions that they live by."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from perdure_server.engine.desk import Desk, Pool
from perdure_server.engine.parts import Parts
from perdure_server.engine.subscriptions import Subscriptions
from perdure_server.engine.values import GrantedClaim, Hello, PoolServed
from perdure_server.kernel import limits
from perdure_server.ports.store import Session


class Polls:
    """Long polls: each claim gets a session of its own, acknowledged from the start."""

    def __init__(self, parts: Parts, desk: Desk, subscriptions: Subscriptions, give_back: Callable[[GrantedClaim], None]) -> None:
        self._desk = desk
        self._give_back = give_back
        self._sessions = parts.store.sessions
        self._subscriptions = subscriptions
        self._clock = parts.clock
        self._entropy = parts.entropy
        self._settings = parts.settings
        self.admit: Callable[[str], Awaitable[None]] | None = None  # raises when the namespace has as many sessions as it may have

    async def poll(self, hello: Hello, max_claims: int, wait: int) -> tuple[tuple[PoolServed, ...], tuple[GrantedClaim, ...], int]:
        """Up to `max_claims` claims, as soon as there is one, or none after `wait` ms; and the lease in ms. Raises StoreUnavailable."""
        if self.admit is not None:
            await self.admit(hello.namespace)
        lease = hello.lease or self._settings.session_lease
        served = await self._subscriptions.serve(hello.namespace, hello.pools)
        queues = frozenset().union(*(queues for _, queues in served))
        claims: list[GrantedClaim] = []
        news = asyncio.Event()

        def deliver(granted: Sequence[GrantedClaim]) -> None:
            claims.extend(granted)
            news.set()

        async def prepare(session_id: str) -> None:
            await self._open(hello, session_id, lease)

        pool = Pool(hello.pools[0].pool if hello.pools else "", lambda: self._entropy.hex(12), deliver)
        pool.prepare = prepare
        pool.acknowledged = True
        pool.worker_id = hello.worker_id
        pool.lease_remaining = lambda: lease
        pool.released = news.set
        pool.credit = max_claims
        try:
            self._desk.subscribe(pool, queues)
            await self._wait_for_first(claims, news, min(wait, limits.POLL_WAIT_MAX))
            self._leave_desk(pool)
            while pool.credit + len(claims) < max_claims:  # reserved, and its write is under way: it must not be lost
                news.clear()
                await news.wait()
        except BaseException:
            # Nobody is there to take them: what comes now, or came already, is given back uncharged.
            pool.deliver = self._give_all_back
            self._give_all_back(claims)
            raise
        finally:
            self._leave_desk(pool)
        return tuple(status for status, _ in served), tuple(claims), lease

    async def _wait_for_first(self, claims: list[GrantedClaim], news: asyncio.Event, wait: int) -> None:
        try:
            async with asyncio.timeout(wait / 1000):
                while not claims:  # credit that came back, its grant lost to another, is no reason to answer
                    news.clear()
                    await news.wait()
        except TimeoutError:
            return

    def _leave_desk(self, pool: Pool) -> None:
        pool.closed = True
        self._desk.unsubscribe(pool)

    def _give_all_back(self, claims: Sequence[GrantedClaim]) -> None:
        for claim in claims:
            self._give_back(claim)

    async def _open(self, hello: Hello, session_id: str, lease: int) -> None:
        now = self._clock.unshifted()
        await self._sessions.open(
            Session(
                session_id=session_id,
                namespace=hello.namespace,
                worker_id=hello.worker_id,
                secret=self._entropy.hex(16),
                lease=lease,
                lease_until=now + lease,
                connection_no=0,
                client=hello.client,
                created=now,
                server_id=self._settings.server_id,
                peer=hello.peer,
                capabilities=hello.capabilities,
            )
        )

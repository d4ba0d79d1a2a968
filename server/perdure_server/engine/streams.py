"""One Claim stream: the server's side of one connected worker."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

from perdure_server.engine.addresses import address_of
from perdure_server.engine.claimtable import LocalClaim
from perdure_server.engine.desk import Pool
from perdure_server.engine.stream_services import StreamServices
from perdure_server.engine.values import (
    ClaimsOut,
    GoAwayOut,
    GrantedClaim,
    HeartbeatIn,
    HeartbeatOut,
    HeldIn,
    LostOut,
    PoolsOut,
    RenewedOut,
    ResultIn,
    SettledOut,
    StreamOut,
)
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.values import LossCause
from perdure_server.ports.errors import StoreError, StoreUnavailable
from perdure_server.ports.store import Session

logger = logging.getLogger(__name__)

_MISSED_RENEWS = 2
_FRESH_RENEWAL = limits.SECOND  # a renewal this soon after a stored one needs no write, unless a claim waits for it to begin


class WorkerStream:
    """Made by Engine.connect. All methods but `receive`, `hold` and `close` return at once."""

    def __init__(
        self, services: StreamServices, session: Session, on_close: Callable[["WorkerStream"], None], *, auto_acknowledge: bool = False
    ) -> None:
        self._services = services
        self._on_close = on_close
        self.session = session
        self.lease_until = session.lease_until
        self.pools: dict[str, Pool] = {}
        self.closed = self._stops = False
        self._out: list[StreamOut] = []
        self._news = asyncio.Event()
        self._renewing = asyncio.Lock()  # renewals and holds both write `held`: one at a time
        self._renewed_at = 0
        self._named: dict[str, None] = {}  # what the session may hold, as far as this stream has said
        self._doubtful = 0  # the lease of a renewal of which nobody knows whether it happened, or will
        self._answered: OrderedDict[str, None] = OrderedDict()  # claims whose results were answered since the last renewal
        self._let_go: OrderedDict[str, Pool] = OrderedDict()  # pools of lost claims, for results that are on their way
        for subscription in session.pools:
            pool = Pool(subscription.pool, lambda: self.session.session_id, partial(self._deliver, subscription.pool))
            pool.connection_no = session.connection_no
            pool.worker_id = session.worker_id
            pool.acknowledged = auto_acknowledge
            pool.lease_remaining = self.lease_remaining
            self.pools[subscription.pool] = pool

    def lease_remaining(self) -> int:
        """Ms until the session's stored lease ends."""
        return max(0, self.lease_until - self._services.clock.unshifted())

    async def receive(self) -> list[StreamOut]:
        """Everything that there is to tell, as soon as there is something. [] = the stream is over."""
        while not self._out and not self.closed:
            self._news.clear()
            await self._news.wait()
        out, self._out = self._out, []
        return out

    def credit(self, pool: str, count: int) -> None:
        """More free slots in a pool. Raises FieldViolation."""
        found = self.pools.get(pool)
        if found is None:
            raise FieldViolation([("credit.pool", f"names no pool of hello: {pool!r}")])
        if not 1 <= count <= limits.CREDIT or found.credit + count > limits.CREDIT:
            raise FieldViolation([("credit.count", f"must be from 1 to {limits.CREDIT}, all credit of a pool together too")])
        if not found.closed:
            self._services.desk.add_credit(found, count)

    def results(self, results: Sequence[ResultIn]) -> None:
        """Apply results; each is answered by a SettledOut.
        `want_next` credits the slot of any claim of this stream once, whatever the answer.
        """
        for result in results:
            claim = self._claim(result.token)
            if claim is not None:
                claim.begin_settling(result.want_next)
            elif result.want_next:
                self._credit_lost(result.token)
            self._services.supervisor.run(self._settle(result, claim), "result")

    def renew(self, renew_id: int, held: Sequence[HeldIn]) -> None:
        """Extend the session's lease; answered by RenewedOut when stored."""
        self._services.supervisor.run(self._renew(renew_id, held), "renew")

    def heartbeats(self, heartbeats: Sequence[HeartbeatIn]) -> None:
        """Store checkpoints and frames, each claim's in order; each is answered by a HeartbeatOut."""
        by_claim: dict[str, list[HeartbeatIn]] = {}
        for heartbeat in heartbeats:
            by_claim.setdefault(heartbeat.token, []).append(heartbeat)
        for several in by_claim.values():
            self._services.supervisor.run(self._heartbeats(several), "heartbeats")

    def drain(self) -> None:
        """No more claims for this worker; what it holds goes on."""
        for pool in self.pools.values():
            pool.closed = True
            pool.credit = 0
            self._services.desk.unsubscribe(pool)

    def leave(self) -> None:
        """The worker says that it will take no more; people are shown that it does."""
        self.drain()
        self._stops = True
        self._services.supervisor.run(_unless_away(self._services.sessions.note_draining(self.session.session_id)), "note draining")

    def tell(self, item: StreamOut) -> None:
        """Queue something for the worker."""
        if not self.closed:
            self._out.append(item)
            self._news.set()

    def go_away(self, grace: int, reason: Reason) -> None:
        """Ask the worker to leave."""
        self.drain()
        self.tell(GoAwayOut(grace, reason))

    def session_over(self) -> None:
        """The session is dead: its claims are lost, and so is the stream."""
        for claim in self._services.claims.of_stream(self):
            self.lose(claim, LossCause.EXPIRED)
        self.go_away(0, Reason.SESSION_LOST)

    async def close(self, *, goodbye: bool = False) -> None:
        """The stream ended. Credit ends with it; delivered claims stay with the session, undelivered ones are given back at once.
        `goodbye`: the worker has closed its side. If it had said that it stops, and has nothing left, its session is over, too.
        Returns when what is known of them is stored; being cancelled here loses nothing.
        """
        if self.closed:
            return
        self._stops = self._stops and goodbye
        unsent = {claim.token for item in self._out if isinstance(item, ClaimsOut) for claim in item.claims}
        unsent |= {claim.token for item in self._out if isinstance(item, SettledOut) for claim in item.next_claims}
        mine = self.abandon()
        done = asyncio.Event()
        if not self._services.supervisor.closed:
            self._services.supervisor.run(self._leave(mine, unsent, done), "leave")
            await done.wait()

    def abandon(self) -> list[LocalClaim]:
        """End it here; returns the claims that it had. Nothing is stored."""
        self.drain()
        self.closed = True
        self._news.set()
        self._on_close(self)
        mine = self._services.claims.of_stream(self)
        for claim in mine:
            self._services.claims.remove(claim.nonce)
        return mine

    async def refresh(self) -> None:
        """Look again which fingerprints the pools are accepted for. Raises StoreUnavailable."""
        served = await self._services.subscriptions.serve(self.session.namespace, self.session.pools)
        for status, queues in served:
            pool = self.pools[status.pool]
            if not pool.closed and pool.queues != queues:
                self._services.desk.subscribe(pool, queues)
                self.tell(PoolsOut((status,)))

    def adopt(self, pool: Pool, claim: GrantedClaim) -> LocalClaim:
        """Note a claim that this worker gets, or give it back if the worker has gone."""
        local = LocalClaim(self, pool, claim, self._services.clock.unshifted())
        if self.closed:
            self._services.supervisor.run(self._give_back(local), "give back")
        else:
            self._services.claims.add(local)
        return local

    def lose(self, claim: LocalClaim, cause: LossCause) -> None:
        """Tell the worker that its token is no longer current."""
        self._services.claims.remove(claim.nonce)
        if not claim.offered:
            self._let_go[claim.nonce] = claim.pool
            if len(self._let_go) > limits.CREDIT:
                self._let_go.popitem(last=False)
        self.tell(LostOut(claim.token, cause))

    def forget_settled(self, claim: LocalClaim) -> None:
        """Its result is answered. The next renewal may still name it, if the answer is not read yet: no reason to look into the store."""
        self._services.claims.remove(claim.nonce)
        self._answered[claim.nonce] = None
        if len(self._answered) > limits.CREDIT:
            self._answered.popitem(last=False)

    async def hold(self, claims: Sequence[LocalClaim]) -> None:
        """Store that these claims are acknowledged. Raises StoreUnavailable."""
        session, sessions = self.session, self._services.sessions
        async with self._renewing:
            self._named.update((claim.nonce, None) for claim in claims)
            # An older renewal may still come that names none of these: one with a later lease takes its word away.
            later = self._doubtful + 1
            if self._doubtful and await sessions.renew(session.session_id, session.connection_no, later, list(self._named)):
                self._doubtful = 0
            held = set(await sessions.hold(session.session_id, [claim.nonce for claim in claims]))
        for claim in claims:
            claim.held = claim.nonce in held

    def _claim(self, token: str) -> LocalClaim | None:
        try:
            return self._services.claims.get(address_of(token).nonce)
        except Rejection:
            return None

    def _credit_lost(self, token: str) -> None:
        with suppress(Rejection):
            pool = self._let_go.pop(address_of(token).nonce, None)
            if pool is not None and not pool.closed:
                self._services.desk.add_credit(pool, 1)

    def _deliver(self, pool: str, claims: Sequence[GrantedClaim]) -> None:
        for claim in claims:
            self.adopt(self.pools[pool], claim)
        self.tell(ClaimsOut(tuple(claims)))

    async def _give_back(self, claim: LocalClaim) -> None:
        if await self._services.sessions.refuse(self.session.session_id, claim.nonce):
            self._services.verdict("undelivered", claim)

    async def _leave(self, mine: Sequence[LocalClaim], unsent: set[str], done: asyncio.Event) -> None:
        known = [claim for claim in mine if claim.acknowledged and not claim.held]
        works = [self._give_back(claim) for claim in mine if claim.token in unsent and not claim.acknowledged]
        if self._stops and not mine:  # else it would seem to serve its queues until its lease is over
            works.append(_unless_away(self._services.sessions.end(self.session.session_id, self.session.connection_no)))
        results = await asyncio.gather(*works, *([self.hold(known)] if known else []), return_exceptions=True)
        done.set()
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _settle(self, result: ResultIn, claim: LocalClaim | None) -> None:
        answer = await self._services.settle(result, claim.pool if claim is not None else None, self)
        if claim is not None:
            self._services.conclude(claim, answer)
        self.tell(answer)

    async def _heartbeats(self, heartbeats: list[HeartbeatIn]) -> None:
        for heartbeat in heartbeats:
            try:
                answer = await self._services.heartbeat(heartbeat)
            except Exception as error:  # whatever it is, the worker waits for an answer to this heartbeat
                if not isinstance(error, Rejection | FieldViolation | StoreError):
                    logger.exception("a heartbeat failed")
                answer = HeartbeatOut(heartbeat.heartbeat_id, heartbeat.token, error=error)
            self.tell(answer)

    async def _renew(self, renew_id: int, held: Sequence[HeldIn]) -> None:
        async with self._renewing:
            if self.closed:
                return  # its claims are no longer here: what is stored of them must stay
            now = self._services.clock.unshifted()
            named = self._acknowledge(held, now)
            mine = self._services.claims.of_stream(self)
            self._judge_missing(mine, named)
            keep = [claim for claim in mine if claim.acknowledged]
            fresh = min(_FRESH_RENEWAL, self.session.lease // (4 * limits.RENEWALS_PER_LEASE))
            if now - self._renewed_at < fresh and not any(claim.must_hold and not claim.held for claim in keep):
                self.tell(RenewedOut(renew_id, self.lease_until - now))
            else:
                await self._store_renewal(renew_id, now, keep)
        if not self.closed:
            await self._answer_unknown(held)

    async def _store_renewal(self, renew_id: int, now: int, keep: list[LocalClaim]) -> None:
        lapsed = self.lease_until <= now
        until = now + self.session.lease
        nonces = [claim.nonce for claim in keep]
        try:
            if not await self._services.sessions.renew(self.session.session_id, self.session.connection_no, until, nonces):
                session = await self._services.sessions.get(self.session.session_id)
                self._renewal_refused(renew_id, superseded=session is not None and session.alive)
                return
        except StoreUnavailable as error:
            self._doubtful = until
            self._named.update(dict.fromkeys(nonces))
            self.tell(RenewedOut(renew_id, self.lease_remaining(), error))
            return
        for claim in keep:
            claim.held = True
        self.lease_until = max(self.lease_until, until)
        self._renewed_at, self._doubtful = now, 0
        self._named = dict.fromkeys(nonces)
        self.tell(RenewedOut(renew_id, self.session.lease))
        for pool in self.pools.values() if lapsed else ():
            self._services.desk.look(pool)  # it got nothing while its lease was over

    def _acknowledge(self, held: Sequence[HeldIn], now: int) -> set[str]:
        named: set[str] = set()
        for item in held:
            claim = self._claim(item.token)
            if claim is not None and claim.stream is self:
                named.add(claim.nonce)
                claim.acknowledged = True
                claim.missed = 0
                if item.since_alive is not None:
                    claim.alive_at = max(claim.alive_at, now - item.since_alive)
        return named

    def _judge_missing(self, mine: list[LocalClaim], named: set[str]) -> None:
        for claim in mine:
            if claim.acknowledged and not claim.settling and claim.nonce not in named:
                claim.missed += 1
                if claim.missed >= _MISSED_RENEWS:
                    self._services.verdict("lost", claim)

    def _renewal_refused(self, renew_id: int, superseded: bool) -> None:
        reason = Reason.SESSION_SUPERSEDED if superseded else Reason.SESSION_LOST
        text = "A newer connection of this session took over." if superseded else "The session's lease is over; its claims are lost."
        self.tell(RenewedOut(renew_id, 0, Rejection(reason, text)))
        if superseded:
            self.go_away(0, reason)
        else:
            self.session_over()

    async def _answer_unknown(self, held: Sequence[HeldIn]) -> None:
        answered, self._answered = self._answered, OrderedDict()
        for item in held:
            try:
                nonce = address_of(item.token).nonce
                if nonce not in answered and self._services.claims.get(nonce) is None:
                    await self._services.inspect(item.token)
            except Rejection as error:
                self.tell(LostOut(item.token, LossCause[error.facts.get("cause", "UNKNOWN")]))
            except StoreError:
                return  # the next renewal asks again


async def _unless_away(write: Awaitable[object]) -> None:
    """A write that the end of the lease makes good, if the store does not take it."""
    with suppress(StoreError):
        await write

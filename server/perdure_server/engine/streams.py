"""One Claim stream: the server's side of one connected worker."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from perdure_server.engine.claimtable import ClaimTable, LocalClaim
from perdure_server.engine.desk import Desk, Pool
from perdure_server.engine.subscriptions import Subscriptions
from perdure_server.engine.tasks import Supervisor
from perdure_server.engine.values import (
    CancelOut,
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
from perdure_server.kernel.tokens import decode_claim_token
from perdure_server.kernel.values import LossCause
from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.clock import Clock
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.ports.store import Session, Sessions

_MISSED_RENEWS = 2


class StreamServices(Protocol):
    """What a stream asks of the engine."""

    clock: Clock
    desk: Desk
    claims: ClaimTable
    sessions: Sessions
    supervisor: Supervisor
    subscriptions: Subscriptions

    def settle(self, result: ResultIn, prefer: Pool | None) -> "Awaitable[SettledOut]":
        """Apply one result; never raises, the error is in the answer."""

    async def heartbeat(self, heartbeat: HeartbeatIn) -> HeartbeatOut:
        """Apply one heartbeat. Raises Rejection, StoreUnavailable."""

    def verdict(self, kind: str, claim: LocalClaim) -> None:
        """Store what was found out about a claim."""

    async def inspect(self, token: str) -> bool:
        """Raise Rejection CLAIM_LOST unless the token is current; True = asked to cancel."""


class WorkerStream:
    """Made by Engine.connect. All methods but `receive` and `close` return at once."""

    def __init__(self, services: StreamServices, session: Session, on_close: Callable[["WorkerStream"], None]) -> None:
        self._services = services
        self._on_close = on_close
        self.session = session
        self.lease_until = session.lease_until
        self.pools: dict[str, Pool] = {}
        self.closed = False
        self._out: list[StreamOut] = []
        self._news = asyncio.Event()
        self._renewing = asyncio.Lock()
        for subscription in session.pools:
            pool = Pool(subscription.pool, lambda: self.session.session_id, self._deliver_to(subscription.pool))
            pool.connection_no = session.connection_no
            pool.worker_id = session.worker_id
            pool.lease_remaining = self.lease_remaining
            self.pools[subscription.pool] = pool

    def lease_remaining(self) -> int:
        """Ms until the session's stored lease ends."""
        return max(0, self.lease_until - self._services.clock.now())

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
        """Apply results; each is answered by a SettledOut."""
        for result in results:
            claim = self._claim(result.token)
            pool = claim.pool if claim is not None else None
            if claim is not None:
                claim.settling = claim.acknowledged = True
            if result.want_next and pool is not None and not pool.closed:
                pool.credit += 1  # offered to what this very result unlocks, before anybody else is told of it
            self._services.supervisor.run(self._settle(result, claim, pool), "result")

    def renew(self, renew_id: int, held: Sequence[HeldIn]) -> None:
        """Extend the session's lease; answered by RenewedOut when stored."""
        self._services.supervisor.run(self._renew(renew_id, held), "renew")

    def heartbeats(self, heartbeats: Sequence[HeartbeatIn]) -> None:
        """Store checkpoints and frames, each claim's in order; each is answered by a HeartbeatOut."""
        self._services.supervisor.run(self._heartbeats(list(heartbeats)), "heartbeats")

    def drain(self) -> None:
        """No more claims for this worker; what it holds goes on."""
        for pool in self.pools.values():
            pool.closed = True
            pool.credit = 0
            self._services.desk.unsubscribe(pool)

    def tell(self, item: StreamOut) -> None:
        """Queue something for the worker."""
        self._out.append(item)
        self._news.set()

    def go_away(self, grace: int, reason: Reason) -> None:
        """Ask the worker to leave."""
        self.drain()
        self.tell(GoAwayOut(grace, reason))

    async def close(self) -> None:
        """The stream ended. Credit ends with it; delivered claims stay with the session, undelivered ones are given back at once."""
        if self.closed:
            return
        self.closed = True
        self.drain()
        unsent = [claim.token for item in self._out if isinstance(item, ClaimsOut) for claim in item.claims]
        unsent += [claim.token for item in self._out if isinstance(item, SettledOut) for claim in item.next_claims]
        self._news.set()
        self._on_close(self)
        for claim in self._services.claims.of_stream(self):
            self._services.claims.remove(claim.nonce)
            if claim.token in unsent:
                await self._give_back(claim)

    async def refresh(self) -> None:
        """Look again which fingerprints the pools are accepted for. Raises StoreUnavailable."""
        served = await self._services.subscriptions.serve(self.session.namespace, self.session.pools)
        for status, queues in served:
            pool = self.pools[status.pool]
            if not pool.closed and pool.queues != queues:
                self._services.desk.subscribe(pool, queues)
                self.tell(PoolsOut((status,)))

    def adopt(self, pool: Pool, claim: GrantedClaim) -> LocalClaim:
        """Note a claim that this worker holds."""
        local = LocalClaim(self, pool, claim, self._services.clock.now())
        self._services.claims.add(local)
        return local

    def reconcile(self, workflow: Workflow | None, claim: LocalClaim) -> None:
        """Another server changed the workflow: tell the worker what it means for this claim."""
        step = workflow.steps.get(claim.step) if workflow is not None and workflow.run_id == claim.run_id else None
        if step is None or step.claim is None or step.claim.nonce != claim.nonce:
            if not claim.settling:
                self.lose(claim, LossCause.UNKNOWN if workflow is None or not workflow.is_ended else LossCause.CLOSED)
        elif step.state.name == "CANCELLING" and not claim.cancelled:
            claim.cancelled = True
            self.tell(CancelOut(claim.token, limits.CANCEL_GRACE, workflow.cancel_reason if workflow is not None else ""))

    def lose(self, claim: LocalClaim, cause: LossCause) -> None:
        """Tell the worker that its token is no longer current."""
        self._services.claims.remove(claim.nonce)
        self.tell(LostOut(claim.token, cause))

    def _claim(self, token: str) -> LocalClaim | None:
        try:
            return self._services.claims.get(decode_claim_token(token).nonce)
        except Rejection:
            return None

    def _deliver_to(self, name: str) -> Callable[[Sequence[GrantedClaim]], None]:
        def deliver(claims: Sequence[GrantedClaim]) -> None:
            made = [self.adopt(self.pools[name], claim) for claim in claims]
            if self.closed:
                for local in made:
                    self._services.claims.remove(local.nonce)
                    self._services.supervisor.run(self._give_back(local), "give back")
                return
            self.tell(ClaimsOut(tuple(claims)))

        return deliver

    async def _give_back(self, claim: LocalClaim) -> None:
        if await self._services.sessions.refuse(self.session.session_id, claim.nonce):
            self._services.verdict("undelivered", claim)

    async def _settle(self, result: ResultIn, claim: LocalClaim | None, pool: Pool | None) -> None:
        answer = await self._services.settle(result, pool)
        if claim is not None:
            if answer.error is None or isinstance(answer.error, Rejection):
                self._services.claims.remove(claim.nonce)
            else:
                claim.settling = False
        if pool is not None:
            for following in answer.next_claims:
                self.adopt(pool, following)
            self._services.desk.look(pool)
        self.tell(answer)

    async def _heartbeats(self, heartbeats: list[HeartbeatIn]) -> None:
        for heartbeat in heartbeats:
            try:
                self.tell(await self._services.heartbeat(heartbeat))
            except (Rejection, FieldViolation, StoreUnavailable) as error:
                self.tell(HeartbeatOut(heartbeat.heartbeat_id, heartbeat.token, error=error))

    async def _renew(self, renew_id: int, held: Sequence[HeldIn]) -> None:
        async with self._renewing:
            now = self._services.clock.now()
            named = self._acknowledge(held, now)
            mine = self._services.claims.of_stream(self)
            self._judge_missing(mine, named)
            keep = [claim for claim in mine if claim.acknowledged and (claim.must_hold or now - claim.granted >= limits.HOLD_AFTER)]
            lease_until = now + self.session.lease
            try:
                nonces = [claim.nonce for claim in keep]
                stored = await self._services.sessions.renew(self.session.session_id, self.session.connection_no, lease_until, nonces)
            except StoreUnavailable as error:
                self.tell(RenewedOut(renew_id, self.lease_remaining(), error))
                return
            if not stored:
                await self._renewal_refused(renew_id)
                return
            for claim in keep:
                claim.held = True
            self.lease_until = lease_until
            self.tell(RenewedOut(renew_id, self.session.lease))
            await self._answer_unknown(held)

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

    async def _renewal_refused(self, renew_id: int) -> None:
        session = await self._services.sessions.get(self.session.session_id)
        superseded = session is not None and session.alive
        reason = Reason.SESSION_SUPERSEDED if superseded else Reason.SESSION_LOST
        text = "A newer connection of this session took over." if superseded else "The session's lease is over; its claims are lost."
        self.tell(RenewedOut(renew_id, 0, Rejection(reason, text)))
        if not superseded:
            for claim in self._services.claims.of_stream(self):
                self.lose(claim, LossCause.EXPIRED)
        self.go_away(0, reason)

    async def _answer_unknown(self, held: Sequence[HeldIn]) -> None:
        for item in held:
            if self._claim(item.token) is not None:
                continue
            try:
                await self._services.inspect(item.token)
            except Rejection as error:
                self.tell(LostOut(item.token, LossCause[error.facts.get("cause", "UNKNOWN")]))
            except StoreUnavailable:
                return  # the next renewal asks again

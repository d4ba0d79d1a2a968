"""Connected workers: hello, reconnect, heartbeats, unary renewals."""

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perdure_server.engine.addresses import address_of
from perdure_server.engine.claimtable import LocalClaim
from perdure_server.engine.clock import happened
from perdure_server.engine.commands import CheckpointCommand, InspectCommand
from perdure_server.engine.grants import build_claim
from perdure_server.engine.reconciliation import Reconciliation
from perdure_server.engine.rounds import submit_to_run
from perdure_server.engine.streams import WorkerStream
from perdure_server.engine.values import HeartbeatIn, HeartbeatOut, HeldIn, Hello, Welcome
from perdure_server.kernel import limits
from perdure_server.kernel.draft import claim_lost
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.tokens import Address
from perdure_server.kernel.values import LossCause
from perdure_server.kernel.workflow import Claim, StepState, Workflow
from perdure_server.ports.coordination import Frame
from perdure_server.ports.errors import CoordinationUnavailable, StoreError
from perdure_server.ports.store import Session

if TYPE_CHECKING:
    from perdure_server.engine.service import Engine

logger = logging.getLogger(__name__)

_REFRESH = 5 * limits.SECOND


class Workers:
    """The streams of this server, and what comes over unary calls for claims."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._streams: dict[WorkerStream, None] = {}  # in the order in which they came
        self._refresh = asyncio.Event()
        self._turns = engine.turns
        self.reconciliation = Reconciliation(engine)

    def __len__(self) -> int:
        return len(self._streams)

    async def connect(self, hello: Hello) -> tuple[Welcome, WorkerStream]:
        """Open a session or go on with one. Raises StoreUnavailable."""
        engine = self._engine
        session = await self._resume(hello) if hello.session_id else None
        resumed = session is not None
        if session is None:
            await engine.quotas.admit_session(hello.namespace)
            session = self._new_session(hello)
            await engine.sessions.open(session)
        served = await engine.subscriptions.serve(session.namespace, session.pools)
        stream = WorkerStream(engine, session, self._forget, auto_acknowledge=hello.auto_ack)
        self._streams[stream] = None
        try:
            lost, cancelled = await self._adopt(stream, hello) if resumed else (_expired(hello.held_tokens), ())
        except BaseException:
            stream.abandon()
            raise
        if resumed:
            engine.hub.session_moved(session.session_id, session.connection_no)
        for status, queues in served:
            engine.desk.subscribe(stream.pools[status.pool], queues)
        welcome = Welcome(
            session_id=session.session_id,
            session_secret=session.secret,
            resumed=resumed,
            connection_no=session.connection_no,
            lease=session.lease,
            renew_interval=session.lease // limits.RENEWALS_PER_LEASE,
            acknowledge_within=limits.ACKNOWLEDGE_WITHIN,
            pools=tuple(status for status, _ in served),
            lost=lost,
            cancel_tokens=cancelled,
        )
        return welcome, stream

    async def heartbeat(self, heartbeat: HeartbeatIn) -> HeartbeatOut:
        """Store what it brings. Raises Rejection CLAIM_LOST, StoreUnavailable."""
        address = address_of(heartbeat.token)
        async with self._turns.turn(address.nonce):
            return await self._heartbeat(heartbeat, address)

    async def inspect(self, address: Address) -> bool:
        """Raise Rejection CLAIM_LOST unless the token is current; True = asked to cancel."""
        return (await self._look(address))[0]

    async def renew_claim(self, held: HeldIn, lease: int) -> tuple[str, int, bool, Exception | None]:
        """Renew the session of one unary claim; the error, if any, is in the answer."""
        try:
            address = address_of(held.token)
            cancel, workflow = await self._look(address)
            if await self._silent(address, workflow, held):
                raise claim_lost(LossCause.EXPIRED)
            return held.token, await self._renew_unary(address, workflow, lease), cancel, None
        except (Rejection, FieldViolation, StoreError) as error:
            return held.token, 0, False, error

    def refresh_soon(self) -> None:
        """Definitions changed."""
        self._refresh.set()

    async def refresh_step(self) -> None:
        """Look again which fingerprints the pools are accepted for: when told, and every 5 s."""
        await happened(self._refresh, self._engine.clock.together(_REFRESH))
        self._refresh.clear()
        try:
            await self.refresh()
        except BaseException:
            self._refresh.set()
            raise

    async def refresh(self) -> None:
        """Look again, now. Raises StoreUnavailable."""
        for stream in list(self._streams):
            await stream.refresh()

    def go_away(self, grace: int) -> None:
        """Ask every worker to leave."""
        for stream in list(self._streams):
            stream.go_away(grace, Reason.DRAINING)

    def session_over(self, session_id: str) -> None:
        """A session is dead."""
        for stream in self._of_session(session_id):
            stream.session_over()

    def superseded(self, session_id: str, connection_no: int) -> None:
        """The session goes on with this connection, perhaps on another server: older ones must leave, and get nothing more."""
        for stream in self._of_session(session_id):
            if stream.session.connection_no < connection_no:
                stream.go_away(0, Reason.SESSION_SUPERSEDED)

    def _forget(self, stream: WorkerStream) -> None:
        self._streams.pop(stream, None)

    def _of_session(self, session_id: str) -> list[WorkerStream]:
        return [stream for stream in self._streams if stream.session.session_id == session_id]

    def _new_session(self, hello: Hello) -> Session:
        engine = self._engine
        now = engine.clock.unshifted()
        lease = hello.lease or engine.settings.session_lease
        return Session(
            session_id=engine.entropy.hex(12),
            namespace=hello.namespace,
            worker_id=hello.worker_id,
            secret=engine.entropy.hex(16),
            lease=lease,
            lease_until=now + lease,
            client=hello.client,
            pools=hello.pools,
            created=now,
            server_id=engine.settings.server_id,
            peer=hello.peer,
            labels=hello.labels,
            capabilities=hello.capabilities,
        )

    async def _resume(self, hello: Hello) -> Session | None:
        engine = self._engine
        stored = await engine.sessions.get(hello.session_id)
        if stored is None or not stored.alive or stored.secret != hello.session_secret or stored.namespace != hello.namespace:
            return None
        for stream in self._of_session(hello.session_id):
            stream.go_away(0, Reason.SESSION_SUPERSEDED)
            await stream.close()  # before the new connection is judged: it stores which claims are acknowledged
        until = engine.clock.unshifted() + stored.lease
        session = await engine.sessions.reconnect(stored, until, engine.settings.server_id, hello.peer)
        return replace(session, pools=hello.pools) if session is not None else None

    async def _adopt(self, stream: WorkerStream, hello: Hello) -> tuple[tuple[tuple[str, LossCause], ...], tuple[str, ...]]:
        """Take over what goes on; returns the tokens that are lost, and those that should stop."""
        engine = self._engine
        tokens: dict[str, str] = {}
        for token in hello.held_tokens:
            try:
                tokens[address_of(token).nonce] = token
            except Rejection:
                tokens[token] = token
        cancelled: list[str] = []
        for workflow, name, claim in await engine.judge.sort_out(stream.session, frozenset(tokens)):
            if (local := await self._adopt_one(stream, workflow, name, claim)) is not None:
                del tokens[claim.nonce]
                if local.cancelled:
                    cancelled.append(local.token)
        found = await asyncio.gather(*(self._look_again(stream, token) for token in tokens.values()))
        cancelled += [local.token for local in found if isinstance(local, LocalClaim) and local.cancelled]
        lost = tuple((token, cause) for token, cause in zip(tokens.values(), found, strict=True) if isinstance(cause, LossCause))
        return lost, tuple(cancelled)

    async def _adopt_one(self, stream: WorkerStream, workflow: Workflow, name: str, claim: Claim) -> LocalClaim | None:
        engine = self._engine
        if not stream.pools:
            return None
        definition = await engine.catalog.of(workflow)
        serving = (pool for pool in stream.pools.values() if _serves(stream.session, pool.name, workflow, name))
        pool = next(serving, next(iter(stream.pools.values())))
        local = stream.adopt(pool, build_claim(definition, workflow, name, pool, engine.clock.now()))
        local.acknowledged = local.held = True
        local.granted = engine.clock.unshifted_at(claim.granted)
        local.cancelled = workflow.steps[name].state is StepState.CANCELLING
        return local

    async def _look_again(self, stream: WorkerStream, token: str) -> LocalClaim | LossCause:
        """The claim of a token that the session's plain reads did not show, which may lie back, or how it was lost."""
        try:
            address = address_of(token)
            _, workflow = await self._look(address)
        except Rejection as error:
            return LossCause[error.facts.get("cause", "UNKNOWN")]
        claim, session_id = workflow.steps[address.step].claim, stream.session.session_id
        if (
            claim is not None
            and claim.session_id == session_id
            and claim.nonce in await self._engine.sessions.hold(session_id, [claim.nonce])
        ):
            return await self._adopt_one(stream, workflow, address.step, claim) or LossCause.EXPIRED
        return LossCause.EXPIRED  # refused, or of another session

    async def _look(self, address: Address) -> tuple[bool, Workflow]:
        command = InspectCommand(address.run_id, address.step, address.nonce)
        return await submit_to_run(self._engine.mailboxes, address.workflow_id, command)

    async def _heartbeat(self, heartbeat: HeartbeatIn, address: Address) -> HeartbeatOut:
        engine = self._engine
        local = engine.claims.get(address.nonce)
        if local is not None:
            local.acknowledged = True
            local.missed = 0
            local.alive_at = engine.clock.unshifted()
        workflow: Workflow | None = None
        if heartbeat.has_checkpoint:
            value = await engine.spill.spill(address.workflow_id, address.run_id, heartbeat.checkpoint)
            command = CheckpointCommand(address.run_id, address.step, address.nonce, heartbeat.checkpoint_no, value)
            cancel, workflow = await submit_to_run(engine.mailboxes, address.workflow_id, command)
        elif local is not None:
            cancel = local.cancelled  # frames and signs of life decide nothing: no read for them
        else:
            cancel, workflow = await self._look(address)
        if local is not None:
            lease, claim_no = local.stream.lease_remaining(), local.claim_no
        else:
            assert workflow is not None, "looked at above"
            lease, claim_no = await self._renew_unary(address, workflow, 0), workflow.steps[address.step].claim_no
        if heartbeat.frames:
            await self._store_frames(address, claim_no, heartbeat.frames)
        return HeartbeatOut(heartbeat.heartbeat_id, heartbeat.token, cancel, lease_remaining=lease)

    async def _renew_unary(self, address: Address, workflow: Workflow, lease: int) -> int:
        """`workflow` has the claim. Returns how long it lives from now."""
        engine = self._engine
        step = workflow.steps.get(address.step)
        if step is None or step.claim is None or step.claim.nonce != address.nonce:
            raise claim_lost(LossCause.UNKNOWN)
        session = await engine.sessions.get(step.claim.session_id)
        if session is None or not session.alive:
            raise claim_lost(LossCause.EXPIRED)
        now = engine.clock.unshifted()
        if session.connection_no:  # of a stream, which renews it; this only acknowledges
            if address.nonce not in session.held and not await engine.sessions.hold(session.session_id, [address.nonce]):
                raise claim_lost(LossCause.EXPIRED)
            return max(0, session.lease_until - now)
        until = max(session.lease_until, now + (lease or session.lease))
        if not await engine.sessions.renew(session.session_id, 0, until, [address.nonce]):
            raise claim_lost(LossCause.EXPIRED)
        return until - now

    async def _silent(self, address: Address, workflow: Workflow, held: HeldIn) -> bool:
        """Fence the claim if its activity has been silent for too long."""
        definition = await self._engine.catalog.of(workflow)
        most = definition.by_name[address.step].silence_timeout
        if most is None or held.since_alive is None or held.since_alive < most:
            return False
        return await self._engine.judge.verdict("silent", address)

    async def _store_frames(self, address: Address, claim_no: int, frames: Sequence[Frame]) -> None:
        engine = self._engine
        now = engine.clock.now()
        numbered = [Frame(address.step, claim_no, frame.seq, frame.kind, now, frame.payload) for frame in frames]
        try:
            await engine.coordination.append_frames(address.run_id, numbered)
        except CoordinationUnavailable:
            return  # transient by promise: the watcher is told of the gap
        engine.hub.frames_came(address.workflow_id)


def _expired(tokens: Sequence[str]) -> tuple[tuple[str, LossCause], ...]:
    return tuple((token, LossCause.EXPIRED) for token in tokens)


def _serves(session: Session, pool: str, workflow: Workflow, step: str) -> bool:
    return any(
        subscription.pool == pool
        and subscription.workflow_type == workflow.key.workflow_type
        and (not subscription.step_contracts or step in subscription.step_contracts)
        for subscription in session.pools
    )

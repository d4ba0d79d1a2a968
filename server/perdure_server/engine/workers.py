"""Connected workers: hello, reconnect, heartbeats, unary renewals."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perdure_server.engine.commands import CheckpointCommand, InspectCommand
from perdure_server.engine.grants import build_claim
from perdure_server.engine.streams import WorkerStream
from perdure_server.engine.values import HeartbeatIn, HeartbeatOut, HeldIn, Hello, Welcome
from perdure_server.kernel import limits
from perdure_server.kernel.draft import claim_lost
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.tokens import Address, decode_claim_token
from perdure_server.kernel.values import LossCause
from perdure_server.kernel.workflow import StepState, Workflow
from perdure_server.ports.coordination import Frame
from perdure_server.ports.errors import CoordinationUnavailable, StoreUnavailable
from perdure_server.ports.store import Read, Session

if TYPE_CHECKING:
    from perdure_server.engine.service import Engine

_REFRESH = 5 * limits.SECOND


class Workers:
    """The streams of this server, and what comes over unary calls for claims."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._streams: set[WorkerStream] = set()
        self._refresh = asyncio.Event()
        self._frames: dict[str, asyncio.Lock] = {}

    def __len__(self) -> int:
        return len(self._streams)

    async def connect(self, hello: Hello) -> tuple[Welcome, WorkerStream]:
        """Open a session or go on with one. Raises StoreUnavailable."""
        engine = self._engine
        session = await self._resume(hello) if hello.session_id else None
        resumed = session is not None
        if session is None:
            session = self._new_session(hello)
            await engine.sessions.open(session)
        served = await engine.subscriptions.serve(session.namespace, session.pools)
        stream = WorkerStream(engine, session, self._streams.discard)
        lost, cancelled = await self._adopt(stream, hello) if resumed else (tuple(hello.held_tokens), ())
        self._streams.add(stream)
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
            lost=tuple((token, LossCause.EXPIRED) for token in lost),
            cancel_tokens=tuple(cancelled),
        )
        return welcome, stream

    async def heartbeat(self, heartbeat: HeartbeatIn) -> HeartbeatOut:
        """Store what it brings. Raises Rejection CLAIM_LOST, StoreUnavailable."""
        engine = self._engine
        address = decode_claim_token(heartbeat.token)
        local = engine.claims.get(address.nonce)
        if local is not None:
            local.acknowledged = True
            local.missed = 0
            local.alive_at = engine.clock.now()
        if heartbeat.has_checkpoint:
            value = await engine.spill.spill(address.workflow_id, address.run_id, heartbeat.checkpoint)
            command = CheckpointCommand(address.run_id, address.step, address.nonce, heartbeat.checkpoint_no, value)
            cancel, workflow = await engine.mailboxes.submit(address.workflow_id, command)
            claim_no = workflow.steps[address.step].claim_no
        elif local is not None:
            cancel, claim_no = local.cancelled, local.claim_no  # frames and signs of life decide nothing: no read for them
        else:
            cancel, claim_no = await self._look(address)
        if local is None:
            await self._renew_unary(address, 0)
        if heartbeat.frames:
            await self._store_frames(address, claim_no, heartbeat.frames)
        return HeartbeatOut(heartbeat.heartbeat_id, heartbeat.token, cancel)

    async def frames_stored(self, nonce: str) -> None:
        """Return when frames of this claim that are under way are stored, so that its end is told after them."""
        lock = self._frames.get(nonce)
        if lock is not None:
            async with lock:
                return

    async def inspect(self, address: Address) -> bool:
        """Raise Rejection CLAIM_LOST unless the token is current; True = asked to cancel."""
        return (await self._look(address))[0]

    async def renew_claim(self, held: HeldIn, lease: int) -> tuple[str, int, bool, Exception | None]:
        """Renew the session of one unary claim; the error, if any, is in the answer."""
        try:
            address = decode_claim_token(held.token)
            cancel, _ = await self._look(address)
            return held.token, await self._renew_unary(address, lease), cancel, None
        except (Rejection, FieldViolation, StoreUnavailable) as error:
            return held.token, 0, False, error

    async def reconcile(self, workflow_id: bytes) -> None:
        """Another server changed a workflow with claims here: tell their workers."""
        workflow = await self._engine.store.workflows.load(workflow_id, Read.LINEARIZABLE)
        for claim in self._engine.claims.of_workflow(workflow_id):
            claim.stream.reconcile(workflow, claim)

    def refresh_soon(self) -> None:
        """Definitions changed."""
        self._refresh.set()

    async def refresh_step(self) -> None:
        """Look again which fingerprints the pools are accepted for: when told, and every 5 s."""
        try:
            async with asyncio.timeout(_REFRESH / 1000):
                await self._refresh.wait()
        except TimeoutError:
            pass
        self._refresh.clear()
        for stream in list(self._streams):
            await stream.refresh()

    def go_away(self, grace: int) -> None:
        """Ask every worker to leave."""
        for stream in list(self._streams):
            stream.go_away(grace, Reason.DRAINING)

    def _new_session(self, hello: Hello) -> Session:
        engine = self._engine
        now = engine.clock.now()
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
        )

    async def _resume(self, hello: Hello) -> Session | None:
        engine = self._engine
        stored = await engine.sessions.get(hello.session_id)
        if stored is None or not stored.alive or stored.secret != hello.session_secret or stored.namespace != hello.namespace:
            return None
        until = engine.clock.now() + stored.lease
        session = await engine.sessions.reconnect(hello.session_id, hello.session_secret, stored.connection_no, until)
        if session is None:
            return None
        for stream in [stream for stream in self._streams if stream.session.session_id == session.session_id]:
            stream.go_away(0, Reason.SESSION_SUPERSEDED)
            await stream.close()
        return replace(session, pools=hello.pools)

    async def _adopt(self, stream: WorkerStream, hello: Hello) -> tuple[tuple[str, ...], list[str]]:
        engine = self._engine
        tokens: dict[str, str] = {}
        for token in hello.held_tokens:
            try:
                tokens[decode_claim_token(token).nonce] = token
            except Rejection:
                tokens[token] = token
        cancelled: list[str] = []
        for workflow, name, claim in await engine.judge.sort_out(stream.session, frozenset(tokens)):
            definition = await engine.catalog.get(workflow.key.namespace, workflow.key.workflow_type, workflow.fingerprint)
            pool = next((pool for pool in stream.pools.values() if _serves(stream.session, pool.name, workflow, name)), None)
            if pool is None:
                pool = next(iter(stream.pools.values()))
            local = stream.adopt(pool, build_claim(definition, workflow, name, pool, engine.clock.now()))
            local.acknowledged = local.held = True
            if workflow.steps[name].state is StepState.CANCELLING:
                local.cancelled = True
                cancelled.append(local.token)
            tokens.pop(claim.nonce, None)
        return tuple(tokens.values()), cancelled

    async def _look(self, address: Address) -> tuple[bool, int]:
        command = InspectCommand(address.run_id, address.step, address.nonce)
        cancel, workflow = await self._engine.mailboxes.submit(address.workflow_id, command)
        return cancel, workflow.steps[address.step].claim_no

    async def _renew_unary(self, address: Address, lease: int) -> int:
        engine = self._engine
        workflow = engine.mailboxes.known(address.workflow_id)
        step = workflow.steps.get(address.step) if workflow is not None else None
        if step is None or step.claim is None or step.claim.nonce != address.nonce:
            raise claim_lost(LossCause.UNKNOWN)
        session = await engine.sessions.get(step.claim.session_id)
        if session is None or not session.alive:
            raise claim_lost(LossCause.EXPIRED)
        if session.connection_no:
            return max(0, session.lease_until - engine.clock.now())  # a stream's session: its stream renews it
        length = lease or session.lease
        if not await engine.sessions.renew(session.session_id, 0, engine.clock.now() + length, [address.nonce]):
            raise claim_lost(LossCause.EXPIRED)
        return length

    async def _store_frames(self, address: Address, claim_no: int, frames: Sequence[Frame]) -> None:
        engine = self._engine
        now = engine.clock.now()
        numbered = [Frame(address.step, claim_no, frame.seq, frame.kind, now, frame.payload) for frame in frames]
        lock = self._frames.setdefault(address.nonce, asyncio.Lock())
        try:
            async with lock:
                await engine.coordination.append_frames(address.run_id, numbered)
        except CoordinationUnavailable:
            return  # transient by promise: the watcher is told of the gap
        finally:
            if not lock.locked():
                self._frames.pop(address.nonce, None)
        engine.hub.frames_came(address.workflow_id)


def _serves(session: Session, pool: str, workflow: Workflow, step: str) -> bool:
    return any(
        subscription.pool == pool
        and subscription.workflow_type == workflow.key.workflow_type
        and (not subscription.step_contracts or step in subscription.step_contracts)
        for subscription in session.pools
    )

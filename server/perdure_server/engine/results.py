"""Complete: one result, on a stream or unary, and the claims that travel with its answer."""

import asyncio
import logging
from typing import TYPE_CHECKING

from perdure_server.engine.addresses import address_of
from perdure_server.engine.claimtable import LocalClaim
from perdure_server.engine.commands import ReportCommand, Settlement, outcome_digest
from perdure_server.engine.desk import Pool
from perdure_server.engine.grants import build_claim, has_refs, resolve_claim
from perdure_server.engine.pending import stopped
from perdure_server.engine.rounds import submit_to_run
from perdure_server.engine.spill import payloads_of
from perdure_server.engine.streams import WorkerStream
from perdure_server.engine.subject import Subject, about
from perdure_server.engine.values import ClaimsOut, GrantedClaim, ResultIn, SettledOut
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.outcomes import Report
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.seal import queue_id
from perdure_server.kernel.workflow import Claim, Workflow
from perdure_server.ports.errors import StoreError, StoreUnavailable
from perdure_server.ports.instruments import RESULTS_REFUSED
from perdure_server.ports.telemetry import Meter

if TYPE_CHECKING:
    from perdure_server.engine.service import Engine

logger = logging.getLogger(__name__)

_FRAMES_WITHIN = limits.FRAMES_WITHIN
_FREES_THE_SLOT = frozenset({Reason.CLAIM_LOST, Reason.CLAIM_ALREADY_SETTLED, Reason.WORKFLOW_NOT_FOUND})


class Results:
    """Applies results through the mailboxes, after what the same claim said before."""

    def __init__(self, engine: "Engine", meter: Meter) -> None:
        self._payloads = engine.store.payloads
        self._sessions = engine.sessions
        self._clock = engine.clock
        self._dice = engine.entropy.dice
        self._lease = engine.settings.session_lease
        self._mailboxes = engine.mailboxes
        self._catalog = engine.catalog
        self._claims = engine.claims
        self._desk = engine.desk
        self._spill = engine.spill
        self._turns = engine.turns
        self._supervisor = engine.supervisor
        self._count = meter.count

    async def complete(self, result: ResultIn) -> SettledOut:
        """A unary result. Raises Rejection, FieldViolation, StoreError."""
        local = self._local(result.token)
        answer = await (self.settle(result, None) if local is None else self._complete_here(result, local))
        if answer.error is not None:
            raise answer.error
        return answer

    async def _complete_here(self, result: ResultIn, local: LocalClaim) -> SettledOut:
        """Of a claim that a stream of this server has. It outlives its caller, so that no slot and no next claim is lost with the call."""
        local.begin_settling(result.want_next)
        caller: asyncio.Future[SettledOut] = asyncio.get_running_loop().create_future()
        self._supervisor.run(self._settle_for(result, local, caller), "complete")
        if self._supervisor.closed:
            raise stopped()
        return await caller

    async def _settle_for(self, result: ResultIn, local: LocalClaim, caller: "asyncio.Future[SettledOut]") -> None:
        answer = SettledOut(result.result_id, error=stopped())
        try:
            # Without want_next the caller looks for claims on its stream only, so they go there.
            answer = await self.settle(result, local.pool if result.want_next else None, local.stream)
        finally:
            self.conclude(local, answer)
            if not caller.done():
                caller.set_result(answer)
            elif answer.next_claims:
                local.stream.tell(ClaimsOut(answer.next_claims))  # nobody reads the answer

    async def settle(self, result: ResultIn, prefer: Pool | None, stream: WorkerStream | None = None) -> SettledOut:
        """Apply one result; the error, if any, is in the answer. Next claims are noted as held by `stream`."""
        try:
            return await self._settle(result, prefer, stream)
        except Exception as error:  # whatever it is, the worker waits for an answer to this result
            if not isinstance(error, Rejection | FieldViolation | StoreError):
                logger.exception("a result failed", extra=self._about(result))
            self._count(RESULTS_REFUSED, (error.reason.name if isinstance(error, Rejection) else type(error).__name__,))
            return SettledOut(result.result_id, error=error)

    def conclude(self, claim: LocalClaim, answer: SettledOut) -> None:
        """The result of a local claim is answered."""
        ended = answer.error is None or (isinstance(answer.error, Rejection) and answer.error.reason in _FREES_THE_SLOT)
        claim.end_settling()
        if ended and self._claims.get(claim.nonce) is claim:
            claim.stream.forget_settled(claim)
        self._desk.notice(claim.pool)

    async def _settle(self, result: ResultIn, prefer: Pool | None, stream: WorkerStream | None) -> SettledOut:
        address = address_of(result.token)
        if self._turns.busy(address.nonce):
            await self._let_frames_pass(result, address.nonce)
        digest = outcome_digest(result.outcome)
        outcome = result.outcome
        if self._spill.needed(address.workflow_id, payloads_of(outcome)):
            outcome = await self._spill.outcome(address.workflow_id, address.run_id, outcome)
        report = Report(address.step, address.nonce, outcome, digest, self._dice(), result.last_frame_seq)
        command = ReportCommand(address.run_id, report, prefer)
        settlement, workflow = await submit_to_run(self._mailboxes, address.workflow_id, command)
        following: tuple[GrantedClaim, ...] = ()
        if settlement.next_claims:
            try:
                following = await self._next_claims(settlement, workflow, prefer, stream)
            finally:
                for made in settlement.grants:
                    self._desk.release(made.slot)  # of what was not sent out after all
        return SettledOut(result.result_id, settlement.duplicate, following)

    async def _let_frames_pass(self, result: ResultIn, nonce: str) -> None:
        try:
            async with asyncio.timeout(_FRAMES_WITHIN / limits.SECOND):
                await self._turns.passed(nonce)
        except TimeoutError:
            logger.warning("a result overtakes frames that coordination does not take", extra=self._about(result))

    async def _next_claims(
        self, settlement: Settlement, workflow: Workflow, prefer: Pool | None, stream: WorkerStream | None
    ) -> tuple[GrantedClaim, ...]:
        definition = self._catalog.of_at_hand(workflow) or await self._catalog.of(workflow)
        made: list[GrantedClaim] = []
        waited = False
        for name, claim_no in settlement.next_claims:
            step = workflow.steps.get(name)
            if step is None or step.claim is None or step.claim_no != claim_no:
                continue
            if settlement.duplicate and self._claims.get(step.claim.nonce) is None:
                waited = True
                if not await self._is_kept(step.claim):
                    continue  # whoever gave the first answer could not deliver it, and gives it back
            known = self._claims.get(step.claim.nonce)
            pool = known.pool if known is not None else prefer or self._pool_of(definition, workflow, name, step.claim, stream)
            claim = build_claim(definition, workflow, name, pool, self._clock.now())
            if has_refs(claim):
                claim = await self._resolved(claim)
                waited = True
            if waited and not self._is_current(workflow, name, step.claim):
                continue  # the same result came twice: the other answer has brought it, and it has ended since
            # The same result may have come twice, and be answered at the same time: the first of them adopts the claim.
            if stream is not None and self._claims.get(step.claim.nonce) is None and stream.pools.get(pool.name) is pool:
                self._adopt(settlement, stream, pool, claim)
            made.append(claim)
        now = self._mailboxes.known(workflow.workflow_id) if waited else workflow
        if now is None or now.revision != workflow.revision:
            self._mailboxes.on_doubt(workflow.workflow_id)  # what happened to them meanwhile was told to nobody
        return tuple(made)

    def _is_current(self, workflow: Workflow, name: str, claim: Claim) -> bool:
        """Whether a claim that this state has is there now, as far as is known here. One that is not sent is given back unacknowledged."""
        now = self._mailboxes.known(workflow.workflow_id)
        step = now.steps.get(name) if now is not None and now.run_id == workflow.run_id else None
        return step is not None and step.claim is not None and step.claim.nonce == claim.nonce

    def _adopt(self, settlement: Settlement, stream: WorkerStream, pool: Pool, claim: GrantedClaim) -> None:
        local = stream.adopt(pool, claim)
        if settlement.duplicate:
            local.acknowledged = local.held = True
            self._desk.occupy(pool)
        for made in settlement.grants:
            made.slot.gone = made.slot.gone or made.step == claim.plan.name

    async def _is_kept(self, claim: Claim) -> bool:
        """Held or refused, the first wins: what another stream gives back must not be begun on this one. Raises StoreUnavailable."""
        return claim.nonce in await self._sessions.hold(claim.session_id, [claim.nonce])

    async def _resolved(self, claim: GrantedClaim) -> GrantedClaim:
        try:
            return await resolve_claim(self._payloads, claim)
        except StoreUnavailable:
            return claim  # the result is stored, and the worker can fetch what is behind the refs

    def _pool_of(self, definition: Definition, workflow: Workflow, name: str, claim: Claim, stream: WorkerStream | None) -> Pool:
        """For a result that came again, perhaps on another server: where its next claim belongs."""
        if stream is not None and stream.session.session_id == claim.session_id:
            queue = queue_id(definition, workflow, name)
            pools = [pool for pool in stream.pools.values() if queue in pool.queues]
            if pools or stream.pools:
                return (pools or list(stream.pools.values()))[0]
        stray = Pool("", lambda: claim.session_id, lambda _claims: None)
        stray.lease_remaining = lambda: self._lease
        return stray

    def _about(self, result: ResultIn) -> Subject:
        try:
            address = address_of(result.token)
        except Rejection:
            return {}
        local = self._claims.get(address.nonce)
        return about(self._mailboxes.known(address.workflow_id), address.step, local.claim_no if local is not None else 0)

    def _local(self, token: str) -> LocalClaim | None:
        try:
            return self._claims.get(address_of(token).nonce)
        except Rejection:
            return None

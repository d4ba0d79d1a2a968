"""Judging claims and sessions. A verdict is one conditional write on the session, then one on the workflow."""

import asyncio

from perdure_server.engine.claimtable import ClaimTable, LocalClaim
from perdure_server.engine.commands import SessionLostCommand, VerdictCommand
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.parts import Parts
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Rejection
from perdure_server.kernel.workflow import CLAIMED, Claim, Workflow
from perdure_server.ports.store import Session

_SESSIONS = 100
_CLAIMS = 500


class Judge:
    """Used by the sweep, by streams, and by a reconnecting worker's hello."""

    def __init__(self, parts: Parts, mailboxes: Mailboxes, claims: ClaimTable) -> None:
        self._sessions = parts.store.sessions
        self._workflows = parts.store.workflows
        self._mailboxes = mailboxes
        self._claims = claims
        self._clock = parts.clock
        self._settings = parts.settings

    async def verdict(self, kind: str, workflow_id: bytes, run_id: str, step: str, nonce: str) -> None:
        """Store a verdict; a claim that is gone anyway is no error. Raises StoreUnavailable."""
        try:
            await self._mailboxes.submit(workflow_id, VerdictCommand(kind, run_id, step, nonce))
        except Rejection:
            return

    async def acknowledgements(self, workflow: Workflow) -> None:
        """Judge every claim of the workflow that should have been acknowledged by now. Raises StoreUnavailable."""
        now = self._clock.now()
        for name, step in list(workflow.steps.items()):
            claim = step.claim
            if claim is None or step.state not in CLAIMED or claim.acknowledged or claim.granted + limits.ACKNOWLEDGE_WITHIN > now:
                continue
            kind = "acknowledged" if await self._is_acknowledged(claim) else "undelivered"
            await self.verdict(kind, workflow.workflow_id, workflow.run_id, name, claim.nonce)

    async def hold_step(self) -> None:
        """Write acknowledgements of claims that still run after 3 s into their sessions; fence activities that are silent too long."""
        await self._clock.sleep(limits.SECOND // 2)
        now = self._clock.now()
        to_hold: dict[str, list[LocalClaim]] = {}
        for claim in self._claims:
            if claim.acknowledged and not claim.held and not claim.settling and now - claim.granted >= limits.HOLD_AFTER:
                to_hold.setdefault(claim.stream.session.session_id, []).append(claim)
            if claim.silence_timeout is not None and not claim.settling and now - claim.alive_at >= claim.silence_timeout:
                claim.alive_at = now
                await self.verdict("silent", claim.workflow_id, claim.run_id, claim.step, claim.nonce)
        for session_id, claims in to_hold.items():
            held = set(await self._sessions.hold(session_id, [claim.nonce for claim in claims]))
            for claim in claims:
                claim.held = claim.nonce in held

    async def expiry_step(self) -> None:
        """Mark sessions whose lease is over as dead, then take their claims away, then forget them."""
        await self._clock.sleep(self._settings.sweep_interval)
        for session in await self._sessions.expired(self._clock.now() - limits.EXPIRY_MARGIN, _SESSIONS):
            dead: Session | None = session
            if session.alive:
                if not self._clock.may_judge(session.lease):
                    continue
                dead = await self._sessions.mark_dead(session.session_id, session.lease_until)
            if dead is not None:
                await self.bury(dead)

    async def bury(self, session: Session) -> None:
        """Take away all claims of a dead session. Raises StoreUnavailable; done again by the next pass until none is left."""
        held = frozenset(session.held)
        ids = await self._workflows.claimed_by([session.session_id], _CLAIMS)
        if not ids:
            await self._sessions.delete(session.session_id)
            return
        futures = [self._mailboxes.submit(workflow_id, SessionLostCommand(session.session_id, held)) for workflow_id in ids]
        await asyncio.gather(*futures, return_exceptions=True)

    async def sort_out(self, session: Session, held_nonces: frozenset[str]) -> list[tuple[Workflow, str, Claim]]:
        """After a reconnect: which claims of the session go on with this connection.

        Those that the worker names are held; acknowledged ones that it does not name are lost; others of lower connections are
        given back. Raises StoreUnavailable.
        """
        kept: list[tuple[Workflow, str, Claim]] = []
        for workflow_id in await self._workflows.claimed_by([session.session_id], _CLAIMS):
            workflow = await self._workflows.load(workflow_id)
            for name, step in workflow.steps.items() if workflow is not None else ():
                claim = step.claim
                if workflow is None or claim is None or claim.session_id != session.session_id:
                    continue
                if await self._goes_on(session, workflow, name, claim, held_nonces):
                    kept.append((workflow, name, claim))
        return kept

    async def _goes_on(self, session: Session, workflow: Workflow, name: str, claim: Claim, held_nonces: frozenset[str]) -> bool:
        if claim.nonce in held_nonces:
            return bool(await self._sessions.hold(session.session_id, [claim.nonce]))
        if claim.acknowledged or claim.nonce in session.held:
            await self.verdict("lost", workflow.workflow_id, workflow.run_id, name, claim.nonce)
        elif 0 < claim.connection_no < session.connection_no and await self._sessions.refuse(session.session_id, claim.nonce):
            await self.verdict("undelivered", workflow.workflow_id, workflow.run_id, name, claim.nonce)
        return False

    async def _is_acknowledged(self, claim: Claim) -> bool:
        local = self._claims.get(claim.nonce)
        if local is not None and local.acknowledged and await self._sessions.hold(claim.session_id, [claim.nonce]):
            local.held = True
            return True
        return not await self._sessions.refuse(claim.session_id, claim.nonce)

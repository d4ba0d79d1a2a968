"""Judging claims and sessions. A verdict is one conditional write on the session, then one on the workflow."""

import asyncio
from collections.abc import Callable, Sequence

from perdure_server.engine.claimtable import ClaimTable, LocalClaim
from perdure_server.engine.commands import SessionLostCommand, VerdictCommand
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.parts import Parts
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.tokens import Address
from perdure_server.kernel.workflow import CLAIMED, Claim, Workflow
from perdure_server.ports.errors import CorruptDocument, StoreError
from perdure_server.ports.store import Read, Session

_SESSIONS = 100
_WINDOWS = 20  # in a row, before this loop rests
_CLAIMS = 500
_BURY_ROUNDS = 20
_CLAIMS_OF_SESSION = 20_000
_AT_ONCE = 64
_AHEAD = 2 * limits.SECOND  # less than the shortest lease, so that a session that is opened now does not expire before
_MISSED = 3 * limits.SECOND  # a pass that comes so much later than planned counts as an outage: of the store, or of this process


class Judge:
    """Used by the sweep, by streams, and by a reconnecting worker's hello."""

    def __init__(self, parts: Parts, mailboxes: Mailboxes, claims: ClaimTable) -> None:
        self._sessions = parts.store.sessions
        self._workflows = parts.store.workflows
        self._mailboxes = mailboxes
        self._claims = claims
        self._clock = parts.clock
        self._settings = parts.settings
        self._last_pass = 0
        self._next_expiry = parts.settings.sweep_interval
        self._skipped = 0
        self._judging = False
        self.reached_since: int | None = None
        self.on_dead: Callable[[str], None] = lambda _: None  # told the id of a session that this server marked dead

    def judging(self, now: int) -> bool:
        """May deadlines be judged at `now`, unshifted? As of the last pass, if that was lately: every command asks."""
        return self._judging and now - self._last_pass <= self._settings.sweep_interval + _MISSED

    def may_judge(self, lease: int) -> bool:
        """Whether the store was reached without a break for one full lease (case C21): nobody is judged for the store's absence."""
        if self._settings.is_test:
            lease = 0
        return self.reached_since is not None and self._clock.unshifted() - self.reached_since >= lease and self._clock.may_judge(lease)

    async def verdict(self, kind: str, address: Address) -> bool:
        """Store a verdict; False = the claim is gone anyway, which is no error. Raises StoreUnavailable."""
        try:
            await self._mailboxes.submit(address.workflow_id, VerdictCommand(kind, address.run_id, address.step, address.nonce))
        except Rejection as error:
            if error.reason is Reason.DEFINITION_NOT_FOUND:
                raise
            return False
        return True

    async def acknowledgements(self, workflow: Workflow) -> None:
        """Judge every claim of the workflow that should have been acknowledged by now. Raises StoreUnavailable."""
        now = self._clock.unshifted()
        for name, step in list(workflow.steps.items()):
            claim = step.claim
            if claim is None or step.state not in CLAIMED or claim.acknowledged:
                continue
            if self._clock.unshifted_at(claim.granted) + limits.ACKNOWLEDGE_WITHIN > now:
                continue
            kind = await self._found_out(claim)
            await self.verdict(kind, Address(workflow.workflow_id, workflow.run_id, name, claim.nonce))

    async def hold_step(self) -> None:
        """Write acknowledgements of claims that still run after 3 s into their sessions; fence activities that are silent too long."""
        await self._clock.sleep(limits.SECOND // 2 if len(self._claims) else self._clock.together(limits.HOLD_AFTER // 2))
        now = self._clock.unshifted()
        to_hold: dict[str, list[LocalClaim]] = {}
        silent: list[LocalClaim] = []
        for claim in self._claims:
            if claim.settling:
                continue
            if claim.acknowledged and not claim.held and now - claim.granted >= limits.HOLD_AFTER:
                to_hold.setdefault(claim.stream.session.session_id, []).append(claim)
            if claim.silence_timeout is not None and now - claim.alive_at >= claim.silence_timeout:
                silent.append(claim)
        works = [claims[0].stream.hold(claims) for claims in to_hold.values()]
        works += [self._fence_silent(claim) for claim in silent]
        _raise_first(await asyncio.gather(*works, return_exceptions=True))

    async def expiry_step(self) -> None:
        """Mark sessions whose lease is over as dead, then take their claims away, then forget them."""
        await self._clock.sleep(self._clock.together(self._next_expiry))
        await self.expire()

    async def expire(self) -> None:
        """What `expiry_step` does, now. Raises StoreUnavailable."""
        self._next_expiry = self._settings.sweep_interval
        for _ in range(_WINDOWS):
            if not await self._expire_some():
                return

    async def bury(self, session: Session) -> None:
        """Take away all claims of a dead session. Raises StoreUnavailable; done again by the next pass until none is left.

        Its document goes only when two looks, some seconds apart, find no claims, and the second is linearizable: a stale read, or a
        grant that was on its way, would leave a claim that nobody expires.
        """
        held = frozenset(session.held)
        is_second = 0 < session.emptied <= self._clock.unshifted() - limits.LOOK_AGAIN
        read = Read.LINEARIZABLE if is_second else Read.LOCAL
        for _ in range(_BURY_ROUNDS):
            ids = await self._workflows.claimed_by([session.session_id], _CLAIMS, read)
            if not ids:
                await self._empty(session, is_second)
                return
            is_second = False
            futures = [self._mailboxes.submit(workflow_id, SessionLostCommand(session.session_id, held)) for workflow_id in ids]
            _raise_first(await asyncio.gather(*futures, return_exceptions=True))

    async def _empty(self, session: Session, is_second: bool) -> None:
        if is_second:
            await self._sessions.delete(session.session_id)
        else:
            await self._sessions.note_empty(session.session_id, self._clock.unshifted())

    async def sort_out(self, session: Session, held_nonces: frozenset[str]) -> list[tuple[Workflow, str, Claim]]:
        """After a reconnect: which claims of the session go on with this connection.

        Those that the worker names are held; acknowledged ones that it does not name are lost; others of lower connections are
        given back. Raises StoreUnavailable.
        """
        found = await self._claims_of(session)
        named = [claim.nonce for _, _, claim in found if claim.nonce in held_nonces]
        held = frozenset(await self._sessions.hold(session.session_id, named)) if named else frozenset()
        dropped = [self._drop(session, workflow, name, claim) for workflow, name, claim in found if claim.nonce not in held_nonces]
        _raise_first(await asyncio.gather(*dropped, return_exceptions=True))
        return [(workflow, name, claim) for workflow, name, claim in found if claim.nonce in held]

    async def _claims_of(self, session: Session) -> list[tuple[Workflow, str, Claim]]:
        gate = asyncio.Semaphore(_AT_ONCE)

        async def load(workflow_id: bytes) -> Workflow | None:
            async with gate:
                try:
                    return await self._workflows.load(workflow_id)
                except CorruptDocument:
                    return None  # set aside; nobody can go on with it

        ids = await self._workflows.claimed_by([session.session_id], _CLAIMS_OF_SESSION)
        workflows = await asyncio.gather(*(load(workflow_id) for workflow_id in ids))
        return [
            (workflow, name, step.claim)
            for workflow in workflows
            if workflow is not None
            for name, step in workflow.steps.items()
            if step.claim is not None and step.claim.session_id == session.session_id
        ]

    async def _drop(self, session: Session, workflow: Workflow, name: str, claim: Claim) -> None:
        address = Address(workflow.workflow_id, workflow.run_id, name, claim.nonce)
        if claim.acknowledged or claim.nonce in session.held:
            await self.verdict("lost", address)
        elif 0 < claim.connection_no < session.connection_no and await self._sessions.refuse(session.session_id, claim.nonce):
            await self.verdict("undelivered", address)

    async def _expire_some(self) -> bool:
        """One window, oldest first; whether there may be more. Each poll has a session of its own, so there are many under load."""
        window = _SESSIONS + self._skipped
        try:
            now = self._clock.unshifted()
            found = await self._sessions.expired(now - limits.EXPIRY_MARGIN + _AHEAD, now - limits.LOOK_AGAIN, window)
        except StoreError:
            self.reached_since = None
            self._judging = False
            raise
        self._reached()
        if not found:
            self._next_expiry = max(self._next_expiry, _AHEAD)  # no lease ends before
        found = [session for session in found if not session.alive or session.lease_until <= now - limits.EXPIRY_MARGIN]
        judged = [session for session in found if not session.alive or self.may_judge(session.lease)]
        self._skipped = min(len(found) - len(judged), _CLAIMS_OF_SESSION)
        _raise_first(await asyncio.gather(*(self._expire(session) for session in judged), return_exceptions=True))
        return len(found) == window and bool(judged)

    async def _expire(self, session: Session) -> None:
        dead: Session | None = session
        if session.alive:
            dead = await self._sessions.mark_dead(session.session_id, session.lease_until)
            if dead is not None:
                self.on_dead(session.session_id)
        if dead is not None:
            await self.bury(dead)

    async def _fence_silent(self, claim: LocalClaim) -> None:
        if self._clock.may_judge(0):
            await self.verdict("silent", Address(claim.workflow_id, claim.run_id, claim.step, claim.nonce))

    async def _found_out(self, claim: Claim) -> str:
        local = self._claims.get(claim.nonce)
        seen = local is not None and local.acknowledged
        if local is not None and seen:
            await local.stream.hold([local])
            if local.held:
                return "acknowledged"
        if not await self._sessions.refuse(claim.session_id, claim.nonce):
            return "acknowledged"
        return "lost" if seen else "undelivered"

    def _reached(self) -> None:
        now = self._clock.unshifted()
        if self.reached_since is None or now - self._last_pass > self._settings.sweep_interval + _MISSED:
            self.reached_since = now
        self._last_pass = now
        self._judging = self.may_judge(self._settings.session_lease)


def _raise_first(results: Sequence[object]) -> None:
    # A document that is set aside, or gone, stops nobody.
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, CorruptDocument | Rejection):
            raise result

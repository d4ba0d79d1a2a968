"""The commands that mailboxes apply. Each recognises its own effect, so that applying it again after an unknown result is harmless."""

import hashlib

import msgspec
from msgspec import Struct

from perdure_server.engine.desk import Pool, Slot
from perdure_server.engine.pending import OfTombstones
from perdure_server.engine.spill import require_home
from perdure_server.engine.turn import Grant, Turn
from perdure_server.engine.values import Ref, etag_of
from perdure_server.kernel.cancel import cancel
from perdure_server.kernel.claims import acknowledge, checkpoint, grant, lose, lose_session, silence, undelivered
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.draft import Draft, require_claim
from perdure_server.kernel.outcomes import Failed, Outcome, Report, remember_next, report
from perdure_server.kernel.people import is_repeat
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.rounds import activate, archived_id, opens_round
from perdure_server.kernel.seal import queue_id
from perdure_server.kernel.signals import receive
from perdure_server.kernel.start import Start, blank, meet, populate
from perdure_server.kernel.timing import fire_due
from perdure_server.kernel.tokens import Address, verify_wake_token
from perdure_server.kernel.values import Failure, Payload
from perdure_server.kernel.workflow import Signal, StepState, Workflow

DOCUMENT_FULL = "DOCUMENT_FULL"
_encode = msgspec.msgpack.Encoder(order="deterministic").encode


def outcome_digest(outcome: Outcome) -> bytes:
    """What "the same outcome" means."""
    return hashlib.blake2b(_encode(outcome), digest_size=12).digest()


class _Plain:
    """What most commands answer to the mailbox's questions."""

    def begin(self) -> tuple[Definition, Workflow] | None:
        """Most commands need an instance that is there."""
        return None

    def shrink(self) -> bool:
        """Most commands bring nothing that could be left out."""
        return False


class RoundNeeded(Rejection):
    """Inside the engine only: this start is not met by what is there, it opens a round (engine.rounds)."""

    def __init__(self) -> None:
        super().__init__(Reason.WORKFLOW_ALREADY_EXISTS, "This start opens another round of its key.")


class OtherRun(Rejection):
    """The run that was asked for is not the current one; `archived_id` is the `_id` that it is archived under, if it is remembered."""

    def __init__(self, workflow: Workflow, run_id: str, refusal: Rejection) -> None:
        super().__init__(refusal.reason, refusal.message, **refusal.facts)
        self.archived_id = archived_id(workflow, run_id)


class StartCommand(_Plain, OfTombstones):
    """Start, or meet what is there. Answers whether this very command created the workflow. Raises RoundNeeded."""

    def __init__(self, command: Start, definition: Definition, now: int) -> None:
        self._command = command
        self._begun = (definition, blank(definition, command, now))

    def begin(self) -> tuple[Definition, Workflow] | None:
        """The blank first round."""
        return self._begun

    def apply(self, turn: Turn) -> bool:
        """True = created."""
        workflow = turn.draft.workflow
        if workflow.run_id != self._command.run_id or workflow.events or workflow.tombstone is not None:
            if opens_round(workflow, self._command):
                raise RoundNeeded
            return meet(workflow, self._command)
        populate(turn.draft, self._command)
        turn.grant_ready(None, returned=False)
        return True


class Settlement(Struct, frozen=True):
    """The answer to a result: whether it was a repeat, and the claims (step, claim_no) that travel with the answer.

    `grants` hold the slots that are reserved for them: whoever makes the answer sends them out or gives them back. A repeat has none.
    """

    duplicate: bool
    next_claims: tuple[tuple[str, int], ...] = ()
    grants: tuple[Grant, ...] = ()


class ReportCommand(_Plain):
    """A result. Dependants that it unlocks are granted in the same write while slots are free."""

    def __init__(self, run_id: str, command: Report, prefer: Pool | None) -> None:
        self._run_id = run_id
        self._command = command
        self._prefer = prefer

    def apply(self, turn: Turn) -> Settlement:
        """Apply it once."""
        draft = turn.draft
        require_run(draft, self._run_id)
        if not report(draft, self._command):
            return Settlement(True, self._undelivered(draft))
        granted = turn.grant_ready(self._prefer, returned=True)
        grants = tuple(made for made in turn.grants if made.returned)
        returned = tuple((made.step, draft.step(made.step).claim_no) for made in grants)
        if granted:
            remember_next(draft, self._command.step, self._command.nonce, returned)
        return Settlement(False, returned, grants)

    def shrink(self) -> bool:
        """A result that cannot be stored becomes a failure; Complete is never refused for the document's size."""
        outcome = self._command.outcome
        if isinstance(outcome, Failed) and outcome.failure.type == DOCUMENT_FULL:
            return False
        failure = Failure(DOCUMENT_FULL, "The result does not fit into the workflow's document.", non_retryable=True)
        self._command = msgspec.structs.replace(self._command, outcome=Failed(failure))
        return True

    def _undelivered(self, draft: Draft) -> tuple[tuple[str, int], ...]:
        memory = next((m for m in draft.step(self._command.step).settled if m.nonce == self._command.nonce), None)
        if memory is None:
            return ()
        still = []
        for name, claim_no in memory.next_claims:
            step = draft.step(name)
            if step.claim_no == claim_no and step.claim is not None and not step.claim.acknowledged:
                still.append((name, claim_no))
        return tuple(still)


class GrantCommand(_Plain):
    """Give a READY step to a reserved slot. Raises Rejection STEP_STATE_INVALID if it is not ready any more."""

    def __init__(self, step: str, slot: Slot) -> None:
        self._step = step
        self._slot = slot

    def apply(self, turn: Turn) -> None:
        """Grant it."""
        draft = turn.draft
        if self._step not in draft.definition.by_name:
            raise Rejection(Reason.STEP_STATE_INVALID, "There is no such step.", step=self._step)
        made = Grant(self._step, self._slot)
        if made.stands(draft.workflow):
            turn.found.append(made)
            return
        if queue_id(draft.definition, draft.workflow, self._step) != self._slot.queue:
            raise Rejection(Reason.STEP_STATE_INVALID, "The step has moved to another queue.", step=self._step)
        grant(draft, self._step, self._slot.ticket)
        turn.grants.append(made)
        if draft.workflow.eager_row:
            draft.set(eager_row=0)


class ActivateCommand(_Plain):
    """The round after this archived one is stored."""

    def apply(self, turn: Turn) -> None:
        """Let it go on, once."""
        activate(turn.draft)
        turn.grant_ready(None, returned=False)


class SignalCommand(_Plain):
    """Deliver a signal. Answers (duplicate, consumed)."""

    def __init__(self, signal: Signal, target: Ref | Address, home: str = "") -> None:
        """`home` is the run that its payload was put down for. Raises SpilledElsewhere when it comes to another."""
        self._signal = signal
        self._target = target
        self._home = home

    def apply(self, turn: Turn) -> tuple[bool, bool]:
        """Store it once."""
        answer = self.receive(turn.draft)
        turn.grant_ready(None, returned=False)
        return answer

    def receive(self, draft: Draft) -> tuple[bool, bool]:
        """What comes of it, without any grant."""
        _require_target(draft.workflow, self._target)
        require_home(draft.workflow, self._home)
        stored = receive(draft, self._signal)
        inbox = draft.get("inbox", draft.workflow.inbox)
        return not stored, all(kept.signal_id != self._signal.signal_id for kept in inbox)


class CancelCommand(_Plain):
    """Ask to cancel. Answers whether it was a repeat."""

    def __init__(self, ref: Ref, why: tuple[str, str], request_id: str, own_id: str, etag: str = "") -> None:
        self._ref = ref
        self._reason, self._actor = why
        self._request_id = request_id
        self._own_id = own_id
        self._etag = etag

    def apply(self, turn: Turn) -> bool:
        """True = nothing new."""
        workflow = turn.draft.workflow
        if not is_repeat(workflow, "cancel", self._request_id or self._own_id):
            require_ref(workflow, self._ref)
            require_etag(workflow, self._etag, turn.is_first)
        return not cancel(turn.draft, self._reason, self._request_id, self._own_id, self._actor)


class AdvanceCommand(_Plain):
    """Do what is due, and write the derived fields again if their time has passed."""

    def apply(self, turn: Turn) -> None:
        """Fire it."""
        draft = turn.draft
        fire_due(draft, turn.dice())
        turn.grant_ready(None, returned=False)
        wake = draft.workflow.wake_time
        if wake is not None and wake <= draft.now:
            draft.touch()


class CheckpointCommand(_Plain):
    """Keep a checkpoint. Answers whether the claim was asked to cancel."""

    def __init__(self, run_id: str, step: str, nonce: str, checkpoint_no: int, value: Payload | None) -> None:
        self._claim = (run_id, step, nonce)
        self._checkpoint_no = checkpoint_no
        self._value = value

    def apply(self, turn: Turn) -> bool:
        """Store it, if it is newer than what is stored; number 0 is after all before it."""
        run_id, name, nonce = self._claim
        require_run(turn.draft, run_id)
        step = turn.draft.step(name)
        before = step.checkpoint_no if step.checkpoint_claim_no == step.claim_no else 0
        checkpoint(turn.draft, name, nonce, self._checkpoint_no or before + 1, self._value)
        return turn.draft.step(name).state is StepState.CANCELLING


class InspectCommand(_Plain):
    """Is this token current? Answers whether its claim was asked to cancel. Raises Rejection CLAIM_LOST."""

    def __init__(self, run_id: str, step: str, nonce: str) -> None:
        self._claim = (run_id, step, nonce)

    def apply(self, turn: Turn) -> bool:
        """Only look."""
        run_id, name, nonce = self._claim
        require_run(turn.draft, run_id)
        step, _ = require_claim(turn.draft, name, nonce)
        return step.state is StepState.CANCELLING


class VerdictCommand(_Plain):
    """What was found out about one claim: acknowledged, undelivered, lost, or silent."""

    def __init__(self, verdict: str, run_id: str, step: str, nonce: str) -> None:
        self._verdict = verdict
        self._claim = (run_id, step, nonce)

    def apply(self, turn: Turn) -> None:
        """Apply it. Raises Rejection CLAIM_LOST if the claim is gone anyway."""
        run_id, step, nonce = self._claim
        require_run(turn.draft, run_id)
        if self._verdict == "silent":
            silence(turn.draft, step, nonce, turn.dice())
        else:
            _VERDICTS[self._verdict](turn.draft, step, nonce)
        turn.grant_ready(None, returned=False)


_VERDICTS = {"acknowledged": acknowledge, "undelivered": undelivered, "lost": lose}


class SessionLostCommand(_Plain):
    """The session is dead: lose or un-grant what it holds here."""

    def __init__(self, session_id: str, held: frozenset[str]) -> None:
        self._session_id = session_id
        self._held = held

    def apply(self, turn: Turn) -> None:
        """Apply it; a repeat changes nothing."""
        lose_session(turn.draft, self._session_id, self._held)
        turn.grant_ready(None, returned=False)


def _require_target(workflow: Workflow, target: Ref | Address) -> None:
    if isinstance(target, Ref):
        require_ref(workflow, target)
    elif workflow.run_id != target.run_id:
        refusal = Rejection(Reason.FENCED, "The wake token belongs to another round.", fence=str(workflow.fence))
        raise OtherRun(workflow, target.run_id, refusal)
    else:
        verify_wake_token(target, workflow.wake_secret)


def require_ref(workflow: Workflow, ref: Ref | None) -> None:
    """Raise Rejection unless the instance is the one that the caller means."""
    if ref is None:
        return
    if ref.round is not None and ref.round != workflow.round:
        if 0 < ref.round < workflow.round and not workflow.archived:
            raise Rejection(Reason.ROUND_ARCHIVED, "Only the current round of a key can be changed.", current_round=str(workflow.round))
        raise Rejection(Reason.WORKFLOW_NOT_FOUND, "There is no such round of this key.", round=str(ref.round))
    if ref.expected_fence is not None and ref.expected_fence != workflow.fence:
        raise Rejection(Reason.FENCED, "The workflow has another fence than expected: read again.", fence=str(workflow.fence))


def require_etag(workflow: Workflow, etag: str, is_first: bool) -> None:
    """Raise Rejection REVISION_CONFLICT unless the instance is what the caller has read, or it named no etag."""
    if etag and not (is_first and etag == etag_of(workflow)):
        raise Rejection(Reason.REVISION_CONFLICT, "The workflow has changed since it was read: read it again.")


def require_run(draft: Draft, run_id: str) -> None:
    """Raise CLAIM_LOST unless the token's run is the current one."""
    if draft.workflow.run_id != run_id:
        refusal = Rejection(Reason.CLAIM_LOST, "This claim is of an earlier round: drop the work, do not retry.", cause="SUPERSEDED")
        raise OtherRun(draft.workflow, run_id, refusal)

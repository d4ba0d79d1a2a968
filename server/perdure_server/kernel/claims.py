"""Claims: granted, acknowledged, un-granted, lost."""

from msgspec import Struct
from msgspec.structs import replace

from perdure_server.kernel.attempts import claim_lost_while_running, claim_returned
from perdure_server.kernel.draft import Draft, require_claim
from perdure_server.kernel.effects import ClaimLost
from perdure_server.kernel.permits import require_permits
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.timing import SILENCE_TIMEOUT, time_out_attempt
from perdure_server.kernel.transitions import StepEvent
from perdure_server.kernel.values import LossCause, Payload
from perdure_server.kernel.workflow import CLAIMED, ENDED, Claim, HeldPermit, Settled, StepState, WorkflowState


class Ticket(Struct, frozen=True, omit_defaults=True):
    """Everything about a grant that is not the kernel's to know.

    `nonce` (28 hex digits) and `span_id` (16) are random and minted before the first try.
    """

    nonce: str
    span_id: str
    session_id: str
    connection_no: int = 0
    acknowledged: bool = False
    worker_id: str = ""
    permits: tuple[HeldPermit, ...] = ()
    permits_for: tuple[str, int] = ("", 0)  # the run, and the revision of it, that the permits were taken for
    waited: int = 0  # how long (ms) the step waited for permits without being stored as throttled


def grant(draft: Draft, name: str, ticket: Ticket) -> Claim:
    """Give the READY step to the ticket's session and charge an attempt. The same ticket again changes nothing.

    Raises Rejection STEP_STATE_INVALID, and PermitsLacking if the step needs other permits than the ticket brings. That the session
    accepts the fingerprint is the asker's to know: it offered the step's queue.
    """
    step = draft.step(name)
    if step.claim is not None and step.claim.nonce == ticket.nonce:
        return step.claim
    settled_before = ticket.nonce in [memory.nonce for memory in step.settled]
    if settled_before or not may_grant(draft, name):
        raise Rejection(Reason.STEP_STATE_INVALID, "The step is not ready.", step=name, state=step.state.name)
    if ticket.permits or draft.plan(name).permits:
        require_permits(draft, name, ticket.permits, ticket.permits_for)
    claim = Claim(
        nonce=ticket.nonce,
        session_id=ticket.session_id,
        granted=draft.now,
        deadline=draft.now + draft.plan(name).attempt_timeout,
        span_id=ticket.span_id,
        connection_no=ticket.connection_no,
        acknowledged=ticket.acknowledged,
        worker_id=ticket.worker_id,
        permits=tuple(permit for permit in ticket.permits if permit.kept) if ticket.permits else (),
    )
    fields: dict[str, object] = {"claim": claim, "claim_no": step.claim_no + 1, "attempt": step.attempt + 1, "last_frame_seq": None}
    if ticket.waited and step.throttled is None:
        fields |= {"permit_waits": step.permit_waits + 1, "permit_wait_time": step.permit_wait_time + ticket.waited}
    draft.move(name, StepEvent.GRANT, StepState.RUNNING, started=step.started or draft.now, **fields)
    if step.compensates:
        draft.amend(step.compensates, in_doubt=True)
    return claim


def may_grant(draft: Draft, name: str) -> bool:
    """Whether this step is READY and may run now: not paused, and the workflow is RUNNING or at the step's own turn as a hook."""
    if draft.definition.paused is not None or draft.paused is not None or draft.workflow.inert:
        return False
    if draft.step(name).state is not StepState.READY:
        return False
    return draft.state is WorkflowState.RUNNING or (name in draft.definition.hook_steps and draft.state not in ENDED)


def acknowledge(draft: Draft, name: str, nonce: str) -> None:
    """The session is known to have the claim: from now on only its lease, a result or a deadline ends it. Raises Rejection CLAIM_LOST."""
    _, claim = require_claim(draft, name, nonce)
    if not claim.acknowledged:
        draft.amend(name, claim=replace(claim, acknowledged=True))


def checkpoint(draft: Draft, name: str, nonce: str, checkpoint_no: int, value: Payload | None) -> bool:
    """Keep a control position, ordered by (claim_no, checkpoint_no); False = not above the stored one, ignored.

    Raises Rejection CLAIM_LOST.
    """
    step, _ = require_claim(draft, name, nonce)
    if (step.claim_no, checkpoint_no) <= (step.checkpoint_claim_no, step.checkpoint_no):
        return False
    draft.amend(name, checkpoint=value, checkpoint_no=checkpoint_no, checkpoint_claim_no=step.claim_no, idle_returns=0)
    return True


def undelivered(draft: Draft, name: str, nonce: str) -> None:
    """The session refuses the claim: un-grant. An acknowledged one may have run, so it is lost instead. Raises Rejection CLAIM_LOST."""
    _, claim = require_claim(draft, name, nonce)
    if claim.acknowledged:
        lose(draft, name, nonce)
        return
    draft.effects.append(ClaimLost(name, claim, LossCause.EXPIRED))
    memory = draft.settle(name, "undelivered", Settled(nonce, cause=LossCause.EXPIRED))
    claim_returned(draft, name, StepEvent.UNDELIVERED, memory, progressed=False)


def lose(draft: Draft, name: str, nonce: str) -> None:
    """An acknowledged claim is lost: still charged. Raises Rejection CLAIM_LOST."""
    _, claim = require_claim(draft, name, nonce)
    draft.effects.append(ClaimLost(name, claim, LossCause.EXPIRED))
    memory = draft.settle(name, "lost", Settled(nonce, cause=LossCause.EXPIRED))
    claim_lost_while_running(draft, name, memory)


def lose_session(draft: Draft, session_id: str, held: frozenset[str]) -> None:
    """The session is dead: its acknowledged claims are lost, the others un-granted. Changes nothing if it holds none here.

    `held` names the nonces that its own document acknowledges.
    """
    for name, step in draft.active():
        if step.state not in CLAIMED or step.claim is None or step.claim.session_id != session_id:
            continue
        if step.claim.acknowledged or step.claim.nonce in held:
            lose(draft, name, step.claim.nonce)
        else:
            undelivered(draft, name, step.claim.nonce)


def silence(draft: Draft, name: str, nonce: str, dice: float) -> None:
    """The activity was silent for its silence_timeout: fence the claim, whatever its session says. Raises Rejection CLAIM_LOST."""
    require_claim(draft, name, nonce)
    time_out_attempt(draft, name, SILENCE_TIMEOUT, dice)

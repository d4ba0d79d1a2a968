"""Complete: what a worker reports of a claim, and what that does."""

from msgspec import Struct
from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.attempts import FailedAttempt, attempt_failed, claim_returned, idle_pause
from perdure_server.kernel.children import child_plan, children_of, source_failure
from perdure_server.kernel.draft import Draft, claim_lost, loss_cause
from perdure_server.kernel.policy_validation import wait_violations
from perdure_server.kernel.progress import complete_step, expand, join, open_wait, settle_down, too_many_children
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.transitions import StepEvent
from perdure_server.kernel.values import Failure, LossCause, Payload, Wait
from perdure_server.kernel.workflow import Settled, Step, StepState

CANCELLED_UNASKED = "CANCELLED_BY_WORKER"


class Completed(Struct, frozen=True, tag=True, omit_defaults=True):
    """The step is done; `output` travels to the steps that need it."""

    output: Payload | None = None
    choose: tuple[str, ...] = ()


class Failed(Struct, frozen=True, tag=True):
    """This attempt failed."""

    failure: Failure


class Waiting(Struct, frozen=True, tag=True, omit_defaults=True):
    """The step waits durably. `checkpoint` None with `keep_checkpoint` keeps the stored one; None without it clears it."""

    wait: Wait
    checkpoint: Payload | None = None
    keep_checkpoint: bool = True


class Released(Struct, frozen=True, tag=True, omit_defaults=True):
    """The worker gives the claim back unharmed (drain); the attempt is refunded."""

    checkpoint: Payload | None = None
    keep_checkpoint: bool = True


class Cancelled(Struct, frozen=True, tag=True, omit_defaults=True):
    """The worker stopped, because it was asked to. The checkpoint is for the finalizer."""

    checkpoint: Payload | None = None
    keep_checkpoint: bool = True


class Page(Struct, frozen=True, tag=True, omit_defaults=True):
    """More children of a paging map step: `count` of them, packed (children.pack), and the cursor; without one it was the last page."""

    count: int = 0
    children: Payload | None = None
    cursor: Payload | None = None


Outcome = Completed | Failed | Waiting | Released | Cancelled | Page


class Report(Struct, frozen=True, omit_defaults=True):
    """A Complete command for one claim. `digest` identifies the outcome, so that the same report twice has one effect."""

    step: str
    nonce: str
    outcome: Outcome
    digest: bytes
    dice: float = 0.5
    last_frame_seq: int | None = None


def report(draft: Draft, command: Report) -> bool:
    """Apply a result. True = applied now, False = the same result was applied before.

    Raises Rejection CLAIM_LOST, CLAIM_ALREADY_SETTLED or OUTCOME_NOT_ALLOWED, and FieldViolation for a wait that could never end.
    """
    if command.step not in draft.definition.by_name:
        raise claim_lost(LossCause.UNKNOWN)
    step = draft.step(command.step)
    if step.claim is None or step.claim.nonce != command.nonce:
        _settled_before(draft, command)
        return False
    _require_kind(draft, command)
    if command.last_frame_seq is not None:
        draft.amend(command.step, last_frame_seq=command.last_frame_seq)
    match command.outcome:
        case Completed() as outcome:
            _completed(draft, command, outcome)
        case Failed() as outcome:
            memory = _settle(draft, command, "failed", outcome.failure)
            attempt_failed(draft, command.step, FailedAttempt(StepEvent.FAILED, outcome.failure, memory, command.dice))
        case Waiting() as outcome:
            _waiting(draft, command, outcome)
        case Released() as outcome:
            _released(draft, command, outcome)
        case Cancelled() as outcome:
            _cancelled(draft, command, outcome)
        case Page() as outcome:
            _paged(draft, command, outcome)
    return True


def remember_next(draft: Draft, name: str, nonce: str, granted: tuple[tuple[str, int], ...]) -> None:
    """Note with a settled token which claims were granted in the same write, so that a repeat can return them."""
    step = draft.step(name)
    settled = tuple(replace(memory, next_claims=granted) if memory.nonce == nonce else memory for memory in step.settled)
    draft.amend(name, settled=settled)


def _settled_before(draft: Draft, command: Report) -> None:
    step = draft.step(command.step)
    for memory in step.settled:
        if memory.nonce == command.nonce and memory.digest:
            if memory.digest == command.digest:
                return
            raise Rejection(Reason.CLAIM_ALREADY_SETTLED, "This claim was settled before with another outcome; the first stands.")
    raise claim_lost(loss_cause(draft.workflow, step, command.nonce))


def _settle(draft: Draft, command: Report, outcome: str, failure: Failure | None = None) -> tuple[Settled, ...]:
    return draft.settle(command.step, outcome, Settled(command.nonce, digest=command.digest), failure)


def _completed(draft: Draft, command: Report, outcome: Completed) -> None:
    require_branches(draft, command.step, outcome)
    memory = _settle(draft, command, "completed")
    fields: dict[str, object] = {"chosen": outcome.choose} if outcome.choose else {}
    fields |= {"claim": None, "settled": memory, "idle_returns": 0, "failure": None}
    complete_step(draft, command.step, StepEvent.COMPLETED, outcome.output, **fields)


def require_branches(draft: Draft, name: str, outcome: Completed) -> None:
    """Raise FieldViolation BRANCH_INVALID unless all that is chosen is a branch of the step, and something is if it has branches."""
    known = {branch.name for branch in draft.plan(name).branches}
    unknown = [branch for branch in outcome.choose if branch not in known]
    if known and not outcome.choose:
        raise FieldViolation([("completed.choose", f"must name one of {', '.join(sorted(known))} at least")], Reason.BRANCH_INVALID)
    if unknown:
        raise FieldViolation([("completed.choose", f"{branch!r} is no branch of the step") for branch in unknown], Reason.BRANCH_INVALID)


def _require_kind(draft: Draft, command: Report) -> None:
    child = draft.plan(command.step).child
    if isinstance(command.outcome, Page) and child is None:
        raise Rejection(Reason.OUTCOME_NOT_ALLOWED, "Only a paging map step ends its claims with pages.", step=command.step)
    if isinstance(command.outcome, Completed) and child is not None:
        raise Rejection(Reason.OUTCOME_NOT_ALLOWED, "A paging map step answers with pages; the last one has no cursor.", step=command.step)


def _paged(draft: Draft, command: Report, outcome: Page) -> None:
    memory = _settle(draft, command, "page")
    step = draft.step(command.step)
    fields: dict[str, object] = {"claim": None, "settled": memory}
    if step.state is StepState.CANCELLING:
        draft.move(command.step, StepEvent.PAGE, StepState.CANCELLED, **fields)
        settle_down(draft)
        return
    # The next page is new work: attempts begin anew, and the cursor is the position.
    fields |= {"total_attempts": step.total_attempts + step.attempt, "attempt": 0, "idle_returns": 0, "failure": None, "checkpoint": None}
    known = children_of(draft, command.step)
    if outcome.count == 0 and outcome.cursor is not None and _is_same(outcome.cursor, known.page_cursor):
        _paged_idly(draft, command.step, fields | {"idle_returns": step.idle_returns + 1})
        return
    total = known.total + outcome.count
    children = replace(
        known,
        total=total,
        known=outcome.cursor is None,
        page=outcome.children,
        page_start=known.total,
        page_cursor=outcome.cursor,
    )
    draft.move(command.step, StepEvent.PAGE, StepState.WAITING, children=children, **fields)
    if total > limits.MAP_CHILDREN:
        expand(draft, command.step, too_many_children(total))
    else:
        join(draft, command.step)


def _paged_idly(draft: Draft, name: str, fields: dict[str, object]) -> None:
    """An empty page at the cursor of the one before: its worker would be asked for it for ever, as fast as it answers."""
    row = draft.step(name).idle_returns + 1
    if row < limits.IDLE_PAGES:
        draft.move(name, StepEvent.PAGE, StepState.BACKOFF, due=draft.now + idle_pause(row), **fields)
        return
    draft.move(name, StepEvent.PAGE, StepState.WAITING, **(fields | {"idle_returns": 0}))
    why = f"{row} empty pages in a row had the same cursor; a source that has nothing yet waits (outcome `waiting`)"
    expand(draft, name, source_failure(child_plan(draft, name), why))


def _is_same(cursor: Payload, before: Payload | None) -> bool:
    # A codec makes other bytes of the same cursor: then the client's digest tells.
    return before is not None and (cursor == before or (bool(cursor.digest) and cursor.digest == before.digest))


def _waiting(draft: Draft, command: Report, outcome: Waiting) -> None:
    _check_wait(outcome)
    memory = _settle(draft, command, "waiting")
    step = draft.step(command.step)
    fields = _checkpoint(step, outcome) | {"claim": None, "settled": memory, "attempt": step.attempt - 1, "idle_returns": 0}
    if step.state is StepState.CANCELLING:
        draft.move(command.step, StepEvent.WAITING, StepState.CANCELLED, **fields)
        settle_down(draft)
    else:
        open_wait(draft, command.step, StepEvent.WAITING, outcome.wait, **fields)


def _check_wait(outcome: Waiting) -> None:
    violations: list[tuple[str, str]] = []
    wait_violations("waiting.wait", outcome.wait, lambda field, text: violations.append((field, text)))
    if violations:
        raise FieldViolation(violations)


def _released(draft: Draft, command: Report, outcome: Released) -> None:
    memory = _settle(draft, command, "released")
    step = draft.step(command.step)
    progressed = outcome.checkpoint is not None or step.checkpoint_claim_no == step.claim_no
    fields = _checkpoint(step, outcome)
    if fields:
        draft.amend(command.step, **fields)
    claim_returned(draft, command.step, StepEvent.RELEASED, memory, progressed)


def _cancelled(draft: Draft, command: Report, outcome: Cancelled) -> None:
    step = draft.step(command.step)
    memory = _settle(draft, command, "cancelled")
    fields = _checkpoint(step, outcome)
    if fields:
        draft.amend(command.step, **fields)
    if step.state is StepState.CANCELLING:
        draft.move(command.step, StepEvent.CONFIRMED, StepState.CANCELLED, claim=None, settled=memory)
        settle_down(draft)
    else:
        failure = Failure(CANCELLED_UNASKED, "The worker reported a cancellation that nobody asked for.")
        attempt_failed(draft, command.step, FailedAttempt(StepEvent.CONFIRMED, failure, memory, command.dice))


def _checkpoint(step: Step, outcome: Waiting | Released | Cancelled) -> dict[str, object]:
    if outcome.checkpoint is None and outcome.keep_checkpoint:
        return {}
    number = step.checkpoint_no + 1 if step.checkpoint_claim_no == step.claim_no else 1
    return {"checkpoint": outcome.checkpoint, "checkpoint_no": number, "checkpoint_claim_no": step.claim_no}

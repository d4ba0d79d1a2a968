"""Rounds: the executions of one key, one after the other, each under a run_id and a fence of its own.

The road of a new round, each act stored before the next: the old round is archived under an id of its own, inert; one write on the key's
document makes it the new round, with the duty to activate the archived one; the duty is done. Whatever breaks off on the way leaves
either the old round as it was, or a duty that the sweep finds.
"""

from typing import NamedTuple

from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition, HookKind
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.effects import DutyTaken, Effect, StepReady
from perdure_server.kernel.people import fence, taken_claim
from perdure_server.kernel.progress import settle_down
from perdure_server.kernel.seal import seal
from perdure_server.kernel.start import OnClosed, OnOpen, Start, blank, known_digest, populate
from perdure_server.kernel.transitions import StepEvent, WorkflowEvent
from perdure_server.kernel.values import LossCause
from perdure_server.kernel.workflow import CLAIMED, Duty, DutyKind, PastRequest, StepState, Workflow, WorkflowState

_STOPPING = (WorkflowState.CANCELLING, WorkflowState.FAILING)
_SETTLING = (HookKind.CANCEL_FINALIZER, HookKind.FAILURE_FINALIZER, HookKind.COMPENSATION)


class Opened(NamedTuple):
    """The instance of the new round, and what follows when it is stored. `archived` is to be stored before it."""

    workflow: Workflow
    effects: tuple[Effect, ...]
    archived: Workflow


def opens_round(existing: Workflow, command: Start) -> bool:
    """Whether this start begins another round of the key; if not, kernel.start.meet answers it. A remembered request never does."""
    if existing.run_id == command.run_id or known_digest(existing, command.request_id) is not None:
        return False
    if not existing.is_ended:
        return command.on_open is OnOpen.SUPERSEDE
    if command.on_closed is OnClosed.NEW_ROUND_IF_FAILED:
        return existing.state is not WorkflowState.COMPLETED
    return command.on_closed is OnClosed.NEW_ROUND


def next_round(definitions: tuple[Definition, Definition], existing: Workflow, command: Start, now: int) -> Opened:
    """Archive `existing` and begin the next round; both sealed. `definitions` are that of `existing` and that of the new round."""
    of_old, of_new = definitions
    now = max(now, existing.update_time)
    archived, lost = _archive(of_old, existing, now)
    duty = Duty(DutyKind.ACTIVATE_ROUND, existing.round, now + limits.DUTY_RETRY_FIRST)
    first = replace(
        blank(of_new, command, now),
        round=existing.round + 1,
        fence=max(existing.fence + 1, now),
        duties=(*existing.duties, duty),
        **_carried(existing, command),
    )
    draft = Draft(of_new, first, now)
    populate(draft, command)
    sealed = replace(seal(of_new, None, draft.finish(), now), revision=existing.revision + 1)
    return Opened(sealed, (*lost, *draft.effects, DutyTaken(duty)), archived)


def activate(draft: Draft) -> bool:
    """The round after this archived one is stored: a superseded one goes on with its finalizer. False = it is active already."""
    if not draft.workflow.inert:
        return False
    draft.set(inert=False)
    ready = [name for name, step in draft.active() if step.state is StepState.READY]
    draft.effects += [StepReady(name) for name in ready]
    settle_down(draft)
    return True


def _carried(existing: Workflow, command: Start) -> dict[str, tuple[object, ...]]:
    # The digest of a past request is kept with it: its repeat is compared with the input of its own round.
    known = {past.request_id for past in existing.past_requests}
    own = [PastRequest(name, existing.round, existing.input_digest) for name in existing.request_ids if name not in known]
    past = [*existing.past_requests, *own][-(limits.REQUEST_IDS - 1) :]
    mine = [command.request_id] if command.request_id else []
    return {"past_requests": tuple(past), "request_ids": (*(each.request_id for each in past), *mine)}


def _archive(definition: Definition, existing: Workflow, now: int) -> tuple[Workflow, tuple[Effect, ...]]:
    draft = Draft(definition, existing, now)
    if not existing.is_ended:
        _supersede(draft)
    # Duties stay with the key: the new round has them.
    changed = replace(draft.finish(), archived=True, inert=True, duties=(), wake_time=None)
    return replace(seal(definition, existing, changed, now), wake_time=None), tuple(draft.effects)


def _supersede(draft: Draft) -> None:
    """Fence every claim at once. Hooks that settle an end already begun are done again, under the archived round."""
    hooks = draft.definition.hook_steps
    for name in draft.definition.by_name:
        settles = name in hooks and draft.state in _STOPPING and hooks[name][0] in _SETTLING
        step = draft.step(name)
        if not settles:
            fence(draft, name, LossCause.SUPERSEDED)
        elif step.state in CLAIMED:
            draft.move(name, StepEvent.LOST, StepState.READY, **taken_claim(draft, name, LossCause.SUPERSEDED))
    draft.set(paused=None, deadline=None, grace_deadline=None)
    if draft.state not in _STOPPING:
        draft.set(cancel_reason="superseded by another round", cancel_time=draft.now)
        draft.turn(WorkflowEvent.CANCEL, WorkflowState.CANCELLING)

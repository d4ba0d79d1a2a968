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
from perdure_server.kernel.start import OnClosed, OnOpen, Start, blank, known_digest, populate, require_fence
from perdure_server.kernel.transitions import StepEvent, WorkflowEvent
from perdure_server.kernel.values import LossCause
from perdure_server.kernel.workflow import CLAIMED, Duty, DutyKind, PastRequest, StepState, Workflow, WorkflowState, round_id

_STOPPING = (WorkflowState.CANCELLING, WorkflowState.FAILING)
_SETTLING = (HookKind.CANCEL_FINALIZER, HookKind.FAILURE_FINALIZER, HookKind.COMPENSATION)


class Opened(NamedTuple):
    """The new round, and what follows when it is stored.

    `archived` is to be stored before it; None: of the round before only a tombstone is left. `lost` are effects of the round before.
    """

    workflow: Workflow
    effects: tuple[Effect, ...]
    archived: Workflow | None = None
    lost: tuple[Effect, ...] = ()


def opens_round(existing: Workflow, command: Start) -> bool:
    """Whether this start begins another round of the key; if not, kernel.start.meet answers it. A remembered request never does.

    Raises Rejection FENCED.
    """
    if command.run_id in (existing.run_id, *existing.past_runs) or known_digest(existing, command.request_id) is not None:
        return False
    require_fence(existing, command)
    if not existing.is_ended:
        return command.on_open is OnOpen.SUPERSEDE
    if existing.tombstone is not None and existing.tombstone.deleted:
        return True
    if command.on_closed is OnClosed.NEW_ROUND_IF_FAILED:
        return existing.state is not WorkflowState.COMPLETED
    return command.on_closed is OnClosed.NEW_ROUND


def next_round(definitions: tuple[Definition, Definition], existing: Workflow, command: Start, now: int) -> Opened:
    """Archive `existing` and begin the next round; both sealed. `definitions` are that of `existing` and that of the new round."""
    of_old, of_new = definitions
    now = max(now, existing.update_time)
    archived, lost, duties = _archive(of_old, existing, now)
    duty = Duty(DutyKind.ACTIVATE_ROUND, existing.round, now + limits.DUTY_RETRY_FIRST)
    workflow, effects = _begin(of_new, existing, command, now, (*duties, duty))
    return Opened(workflow, (*effects, DutyTaken(duty)), archived, lost)


def round_after_tombstone(definition: Definition, tombstone: Workflow, command: Start, now: int) -> Opened:
    """The key begins again: its rounds and fences go on, its requests are remembered."""
    return Opened(*_begin(definition, tombstone, command, max(now, tombstone.update_time), tombstone.duties))


def archived_id(current: Workflow, run_id: str) -> bytes | None:
    """The `_id` of the archived round with this run; None = too many rounds ago, or never."""
    if run_id not in current.past_runs:
        return None
    behind = len(current.past_runs) - current.past_runs.index(run_id)
    return round_id(current.key.workflow_id, current.round - behind)


def _begin(
    definition: Definition, existing: Workflow, command: Start, now: int, duties: tuple[Duty, ...]
) -> tuple[Workflow, tuple[Effect, ...]]:
    first = replace(
        blank(definition, command, now),
        round=existing.round + 1,
        fence=max(existing.fence + 1, now),
        duties=duties,
        past_runs=(*existing.past_runs, existing.run_id)[-limits.PAST_RUNS :],
        actions=existing.actions,
        trace=replace(command.trace, link=f"{existing.trace.trace_id}-{existing.trace.root_span_id}"),
        **_carried(existing, command),
    )
    draft = Draft(definition, first, now)
    populate(draft, command)
    return replace(seal(definition, None, draft.finish(), now), revision=existing.revision + 1), tuple(draft.effects)


def activate(draft: Draft) -> bool:
    """The round after this archived one is stored: a superseded one goes on with its finalizer. False = it is active already."""
    if not draft.workflow.inert:
        return False
    draft.set(inert=False)
    if draft.workflow.end_time is not None:
        draft.set(expire_time=min(draft.workflow.end_time + draft.workflow.retention, limits.TIME))
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


def _archive(definition: Definition, existing: Workflow, now: int) -> tuple[Workflow, tuple[Effect, ...], tuple[Duty, ...]]:
    draft = Draft(definition, existing, now)
    if not existing.is_ended:
        _supersede(draft)
    # Duties stay with the key, those too that its end has made, such as to close its children: the new round has them. Until the old
    # one is active, nobody looks at it, and its run's payloads may be the key's.
    ended = draft.finish()
    changed = replace(ended, archived=True, inert=True, duties=(), expire_time=None)
    return replace(seal(definition, existing, changed, now), wake_time=None), tuple(draft.effects), ended.duties


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

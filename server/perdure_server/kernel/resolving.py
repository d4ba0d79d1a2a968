"""ResolveStep: a person settles a step that cannot go on by itself, or a hook that does not succeed."""

from typing import Final

from msgspec import Struct

from perdure_server.kernel.definition import HookKind
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.hooks import ended as hook_ended
from perdure_server.kernel.hooks import under_way
from perdure_server.kernel.outcomes import Completed, Failed, require_branches
from perdure_server.kernel.people import is_repeat, remember, taken_claim
from perdure_server.kernel.progress import complete_step, fail_unheld, fail_workflow, open_step, settle_down, spread
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.timing import fire_due
from perdure_server.kernel.transitions import StepEvent
from perdure_server.kernel.values import LossCause
from perdure_server.kernel.workflow import StepState, WorkflowState


class Retried(Struct, frozen=True, tag=True, omit_defaults=True):
    """New attempts, from 1."""

    clear_checkpoint: bool = False


class PassedOver(Struct, frozen=True, tag=True):
    """Go on without it: a hook is noted and passed, an ordinary step is SKIPPED with its dependants."""


Resolution = Completed | Failed | Retried | PassedOver

_STUCK: Final = frozenset({StepState.HELD, StepState.BACKOFF, StepState.WAITING})


def resolve(draft: Draft, name: str, resolution: Resolution, request_id: str, content: str = "") -> bool:
    """Settle the step: HELD, backing off or waiting; or a hook under way. True = done now, False = a repeat.

    Raises Rejection STEP_NOT_FOUND, STEP_STATE_INVALID, and FieldViolation BRANCH_INVALID.
    """
    if is_repeat(draft.workflow, "resolve", request_id, content):
        return False
    if name not in draft.definition.by_name:
        raise Rejection(Reason.STEP_NOT_FOUND, "The definition has no such step.", step=name)
    fire_due(draft)
    is_hook = under_way(draft, name)
    _require_stuck(draft, name, is_hook)
    remember(draft, "resolve", request_id, content)
    if isinstance(resolution, Retried):
        _retry(draft, name, resolution)
    elif is_hook:
        _settle_hook(draft, name, resolution)
    else:
        _settle_step(draft, name, resolution)
    return True


def _require_stuck(draft: Draft, name: str, is_hook: bool) -> None:
    state = draft.step(name).state
    # A step of a stopping workflow ends by itself, and so does a hook that was told to stop.
    is_open = state is not StepState.CANCELLING if is_hook else state in _STUCK and draft.state is WorkflowState.RUNNING
    if not is_open:
        text = "Only a step that is held, backing off or waiting, or a hook under way, can be resolved."
        raise Rejection(Reason.STEP_STATE_INVALID, text, step=name, state=state.name)


def _retry(draft: Draft, name: str, resolution: Retried) -> None:
    step = draft.step(name)
    has_no_worker = not draft.plan(name).by_worker
    goes_on = has_no_worker and step.state is not StepState.HELD
    if step.state not in _STUCK or goes_on or (step.children is not None and step.state is StepState.WAITING and not step.wait):
        raise Rejection(Reason.STEP_STATE_INVALID, "The step is not stopped: it goes on by itself.", step=name, state=step.state.name)
    fields: dict[str, object] = {"attempt": 0, "total_attempts": step.total_attempts + step.attempt, "lost_claims": 0, "idle_returns": 0}
    fields |= {"step_deadline": None, "step_left": None}
    if resolution.clear_checkpoint:
        fields["checkpoint"] = None
    draft.amend(name, **fields)
    open_step(draft, name, StepEvent.RESOLVED)


def _settle_hook(draft: Draft, name: str, resolution: Completed | Failed | PassedOver) -> None:
    fields: dict[str, object] = {}
    if draft.step(name).claim is not None:
        fields |= taken_claim(draft, name, LossCause.CANCELLED)
    if isinstance(resolution, Completed):
        complete_step(draft, name, StepEvent.RESOLVED, resolution.output, **(fields | {"failure": None}))
        return
    if isinstance(resolution, Failed):
        draft.move(name, StepEvent.RESOLVED, StepState.FAILED, failure=resolution.failure, wakes=(), **fields)
        if draft.definition.hook_steps[name][0] in (HookKind.ON_SUCCESS, HookKind.PREPARE_REPLAY):
            fail_workflow(draft, name, resolution.failure)
            return
    else:
        draft.move(name, StepEvent.RESOLVED, StepState.SKIPPED, wakes=(), **fields)
    hook_ended(draft, name)
    settle_down(draft)


def _settle_step(draft: Draft, name: str, resolution: Completed | Failed | PassedOver) -> None:
    if isinstance(resolution, Completed):
        require_branches(draft, name, resolution)
        complete_step(draft, name, StepEvent.RESOLVED, resolution.output, chosen=resolution.choose, failure=None)
    elif isinstance(resolution, Failed):
        fail_unheld(draft, name, StepEvent.RESOLVED, resolution.failure)
    else:
        draft.move(name, StepEvent.RESOLVED, StepState.SKIPPED, skipped_by=name, skip_spreads=True, wakes=())
        spread(draft, name)


__all__ = ["PassedOver", "Resolution", "Retried", "resolve"]

"""Hooks: what runs when all steps have ended, and before an end state is stored.

One at a time: compensations (steps in doubt first, then in reverse order of completion), then the finalizer. A required hook is tried for
ever.
"""

from perdure_server.kernel.definition import Hook, HookKind
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.readiness import make_ready
from perdure_server.kernel.transitions import StepEvent
from perdure_server.kernel.workflow import STEP_ENDS, Step, StepState, WorkflowState

_UNDONE = frozenset({StepState.COMPLETED, StepState.FAILED, StepState.CANCELLED, StepState.SKIPPED})
_AT_REST = STEP_ENDS | {StepState.BLOCKED}


def advance(draft: Draft) -> bool:
    """Begin the hook whose turn it is. True = a hook is under way, so the workflow goes no further now."""
    names = draft.definition.hook_steps
    if not names:
        return False
    if any(draft.step(name).state not in _AT_REST for name in names):
        return True
    if draft.state is WorkflowState.FAILING:
        target = next_compensation(draft)
        if target:
            _begin(draft, draft.plan(target).compensate_with, target)
            return True
    hook = _hook_of(draft)
    if hook is None or hook.step in draft.get("passed_hooks", draft.workflow.passed_hooks):
        return False
    _begin(draft, hook.step, "")
    return True


def next_compensation(draft: Draft) -> str:
    """The step to be undone next, or "": steps in doubt before completed ones, the last ended first."""
    passed = draft.get("passed_hooks", draft.workflow.passed_hooks)
    found: list[tuple[bool, int, str]] = []
    for name in draft.definition.ordinary:
        step = draft.step(name)
        if draft.plan(name).compensate_with and step.started is not None and step.state in _UNDONE and name not in passed:
            found.append((step.state is not StepState.COMPLETED, step.end_seq, name))
    return max(found)[2] if found else ""


def ended(draft: Draft, name: str) -> None:
    """A hook step has ended, well or passed: note it, and what it undid."""
    step = draft.step(name)
    kind = draft.definition.hook_steps[name][0]
    done = step.compensates if kind is HookKind.COMPENSATION else name
    draft.set(passed_hooks=(*draft.get("passed_hooks", draft.workflow.passed_hooks), done))
    if kind is HookKind.COMPENSATION and step.state is StepState.COMPLETED:
        draft.move(step.compensates, StepEvent.COMPENSATED, StepState.COMPENSATED, in_doubt=False)


def _hook_of(draft: Draft) -> Hook | None:
    hooks = draft.definition.hooks
    match draft.state:
        case WorkflowState.RUNNING:
            return hooks.on_success
        case WorkflowState.FAILING:
            return hooks.failure_finalizer
        case WorkflowState.CANCELLING:
            return hooks.cancel_finalizer
        case WorkflowState.PREPARING_REPLAY:
            return hooks.prepare_replay
        case _:
            return None


def _begin(draft: Draft, name: str, compensates: str) -> None:
    step = draft.step(name)
    make_ready(draft, name, StepEvent.HOOK, **renewed(step, rises=step.state in STEP_ENDS), compensates=compensates)


def under_way(draft: Draft, name: str) -> bool:
    """Whether this is a hook that has begun and not ended."""
    return name in draft.definition.hook_steps and draft.step(name).state not in _AT_REST


def renewed(step: Step, rises: bool) -> dict[str, object]:
    """The fields of a step that begins anew: attempts and timeouts start over, totals and claim numbers go on.

    Another generation (`rises`) is new work: it forgets the checkpoint, and has another idempotency key. Without one it goes on with what
    was cut short, so that a downstream recognises it.
    """
    fields = _anew(step)
    if rises:
        fields |= {"generation": step.generation + 1, "checkpoint": None, "checkpoint_no": 0, "checkpoint_claim_no": 0}
    return fields


def _anew(step: Step) -> dict[str, object]:
    return {
        "total_attempts": step.total_attempts + step.attempt,
        "attempt": 0,
        "started": None,
        "ended": None,
        "wakes": (),
        "output": None,
        "failure": None,
        "lost_claims": 0,
        "idle_returns": 0,
        "skipped_by": "",
        "skip_spreads": False,
        "chosen": (),
        "children": None,
        "in_doubt": False,
    }

"""The one table of transitions. Every change of a state goes through `target`; anything that is not listed is a fault of ours.

A row reads: in this state, on this event, the next state is one of these. tests/kernel walks every (state, event) pair, and
docs/states.md is drawn from here.
"""

from enum import StrEnum

from perdure_server.kernel.workflow import ENDED, STEP_ENDS, StepState, WorkflowState


# Strings, because the hash of a plain Enum is computed in Python, once per transition.
class StepEvent(StrEnum):
    """What can happen to a step."""

    UNBLOCK = "its dependencies are complete"
    DELAY = "start_at lies ahead"
    GRANT = "a claim is granted"
    UNDELIVERED = "the claim was not acknowledged"
    RELEASED = "the worker gave the claim back"
    LOST = "the worker's session is over"
    TIMED_OUT = "an attempt ran out of time"
    FAILED = "the worker reported a failure"
    COMPLETED = "the worker reported an output"
    WAITING = "the worker asked for a durable wait"
    PAGE = "the worker brought a page of children"
    NEXT_PAGE = "the children of the page before are created"
    JOINED = "enough of its children have ended"
    CHILD_FAILED = "its children cannot bring what it needs"
    WON = "a condition of the wait holds"
    DUE = "the back-off or delay is over"
    CANCEL = "the workflow is cancelled or fails"
    CONFIRMED = "the worker confirmed the cancel"
    GRACE_OVER = "the grace for cancelling is used up"
    EXHAUSTED = "its time or its queue time is used up"
    HOLD = "its attempts are used up and a person must decide"
    RESOLVED = "a person decided"
    SKIP = "a branch was not taken, or what it depends on failed"
    HOOK = "its turn of the workflow has come"
    COMPENSATED = "its effects were undone"
    REOPEN = "a replay does it again"
    MIGRATED = "the workflow goes on by another definition"
    TERMINATE = "the workflow is terminated, or superseded by another round"


class WorkflowEvent(StrEnum):
    """What can happen to a workflow."""

    CANCEL = "someone asked to cancel"
    STEP_FAILED = "a step failed for good"
    TIMED_OUT = "the workflow ran out of time"
    LAST_STEP_ENDED = "every step has ended"
    QUIET = "no step is claimed any more"
    TERMINATE = "someone terminated it"
    REPLAY = "someone asked for a replay"
    PREPARED = "the replay is prepared"


_S, _E = StepState, StepEvent
STEP_TRANSITIONS: dict[tuple[StepState, StepEvent], frozenset[StepState]] = {
    (_S.BLOCKED, _E.UNBLOCK): frozenset({_S.READY, _S.WAITING}),
    (_S.BLOCKED, _E.DELAY): frozenset({_S.BACKOFF}),
    (_S.BLOCKED, _E.CANCEL): frozenset({_S.CANCELLED}),
    (_S.READY, _E.GRANT): frozenset({_S.RUNNING}),
    (_S.READY, _E.CANCEL): frozenset({_S.CANCELLED}),
    (_S.RUNNING, _E.UNDELIVERED): frozenset({_S.READY, _S.BACKOFF, _S.FAILED}),
    (_S.RUNNING, _E.RELEASED): frozenset({_S.READY, _S.BACKOFF, _S.FAILED}),
    (_S.RUNNING, _E.LOST): frozenset({_S.READY, _S.BACKOFF, _S.FAILED}),  # BACKOFF: a required hook, beyond its bounds
    (_S.RUNNING, _E.TIMED_OUT): frozenset({_S.READY, _S.BACKOFF, _S.FAILED}),
    (_S.RUNNING, _E.FAILED): frozenset({_S.READY, _S.BACKOFF, _S.FAILED}),
    (_S.RUNNING, _E.COMPLETED): frozenset({_S.COMPLETED}),
    (_S.RUNNING, _E.WAITING): frozenset({_S.WAITING}),
    (_S.RUNNING, _E.CANCEL): frozenset({_S.CANCELLING}),
    (_S.RUNNING, _E.CONFIRMED): frozenset({_S.READY, _S.BACKOFF, _S.FAILED}),  # nobody asked: a failed attempt
    (_S.WAITING, _E.WON): frozenset({_S.READY, _S.COMPLETED}),
    (_S.WAITING, _E.CANCEL): frozenset({_S.CANCELLED}),
    (_S.BACKOFF, _E.DUE): frozenset({_S.READY, _S.WAITING}),
    (_S.BACKOFF, _E.CANCEL): frozenset({_S.CANCELLED}),
    (_S.CANCELLING, _E.COMPLETED): frozenset({_S.COMPLETED}),
    (_S.CANCELLING, _E.UNDELIVERED): frozenset({_S.CANCELLED}),
    (_S.CANCELLING, _E.RELEASED): frozenset({_S.CANCELLED}),
    (_S.CANCELLING, _E.LOST): frozenset({_S.CANCELLED}),
    (_S.CANCELLING, _E.TIMED_OUT): frozenset({_S.CANCELLED}),
    (_S.CANCELLING, _E.FAILED): frozenset({_S.CANCELLED}),
    (_S.CANCELLING, _E.WAITING): frozenset({_S.CANCELLED}),
    (_S.CANCELLING, _E.CONFIRMED): frozenset({_S.CANCELLED}),
    (_S.CANCELLING, _E.GRACE_OVER): frozenset({_S.CANCELLED}),
}

for _state in (_S.READY, _S.BACKOFF, _S.RUNNING, _S.WAITING):
    STEP_TRANSITIONS[_state, _E.EXHAUSTED] = frozenset({_S.FAILED, _S.HELD})
for _event in (_E.UNDELIVERED, _E.RELEASED, _E.LOST, _E.TIMED_OUT, _E.FAILED, _E.CONFIRMED):
    STEP_TRANSITIONS[_S.RUNNING, _event] |= {_S.HELD}
for _state in (_S.WAITING, _S.READY, _S.BACKOFF):  # READY, BACKOFF: a paging step between two pages
    STEP_TRANSITIONS[_state, _E.JOINED] = frozenset({_S.COMPLETED})
    STEP_TRANSITIONS[_state, _E.CHILD_FAILED] = frozenset({_S.FAILED, _S.HELD})
STEP_TRANSITIONS[_S.WAITING, _E.CHILD_FAILED] |= {_S.BACKOFF}
STEP_TRANSITIONS[_S.RUNNING, _E.PAGE] = frozenset({_S.WAITING, _S.BACKOFF})  # BACKOFF: it brought nothing
STEP_TRANSITIONS[_S.CANCELLING, _E.PAGE] = frozenset({_S.CANCELLED})
STEP_TRANSITIONS[_S.WAITING, _E.NEXT_PAGE] = frozenset({_S.READY})
_SETTLED = frozenset({_S.COMPLETED, _S.FAILED, _S.SKIPPED})
STEP_TRANSITIONS[_S.HELD, _E.RESOLVED] = _SETTLED | {_S.READY, _S.WAITING}
STEP_TRANSITIONS[_S.HELD, _E.CANCEL] = frozenset({_S.CANCELLED})
for _state in (_S.BACKOFF, _S.WAITING):
    STEP_TRANSITIONS[_state, _E.RESOLVED] = _SETTLED | {_S.READY}
for _state in (_S.READY, _S.RUNNING):
    STEP_TRANSITIONS[_state, _E.RESOLVED] = _SETTLED  # hooks only
STEP_TRANSITIONS[_S.BLOCKED, _E.SKIP] = frozenset({_S.SKIPPED})
for _state in (_S.BLOCKED, _S.COMPLETED, _S.FAILED, _S.CANCELLED, _S.SKIPPED):
    STEP_TRANSITIONS[_state, _E.HOOK] = frozenset({_S.READY})
for _state in (_S.COMPLETED, _S.FAILED, _S.CANCELLED, _S.SKIPPED):  # SKIPPED: begun, and then passed over by a person
    STEP_TRANSITIONS[_state, _E.COMPENSATED] = frozenset({_S.COMPENSATED})
for _state in sorted(STEP_ENDS):
    STEP_TRANSITIONS[_state, _E.REOPEN] = frozenset({_S.BLOCKED})
for _state in StepState:
    if _state not in STEP_ENDS:
        STEP_TRANSITIONS[_state, _E.TERMINATE] = frozenset({_S.CANCELLED})

for _state in (_S.READY, _S.BACKOFF, _S.WAITING, _S.RUNNING):
    STEP_TRANSITIONS[_state, _E.MIGRATED] = frozenset({_S.BLOCKED})

_W, _V = WorkflowState, WorkflowEvent
WORKFLOW_TRANSITIONS: dict[tuple[WorkflowState, WorkflowEvent], frozenset[WorkflowState]] = {
    (_W.RUNNING, _V.CANCEL): frozenset({_W.CANCELLING}),
    (_W.RUNNING, _V.STEP_FAILED): frozenset({_W.FAILING}),
    (_W.RUNNING, _V.TIMED_OUT): frozenset({_W.FAILING}),
    (_W.RUNNING, _V.LAST_STEP_ENDED): frozenset({_W.COMPLETED}),
    (_W.CANCELLING, _V.QUIET): frozenset({_W.CANCELLED}),
    (_W.FAILING, _V.QUIET): frozenset({_W.FAILED}),
    (_W.PREPARING_REPLAY, _V.CANCEL): frozenset({_W.CANCELLING}),
    (_W.PREPARING_REPLAY, _V.STEP_FAILED): frozenset({_W.FAILING}),
    (_W.PREPARING_REPLAY, _V.PREPARED): frozenset({_W.RUNNING}),
}
for _open in (_W.RUNNING, _W.CANCELLING, _W.FAILING, _W.PREPARING_REPLAY):
    WORKFLOW_TRANSITIONS[_open, _V.TERMINATE] = frozenset({_W.TERMINATED})
for _end in sorted(ENDED):
    WORKFLOW_TRANSITIONS[_end, _V.REPLAY] = frozenset({_W.PREPARING_REPLAY})  # without a hook it goes on to RUNNING in the same write


class IllegalTransition(Exception):
    """A fault of ours: a rule asked for a change that the table does not have."""


def check_step(state: StepState, event: StepEvent, target: StepState) -> None:
    """Raise IllegalTransition unless the table allows it."""
    if target not in STEP_TRANSITIONS.get((state, event), ()):
        raise IllegalTransition(f"step: {state.name} --{event.name}--> {target.name}")


def check_workflow(state: WorkflowState, event: WorkflowEvent, target: WorkflowState) -> None:
    """Raise IllegalTransition unless the table allows it."""
    if target not in WORKFLOW_TRANSITIONS.get((state, event), ()):
        raise IllegalTransition(f"workflow: {state.name} --{event.name}--> {target.name}")

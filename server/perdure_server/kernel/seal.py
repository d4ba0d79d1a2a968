"""The last act of every change: raise the revision and set what the sweep and the indexes go by."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.timing import next_due
from perdure_server.kernel.values import Payload
from perdure_server.kernel.workflow import Claim, Step, StepState, Workflow

LINES: Final = "P//"  # no queue id begins so, not even in a namespace `P`: the name of its queue is never empty
HELD: Final = "H//"  # nor so: what steps that wait for a person are found by, H//<namespace>/<type>/<step>
PAUSED: Final = "S//"  # nor so: what workflows that stand still by a person's word are found by, S//<namespace>/<type>
FOR_PEOPLE: Final = (HELD, PAUSED)  # nobody takes anything there, they are only counted
_READY = StepState.READY
_HELD = StepState.HELD
_CANCELLING = StepState.CANCELLING
_NOTHING: Mapping[str, Step] = {}


class _Found(NamedTuple):
    # What one pass over the steps finds; a plan may have thousands of them.
    due: int | None
    ready: list[str]
    sessions: set[str]
    growth: int


def queue_id(definition: Definition, workflow: Workflow, name: str) -> str:
    """The ready queue of a step: namespace / queue / type / fingerprint / step. A start may have chosen another queue than the policy."""
    queue = workflow.step_queues.get(name) or workflow.queue
    return definition.queue_id(name, queue) if queue else definition.queue_ids[name]


def _ready_id(definition: Definition, workflow: Workflow, name: str) -> str:
    # A throttled step is out of its queue: whoever has room in the resource finds it there. A held one is in none: it is only counted.
    step = workflow.steps[name]
    if step.state is _HELD:
        return f"{HELD}{workflow.key.namespace}/{workflow.key.workflow_type}/{name}"
    throttle = step.throttled
    return queue_id(definition, workflow, name) if throttle is None else line_id(workflow.key.namespace, throttle.resource, throttle.key)


def line_id(namespace: str, resource: str, key: str) -> str:
    """What throttled steps are found by in `ready`: P//<namespace>/<resource>, and the key of a keyed resource."""
    return f"{LINES}{namespace}/{resource}/{key}" if key else f"{LINES}{namespace}/{resource}"


def next_wake(workflow: Workflow) -> int | None:
    """The exact time at which somebody must look at this instance if nothing else happens before."""
    return _earlier(_own_due(workflow), _look(workflow.steps, workflow).due)


def seal(definition: Definition, old: Workflow | None, new: Workflow, now: int) -> Workflow:
    """`new` as it is to be stored after `old`.

    `wake_time` is kept when it is early and still ahead, so that a chain of quick steps writes no index; it is never late. What did not
    change stays the same object, so that the store does not write it.
    """
    found = _look(_NOTHING if old is None else old.steps, new)
    exact = _earlier(_own_due(new), found.due)
    if new.paused is not None:
        ready: tuple[str, ...] = (f"{PAUSED}{new.key.namespace}/{new.key.workflow_type}",)
    else:
        ready = tuple(sorted({_ready_id(definition, new, name) for name in found.ready}))
    sessions = tuple(sorted(found.sessions))
    if old is None:
        inline = _size(new.input) + _inbox_size(new) + found.growth
        return replace(new, inline_bytes=inline, revision=1, wake_time=exact, ready=ready, sessions=sessions)
    inline = old.inline_bytes + found.growth
    if old.input is not new.input:  # redacted
        inline += _size(new.input) - _size(old.input)
    if old.inbox is not new.inbox:
        inline += _inbox_size(new) - _inbox_size(old)
    if old.fingerprint != new.fingerprint and old.run_id == new.run_id:  # migrated: steps have other names, or are gone
        inline = _size(new.input) + _inbox_size(new) + _look(_NOTHING, new).growth
    stored = old.wake_time
    early = stored is not None and now < stored and (exact is None or stored <= exact) and not new.is_ended
    return replace(
        new,
        inline_bytes=old.inline_bytes if inline == old.inline_bytes else inline,
        revision=old.revision + 1,
        wake_time=stored if early else exact,
        ready=old.ready if old.ready == ready else ready,
        sessions=old.sessions if old.sessions == sessions else sessions,
    )


def _look(before: Mapping[str, Step], workflow: Workflow) -> _Found:
    paused = workflow.paused is not None or workflow.inert
    earliest: int | None = None
    ready: list[str] = []
    sessions: set[str] = set()
    growth = 0
    for name, step in workflow.steps.items():
        known = before.get(name)
        if known is not step:
            growth += _step_size(step) - (_step_size(known) if known is not None else 0)
        claim = step.claim
        if claim is not None:
            sessions.add(claim.session_id)
            due: int | None = _judged(claim)
        elif paused:
            continue  # what comes due waits for the resume
        else:
            due = step.due
            if step.state is _READY or step.state is _HELD:
                ready.append(name)
        if step.step_deadline is not None and not paused and step.state is not _CANCELLING:
            due = _earlier(due, step.step_deadline)
        if due is not None and (earliest is None or due < earliest):
            earliest = due
    return _Found(earliest, ready, sessions, growth)


def _own_due(workflow: Workflow) -> int | None:
    duty = min([duty.due for duty in workflow.duties], default=None) if workflow.duties else None
    if workflow.paused is not None or workflow.inert:
        return duty
    return _earlier(duty, next_due(workflow.state, workflow.deadline, workflow.grace_deadline))


def _earlier(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return one if other is None else other
    return min(one, other)


def _judged(claim: Claim) -> int:
    if claim.acknowledged:
        return claim.deadline
    return min(claim.deadline, claim.granted + limits.ACKNOWLEDGE_WITHIN)


def _inbox_size(workflow: Workflow) -> int:
    return sum([_size(signal.payload) for signal in workflow.inbox])


def _step_size(step: Step) -> int:
    size = _size(step.output) + _size(step.checkpoint)
    if step.children is not None:
        size += step.children.inline_size
    if step.wakes:
        size += sum([_size(wake.payload) for wake in step.wakes])
    if step.failure is not None:
        size += _size(step.failure.details)
    if step.errors:
        size += sum([_size(error.failure.details) for error in step.errors])
    return size


def _size(payload: Payload | None) -> int:
    return payload.inline_size if payload is not None else 0

"""The last act of every change: raise the revision and set what the sweep and the indexes go by."""

from collections.abc import Iterator

from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.timing import next_due, step_due, waits_for_resume
from perdure_server.kernel.values import Payload
from perdure_server.kernel.workflow import Claim, Step, StepState, Workflow

_READY = StepState.READY


def queue_id(definition: Definition, workflow: Workflow, name: str) -> str:
    """The ready queue of a step: namespace / queue / type / fingerprint / step. A start may have chosen another queue than the policy."""
    queue = workflow.step_queues.get(name) or workflow.queue
    return definition.queue_id(name, queue) if queue else definition.queue_ids[name]


def _holders(definition: Definition, workflow: Workflow) -> tuple[tuple[str, ...], tuple[str, ...]]:
    # The queues with READY steps, and the sessions that hold claims.
    ready = []
    sessions = set()
    for name, step in workflow.steps.items():
        if step.state is _READY and workflow.paused is None:
            ready.append(queue_id(definition, workflow, name))
        elif step.claim is not None:
            sessions.add(step.claim.session_id)
    return tuple(sorted(ready)), tuple(sorted(sessions))


def next_wake(workflow: Workflow) -> int | None:
    """The exact time at which somebody must look at this instance if nothing else happens before."""
    return None if workflow.is_ended else min(_times(workflow), default=None)


def _times(workflow: Workflow) -> Iterator[int]:
    paused = workflow.paused is not None
    own = next_due(workflow.state, workflow.deadline, workflow.grace_deadline)
    if own is not None and not paused:
        yield own
    for step in workflow.steps.values():
        if paused and waits_for_resume(step):
            continue
        due = step_due(step)
        if due is not None:
            yield due if step.claim is None else min(due, _judged(step.claim))


def _judged(claim: Claim) -> int:
    if claim.acknowledged:
        return claim.deadline
    return min(claim.deadline, claim.granted + limits.ACKNOWLEDGE_WITHIN)


def seal(definition: Definition, old: Workflow | None, new: Workflow, now: int) -> Workflow:
    """`new` as it is to be stored after `old`.

    `wake_time` is kept when it is early and still ahead, so that a chain of quick steps writes no index; it is never late. What did not
    change stays the same object, so that the store does not write it.
    """
    ready, sessions = ((), ()) if new.is_ended else _holders(definition, new)
    exact = next_wake(new)
    if old is None:
        return replace(new, inline_bytes=_inline_bytes(None, new), revision=1, wake_time=exact, ready=ready, sessions=sessions)
    stored = old.wake_time
    early = stored is not None and now < stored and (exact is None or stored <= exact) and not new.is_ended
    return replace(
        new,
        inline_bytes=_inline_bytes(old, new),
        revision=old.revision + 1,
        wake_time=stored if early else exact,
        ready=old.ready if old.ready == ready else ready,
        sessions=old.sessions if old.sessions == sessions else sessions,
    )


def _inline_bytes(old: Workflow | None, new: Workflow) -> int:
    """Payload bytes inside the document, counted from the steps that changed only."""
    total = old.inline_bytes if old is not None else _size(new.input)
    before = old.steps if old is not None else {}
    for name, step in new.steps.items():
        known = before.get(name)
        if known is not step:
            total += _step_size(step) - (_step_size(known) if known is not None else 0)
    if old is None or old.inbox is not new.inbox:
        total += sum(_size(signal.payload) for signal in new.inbox)
        total -= sum(_size(signal.payload) for signal in old.inbox) if old is not None else 0
    return total


def _step_size(step: Step) -> int:
    return _size(step.output) + _size(step.checkpoint) + sum(_size(wake.payload) for wake in step.wakes)


def _size(payload: Payload | None) -> int:
    return payload.inline_size if payload is not None else 0

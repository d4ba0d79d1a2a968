"""The last act of every change: raise the revision and set what the sweep and the indexes go by."""

from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.timing import next_due, step_due
from perdure_server.kernel.workflow import CLAIMED, Step, StepState, Workflow


def queue_id(definition: Definition, workflow: Workflow, name: str) -> str:
    """The ready queue of a step: namespace / queue / type / fingerprint / step."""
    plan = definition.by_name[name]
    queue = workflow.step_queues.get(name) or workflow.queue or plan.queue
    return f"{workflow.key.namespace}/{queue}/{workflow.key.workflow_type}/{workflow.fingerprint[:16]}/{name}"


def next_wake(workflow: Workflow) -> int | None:
    """The exact time at which somebody must look at this instance if nothing else happens before."""
    if workflow.is_ended:
        return None
    times = [] if (own := next_due(workflow.state, workflow.deadline, workflow.grace_deadline)) is None else [own]
    for step in workflow.steps.values():
        due = _step_wake(step)
        if due is not None:
            times.append(due)
    return min(times, default=None)


def _step_wake(step: Step) -> int | None:
    due = step_due(step)
    if step.state in CLAIMED and step.claim is not None and not step.claim.acknowledged:
        judged = step.claim.granted + limits.ACKNOWLEDGE_WITHIN
        return judged if due is None else min(judged, due)
    return due


def seal(definition: Definition, old: Workflow | None, new: Workflow, now: int) -> Workflow:
    """`new` as it is to be stored after `old`.

    `wake_time` is kept when it is early and still ahead, so that a chain of quick steps writes no index; it is never late.
    """
    exact = next_wake(new)
    stored = old.wake_time if old is not None else None
    early = stored is not None and now < stored and (exact is None or stored <= exact) and not new.is_ended
    wake = stored if early else exact
    ready: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    if not new.is_ended:
        ready = tuple(sorted({queue_id(definition, new, name) for name, step in new.steps.items() if step.state is StepState.READY}))
        sessions = tuple(sorted({step.claim.session_id for step in new.steps.values() if step.claim is not None}))
    same_ready = old is not None and old.ready == ready
    same_sessions = old is not None and old.sessions == sessions
    return replace(
        new,
        revision=(old.revision if old is not None else 0) + 1,
        wake_time=wake,
        ready=old.ready if old is not None and same_ready else ready,
        sessions=old.sessions if old is not None and same_sessions else sessions,
    )

"""Why a workflow is where it is: the engine's facts in sentences."""

from collections.abc import Callable, Iterator
from typing import Final

from perdure.v1 import workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.engine.explain import Explanation, QueueFacts, StepFacts
from perdure_server.engine.permit_facts import PermitFacts
from perdure_server.engine.values import Unserved
from perdure_server.kernel import limits
from perdure_server.kernel.workflow import Duty, DutyKind, Paused, StepState, Workflow, WorkflowKey
from perdure_server.rpc.encode import values, workflows
from perdure_server.rpc.encode.phases import PhaseFound, first, pause_words, step_phase, workflow_phase
from perdure_server.rpc.encode.workflows import step_next_time

_STAND_STILL: Final = (StepState.READY, StepState.BACKOFF, StepState.WAITING, StepState.BLOCKED)


def response(source: Explanation) -> wire.ExplainWorkflowResponse:
    """The whole answer."""
    workflow = source.view.workflow
    answer = wire.ExplainWorkflowResponse(state=workflows.workflow_state(workflow.state))
    values.ref(answer.workflow, workflow.key, workflow.round)
    found = {own.phase: own for facts in source.steps if (own := _phase(facts, workflow)) is not None}
    own = workflow_phase(workflow, {queue: fact for queue, fact in source.view.facts.items() if fact.kind is Unserved.PAUSED})
    if own is not None:
        found.setdefault(own.phase, own)
    phase = None if workflow.is_ended else first(found)
    if phase is not None:
        answer.phase = phase.phase
    for facts in source.steps:
        _step(answer.steps.add(), facts, workflow)
    answer.open_duties.extend(_duty_words(duty) for duty in workflow.duties)
    answer.summary = _summary(workflow, phase, answer) + _size_words(workflow)
    return answer


def _duty_words(duty: Duty) -> str:
    what = _DUTIES[duty.kind]
    of = f" of step {duty.subject}" if duty.kind is DutyKind.TEND_CHILDREN else ""
    tried = f"; tried {duty.tries} times" if duty.tries else ""
    return f"{what}{of} (round {duty.round}{tried})"


def _size_words(workflow: Workflow) -> str:
    if workflow.is_ended or workflow.inline_bytes < limits.DOCUMENT_WARNING:
        return ""
    percent = 100 * workflow.inline_bytes // limits.DOCUMENT
    return f" Its document is {percent} % full of payloads: end the round and start the next, or send smaller ones."


def _summary(workflow: Workflow, phase: PhaseFound | None, answer: wire.ExplainWorkflowResponse) -> str:
    state = workflow.state.name
    if workflow.is_ended:
        why = workflow.failure.type if workflow.failure is not None else workflow.cancel_reason
        return f"{state}{': ' if why else ''}{why}; nothing is left to happen."
    if workflow.paused is not None:
        return f"{state}, but {pause_words(workflow.paused)}; nothing is granted until it is resumed."
    telling = next((step for step in answer.steps if phase is not None and step.phase == phase.phase), None)
    return f"{state}; {telling.step}: {telling.summary}" if telling is not None else f"{state}."


def _step(target: wire.StepExplanation, facts: StepFacts, workflow: Workflow) -> None:
    step = facts.step
    target.step = facts.plan.name
    target.state = workflows.step_state(step.state)
    found = _phase(facts, workflow)
    if found is not None:
        target.phase = found.phase
    values.time(target.since_time, step.since or workflow.start_time)
    if workflow.paused is not None and step.state in _STAND_STILL:
        _person(target.blockers.add(), workflow.paused)
        target.suggestions.append("Resume it (ResumeWorkflow).")
    elif facts.fact is not None and facts.fact.paused is not None:
        _person(target.blockers.add(), facts.fact.paused)
        target.suggestions.append("Resume its definition (ResumeDefinition).")
    blockers = _BLOCKERS.get(step.state)
    if blockers is not None:
        for blocker in blockers(facts, workflow):
            if not blocker.HasField("since_time"):
                values.time(blocker.since_time, step.since or workflow.start_time)
            target.blockers.append(blocker)
    due = step_next_time(step, workflow)
    if due is not None:
        values.time(target.next_time, due)
    target.summary = "; ".join(blocker.summary for blocker in target.blockers) or (found.reason if found else "") or _at_rest(facts)
    target.suggestions.extend(_suggestions(facts, workflow))


def _at_rest(facts: StepFacts) -> str:
    if facts.step.state is StepState.BLOCKED:
        return "its turn has not come"
    return f"has ended: {facts.step.state.name}"


def _phase(facts: StepFacts, workflow: Workflow) -> PhaseFound | None:
    # Who serves the queue is looked at now; that a definition is paused is known already.
    found = step_phase(facts.step, workflow.paused, facts.fact if _is_paused(facts) else None)
    queue = facts.queue
    if found is None or found.phase != workflow_pb2.PHASE_QUEUED or queue is None or queue.workers:
        return found
    phase = workflow_pb2.PHASE_INCOMPATIBLE if queue.incompatible else workflow_pb2.PHASE_NO_WORKER
    return PhaseFound(phase, _queue_words(queue), found.since)


def _is_paused(facts: StepFacts) -> bool:
    return facts.fact is not None and facts.fact.kind is Unserved.PAUSED


def _person(target: wire.Blocker, paused: Paused) -> None:
    target.summary = pause_words(paused)
    target.person.actor = paused.actor
    target.person.reason = paused.reason
    values.time(target.since_time, paused.since)


def _dependencies(facts: StepFacts, _workflow: Workflow) -> Iterator[wire.Blocker]:
    for name, state in facts.open_dependencies:
        yield wire.Blocker(summary=f"for step {name}, which is {state.name}", dependency=name)


def _queue(facts: StepFacts, workflow: Workflow) -> Iterator[wire.Blocker]:
    queue = facts.queue
    if queue is None or workflow.paused is not None or _is_paused(facts):
        return
    if facts.permit is not None:
        yield _permit(facts.permit, workflow)
        return
    blocker = wire.Blocker(summary=_queue_words(queue))
    blocker.queue.queue = queue.queue
    blocker.queue.ahead_count = queue.ahead or 0
    blocker.queue.worker_count = queue.workers
    blocker.queue.free_slots = queue.free_slots
    blocker.queue.incompatible_worker_count = queue.incompatible
    blocker.queue.step_contract = facts.plan.contract
    yield blocker


def _permit(permit: PermitFacts, workflow: Workflow) -> wire.Blocker:
    blocker = wire.Blocker(summary=_permit_words(permit))
    values.time(blocker.since_time, permit.since)
    target = blocker.permit
    target.resource, target.key, target.units = permit.resource, permit.key, permit.units
    target.in_use, target.capacity, target.ahead_count = permit.in_use, permit.capacity, permit.ahead
    for holder in permit.holders:
        values.ref(target.holders.add(), WorkflowKey(workflow.key.namespace, holder.workflow_type, holder.business_key), holder.round)
    return blocker


def _permit_words(permit: PermitFacts) -> str:
    name = f"{permit.resource} ({permit.key})" if permit.key else permit.resource
    if not permit.exists:
        return f"for permits of {name}, which does not exist"
    of = f" of {permit.capacity}" if permit.capacity else ""
    wanted = "a permit" if permit.units == 1 else f"{permit.units} permits"
    return f"for {wanted} of {name}: {permit.in_use}{of} in use, about {permit.ahead} steps before it"


def _queue_words(queue: QueueFacts) -> str:
    if queue.workers:
        before = f"about {queue.ahead} steps" if queue.ahead is not None else "nobody knows how many steps"
        return f"for a slot in queue {queue.queue}: {queue.workers} workers, {queue.free_slots} free slots, {before} before it"
    if queue.incompatible:
        return f"the {queue.incompatible} workers in queue {queue.queue} were built for another contract of this step"
    return f"no worker serves this step in queue {queue.queue}"


def _claim(facts: StepFacts, _workflow: Workflow) -> Iterator[wire.Blocker]:
    step, claim = facts.step, facts.step.claim
    if claim is None:
        return
    asked = ", which was asked to stop" if step.state is StepState.CANCELLING else ""
    blocker = wire.Blocker(summary=f"for the result of attempt {step.attempt} by {claim.worker_id or 'a worker'}{asked}")
    blocker.claim.worker_id = claim.worker_id
    blocker.claim.claim_no = step.claim_no
    blocker.claim.attempt = step.attempt
    if facts.lease_end is not None:
        values.time(blocker.claim.lease_end_time, facts.lease_end)
    values.time(blocker.claim.attempt_end_time, claim.deadline)
    if facts.alive is not None:
        values.time(blocker.claim.alive_time, facts.alive)
    yield blocker


def _due(facts: StepFacts, _workflow: Workflow) -> Iterator[wire.Blocker]:
    if facts.step.due is not None:
        blocker = wire.Blocker(summary="for its next attempt" if facts.step.claim_no else "for its start time")
        values.time(blocker.due_time, facts.step.due)
        yield blocker


def _children(facts: StepFacts, _workflow: Workflow) -> Iterator[wire.Blocker]:
    children = facts.step.children
    if children is None:
        return
    if children.open:
        most = f" of {children.total}" if children.known else ""
        blocker = wire.Blocker(summary=f"for {len(children.open)} open children; {children.ended}{most} have ended")
    elif not children.known and facts.plan.child is not None and not facts.plan.child.paged:
        blocker = wire.Blocker(summary="for its children to be counted")
    else:
        return
    values.map_progress(blocker.children, children)
    yield blocker


def _wait(facts: StepFacts, _workflow: Workflow) -> Iterator[wire.Blocker]:
    yield from _children(facts, _workflow)
    for condition, stored in facts.stored_signals:
        count = f" ({stored} of {condition.count} are stored)" if condition.count > 1 else ""
        yield wire.Blocker(summary=f"for the signal {condition.signal}{count}", signal_name=condition.signal)
    for condition in facts.step.wait:
        if condition.due is not None:
            blocker = wire.Blocker(summary=f"for the time of {condition.name}")
            values.time(blocker.due_time, condition.due)
            yield blocker


def _held(facts: StepFacts, _workflow: Workflow) -> Iterator[wire.Blocker]:
    found = step_phase(facts.step)
    failure = facts.step.failure
    blocker = wire.Blocker(summary=found.reason if found is not None else "")
    blocker.person.reason = f"{failure.type}: {failure.message}" if failure is not None else ""
    yield blocker


def _suggestions(facts: StepFacts, workflow: Workflow) -> Iterator[str]:
    step, queue = facts.step, facts.queue
    if step.state is StepState.HELD:
        yield "Settle it (ResolveStep: completed, failed, retry or pass_over), or cancel the workflow (CancelWorkflow)."
    elif facts.permit is not None and not facts.permit.exists:
        yield f"Make the resource {facts.permit.resource} (PutResource)."
    elif queue is not None and not queue.workers and workflow.paused is None and not _is_paused(facts):
        yield f"Start a worker that serves {workflow.key.workflow_type}/{facts.plan.name} with this contract from queue {queue.queue}."
    if step.children is not None and step.children.open:
        yield f"Look at its open children (ListChildren with step {facts.plan.name} and the states RUNNING and FAILING)."
    for condition, _ in facts.stored_signals:
        yield f"Send the signal {condition.signal} (Signal)."


_DUTIES: Final = {
    DutyKind.ACTIVATE_ROUND: "let the round before go on to its end",
    DutyKind.FREE_PAYLOADS: "remove the payloads of a run",
    DutyKind.REMOVE_ROUNDS: "remove the earlier rounds",
    DutyKind.REMOVE_ROUND: "remove an earlier round",
    DutyKind.TELL_PARENT: "tell the parent of its end",
    DutyKind.TEND_CHILDREN: "create and count the children",
    DutyKind.CLOSE_CHILDREN: "close the children that are still open",
}
_BLOCKERS: Final[dict[StepState, Callable[[StepFacts, Workflow], Iterator[wire.Blocker]]]] = {
    StepState.BLOCKED: _dependencies,
    StepState.READY: _queue,
    StepState.RUNNING: _claim,
    StepState.CANCELLING: _claim,
    StepState.BACKOFF: _due,
    StepState.WAITING: _wait,
    StepState.HELD: _held,
}

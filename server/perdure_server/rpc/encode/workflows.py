"""Workflows and their steps, as readers see them."""

from collections.abc import Mapping
from typing import Final

from google.rpc.status_pb2 import Status

from perdure.v1 import workflow_pb2 as wire
from perdure.v1 import workflow_service_pb2 as service
from perdure_server.engine.explain import queue_of
from perdure_server.engine.values import CancelAccepted, QueueFact, Signalled, Started, View, etag_of
from perdure_server.kernel import limits
from perdure_server.kernel.definition import HookKind, StepDefinition, StepKind
from perdure_server.kernel.seal import next_wake
from perdure_server.kernel.timing import step_due
from perdure_server.kernel.workflow import Step, StepState, Workflow, WorkflowState
from perdure_server.rpc.encode import values
from perdure_server.rpc.encode.phases import step_facts, step_phase, workflow_phase
from perdure_server.rpc.trace_context import format_traceparent

_KINDS: Final = {
    StepKind.ACTIVITY: wire.StepView.KIND_ACTIVITY,
    StepKind.WAIT: wire.StepView.KIND_WAIT,
    StepKind.MAP: wire.StepView.KIND_MAP,
    StepKind.CHILD: wire.StepView.KIND_CHILD,
}
_HOOKS: Final = {kind: wire.HookKind.Value(f"HOOK_KIND_{kind.name}") for kind in HookKind}
_NO_FACTS: Final[Mapping[str, QueueFact]] = {}
_BLOCKED: Final = Step(state=StepState.BLOCKED, since=0)


def workflow_state(state: int) -> wire.Workflow.State.ValueType:
    """A state of a workflow; kernel and wire number them alike, which a test holds."""
    return wire.Workflow.State.ValueType(state)


def step_state(state: int) -> wire.StepView.State.ValueType:
    """A state of a step; kernel and wire number them alike, which a test holds."""
    return wire.StepView.State.ValueType(state)


def workflow(target: wire.Workflow, view: View, detail: wire.WorkflowView.ValueType) -> None:
    """One workflow as far as `detail` asks: BASIC, STEPS or FULL."""
    basic(target, view.workflow, view.facts)
    target.policy_revision = max(view.workflow.policy_revision, view.definition.policy_revision)
    target.definition_version = view.definition.version
    if view.sizes is not None:
        target.totals.document_bytes, target.totals.payload_bytes = view.sizes
    if detail == wire.WORKFLOW_VIEW_BASIC:
        return
    with_payloads = detail == wire.WORKFLOW_VIEW_FULL
    _steps(target, view, with_payloads)
    if len(target.steps) * limits.FAILURE_MESSAGE > limits.FAILURES_TOLD:
        _shorten(target)
    if with_payloads:
        _payloads(target, view.workflow)


def _shorten(target: wire.Workflow) -> None:
    failures = [step.failure for step in target.steps if step.HasField("failure")]
    texts = [failure.message.encode() for failure in failures]
    if sum(map(len, texts)) > limits.FAILURES_TOLD:
        share = limits.FAILURES_TOLD // len(texts)
        for failure, text in zip(failures, texts, strict=True):
            failure.message = text[:share].decode(errors="ignore")


def basic(target: wire.Workflow, source: Workflow, facts: Mapping[str, QueueFact] = _NO_FACTS) -> None:
    """A workflow's own fields without payloads and steps. `facts`: about the queues that its steps wait in."""
    values.ref(target.workflow, source.key, source.round)
    target.run_id = source.run_id
    target.fence = source.fence
    target.state = workflow_state(source.state)
    target.definition_fingerprint = source.fingerprint
    target.policy_revision = source.policy_revision
    target.priority = source.priority
    target.fairness_key = source.fairness_key
    target.schedule_id = source.schedule_id
    target.etag = etag_of(source)
    target.archived = source.archived
    if source.paused is not None:
        target.pause.actor, target.pause.reason = source.paused.actor, source.paused.reason
        values.time(target.pause.pause_time, source.paused.since)
    target.last_change_seq = source.event_seq
    target.traceparent = format_traceparent(source.trace, source.trace.root_span_id)
    target.failed_step = source.failed_step
    if source.labels:
        target.labels.update(source.labels)
    if source.parent is not None:
        values.parent(target.parent, source.key.namespace, source.parent)
    if source.failure is not None:
        values.failure(target.failure, source.failure, with_payloads=False)
    _times(target, source)
    _cancel(target, source)
    _pending_signals(target, source)
    _totals(target, source)
    found = workflow_phase(source, facts)
    if found is not None:
        target.phase, target.phase_reason = found.phase, found.reason
        values.time(target.phase_since_time, found.since)


def started(target: service.StartWorkflowResponse, answer: Started) -> None:
    """The answer to a start."""
    source = answer.workflow
    values.ref(target.workflow, source.key, source.round)
    target.created = answer.created
    target.run_id = source.run_id
    target.fence = source.fence
    target.state = workflow_state(source.state)
    target.definition_fingerprint = source.fingerprint
    values.time(target.start_time, source.start_time)
    if answer.superseded is not None:
        values.ref(target.superseded, answer.superseded.key, answer.superseded.round)


def start_failed(target: service.StartWorkflowResult, status: Status) -> None:
    """One of several starts was refused."""
    target.status.CopyFrom(status)


def signalled(answer: Signalled) -> service.SignalResponse:
    """The answer to a signal."""
    response = service.SignalResponse(fence=answer.workflow.fence, duplicate=answer.duplicate, consumed=answer.consumed)
    values.ref(response.workflow, answer.workflow.key, answer.workflow.round)
    return response


def cancelled(answer: CancelAccepted) -> service.CancelWorkflowResponse:
    """The answer to a cancel."""
    source = answer.workflow
    response = service.CancelWorkflowResponse(state=workflow_state(source.state), duplicate=answer.duplicate, fence=source.fence)
    values.ref(response.workflow, source.key, source.round)
    return response


def result(view: View) -> service.WaitForResultResponse:
    """The end, or that there is none yet."""
    source = view.workflow
    response = service.WaitForResultResponse(done=source.is_ended, state=workflow_state(source.state), fence=source.fence)
    values.ref(response.workflow, source.key, source.round)
    if not source.is_ended:
        return response
    if source.state is WorkflowState.COMPLETED and source.output is not None:
        values.payload(response.output, source.output)
    if source.state is WorkflowState.FAILED and source.failure is not None:
        values.failure(response.failure, source.failure)
        response.failed_step = source.failed_step
    response.reason = source.cancel_reason
    return response


def hook_kind(kind: HookKind) -> wire.HookKind.ValueType:
    """A hook's kind as the wire numbers it."""
    return _HOOKS[kind]


def step_of(target: wire.StepView, view: View, name: str, with_payloads: bool = False) -> None:
    """One step of one workflow, with what its definition, its workflow and its queue say of it."""
    source, definition = view.workflow, view.definition
    plan, own = definition.by_name[name], source.steps.get(name, _BLOCKED)
    step(target, own, plan, with_payloads)
    hook = definition.hook_steps.get(name)
    if hook is not None:
        target.hook = hook_kind(hook[0])
    if plan.by_worker:
        target.queue = queue_of(source, plan)
    if own.state is StepState.BLOCKED:
        return
    found = step_phase(own, source.paused, step_facts(view.facts).get(name))
    if found is not None:
        target.phase, target.phase_reason = found.phase, found.reason
        values.time(target.phase_since_time, found.since)
    due = step_next_time(own, source)
    if due is not None:
        values.time(target.next_time, due)


def step_next_time(source: Step, workflow: Workflow) -> int | None:
    """When time itself moves this step; None while that waits for the end of a pause."""
    return step_due(source, workflow.paused is not None)


def step(target: wire.StepView, source: Step, plan: StepDefinition, with_payloads: bool) -> None:
    """What a step says of itself."""
    target.name = plan.name
    target.kind = _KINDS[plan.kind]
    target.state = step_state(source.state)
    target.generation = source.generation
    target.totals.attempts = source.total_attempts + source.attempt
    if source.state is StepState.BLOCKED:
        return
    target.attempt = source.attempt
    target.claim_no = source.claim_no
    if source.claim is not None:
        target.worker_id = source.claim.worker_id
    target.cancel_requested = source.state is StepState.CANCELLING
    target.chosen_branches.extend(source.chosen)
    target.compensates = source.compensates
    target.totals.lost_claims = source.lost_claims
    target.totals.waits = source.waits
    target.totals.releases = source.releases
    target.totals.undelivered = source.undelivered
    target.totals.permit_waits = source.permit_waits
    if source.permit_wait_time:
        values.duration(target.totals.permit_wait_duration, source.permit_wait_time)
    if source.last_frame_seq is not None:
        target.last_frame_seq = source.last_frame_seq
    if source.failure is not None:
        values.failure(target.failure, source.failure, with_payloads)
    if source.state is StepState.WAITING and source.wait:
        values.open_wait(target.wait, source.wait)
    if source.children is not None:
        values.map_progress(target.map, source.children)
    for woken in source.wakes:
        values.wake(target.wakes.add(), woken, with_payloads)
    _step_times(target, source)
    if with_payloads and source.output is not None:
        values.payload(target.output, source.output)
    if with_payloads and source.checkpoint is not None:
        values.payload(target.checkpoint, source.checkpoint)


def _steps(target: wire.Workflow, view: View, with_payloads: bool) -> None:
    for plan in view.definition.steps:
        step_of(target.steps.add(), view, plan.name, with_payloads)


def _payloads(target: wire.Workflow, source: Workflow) -> None:
    if source.input is not None:
        values.payload(target.input, source.input)
    if source.output is not None:
        values.payload(target.output, source.output)
    if source.failure is not None and source.failure.details is not None:
        values.payload(target.failure.details, source.failure.details)


def _times(target: wire.Workflow, source: Workflow) -> None:
    values.time(target.start_time, source.start_time)
    if source.start_at is not None:
        values.time(target.start_at, source.start_at)
    values.time(target.update_time, source.update_time)
    if source.end_time is not None:
        values.time(target.end_time, source.end_time)
    if source.expire_time is not None:
        values.time(target.expire_time, source.expire_time)
    wakes = next_wake(source)
    if wakes is not None:
        values.time(target.next_time, wakes)


def _cancel(target: wire.Workflow, source: Workflow) -> None:
    if source.state not in {WorkflowState.CANCELLING, WorkflowState.CANCELLED} and not source.cancel_reason:
        return
    target.cancel.reason, target.cancel.actor = source.cancel_reason, source.cancel_actor
    if source.cancel_time is not None:
        values.time(target.cancel.request_time, source.cancel_time)
    if source.grace_deadline is not None:
        values.time(target.cancel.grace_end_time, source.grace_deadline)


def _pending_signals(target: wire.Workflow, source: Workflow) -> None:
    found: dict[str, wire.PendingSignal] = {}
    for signal in source.inbox:
        pending = found.get(signal.name)
        if pending is None:
            pending = found[signal.name] = target.pending_signals.add(signal_name=signal.name)
            values.time(pending.oldest_time, signal.time)
        pending.count += 1


def _totals(target: wire.Workflow, source: Workflow) -> None:
    totals = target.totals
    totals.signals = source.signals_received
    totals.replays = source.replays
    for own in source.steps.values():
        totals.claims += own.claim_no
        totals.attempts += own.total_attempts + own.attempt
        totals.lost_claims += own.lost_claims
        totals.failures += own.failures


def _step_times(target: wire.StepView, source: Step) -> None:
    if source.state is StepState.READY:
        values.time(target.ready_time, source.since)
    if source.started is not None:
        values.time(target.start_time, source.started)
    if source.ended is not None:
        values.time(target.end_time, source.ended)

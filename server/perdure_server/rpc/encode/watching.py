"""What watchers are told."""

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from perdure.v1 import watch_pb2 as wire
from perdure.v1 import workflow_pb2
from perdure.v1.workflow_service_pb2 import WatchResponse
from perdure_server.engine.values import (
    ChangeItem,
    EndItem,
    FrameItem,
    FramesResetItem,
    GapItem,
    KeepAliveItem,
    SnapshotItem,
    WatchItem,
)
from perdure_server.kernel.children import PROGRESS
from perdure_server.kernel.transitions import WorkflowEvent
from perdure_server.kernel.values import Failure
from perdure_server.kernel.workflow import Event, Step, StepState, Workflow, WorkflowState
from perdure_server.rpc.encode import values, workflows

# How much the watcher wants to see.
Detail: TypeAlias = "workflow_pb2.WorkflowView.ValueType"


def response(items: Iterable[WatchItem], detail: Detail) -> WatchResponse:
    """One batch of events, in order."""
    answer = WatchResponse()
    for item in items:
        event = answer.events.add(resume_token=item.resume_token)
        _FILL[type(item)](event, item, detail)
    return answer


def _snapshot(event: wire.WatchEvent, item: SnapshotItem, detail: Detail) -> None:
    workflows.workflow(event.snapshot, item.view, detail)


def _change(event: wire.WatchEvent, item: ChangeItem, detail: Detail) -> None:
    source = item.event
    change = event.change
    change.seq = source.seq
    values.time(change.change_time, source.time)
    change.reason = source.reason
    change.round = item.view.workflow.round
    if source.failure_type:
        values.failure(change.failure, Failure(source.failure_type, source.failure_message))
    if source.last_frame_seq is not None:
        change.last_frame_seq = source.last_frame_seq
    if not source.step:
        _workflow_now(change, source, item.view.workflow)
        return
    change.step = source.step
    change.step_state = workflows.step_state(source.state)
    change.claim_no = source.claim_no
    change.attempt = source.attempt
    step = item.view.workflow.steps.get(source.step)
    if step is not None and _is_latest(source, step):
        if step.claim is not None:
            change.worker_id = step.claim.worker_id
        _step_now(change, step, item.view.workflow, detail)


def _workflow_now(change: wire.StateChange, event: Event, workflow: Workflow) -> None:
    if event.reason == "PAUSED":
        change.paused = True
        if workflow.paused is not None and workflow.paused.since == event.time:
            change.actor, change.actor_reason = workflow.paused.actor, workflow.paused.reason
    elif event.reason == "RESUMED":
        change.paused = False
    else:
        change.workflow_state = workflows.workflow_state(event.state)
        if event.state != WorkflowState.RUNNING:
            change.paused = False  # what stops or ends a workflow ends its pause, too
    if event.reason == WorkflowEvent.REPLAY.name:
        change.fence = workflow.fence


def _is_latest(event: Event, step: Step) -> bool:
    # The view is the state after the newest change of the batch: it describes this change only if the step has not moved on since.
    came = event.reason == PROGRESS or step.since == event.time
    return step.state == event.state and came and step.claim_no == event.claim_no


def _step_now(change: wire.StateChange, step: Step, workflow: Workflow, detail: Detail) -> None:
    change.generation = step.generation
    change.chosen_branches.extend(step.chosen)
    due = workflows.step_next_time(step, workflow)
    if due is not None:
        values.time(change.next_time, due)
    if step.children is not None:
        values.map_progress(change.map, step.children)
    if step.state is StepState.WAITING and step.wait:
        values.open_wait(change.wait, step.wait)
    elif step.wakes:
        change.condition = step.wakes[0].condition
        if step.wakes[0].signal_id:
            change.signal_id, change.signal_name = step.wakes[0].signal_id, step.wakes[0].signal_name
    if step.output is not None and step.output.ref is None and detail == workflow_pb2.WORKFLOW_VIEW_FULL:
        values.payload(change.output, step.output)


def _frame(event: wire.WatchEvent, item: FrameItem, _detail: Detail) -> None:
    source = item.frame
    frame = event.frame
    frame.step = source.step
    frame.claim_no = source.claim_no
    frame.seq = source.seq
    frame.kind = wire.Frame.Kind.ValueType(source.kind)
    values.time(frame.frame_time, source.time)
    if source.payload is not None:
        values.payload(frame.payload, source.payload)


def _frames_reset(event: wire.WatchEvent, item: FramesResetItem, _detail: Detail) -> None:
    event.frames_reset.step = item.step
    event.frames_reset.claim_no = item.claim_no


def _gap(event: wire.WatchEvent, item: GapItem, _detail: Detail) -> None:
    event.gap.changes = item.changes
    event.gap.frames = item.frames
    event.gap.reason = item.reason


def _keep_alive(event: wire.WatchEvent, _item: KeepAliveItem, _detail: Detail) -> None:
    event.keep_alive.SetInParent()


def _end(event: wire.WatchEvent, item: EndItem, detail: Detail) -> None:
    source = item.view.workflow
    end = event.end
    end.state = workflows.workflow_state(source.state)
    end.fence = source.fence
    end.round = source.round
    if source.end_time is not None:
        values.time(end.end_time, source.end_time)
    with_payloads = detail == workflow_pb2.WORKFLOW_VIEW_FULL
    if source.output is not None and with_payloads:
        values.payload(end.output, source.output)
    if source.failure is not None:
        values.failure(end.failure, source.failure, with_payloads)


_FILL: Final[dict[type[WatchItem], Callable[..., None]]] = {
    SnapshotItem: _snapshot,
    ChangeItem: _change,
    FrameItem: _frame,
    FramesResetItem: _frames_reset,
    GapItem: _gap,
    KeepAliveItem: _keep_alive,
    EndItem: _end,
}

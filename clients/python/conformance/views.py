"""What the library returns, as lines of the protocol."""

from collections.abc import Awaitable, Callable

from conformance.lines import Line, failure_line, present, put
from perdure import Attempt, Change, End, Event, Explanation, Frame, FramesReset, Gap, Payload, RegisteredDefinition, Snapshot, Workflow
from perdure.v1 import payload_pb2

Fetch = Callable[[payload_pb2.Payload], Awaitable[Payload]]
"""Reads a value that did not come along."""


async def whole(message: payload_pb2.Payload, fetch: Fetch | None) -> payload_pb2.Payload | Payload:
    """The value, fetched if it is a ref."""
    return await fetch(message) if fetch is not None and message.WhichOneof("data") == "ref" else message


async def workflow_line(found: Workflow, fetch: Fetch | None = None, *, values: bool = True) -> Line:
    """A workflow; without `values` neither steps nor values."""
    line: Line = {
        "namespace": found.namespace,
        "type": found.workflow_type,
        "key": found.business_key,
        "round": found.round,
        "run_id": found.run_id,
        "fence": found.fence,
        "state": found.state,
        "phase": found.phase,
        "labels": dict(found.labels),
        "definition_fingerprint": found.definition_fingerprint,
        "failed_step": found.failed_step,
    }
    line |= present(failure=failure_line(found.failure) if found.failure is not None else None)
    if not values:
        return line
    for name in ("input", "output"):
        if found.message.HasField(name):
            put(line, name, await whole(getattr(found.message, name), fetch))
    line["steps"] = {}
    for step in found.steps.values():
        told: Line = {
            "state": step.state,
            "phase": step.phase,
            "attempt": step.attempt,
            "claim_no": step.claim_no,
            "waits_for": list(step.waits_for),
        }
        told |= present(failure=failure_line(step.failure) if step.failure is not None else None)
        if step.message.HasField("output"):
            put(told, "output", await whole(step.message.output, fetch))
        line["steps"][step.name] = told
    return line


def attempt_line(attempt: Attempt) -> Line:
    """A past claim."""
    line: Line = {
        "step": attempt.step,
        "claim_no": attempt.claim_no,
        "attempt": attempt.attempt,
        "outcome": attempt.outcome,
        "charged": attempt.charged,
        "worker_id": attempt.worker_id,
    }
    return line | present(failure=failure_line(attempt.failure) if attempt.failure is not None else None)


def definition_line(found: RegisteredDefinition) -> Line:
    """A registered definition."""
    return {
        "type": found.workflow_type,
        "version": found.version,
        "fingerprint": found.fingerprint,
        "step_contracts": dict(found.step_contracts),
        "active": found.active,
        "created": found.created,
        "warnings": list(found.warnings),
    }


def explanation_line(found: Explanation) -> Line:
    """Why a workflow is where it is."""
    steps = [
        {"step": step.step, "state": step.state, "phase": step.phase, "blockers": [blocker.kind for blocker in step.blockers]}
        for step in found.steps
    ]
    return {"state": found.state, "phase": found.phase, "steps": steps}


async def event_line(event: Event, fetch: Fetch) -> Line:
    """What a watcher is told."""
    line: Line = {"kind": "unknown", "resume_token": event.resume_token}
    if isinstance(event, Snapshot):
        line |= {"kind": "snapshot", "workflow": await workflow_line(event.workflow, fetch)}
    elif isinstance(event, Change):
        line |= _change_line(event)
    elif isinstance(event, Frame):
        line |= {"kind": "frame", "step": event.step, "claim_no": event.claim_no, "seq": event.seq, "frame_kind": event.kind}
        put(line, "value", event.message.payload)
    elif isinstance(event, FramesReset):
        line |= {"kind": "frames_reset", "step": event.step, "claim_no": event.claim_no}
    elif isinstance(event, Gap):
        line |= {"kind": "gap", "changes": event.changes, "frames": event.frames, "reason": event.reason}
    elif isinstance(event, End):
        line |= {"kind": "end", "state": event.state, "round": event.round, "fence": event.fence}
        line |= present(failure=failure_line(event.failure) if event.failure is not None else None)
        if event.message.HasField("output"):
            put(line, "output", await whole(event.message.output, fetch))
    return line


def _change_line(event: Change) -> Line:
    line: Line = {
        "kind": "change",
        "seq": event.seq,
        "round": event.round,
        "reason": event.reason,
        "step": event.step,
        "attempt": event.attempt,
        "claim_no": event.claim_no,
        "worker_id": event.worker_id,
        "signal_name": event.signal_name,
        "signals": list(event.signals),
    }
    line |= present(step_state=event.step_state, workflow_state=event.workflow_state)
    return line | present(failure=failure_line(event.failure) if event.failure is not None else None)

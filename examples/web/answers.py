"""What both services say: a workflow and its events as JSON, an error as a status."""

import json
from typing import Any

from perdure import (
    AlreadyExists,
    Change,
    Conflict,
    End,
    Event,
    Frame,
    FramesReset,
    Idle,
    InvalidRequest,
    NotAllowed,
    NotFound,
    Overloaded,
    PerdureError,
    Snapshot,
    Unavailable,
    Workflow,
)

STATUS: dict[type[PerdureError], int] = {
    InvalidRequest: 400,
    NotFound: 404,
    AlreadyExists: 409,  # the key is in use, for something else
    NotAllowed: 409,
    Conflict: 409,
    Overloaded: 429,
    Unavailable: 503,
}
EVENT_STREAM = "text/event-stream"


def status_of(error: PerdureError) -> int:
    """HTTP status."""
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), 500)


def error_answer(error: PerdureError) -> dict[str, str]:
    """What the caller may know; `reason` is what programs branch on."""
    return {"reason": error.reason, "message": str(error)}


def workflow_answer(workflow: Workflow) -> dict[str, Any]:
    """What a page shows."""
    return {
        "state": workflow.state,
        "steps": {name: step.state for name, step in workflow.steps.items()},
        "waits_for": [signal for step in workflow.steps.values() for signal in step.waits_for],
        "output": workflow.output(),
    }


def event_answer(event: Event) -> str:
    """A server-sent event, whose id is what the browser sends when it reconnects; empty for what no page shows."""
    match event:
        case Snapshot():
            name, data = "state", workflow_answer(event.workflow)
        case Change():
            name, data = "change", {"step": event.step, "state": event.step_state, "waits_for": event.signals}
        case Frame():
            name, data = "progress", {"step": event.step, "value": event.value}
        case FramesReset():
            name, data = "reset", {"step": event.step}
        case End():
            name, data = "end", {"state": event.state, "output": event.output()}
        case Idle():
            return ": idle\n\n"  # a comment: a browser shows nothing, and one that has left is noticed
        case _:
            return ""
    return f"id: {event.resume_token}\nevent: {name}\ndata: {json.dumps(data)}\n\n"

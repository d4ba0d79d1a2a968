"""Instances and sessions that the store's tests write."""

import secrets
from typing import Any

from msgspec.structs import replace

from perdure_server.kernel.values import Payload, Trace
from perdure_server.kernel.workflow import Claim, Event, Step, StepState, Workflow, WorkflowKey, WorkflowState
from perdure_server.ports.store import Session

NOW = 1_800_000_000_000


def started(business_key: str = "", **changes: Any) -> Workflow:
    """A workflow of three steps whose first one is READY; a fresh key unless one is given."""
    workflow = Workflow(
        key=WorkflowKey("default", "ingest", business_key or f"key-{secrets.token_hex(6)}"),
        run_id=secrets.token_hex(12),
        round=1,
        fence=1,
        revision=1,
        state=WorkflowState.RUNNING,
        update_time=NOW,
        start_time=NOW,
        fingerprint="f" * 64,
        steps={"read": Step(StepState.READY, NOW)},
        remaining=3,
        step_count=3,
        trace=Trace("0" * 32, "1" * 16),
        input=Payload(json='{"path": "a.txt"}'),
        events=(Event(1, NOW, "", WorkflowState.RUNNING), Event(2, NOW, "read", StepState.READY)),
        event_seq=2,
    )
    return replace(workflow, **changes)


def claimed(workflow: Workflow, session_id: str = "session") -> Workflow:
    """The next revision: its first step runs."""
    claim = Claim(secrets.token_hex(8), session_id, NOW + 1, NOW + 600_000, connection_no=1)
    step = replace(workflow.steps["read"], state=StepState.RUNNING, since=NOW + 1, claim_no=1, attempt=1, claim=claim)
    return following(workflow, steps={**workflow.steps, "read": step}, ready=(), sessions=(session_id,), wake_time=NOW + 5_001)


def completed(workflow: Workflow) -> Workflow:
    """The next revision: its first step has ended, the second is READY."""
    step = replace(workflow.steps["read"], state=StepState.COMPLETED, since=NOW + 2, claim=None, output=Payload(json='{"words": 7}'))
    steps = {**workflow.steps, "read": step, "clean": Step(StepState.READY, NOW + 2)}
    return following(workflow, steps=steps, sessions=(), wake_time=None, ready=("default",), remaining=2)


def following(workflow: Workflow, **changes: Any) -> Workflow:
    """The next revision with these changes."""
    return replace(workflow, revision=workflow.revision + 1, update_time=workflow.update_time + 1, **changes)


def session(**changes: Any) -> Session:
    """An alive session with a fresh id and a lease until NOW + 30 s."""
    fresh = Session(f"session-{secrets.token_hex(6)}", "default", "worker-1", secrets.token_hex(8), 30_000, NOW + 30_000)
    return replace(fresh, **changes)

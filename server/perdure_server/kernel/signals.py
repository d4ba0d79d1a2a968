"""Signals: stored before they are acknowledged, de-duplicated, consumed once, oldest first of their name."""

from perdure_server.kernel import limits
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.progress import try_signals
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.timing import fire_due
from perdure_server.kernel.workflow import Signal, StepState


def receive(draft: Draft, signal: Signal) -> bool:
    """Accept a signal. True = stored now; False = its id was seen before. What was due before it fires first. Raises Rejection."""
    workflow = draft.workflow
    if signal.signal_id in workflow.signal_ids or any(stored.signal_id == signal.signal_id for stored in workflow.inbox):
        return False
    if workflow.is_ended:
        raise Rejection(Reason.WORKFLOW_CLOSED, "The workflow has ended; the signal was not stored.", state=workflow.state.name)
    fire_due(draft)
    if draft.state != workflow.state and draft.get("end_time", workflow.end_time) is not None:
        # A timer that was due before it ended the workflow: that end is what the caller must hear of, and it is stored by the sweep.
        raise Rejection(Reason.WORKFLOW_CLOSED, "The workflow has ended; the signal was not stored.", state=draft.state.name)
    if len(draft.get("inbox", workflow.inbox)) >= limits.INBOX_SIGNALS:
        raise Rejection(Reason.SIGNAL_INBOX_FULL, "The workflow's inbox is full.", limit=str(limits.INBOX_SIGNALS))
    deposit(draft, signal)
    waiting = [(step.since, name) for name, step in draft.active() if step.state is StepState.WAITING]
    for _, name in sorted(waiting):
        if try_signals(draft, name):
            break
    return True


def deposit(draft: Draft, signal: Signal) -> None:
    """Put a signal into the inbox and remember its id."""
    ids = draft.get("signal_ids", draft.workflow.signal_ids)
    draft.set(
        inbox=(*draft.get("inbox", draft.workflow.inbox), signal),
        signal_ids=(*ids[-(limits.SIGNAL_IDS - 1) :], signal.signal_id),
        signals_received=draft.get("signals_received", draft.workflow.signals_received) + 1,
    )

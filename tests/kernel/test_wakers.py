"""The table "who wakes what" of design/2-kernel.md, walked: whatever is open, somebody is due to look at it or can be found by an index."""

from collections.abc import Callable

import pytest

from perdure_server.kernel import limits
from perdure_server.kernel.values import RetryPolicy
from perdure_server.kernel.workflow import WorkflowState
from tests.kernel.harness import T0, Run, activity, after, on_signal, plan, waiting

W = WorkflowState
GO = on_signal("go")
Waker = tuple[int | None, int, int]  # when the sweep looks, in how many ready queues it stands, how many sessions hold a claim


def claimed(acknowledged: bool = True) -> Run:
    """`a` is RUNNING."""
    run = Run(plan(activity("a", attempt_timeout=60_000, retry=RetryPolicy(max_attempts=2, jitter=0.0)), "b"))
    run.grant("a", acknowledged=acknowledged)
    run.grant("b")
    run.complete("b")
    return run


def then(run: Run, act: Callable[[Run], object]) -> Run:
    """`run`, after that."""
    act(run)
    return run


TABLE: dict[str, tuple[Callable[[], Run], Waker]] = {
    "READY": (lambda: Run(plan("a")), (None, 1, 0)),
    "READY, with a workflow timeout": (lambda: Run(plan("a", workflow_timeout=9_000)), (T0 + 9_000, 1, 0)),
    "RUNNING, not acknowledged": (lambda: claimed(acknowledged=False), (T0 + limits.ACKNOWLEDGE_WITHIN, 0, 1)),
    "RUNNING": (claimed, (T0 + 60_000, 0, 1)),
    "BACKOFF": (lambda: then(claimed(), lambda run: run.fail("a")), (T0 + 1_000, 0, 0)),
    "READY again after a loss": (lambda: then(claimed(), lambda run: run.lose("a")), (T0 + 60_000, 1, 0)),
    "timer": (lambda: Run(plan(waiting("w", after(7_000)))), (T0 + 7_000, 0, 0)),
    "start_at": (lambda: Run(plan("a"), start_at=T0 + 8_000), (T0 + 8_000, 0, 0)),
    "signal wait": (lambda: Run(plan(waiting("w", GO))), (None, 0, 0)),
    "signal wait with a timeout": (lambda: Run(plan(waiting("w", GO, after(7_000)))), (T0 + 7_000, 0, 0)),
    "signal wait by a worker": (lambda: then(claimed(), lambda run: run.wait("a", GO, after(7_000))), (T0 + 7_000, 0, 0)),
    "CANCELLING": (lambda: then(claimed(), lambda run: run.cancel()), (T0 + limits.CANCEL_GRACE, 0, 1)),
    "FAILING": (
        lambda: then(Run(plan("a", "b")), lambda run: (run.grant("a"), run.grant("b"), run.fail("b", non_retryable=True))),
        (T0 + limits.CANCEL_GRACE, 0, 1),
    ),
    "ended": (lambda: then(claimed(), lambda run: run.complete("a")), (None, 0, 0)),
}


@pytest.mark.parametrize("what", TABLE)
def test_somebody_wakes(what: str) -> None:
    make, expected = TABLE[what]
    workflow = make().workflow
    assert (workflow.wake_time, len(workflow.ready), len(workflow.sessions)) == expected
    assert (workflow.expire_time is not None) == workflow.is_ended, "ended: the time at which it goes"


def test_a_signal_wait_is_woken_by_its_signal_only() -> None:
    run = Run(plan(waiting("w", GO)))
    run.pass_time(limits.DURATION)
    assert run.is_() is W.RUNNING
    run.signal("go")
    assert run.is_() is W.COMPLETED

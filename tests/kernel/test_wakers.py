"""The table "who wakes what" of design/2-kernel.md, walked: whatever is open, somebody is due to look at it or can be found by an index."""

from collections.abc import Callable

import pytest

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Exhaustion, Hook, Hooks, Permit
from perdure_server.kernel.permits import throttle
from perdure_server.kernel.values import RetryPolicy
from perdure_server.kernel.workflow import WorkflowState
from tests.kernel.families import made, mapped
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


def held() -> Run:
    """`a` needs a person. It is in no queue: it is only found to be counted."""
    run = Run(plan(activity("a", on_exhausted=Exhaustion.HOLD)))
    run.grant("a")
    run.fail("a", non_retryable=True)
    assert run.workflow.ready == ("H//default/note/a",)
    return looked_at(run)


def granted(run: Run) -> Run:
    """`a` is RUNNING."""
    run.grant("a")
    return run


def looked_at(run: Run, *_: object) -> Run:
    """The sweep has looked once: no early wake_time is left."""
    run.now = max(run.now, run.workflow.wake_time or 0)
    run.do(lambda draft: draft.touch())
    return run


def throttled() -> Run:
    """`a` lacks permits: its queue time stands still, and it is found by its resource."""
    run = Run(plan(activity("a", permits=(Permit("llm"),), queue_timeout=6_000)))
    run.do(lambda draft: throttle(draft, "a", "llm", "", T0))
    assert run.workflow.ready == ("P//default/llm",)
    return looked_at(run)


def hooked() -> Run:
    """One step and every hook."""
    names = ("on_success", "failure_finalizer", "cancel_finalizer", "prepare_replay")
    return Run(plan("a", *(activity(name, needs=()) for name in names), hooks=Hooks(**{name: Hook(name) for name in names})))


TABLE: dict[str, tuple[Callable[[], Run], Waker]] = {
    "READY": (lambda: Run(plan("a")), (None, 1, 0)),
    "READY, throttled": (throttled, (None, 1, 0)),
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
    "READY, with a queue timeout": (lambda: Run(plan(activity("a", queue_timeout=6_000))), (T0 + 6_000, 1, 0)),
    "RUNNING, with a step timeout": (
        lambda: then(Run(plan(activity("a", step_timeout=5_000))), lambda run: run.grant("a")),
        (T0 + 5_000, 0, 1),
    ),
    "HELD": (held, (None, 1, 0)),
    "paused": (lambda: then(Run(plan("a", waiting("w", after(7_000)))), lambda run: looked_at(run, run.pause())), (None, 1, 0)),
    "paused, RUNNING": (lambda: then(claimed(), lambda run: run.pause()), (T0 + 60_000, 1, 1)),
    "FAILING, its finalizer": (
        lambda: then(hooked(), lambda run: (run.grant("a"), run.fail("a", non_retryable=True))),
        (T0 + 600_000, 1, 0),
    ),
    "CANCELLING, its finalizer": (lambda: then(hooked(), lambda run: run.cancel()), (None, 1, 0)),
    "PREPARING_REPLAY": (lambda: then(hooked(), lambda run: (run.terminate(), run.replay())), (None, 1, 0)),
    "on_success": (lambda: then(hooked(), lambda run: run.run_through("a")), (T0 + 600_000, 1, 0)),
    "map, children to create": (lambda: mapped(3), (T0 + limits.CHILDREN_MADE_WITHIN, 0, 0)),
    "map open": (lambda: looked_at(then(mapped(3), made)), (T0 + limits.CHILDREN_AUDIT, 0, 0)),
    "map, children to close": (lambda: then(mapped(3), lambda run: run.cancel()), (T0 + limits.DUTY_RETRY_FIRST, 0, 0)),
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

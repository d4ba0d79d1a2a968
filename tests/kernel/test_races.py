"""Cancel against everything else: one end, by the table, and always an end."""

import contextlib
from collections.abc import Callable

import pytest

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Exhaustion, Hook, Hooks
from perdure_server.kernel.rejection import Rejection
from perdure_server.kernel.timing import fire_due
from perdure_server.kernel.values import RetryPolicy
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.kernel.harness import Run, activity, on_signal, plan
from tests.kernel.test_hooks import finish, hook

W = WorkflowState
S = StepState
ONCE = RetryPolicy(max_attempts=1)

ACTS: dict[str, Callable[[Run], object]] = {
    "cancel": lambda run: run.cancel(),
    "last ok": lambda run: run.complete("a"),
    "last failure": lambda run: run.fail("a", non_retryable=True),
    "step timeout": lambda run: run.do(fire_due),
    "terminate": lambda run: run.terminate(),
    "signal": lambda run: run.signal("go"),
}
FIRST = {"cancel": W.CANCELLED, "last ok": W.COMPLETED, "last failure": W.FAILED, "step timeout": W.FAILED, "terminate": W.TERMINATED}


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("second", ACTS)
def test_c40_of_two_that_race_the_first_decides_the_end(first: str, second: str) -> None:
    run = Run(plan(activity("a", step_timeout=limits.SECOND)))
    token = run.grant("a")
    ended: dict[str, bool] = {}
    for act in (first, second):
        if act == "step timeout":
            run.now += limits.SECOND
        try:
            ended[act] = bool(ACTS[act](run))
        except (Rejection, AssertionError):
            ended[act] = False
    if run.is_() is W.CANCELLING:
        run.confirm("a")
    decided = W.TERMINATED if (first, second) == ("cancel", "terminate") else FIRST[first]
    assert run.is_() is decided
    assert run.is_() is W.CANCELLED or first == "cancel" or not ended.get("cancel"), "a cancel that is answered OK ends in CANCELLED"
    with contextlib.suppress(Rejection):
        assert not run.complete("a", None, token), "late, and without effect"
    assert run.is_() is decided


CANCELLED_WHEN: dict[str, Callable[[Run], object]] = {
    "at once": lambda run: run.states(),
    "claimed by a worker that dies": lambda run: run.grant("a"),
    "not delivered": lambda run: run.grant("a", acknowledged=False),
    "backing off": lambda run: (run.grant("a"), run.fail("a")),
    "waiting": lambda run: (run.grant("a"), run.wait("a", on_signal("never"))),
    "paused": lambda run: (run.grant("a"), run.pause()),
    "held": lambda run: (run.grant("a"), run.fail("a", non_retryable=True)),
}


@pytest.mark.parametrize("when", CANCELLED_WHEN)
@pytest.mark.parametrize("twice", [False, True])
def test_c41_a_cancel_always_ends_within_lease_or_grace_and_its_finalizer(when: str, twice: bool) -> None:
    tidy = Hooks(cancel_finalizer=Hook("tidy"))
    run = Run(plan(activity("a", on_exhausted=Exhaustion.HOLD), "b: a", hook("tidy"), hooks=tidy))
    CANCELLED_WHEN[when](run)
    assert run.cancel()
    if twice:
        assert not run.cancel()
    run.pass_time(limits.CANCEL_GRACE)
    assert run.state("tidy") is S.READY
    for _ in range(3):
        run.grant("tidy")
        run.lose_session()
        run.pass_time(limits.HOUR)
    finish(run, "tidy")
    assert run.is_() is W.CANCELLED

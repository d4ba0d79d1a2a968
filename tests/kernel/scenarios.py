"""How each row of the tables comes to happen: a short story that ends with it."""

from collections.abc import Callable
from functools import partial

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Exhaustion, Hook, Hooks
from perdure_server.kernel.migration import Loss, Migration, migrate
from perdure_server.kernel.outcomes import Cancelled, Completed, Failed
from perdure_server.kernel.resolving import PassedOver, Resolution, Retried
from perdure_server.kernel.transitions import (
    StepEvent,
    WorkflowEvent,
)
from perdure_server.kernel.values import Failure, RetryPolicy
from perdure_server.kernel.workflow import STEP_ENDS, StepState, WorkflowState
from tests.kernel.child_scenarios import CHILD_SCENARIOS
from tests.kernel.harness import T0, Run, activity, after, on_signal, plan, signal, waiting

S, E = StepState, StepEvent
W, V = WorkflowState, WorkflowEvent
StepRow = tuple[StepState, StepEvent, StepState]
WorkflowRow = tuple[WorkflowState, WorkflowEvent, WorkflowState]
Row = StepRow | WorkflowRow

ONCE = RetryPolicy(max_attempts=1)
SOON = RetryPolicy(initial_interval=1, jitter=1.0)  # with the lowest dice: at once
GO = on_signal("go")


# ------------------------------------------------------------------------------------------------- how each row comes to happen


def running(retry: RetryPolicy | None = None, acknowledged: bool = True, cancelled: bool = False) -> Run:
    """A run whose step `a` is RUNNING, or CANCELLING; `z` keeps the workflow open."""
    run = Run(plan(activity("a", retry=retry or RetryPolicy()), "z: a"))
    run.grant("a", acknowledged=acknowledged)
    if cancelled:
        run.cancel()
    return run


def often(
    how: Callable[[Run], object], times: int, retry: RetryPolicy | None = None, policy: Exhaustion = Exhaustion.FAIL_WORKFLOW
) -> None:
    """Bring `a` back unused that often in a row."""
    run = Run(plan(activity("a", retry=retry or RetryPolicy(), on_exhausted=policy)))
    for _ in range(times):
        run.grant("a", acknowledged=False)
        how(run)
        run.pass_time(limits.MINUTE)


def undeliver(run: Run) -> None:
    """`a` was not delivered."""
    run.undelivered("a")


def release(run: Run) -> None:
    """`a` was given back."""
    run.release("a")


def backing_off() -> Run:
    """A run whose step `a` is in BACKOFF."""
    run = running()
    run.fail("a")
    return run


def migrated(run: Run) -> Run:
    """`a` is another step in the definition by which the run goes on, and another comes before it; all losses are accepted."""
    to = plan("first", activity("a: first", version="2"), "z: a")
    run.do(lambda draft: migrate(draft, Migration(to, {}, frozenset(Loss))))
    return run


STEP_SCENARIOS: dict[StepRow, Callable[[], object]] = {
    (S.BLOCKED, E.UNBLOCK, S.READY): lambda: Run(plan("a")),
    (S.BLOCKED, E.UNBLOCK, S.WAITING): lambda: Run(plan(waiting("w", GO))),
    (S.BLOCKED, E.DELAY, S.BACKOFF): lambda: Run(plan("a"), start_at=T0 + 1),
    (S.BLOCKED, E.CANCEL, S.CANCELLED): lambda: Run(plan("a", "b: a")).cancel(),
    (S.READY, E.GRANT, S.RUNNING): running,
    (S.READY, E.CANCEL, S.CANCELLED): lambda: Run(plan("a")).cancel(),
    (S.RUNNING, E.UNDELIVERED, S.READY): lambda: undeliver(running(acknowledged=False)),
    (S.RUNNING, E.UNDELIVERED, S.BACKOFF): lambda: often(undeliver, 4),
    (S.RUNNING, E.UNDELIVERED, S.FAILED): lambda: often(undeliver, 20, ONCE),
    (S.RUNNING, E.RELEASED, S.READY): lambda: release(running()),
    (S.RUNNING, E.RELEASED, S.BACKOFF): lambda: often(release, 4),
    (S.RUNNING, E.RELEASED, S.FAILED): lambda: often(release, 20, ONCE),
    (S.RUNNING, E.LOST, S.READY): lambda: running().lose("a"),
    (S.RUNNING, E.LOST, S.BACKOFF): lambda: hook_in(S.RUNNING).lose("tidy"),
    (S.RUNNING, E.LOST, S.FAILED): lambda: running(ONCE).lose("a"),
    (S.RUNNING, E.TIMED_OUT, S.READY): lambda: running(SOON).silence("a", dice=0.0),
    (S.RUNNING, E.TIMED_OUT, S.BACKOFF): lambda: running().pass_time(limits.ATTEMPT_TIMEOUT),
    (S.RUNNING, E.TIMED_OUT, S.FAILED): lambda: running(ONCE).pass_time(limits.ATTEMPT_TIMEOUT),
    (S.RUNNING, E.FAILED, S.READY): lambda: running().fail("a", retry_after=0),
    (S.RUNNING, E.FAILED, S.BACKOFF): lambda: running().fail("a"),
    (S.RUNNING, E.FAILED, S.FAILED): lambda: running(ONCE).fail("a"),
    (S.RUNNING, E.COMPLETED, S.COMPLETED): lambda: running().complete("a"),
    (S.RUNNING, E.WAITING, S.WAITING): lambda: running().wait("a", GO),
    (S.RUNNING, E.CANCEL, S.CANCELLING): lambda: running(cancelled=True),
    (S.RUNNING, E.CONFIRMED, S.READY): lambda: running(SOON).report("a", Cancelled(), dice=0.0),
    (S.RUNNING, E.CONFIRMED, S.BACKOFF): lambda: running().confirm("a"),
    (S.RUNNING, E.CONFIRMED, S.FAILED): lambda: running(ONCE).confirm("a"),
    (S.WAITING, E.WON, S.COMPLETED): lambda: Run(plan(waiting("w", GO)), signals=(signal("go"),)),
    (S.WAITING, E.WON, S.READY): lambda: wait_and_win(running()),
    (S.WAITING, E.CANCEL, S.CANCELLED): lambda: Run(plan(waiting("w", GO))).cancel(),
    (S.BACKOFF, E.DUE, S.READY): lambda: backing_off().pass_time(limits.MINUTE),
    (S.BACKOFF, E.DUE, S.WAITING): lambda: Run(plan(waiting("w", GO)), start_at=T0 + 1).pass_time(1),
    (S.BACKOFF, E.CANCEL, S.CANCELLED): lambda: backing_off().cancel(),
    (S.CANCELLING, E.COMPLETED, S.COMPLETED): lambda: running(cancelled=True).complete("a"),
    (S.CANCELLING, E.UNDELIVERED, S.CANCELLED): lambda: undeliver(running(acknowledged=False, cancelled=True)),
    (S.CANCELLING, E.RELEASED, S.CANCELLED): lambda: release(running(cancelled=True)),
    (S.CANCELLING, E.LOST, S.CANCELLED): lambda: running(cancelled=True).lose("a"),
    (S.CANCELLING, E.TIMED_OUT, S.CANCELLED): lambda: running(cancelled=True).silence("a"),
    (S.CANCELLING, E.FAILED, S.CANCELLED): lambda: running(cancelled=True).fail("a"),
    (S.CANCELLING, E.WAITING, S.CANCELLED): lambda: running(cancelled=True).wait("a", GO),
    (S.CANCELLING, E.CONFIRMED, S.CANCELLED): lambda: running(cancelled=True).confirm("a"),
    (S.CANCELLING, E.GRACE_OVER, S.CANCELLED): lambda: running(cancelled=True).pass_time(limits.CANCEL_GRACE),
    (S.READY, E.MIGRATED, S.BLOCKED): lambda: migrated(Run(plan("a", "z: a"))),
    (S.BACKOFF, E.MIGRATED, S.BLOCKED): lambda: migrated(backing_off()),
    (S.WAITING, E.MIGRATED, S.BLOCKED): lambda: migrated(Run(plan(waiting("a", GO), "z: a"))),
    (S.RUNNING, E.MIGRATED, S.BLOCKED): lambda: migrated(running()),
}


HOLD = Exhaustion.HOLD
DONE, BAD, PASS, RETRY = Completed(), Failed(Failure("by.hand")), PassedOver(), Retried()
TIMED: dict[StepState, dict[str, object]] = {
    S.READY: {"queue_timeout": 1_000},
    S.RUNNING: {"step_timeout": 1_000},
    S.BACKOFF: {"step_timeout": 1_000, "retry": RetryPolicy(initial_interval=60_000)},
    S.WAITING: {"step_timeout": 1_000, "step_timeout_includes_waits": True},
}


def bring(run: Run, state: StepState, name: str = "a") -> Run:
    """Bring a READY step into a state; `z` keeps the workflow open."""
    if state not in {S.READY, S.BLOCKED}:
        run.grant(name)
    match state:
        case S.BACKOFF:
            run.fail(name)
        case S.WAITING:
            run.wait(name, GO)
        case S.HELD:
            run.fail(name, non_retryable=True)
        case S.CANCELLING:
            run.cancel()
        case _:
            assert state in {S.BLOCKED, S.READY, S.RUNNING}
    return run


def stuck(state: StepState, **fields: object) -> Run:
    """A run whose step `a` is in a state."""
    return bring(Run(plan(activity("a", **fields), "z: a")), state)


def resolved(state: StepState, resolution: Resolution) -> None:
    """A person settles it in that state."""
    stuck(state, on_exhausted=HOLD).resolve("a", resolution)


def resolved_hook(state: StepState, resolution: Resolution) -> None:
    """A person settles a hook in that state."""
    hook_in(state).resolve("tidy", resolution)


def terminated(state: StepState) -> None:
    """The workflow is terminated while it is in that state."""
    stuck(state, on_exhausted=HOLD).terminate()


def exhausted(state: StepState, policy: Exhaustion) -> None:
    """Its time is used up in that state."""
    stuck(state, on_exhausted=policy, **TIMED[state]).pass_time(1_000)


def hook_in(state: StepState) -> Run:
    """A run whose cancel finalizer is in a state."""
    run = Run(plan("a", activity("tidy", needs=(), retry=ONCE), hooks=Hooks(cancel_finalizer=Hook("tidy"))))
    run.cancel()
    return bring(run, state, "tidy")


def hook_again(end: StepState) -> None:
    """A hook's turn comes again after it ended so."""
    hooks = Hooks(on_success=Hook("tell", required=False))
    run = Run(plan("a", activity("tell", needs=(), retry=ONCE), hooks=hooks))
    run.run_through("a")
    run.grant("tell")
    match end:
        case S.COMPLETED:
            run.complete("tell")
        case S.FAILED:
            run.fail("tell")
        case S.SKIPPED:
            run.resolve("tell", PASS)
        case _:
            run.terminate()
    run.replay("a")
    run.run_through("a")


def ended_in(state: StepState) -> Run:
    """An ended workflow with its step `a` in a state; `z` failed, or `a` did."""
    run = Run(plan(activity("a", on_exhausted=HOLD, compensate_with="undo"), activity("z", retry=ONCE), activity("undo", needs=())))
    run.grant("z")
    if state is S.FAILED:
        run = Run(plan(activity("a", retry=ONCE, compensate_with="undo"), activity("undo", needs=())))
        run.grant("a")
        run.fail("a")
        return run
    run.grant("a")
    match state:
        case S.COMPLETED:
            run.complete("a")
        case S.SKIPPED:
            run.fail("a", non_retryable=True)
            run.resolve("a", PASS)
        case _:
            assert state is S.CANCELLED
    run.fail("z")
    if state is S.CANCELLED:
        run.confirm("a")
    return run


def compensated(state: StepState) -> Run:
    """The same, and its effects undone."""
    run = ended_in(state)
    run.run_through("undo")
    return run


def reopened(state: StepState) -> None:
    """A replay does `a` again, which was in that state."""
    if state is S.COMPENSATED:
        compensated(S.COMPLETED).replay()
        return
    run = ended_in(state)
    run.resolve("undo", PASS)
    run.replay("a")


for _event, _act in {
    E.UNDELIVERED: lambda: often(undeliver, 20, ONCE, HOLD),
    E.RELEASED: lambda: often(release, 20, ONCE, HOLD),
    E.LOST: lambda: stuck(S.RUNNING, retry=ONCE, on_exhausted=HOLD).lose("a"),
    E.TIMED_OUT: lambda: stuck(S.RUNNING, retry=ONCE, on_exhausted=HOLD).silence("a"),
    E.FAILED: lambda: stuck(S.RUNNING, retry=ONCE, on_exhausted=HOLD).fail("a"),
    E.CONFIRMED: lambda: stuck(S.RUNNING, retry=ONCE, on_exhausted=HOLD).confirm("a"),
}.items():
    STEP_SCENARIOS[S.RUNNING, _event, S.HELD] = _act
for _state in TIMED:
    STEP_SCENARIOS[_state, E.EXHAUSTED, S.FAILED] = partial(exhausted, _state, Exhaustion.FAIL_WORKFLOW)
    STEP_SCENARIOS[_state, E.EXHAUSTED, S.HELD] = partial(exhausted, _state, HOLD)
for _target, _resolution in ((S.COMPLETED, DONE), (S.FAILED, BAD), (S.SKIPPED, PASS)):
    for _state in (S.READY, S.RUNNING):
        STEP_SCENARIOS[_state, E.RESOLVED, _target] = partial(resolved_hook, _state, _resolution)
    for _state in (S.BACKOFF, S.WAITING, S.HELD):
        STEP_SCENARIOS[_state, E.RESOLVED, _target] = partial(resolved, _state, _resolution)
for _state in (S.BACKOFF, S.WAITING, S.HELD):
    STEP_SCENARIOS[_state, E.RESOLVED, S.READY] = partial(resolved, _state, RETRY)
for _state in (S.COMPLETED, S.FAILED, S.CANCELLED, S.SKIPPED):
    STEP_SCENARIOS[_state, E.HOOK, S.READY] = partial(hook_again, _state)
    STEP_SCENARIOS[_state, E.COMPENSATED, S.COMPENSATED] = partial(compensated, _state)
for _state in STEP_ENDS:
    STEP_SCENARIOS[_state, E.REOPEN, S.BLOCKED] = partial(reopened, _state)
for _state in (S.BLOCKED, S.READY, S.RUNNING, S.WAITING, S.BACKOFF, S.CANCELLING, S.HELD):
    STEP_SCENARIOS[_state, E.TERMINATE, S.CANCELLED] = partial(terminated, _state)
STEP_SCENARIOS |= CHILD_SCENARIOS
STEP_SCENARIOS |= {
    (S.HELD, E.RESOLVED, S.WAITING): lambda: held_wait().resolve("w", RETRY),
    (S.HELD, E.CANCEL, S.CANCELLED): lambda: stuck(S.HELD, on_exhausted=HOLD).cancel(),
    (S.BLOCKED, E.SKIP, S.SKIPPED): lambda: stuck(S.BACKOFF).resolve("a", PASS),
    (S.BLOCKED, E.HOOK, S.READY): lambda: hook_in(S.READY),
}


def held_wait() -> Run:
    """A wait step that took too long, and is HELD."""
    run = Run(plan(waiting("w", GO, on_exhausted=HOLD, **TIMED[S.WAITING])))
    run.pass_time(1_000)
    return run


def preparing() -> Run:
    """A replay whose preparation is under way."""
    run = Run(plan("a", activity("ready", needs=()), hooks=Hooks(prepare_replay=Hook("ready"))))
    run.cancel()
    run.replay()
    return run


def wait_and_win(run: Run) -> None:
    """`a` waits, and its time comes."""
    run.wait("a", after(50))
    run.pass_time(50)


WORKFLOW_SCENARIOS: dict[WorkflowRow, Callable[[], object]] = {
    (W.RUNNING, V.CANCEL, W.CANCELLING): lambda: running(cancelled=True),
    (W.RUNNING, V.STEP_FAILED, W.FAILING): lambda: running(ONCE).fail("a"),
    (W.RUNNING, V.TIMED_OUT, W.FAILING): lambda: Run(plan("a", workflow_timeout=1)).pass_time(1),
    (W.RUNNING, V.LAST_STEP_ENDED, W.COMPLETED): lambda: Run(plan("a")).run_through("a"),
    (W.CANCELLING, V.QUIET, W.CANCELLED): lambda: running(cancelled=True).confirm("a"),
    (W.FAILING, V.QUIET, W.FAILED): lambda: running(ONCE).fail("a"),
    (W.PREPARING_REPLAY, V.CANCEL, W.CANCELLING): lambda: preparing().cancel(),
    (W.PREPARING_REPLAY, V.STEP_FAILED, W.FAILING): lambda: preparing().resolve("ready", BAD),
    (W.PREPARING_REPLAY, V.PREPARED, W.RUNNING): lambda: preparing().run_through("ready"),
    (W.RUNNING, V.TERMINATE, W.TERMINATED): lambda: Run(plan("a")).terminate(),
    (W.CANCELLING, V.TERMINATE, W.TERMINATED): lambda: running(cancelled=True).terminate(),
    (W.FAILING, V.TERMINATE, W.TERMINATED): lambda: undoing().terminate(),
    (W.PREPARING_REPLAY, V.TERMINATE, W.TERMINATED): lambda: preparing().terminate(),
    (W.COMPLETED, V.REPLAY, W.PREPARING_REPLAY): lambda: then_replay(lambda run: run.run_through("a")),
    (W.FAILED, V.REPLAY, W.PREPARING_REPLAY): lambda: then_replay(lambda run: (run.grant("a"), run.fail("a", non_retryable=True))),
    (W.CANCELLED, V.REPLAY, W.PREPARING_REPLAY): lambda: then_replay(lambda run: run.cancel()),
    (W.TERMINATED, V.REPLAY, W.PREPARING_REPLAY): lambda: then_replay(lambda run: run.terminate()),
}


def undoing() -> Run:
    """A workflow that is FAILING, with its compensation under way."""
    run = Run(plan(activity("a", retry=ONCE, compensate_with="undo"), activity("undo", needs=())))
    run.grant("a")
    run.fail("a")
    return run


def then_replay(end: Callable[[Run], object]) -> None:
    """A workflow that ended so is replayed."""
    run = Run(plan("a"))
    end(run)
    run.replay("a")

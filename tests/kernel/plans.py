"""Random plans and random reports, for the state machine."""

from hypothesis import strategies as st
from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Branch, Definition, Exhaustion, Hook, Hooks, Permit, StepDefinition
from perdure_server.kernel.outcomes import Cancelled, Completed, Failed, Released, Waiting
from perdure_server.kernel.values import Condition, Failure, Payload, RetryPolicy, Wait
from tests.kernel.harness import T0, activity, payload, plan, waiting

SIGNALS = ("go", "stop", "vote")
WORKERS = ("worker-1", "worker-2")
DURATIONS = (0, 1, 50, 1_000, 5_000, 60_000, limits.DAY, limits.DURATION)


@st.composite
def conditions(draw: st.DrawFn) -> tuple[Condition, ...]:
    """One to three conditions of any kind."""
    kinds = draw(st.lists(st.sampled_from(["signal", "after", "at"]), min_size=1, max_size=3))
    found = []
    for number, kind in enumerate(kinds):
        if kind == "signal":
            found.append(Condition(f"c{number}", signal=draw(st.sampled_from(SIGNALS)), count=draw(st.integers(0, 3))))
        elif kind == "after":
            found.append(Condition(f"c{number}", after=draw(st.sampled_from(DURATIONS))))
        else:
            found.append(Condition(f"c{number}", at=T0 + draw(st.integers(-10_000, 100_000))))
    return tuple(found)


@st.composite
def steps(draw: st.DrawFn, number: int) -> StepDefinition:
    """The step of that number, after any of those before it."""
    before = draw(st.lists(st.sampled_from([f"s{index}" for index in range(number)]), unique=True, max_size=3)) if number else []
    text = f"s{number}: {' '.join(before)}"
    if draw(st.integers(0, 3)) == 0:
        return waiting(text, *draw(conditions()))
    on_exhausted = draw(st.sampled_from([Exhaustion.FAIL_WORKFLOW, *Exhaustion]))
    retry = RetryPolicy(
        max_attempts=draw(st.sampled_from([None, None, 1, 2, 3, 9])),
        initial_interval=draw(st.sampled_from([1, 1_000])),
        jitter=draw(st.sampled_from([0.0, 0.2, 1.0])),
    )
    return activity(
        text,
        retry=retry,
        attempt_timeout=draw(st.sampled_from([1, 20_000, 600_000, 600_000])),
        step_timeout=draw(st.sampled_from([None, None, 1, 30_000])),
        step_timeout_includes_waits=draw(st.booleans()),
        queue_timeout=draw(st.sampled_from([None, None, None, 1, 30_000])),
        on_exhausted=on_exhausted,
        compensate_with=draw(st.sampled_from(["", "undo", "undo_too"])),
        permits=draw(st.sampled_from([(), (), (Permit("llm"),), (Permit("llm"), Permit("gpu", 2))])),
    )


@st.composite
def with_branches(draw: st.DrawFn, made: list[StepDefinition]) -> list[StepDefinition]:
    """The same steps, some of them choosing among those that depend on them."""
    found = []
    for step in made:
        targets = [other.name for other in made if step.name in other.depends_on]
        if not targets or draw(st.integers(0, 2)):
            found.append(step)
            continue
        cut = draw(st.integers(1, len(targets)))
        branches = tuple(Branch(name, steps) for name, steps in (("left", tuple(targets[:cut])), ("right", tuple(targets[cut:]))) if steps)
        names = tuple(branch.name for branch in branches)
        wait = step.wait
        if wait is not None:
            wait = Wait(tuple(replace(each, choose=tuple(draw(st.sets(st.sampled_from(names))))) for each in wait.any_of))
        found.append(replace(step, branches=branches, wait=wait))
    return found


HOOK_RETRY = RetryPolicy(max_attempts=2, initial_interval=1, jitter=0.0)


@st.composite
def hooks_of(draw: st.DrawFn, made: list[StepDefinition]) -> tuple[list[StepDefinition], Hooks]:
    """The hook steps that the plan needs, and some that it does not."""
    hooks = {}
    for field in ("on_success", "failure_finalizer", "cancel_finalizer", "prepare_replay"):
        if draw(st.integers(0, 2)) == 0:
            hooks[field] = Hook(field, required=draw(st.booleans()))
    names = sorted({step.compensate_with for step in made} - {""}) + sorted(hooks)
    timed = {"step_timeout": 30_000, "queue_timeout": 30_000} if draw(st.booleans()) else {}
    return [activity(name, needs=(), retry=HOOK_RETRY, **timed) for name in names], Hooks(**hooks)


@st.composite
def definitions(draw: st.DrawFn) -> Definition:
    """Any valid plan of up to six steps."""
    size = draw(st.integers(1, 6))
    made = draw(with_branches([draw(steps(number)) for number in range(size)]))
    hook_steps, hooks = draw(hooks_of(made))
    return plan(
        *made,
        *hook_steps,
        hooks=hooks,
        workflow_timeout=draw(st.sampled_from([None] * 6 + [1, 30_000, limits.DAY])),
        cancel_grace=draw(st.sampled_from([0, 1, 5_000])),
        max_lost_claims=draw(st.sampled_from([1, 3, 5, 5])),
        output_step=draw(st.sampled_from(["", "s0"])),
    )


REQUESTS = st.sampled_from(["", "", "", "p1", "p2"])
DICE = st.sampled_from([0.0, 0.5, 0.999])
VALUES = st.none() | st.integers(0, 3)
STARTS = st.sampled_from([None, None, None, T0 - 1, T0 + 1, T0 + 10_000])
RIDING = st.lists(st.sampled_from(SIGNALS), max_size=3)
SELDOM = st.sampled_from([False] * 5 + [True])
OUTCOMES = st.one_of(
    st.builds(Completed, VALUES.map(lambda value: None if value is None else payload(value))),
    st.builds(
        Failed,
        st.builds(
            Failure,
            st.just("boom"),
            details=VALUES.map(payload),
            non_retryable=SELDOM,
            retry_after=st.sampled_from([None, None, 0, 7, 10**18]),
        ),
    ),
    st.builds(Waiting, st.builds(Wait, conditions()), keep_checkpoint=st.booleans()),
    st.builds(Released, st.none() | st.just(Payload(json="1"))),
    st.just(Cancelled()),
)

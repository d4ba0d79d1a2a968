"""Random plans, and what their activities do."""

import random
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from perdure_server.engine.values import GrantedClaim
from perdure_server.kernel import limits
from perdure_server.kernel.child_state import ParentClose
from perdure_server.kernel.definition import (
    INPUT,
    Branch,
    ChildPlan,
    Definition,
    Exhaustion,
    Hook,
    Hooks,
    Join,
    StepDefinition,
    StepKind,
)
from perdure_server.kernel.outcomes import Cancelled, Completed, Failed, Outcome, Released, Waiting
from perdure_server.kernel.values import Condition, Failure, RetryPolicy, Wait
from tests.kernel.harness import activity, payload, plan, waiting
from tests.simulation.permits import needed

if TYPE_CHECKING:
    from tests.simulation.world import Simulation

SIGNALS = ("go", "stop")
CHILD = "child"
HOOK_RETRY = RetryPolicy(max_attempts=2, initial_interval=100, max_interval=1_000)


def random_plan(source: random.Random, version: str) -> Definition:
    """Up to five steps in any order of dependence, sometimes with hooks and compensations.

    `version` makes contracts of its own: by the fingerprint of another it would only bring that one other policies.
    """
    size = source.choice((1, 2, 3, 3, 4, 5))
    steps = [_step(source, number) for number in range(size)]
    if source.random() < 0.3:
        steps = [_branching(source, step, steps) for step in steps]
    names = {step.compensate_with for step in steps} - {""}
    hooks = {}
    for field in ("on_success", "failure_finalizer", "cancel_finalizer", "prepare_replay"):
        if source.random() < 0.2:
            hooks[field] = Hook(field, required=source.random() < 0.5)
    steps += [activity(name, needs=(), retry=HOOK_RETRY) for name in [*sorted(names), *hooks]]
    return plan(
        *(replace(step, version=version) for step in steps),
        hooks=Hooks(**hooks),
        workflow_timeout=source.choice((None, None, None, None, 15_000)),
        cancel_grace=source.choice((0, 1_000, 3_000)),
        max_lost_claims=source.choice((1, 5, 50)),
    )


def _step(source: random.Random, number: int) -> StepDefinition:
    before = [f"s{index}" for index in range(number)]
    text = f"s{number}: {' '.join(sorted(source.sample(before, min(len(before), source.choice((0, 1, 1, 2))))))}"
    kind = source.random()
    if kind < 0.2:
        return waiting(text, *conditions(source))
    if kind < 0.3:
        return _with_children(source, text)
    retry = RetryPolicy(
        max_attempts=source.choice((None, 1, 2, 3, 3)), initial_interval=source.choice((1, 500)), max_interval=2_000, jitter=0.2
    )
    return activity(
        text,
        retry=retry,
        attempt_timeout=source.choice((1_000, 8_000, limits.ATTEMPT_TIMEOUT)),
        step_timeout=source.choice((None, None, None, 10_000)),
        step_timeout_includes_waits=source.random() < 0.5,
        queue_timeout=source.choice((None, None, None, 5_000)),
        silence_timeout=source.choice((None, None, None, 35_000)),
        on_exhausted=source.choice((Exhaustion.FAIL_WORKFLOW, *Exhaustion)),
        compensate_with=source.choice(("", "", "", "undo")),
        permits=needed(source),
    )


def _with_children(source: random.Random, text: str) -> StepDefinition:
    is_map = source.random() < 0.7
    return activity(
        text,
        kind=StepKind.MAP if is_map else StepKind.CHILD,
        child=ChildPlan(CHILD, INPUT, join=source.choice((Join.ALL, Join.ANY, Join.BEST_EFFORT))) if is_map else ChildPlan(CHILD, INPUT),
        needs=(INPUT,),
        retry=RetryPolicy(max_attempts=source.choice((1, 2)), initial_interval=100),
        max_in_flight=source.choice((1, 2, 10)) if is_map else 10,
        parent_close=source.choice(tuple(ParentClose)),
        on_exhausted=source.choice((Exhaustion.FAIL_WORKFLOW, *Exhaustion)),
    )


def child_plan(source: random.Random) -> Definition:
    """What children do: one step, sometimes after a pause."""
    retry = RetryPolicy(max_attempts=source.choice((1, 3)), initial_interval=100)
    work = activity("work", retry=retry)
    if source.random() < 0.3:
        return plan(waiting("pause", Condition("timer", after=300)), activity("work: pause", retry=retry), workflow_type=CHILD)
    return plan(work, workflow_type=CHILD)


def _branching(source: random.Random, step: StepDefinition, steps: list[StepDefinition]) -> StepDefinition:
    targets = tuple(other.name for other in steps if step.name in other.depends_on)
    if not targets or step.kind is not StepKind.ACTIVITY or source.random() < 0.5:
        return step
    cut = source.randrange(1, len(targets) + 1)
    parts = (("left", targets[:cut]), ("right", targets[cut:]))
    return replace(step, branches=tuple(Branch(name, names) for name, names in parts if names))


def conditions(source: random.Random) -> tuple[Condition, ...]:
    """One or two, of signals and times."""
    signal = Condition("signal", signal=source.choice(SIGNALS), count=source.choice((1, 1, 2)))
    timer = Condition("timer", after=source.choice((0, 60, 1_500, 6_000)))
    return source.choice(((signal,), (timer,), (signal, timer), (timer, signal)))


class Effort(NamedTuple):
    """What one run of an activity costs: its time in s, frames sent with a checkpoint, and whether it goes on when told to stop."""

    duration: float
    beats: int
    stubborn: bool


class Script:
    """What activities do: anything while the weather is bad, their best once the seed wants to end."""

    def __init__(self, simulation: "Simulation") -> None:
        self._simulation = simulation
        self.benign = False
        self.blobs = ""  # what makes some payloads large

    def effort(self, claim: GrantedClaim, source: random.Random) -> Effort:
        """How long this run takes."""
        duration = source.choice((0.0, 0.0, 0.01, 0.3, 2.0) if self.benign else (0.0, 0.0, 0.01, 0.3, 2.0, 5.5, 20.0))
        beats = source.choice((0, 0, 0, 1, 3))
        return Effort(duration, beats, source.random() < 0.3)

    def outcome(self, claim: GrantedClaim, source: random.Random, *, cancelled: bool) -> Outcome:
        """How it ends."""
        if cancelled and source.random() < 0.8:
            return Cancelled()
        chance = source.random()
        if not self.benign and chance < 0.15:
            return Failed(Failure("test.unlucky", non_retryable=source.random() < 0.2))
        if not self.benign and chance < 0.22:
            return Waiting(Wait(conditions(source)), payload(f"waiting{self._blob(source)}") if source.random() < 0.5 else None)
        if not self.benign and chance < 0.28:
            return Released(payload(f"released{self._blob(source)}") if source.random() < 0.5 else None)
        if not self.benign and chance < 0.30:
            return Cancelled()  # though nobody asked
        branches = [branch.name for branch in claim.plan.branches]
        chosen = tuple(name for name in branches if source.random() < 0.5) or tuple(branches[:1])
        return Completed(payload(f"{claim.plan.name} {claim.claim_no}{self._blob(source)}"), chosen)

    def _blob(self, source: random.Random) -> str:
        return self.blobs if self.blobs and source.random() < 0.6 else ""

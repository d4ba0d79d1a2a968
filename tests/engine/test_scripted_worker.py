"""Scripts play the worker of a type: through claims, leases and results, as any worker."""

from perdure_server.engine.idleness import Scope
from perdure_server.engine.rehearsal import Rehearsal
from perdure_server.engine.scripts import NeverSettled, Script, WorkerVanishes
from perdure_server.engine.service import Engine
from perdure_server.engine.shifted_clock import ShiftedClock
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Completed, Failed, Released, Waiting
from perdure_server.kernel.values import Condition, Failure, RetryPolicy, Wait
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.engine.harness import TYPE, World
from tests.engine.workers import holding
from tests.kernel.harness import activity, payload

BROKEN = Failed(Failure("test.broken", "as told"))
HOUR = limits.HOUR


class Bench:
    """A test server, and what is told of `note`."""

    def __init__(self, world: World, server: Engine) -> None:
        assert isinstance(server.clock, ShiftedClock)
        self.world = world
        self.rehearsal = Rehearsal(server, server.clock)

    async def script(self, *scripts: Script, replace: bool = False) -> int:
        return await self.rehearsal.scripts.script("default", TYPE, scripts, replace)

    async def advance(self, duration: int) -> int:
        travelling = self.world.spawn(self.rehearsal.time.advance_by(duration))
        await self.world.until(travelling.done)
        return (await travelling).fired

    async def idle(self) -> tuple[str, ...]:
        waits = self.world.spawn(self.rehearsal.idleness.wait(Scope(), 5_000))
        await self.world.until(waits.done)
        return (await waits).busy


async def bench(world: World, *steps: object, **fields: object) -> Bench:
    server = await world.server(is_test=True)
    await world.define(server, *steps, **fields)  # type: ignore[arg-type]  # plans in the kernel harness's words
    return Bench(world, server)


async def test_each_attempt_has_its_outcome(world: World) -> None:
    played = await bench(world, activity("a", retry=RetryPolicy(max_attempts=3, jitter=0)), "b: a")
    count = await played.script(
        Script(BROKEN, "a", attempt=1),
        Script(BROKEN, "a", attempt=2),
        Script(Completed(payload("third")), "a"),
        Script(Completed(payload("any"))),
    )
    assert count == 4
    await world.start(world.engines[0])
    assert await played.idle() == ()
    assert (await world.step("a")).state is StepState.BACKOFF
    assert await played.advance(10_000) == 2
    a = await world.step("a")
    assert ([error.attempt for error in a.errors], a.attempt, a.output and a.output.json) == ([1, 2], 3, '"third"')
    assert await world.completed()


async def test_the_first_that_matches_is_used_as_often_as_it_may_be(world: World) -> None:
    played = await bench(world, "a")
    await played.script(Script(Completed(payload("once")), times=1), Script(Completed(payload("k2 only")), business_key="k2"))
    await played.script(Script(Completed(payload("first")), times=1))
    outputs = []
    for key in ("k1", "k2", "k3", "k2b"):
        await world.start(world.engines[0], key)
        await world.settle()
        step = await world.step("a", key)
        outputs.append(step.output.json if step.output is not None else step.state.name)
    assert outputs == ['"first"', '"once"', "RUNNING", "RUNNING"], "nothing is told of k3 and k2b yet"
    assert await played.idle() == (), "they wait for a script: nothing moves"
    await world.advance(60_000)
    assert (await world.step("a", "k3")).claim_no == 1, "held and renewed like any claim"
    assert await played.script(Script(Completed(payload("at last"))), replace=True) == 1
    await world.settle()
    assert await world.completed("k3")


async def test_an_attempt_takes_its_time_on_the_tests_clock(world: World) -> None:
    played = await bench(world, activity("a", attempt_timeout=5 * HOUR), "b: a")
    await played.script(Script(Completed(), "a", duration=2 * HOUR), Script(Completed()))
    await world.start(world.engines[0])
    assert await played.idle() == ()
    assert (await world.step("a")).state is StepState.RUNNING
    due = await played.rehearsal.idleness.next_due(limits.TIME)
    assert due is not None
    assert 2 * HOUR - 5_000 < due - played.rehearsal.clock.now() <= 2 * HOUR
    await played.advance(HOUR)
    assert (await world.step("a")).state is StepState.RUNNING
    await played.advance(HOUR)
    assert await world.completed()


async def test_never_runs_into_its_timeout_and_lost_into_another_claim(world: World) -> None:
    retry = RetryPolicy(max_attempts=2, jitter=0)
    played = await bench(world, activity("a", attempt_timeout=HOUR, retry=retry), activity("b: a", retry=retry))
    await played.script(Script(NeverSettled(), "a", attempt=1), Script(WorkerVanishes(), "b", attempt=1), Script(Completed()))
    await world.start(world.engines[0])
    assert await played.idle() == ()
    await played.advance(HOUR + 2_000)
    await world.settle()
    assert await world.completed()
    a, b = await world.step("a"), await world.step("b")
    assert (a.errors[0].failure.type, a.attempt) == ("ATTEMPT_TIMEOUT", 2)
    assert (b.lost_claims, b.attempt) == (1, 2)


async def test_a_worker_that_vanishes_is_missed_at_once(world: World) -> None:
    played = await bench(world, "a")
    await played.script(Script(WorkerVanishes(), attempt=1), Script(Completed()))
    await world.start(world.engines[0])
    await world.settle()
    assert await world.completed()
    assert await world.reasons("a") == ["UNBLOCK", "GRANT", "LOST", "GRANT", "COMPLETED"]


async def test_waits_releases_and_cancels(world: World) -> None:
    played = await bench(world, "a", "b: a")
    wait = Wait((Condition("later", after=HOUR),))
    await played.script(
        Script(Waiting(wait, payload("task-7"), keep_checkpoint=False), "a", times=1),
        Script(Released(), "a", times=1),
        Script(Completed(), "a"),
        Script(Completed(), "b", duration=HOUR),
    )
    await world.start(world.engines[0])
    await world.settle()
    assert (await world.step("a")).checkpoint == payload("task-7")
    await played.advance(HOUR)
    a = await world.step("a")
    assert (a.state, a.waits, a.attempt) == (StepState.COMPLETED, 1, 1), "waits and releases are not charged"
    await world.engines[0].cancel(world.ref(), "enough", "")
    await world.settle()
    assert (await world.stored()).state is WorkflowState.CANCELLED, "the activity stops when it is asked to"


async def test_from_then_on_its_steps_are_run_by_scripts_alone(world: World) -> None:
    played = await bench(world, "a")
    server = world.engines[0]
    worker = await world.worker(server, script=holding, slots=5_000)
    other = await world.worker(server, script=holding, slots=5_000)
    await world.start(server, "before")
    await world.settle()
    assert len(worker.got) + len(other.got) == 1
    await played.script(Script(Completed()))
    for number in range(5):
        await world.start(server, f"k{number}")
    await world.settle()
    assert len(worker.got) + len(other.got) == 1
    assert all([await world.completed(f"k{number}") for number in range(5)])
    assert (await world.step("a", "before")).state is StepState.RUNNING, "what it holds, it keeps"


async def test_a_script_that_no_attempt_could_end_by_fails_it_by_name(world: World) -> None:
    played = await bench(world, "a")
    await played.script(Script(Completed(choose=("up",))))
    await world.start(world.engines[0])
    await world.settle()
    failure = (await world.step("a")).failure
    assert failure is not None
    assert (failure.type, "up" in failure.message) == ("SCRIPT_INVALID", True)
    assert world.engines[0].supervisor.failures == 0

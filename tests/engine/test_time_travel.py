"""Two clocks: a test moves the time of workflows; leases, acknowledgements and silence go on by the time of processes."""

from perdure_server.engine.clock import StoreClock
from perdure_server.engine.idleness import Idleness, Scope
from perdure_server.engine.rehearsal import Rehearsal
from perdure_server.engine.service import Engine
from perdure_server.engine.shifted_clock import ShiftedClock
from perdure_server.engine.time_travel import TimeTravel
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Completed
from perdure_server.kernel.values import RetryPolicy
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.engine.harness import World
from tests.engine.workers import completing, failing, holding
from tests.kernel.harness import activity, after, on_signal, waiting

HOUR, DAY = limits.HOUR, limits.DAY


def travel(server: Engine) -> tuple[TimeTravel, Idleness]:
    assert isinstance(server.clock, ShiftedClock)
    rehearsal = Rehearsal(server, server.clock)
    return rehearsal.time, rehearsal.idleness


async def test_unshifted_times_are_found_again_across_jumps() -> None:
    time = 1_000

    async def measure() -> tuple[int, int]:
        return time, 0

    def monotonic() -> int:
        return time

    store = StoreClock(measure, monotonic)
    await store.sync()
    clock = ShiftedClock(store)
    assert (clock.now(), clock.unshifted(), clock.unshifted_at(900)) == (1_000, 1_000, 900)
    assert clock.advance_to(5_000) == 4_000
    time = 1_100
    assert (clock.now(), clock.unshifted()) == (5_100, 1_100)
    assert clock.advance_to(5_050) == 0, "never back"
    assert clock.advance_to(9_100) == 4_000
    time = 1_200
    assert [clock.unshifted_at(at) for at in (999, 1_000, 3_000, 5_000, 5_050, 7_000, 9_100, 9_200)] == [
        *(999, 1_000, 1_000, 1_000),
        *(1_050, 1_100, 1_100, 1_200),
    ]


async def test_thirty_days_pass_without_a_lease_that_expires(world: World) -> None:
    server = await world.server(is_test=True)
    await world.define(server, waiting("pause", after(30 * DAY)), "b: pause")
    worker = await world.worker(server)
    await world.start(server)
    await world.settle()
    begun, unshifted = server.clock.now(), server.clock.unshifted()
    travelling = world.spawn(travel(server)[0].advance_by(30 * DAY))
    await world.until(travelling.done, within=2_000)
    assert (await travelling).fired == 1
    assert server.clock.now() - begun >= 30 * DAY
    assert server.clock.unshifted() - unshifted < limits.SECOND
    assert await world.completed()
    assert (await world.session(worker)).alive


async def test_a_claim_is_kept_through_a_jump_and_fenced_by_its_own_timeout_only(world: World) -> None:
    server = await world.server(is_test=True)
    await world.define(server, activity("a", attempt_timeout=2 * DAY))
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.advance(1_000)
    time, _ = travel(server)
    for _ in range(2):
        await world.until(world.spawn(time.advance_by(DAY - HOUR)).done)
        await world.advance(40_000)
        assert (await world.step("a")).claim_no == 1, "held and renewed"
    assert not worker.lost
    await world.until(world.spawn(time.advance_by(2 * HOUR)).done)
    await world.settle()
    assert [item.cause.name for item in worker.lost] == ["TIMED_OUT"]
    assert (await world.step("a")).errors[0].failure.type == "ATTEMPT_TIMEOUT"


async def test_an_acknowledgement_window_is_not_shifted(world: World) -> None:
    server = await world.server(is_test=True)
    await world.define(server, activity("a", attempt_timeout=2 * DAY))
    await world.worker(server, script=holding, renews=False)
    await world.start(server)
    await world.settle()
    await world.until(world.spawn(travel(server)[0].advance_by(HOUR)).done)
    await world.start(server, "later")  # granted after the jump
    await world.advance(3_500)
    assert (await world.step("a")).state is StepState.RUNNING, "an hour passed for the workflow, four seconds for the worker"
    await world.advance(3_000)
    for name in ("k", "later"):
        assert (await world.reasons("a", name))[-2:] == ["UNDELIVERED", "GRANT"]


async def test_silence_is_not_shifted(world: World) -> None:
    server = await world.server(is_test=True)
    await world.define(server, activity("a", attempt_timeout=2 * DAY, silence_timeout=40_000))
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    await world.until(world.spawn(travel(server)[0].advance_by(HOUR)).done)
    await world.advance(35_000)
    assert not worker.lost
    await world.advance(6_000)
    assert (await world.step("a")).errors[0].failure.type == "SILENCE_TIMEOUT"


async def test_a_session_dies_by_unshifted_time(world: World) -> None:
    server = await world.server(is_test=True)
    await world.define(server, activity("a", attempt_timeout=2 * DAY))
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.advance(5_000)
    worker.stop()
    await world.until(world.spawn(travel(server)[0].advance_by(DAY)).done)
    await world.advance(20_000)
    assert (await world.step("a")).state is StepState.RUNNING
    await world.advance(15_000)
    assert (await world.step("a")).lost_claims == 1


async def test_what_falls_due_on_the_way_is_done_in_order(world: World) -> None:
    server = await world.server(is_test=True)
    await world.define(server, waiting("one", after(DAY)), waiting("two: one", after(DAY)), "c: two", waiting("three: c", after(DAY)))
    await world.worker(server)
    begun = (await world.start(server)).workflow.start_time
    time, _ = travel(server)
    travelling = world.spawn(time.advance_by(10 * DAY))
    await world.until(travelling.done)
    answer = await travelling
    stored = await world.stored()
    assert stored.state is WorkflowState.COMPLETED
    assert stored.end_time is not None
    assert 3 * DAY <= stored.end_time - begun < 3 * DAY + HOUR, "each wait began when the one before ended"
    assert answer.fired == 3
    assert answer.next_due is None


async def test_back_off_and_workflow_timeout(world: World) -> None:
    server = await world.server(is_test=True)
    retry = RetryPolicy(max_attempts=3, initial_interval=HOUR, max_interval=DAY, jitter=0)
    await world.define(server, activity("a", retry=retry), workflow_timeout=3 * DAY)
    worker = await world.worker(server, script=failing)
    await world.start(server)
    await world.settle()
    time, _ = travel(server)
    for expected in (HOUR, 2 * HOUR):
        travelling = world.spawn(time.advance_to_next_due())
        await world.until(travelling.done)
        assert expected - 5_000 < (await travelling).passed <= expected + 1_000
    assert (await world.stored()).state is WorkflowState.FAILED
    worker.script = holding
    await world.define(server, activity("b", attempt_timeout=10 * DAY), workflow_timeout=3 * DAY)
    await world.start(server, "timed")
    await world.settle()
    await world.until(world.spawn(time.advance_by(3 * DAY)).done)
    assert (await world.stored("timed")).state is WorkflowState.FAILING
    await world.until(world.spawn(time.advance_by(30_000)).done)
    stored = await world.stored("timed")
    assert (stored.state, stored.failure and stored.failure.type) == (WorkflowState.FAILED, "WORKFLOW_TIMEOUT")


async def test_retention_passes(world: World) -> None:
    server = await world.server(is_test=True)
    await world.define(server, "a")
    await world.worker(server)
    await world.start(server)
    await world.until(lambda: not server.claims)
    await world.until(world.spawn(travel(server)[0].advance_by(29 * DAY)).done)
    assert await world.completed()
    await world.until(world.spawn(travel(server)[0].advance_by(DAY)).done)
    assert await server.store.workflows.load(world.key().workflow_id) is None


async def test_idle_is_what_only_time_or_the_outside_can_move(world: World) -> None:
    server = await world.server(is_test=True)
    await world.define(server, "a", waiting("w: a", on_signal("go")))
    _, idleness = travel(server)
    await world.start(server)
    await world.settle()
    assert (await idleness.look(Scope())).busy == (), "no worker: nothing moves"
    assert (await idleness.look(Scope("default", ready=True))).busy == ("note/k: a READY",)
    worker = await world.worker(server, script=holding)
    await world.settle()
    quiet = world.spawn(idleness.wait(Scope(), 3_000))
    passed = await world.until(quiet.done)
    assert 3_000 <= passed < 3_200
    assert (await quiet).busy == ("note/k: a RUNNING, attempt 1 on worker-1",)
    waits = world.spawn(idleness.wait(Scope(), 3_000))
    worker.script = completing
    worker.send(worker.claim("a"), Completed())
    await world.until(waits.done, within=500)
    assert (await waits).busy == ()
    assert (await world.step("w")).state is StepState.WAITING

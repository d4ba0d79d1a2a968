"""What a worker may report besides a value: waits, failures, releases; and results that do not fit."""

from perdure_server.engine.values import ResultIn
from perdure_server.kernel.outcomes import Completed, Failed, Released, Waiting
from perdure_server.kernel.rejection import FieldViolation
from perdure_server.kernel.values import Condition, Failure, Payload, RetryPolicy, Wait
from perdure_server.kernel.workflow import StepState, WorkflowState
from perdure_server.ports.errors import CorruptDocument
from tests.engine.harness import World
from tests.engine.workers import failing, holding
from tests.kernel.harness import activity, payload

DONE = Completed(payload("done"))


async def test_a_wait_of_the_worker_holds_nothing_and_wakes(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, slots=1)
    await world.start(server)
    await world.settle()
    wait = Waiting(Wait((Condition("later", after=30_000),)), payload("cursor"))
    await worker.settle(worker.claim("a"), wait)
    step = await world.step("a")
    assert (step.state, step.claim, step.attempt) == (StepState.WAITING, None, 0)
    assert (await world.stored()).sessions == ()
    assert world.credit(server) == 1
    assert 30_000 <= await world.until(lambda: worker.held) <= 31_100
    woken = worker.claim("a")
    assert (woken.attempt, woken.checkpoint, [wake.condition for wake in woken.wakes]) == (1, payload("cursor"), ["later"])


async def test_an_impossible_wait_leaves_the_claim_and_offers_its_slot_once(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, slots=1)
    await world.start(server)
    await world.settle()
    answer = await worker.settle(worker.claim("a"), Waiting(Wait(())))
    assert isinstance(answer.error, FieldViolation)
    assert world.credit(server) == 1, "the activity is over"
    assert (await worker.settle(worker.claim("a"))).error is None
    assert world.credit(server) == 1


async def test_attempts_end(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("a", retry=RetryPolicy(max_attempts=2, initial_interval=100)), "b: a")
    worker = await world.worker(server, script=failing)
    await world.start(server)
    await world.until(lambda: len(worker.got) == 2)
    await world.settle()
    workflow = await world.stored()
    assert (workflow.state, workflow.failed_step) == (WorkflowState.FAILED, "a")
    assert workflow.failure == Failure("test.broken", "as told")
    await world.advance(10_000)
    assert len(worker.got) == 2


async def test_released_is_uncharged(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, slots=1)
    await world.start(server)
    await world.settle()
    await worker.settle(worker.claim("a"), Released())
    await world.settle()
    assert worker.claim("a").attempt == 1
    assert worker.claim("a").claim_no == 2


async def test_a_result_is_always_answered(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, slots=3)
    for name in ("k1", "k2"):
        await world.start(server, name)
    await world.settle()
    server.mailboxes.forget(world.key("k1").workflow_id)
    world.store.workflows.overwrite(world.key("k1").workflow_id, {"state": "NO_SUCH_STATE"})  # type: ignore[attr-defined]  # the memory store's
    corrupt = await worker.settle(worker.claim("a", "k1"))
    assert isinstance(corrupt.error, CorruptDocument)
    fine = await worker.settle(worker.claim("a", "k2"))
    assert fine.error is None


async def test_a_cancelled_unary_complete_is_applied_and_forgotten(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    claim = worker.claim("a")
    worker.renew()
    gate = world.faults.hold("workflows.commit")
    call = world.spawn(server.complete(ResultIn(claim.token, DONE)))
    await world.settle()
    call.cancel()
    await world.settle()
    gate.set()
    await world.settle()
    assert await world.completed()
    worker.held.clear()
    await world.advance(45_000)
    assert len(server.claims) == 0, "two renewals did not name it, and the store does not know it"
    assert call.cancelled()


async def test_two_failures_at_once_in_one_batch(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b")
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    failure = Failed(Failure("x.y", non_retryable=True))
    first = worker.send(worker.claim("a"), failure)
    second = worker.send(worker.claim("b"), failure)
    await world.settle()
    assert worker.settled[first].error is None
    assert worker.settled[second].error is None
    assert (await world.stored()).state is WorkflowState.FAILED


async def test_large_values_travel(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, script=holding)
    large = Payload(binary=b"x" * 100_000)
    await world.start(server)
    await world.settle()
    await worker.settle(worker.claim("a"), Completed(large))
    await world.settle()
    step = await world.step("a")
    assert step.output is not None
    assert step.output.ref is not None
    assert worker.claim("b").inputs["a"] == large

"""Cancel over one server and two, and everything that time ends."""

from typing import Any

import pytest

from perdure_server.engine.values import HeartbeatIn, ResultIn
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Cancelled, Completed
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import LossCause, RetryPolicy
from perdure_server.kernel.workflow import StepState, WorkflowState
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.workers import failing, holding
from tests.kernel.harness import activity, after, on_signal, payload, waiting

ONCE = RetryPolicy(max_attempts=1)


async def test_cancel_is_told_over_the_stream_and_ends_when_confirmed(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a", cancel_grace=7_000)
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    answer = await server.cancel(world.ref(), "enough", "request-1")
    await world.settle()
    assert not answer.duplicate
    assert [(c.token, c.grace, c.reason) for c in worker.cancels] == [(worker.claim("a").token, 7_000, "WORKFLOW_CANCELLED")]
    assert (await server.cancel(world.ref(), "enough", "request-1")).duplicate
    assert (await world.stored()).state is WorkflowState.CANCELLING
    await worker.settle(worker.claim("a"), Cancelled())
    assert (await world.stored()).state is WorkflowState.CANCELLED
    with pytest.raises(Rejection) as refused:
        await server.cancel(world.ref(), "again", "request-2")
    assert refused.value.reason is Reason.WORKFLOW_CLOSED


@pytest.mark.parametrize("deaf", [False, True])
async def test_cancel_on_another_server_reaches_the_worker(world: World, deaf: bool) -> None:
    here, there = await world.server(), await world.server()
    await world.define(here, "a", cancel_grace=9_000)
    worker = await world.worker(here, script=holding)
    await world.start(here)
    await world.advance(1_500)
    world.coordination.deaf = deaf
    await there.cancel(world.ref(), "elsewhere", "")
    passed = await world.until(lambda: worker.cancels)
    assert passed <= (limits.REVISION_POLL_INTERVAL if deaf else 0)
    assert (worker.cancels[0].grace, worker.cancels[0].reason) == (9_000, "WORKFLOW_CANCELLED")
    await world.advance(5_000)
    assert len(worker.cancels) == 1


async def test_cancel_in_the_heartbeats_answer(world: World) -> None:
    server, other = await world.server(), await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    claim = worker.claim("a")
    assert not (await server.heartbeat(HeartbeatIn(claim.token))).cancel_requested
    await server.cancel(world.ref(), "", "")
    number = worker.beat(claim)
    await world.settle()
    assert worker.heartbeats[number].cancel_requested
    assert (await other.heartbeat(HeartbeatIn(claim.token))).cancel_requested
    stored = await server.heartbeat(HeartbeatIn(claim.token, has_checkpoint=True, checkpoint=payload(1)))
    assert stored.cancel_requested


async def test_c68_a_cancel_whose_result_is_unknown_still_reaches_the_worker(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    world.faults.fail("workflows.commit", Moment.AFTER)
    call = world.spawn(server.cancel(world.ref(), "why", ""))
    await world.until(call.done)
    await world.settle()
    assert not (await call).duplicate
    assert len(worker.cancels) == 1


async def test_c41_grace_ends_a_worker_that_ignores_the_cancel(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", cancel_grace=10_000)
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    await server.cancel(world.ref(), "", "")
    passed = await world.until(lambda: worker.lost)
    assert 10_000 <= passed <= 11_200
    assert worker.lost[0].cause is LossCause.CANCELLED
    assert (await world.stored()).state is WorkflowState.CANCELLED
    with pytest.raises(Rejection) as late:
        await server.complete(ResultIn(worker.got[0].token, Completed()))
    assert late.value.facts["cause"] == "CANCELLED"


async def test_c41_cancel_of_what_is_not_claimed_ends_at_once(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", waiting("w", on_signal("go")), "b: a")
    await world.start(server)
    await server.cancel(world.ref(), "", "")
    assert (await world.stored()).state is WorkflowState.CANCELLED
    worker = await world.worker(server)
    await world.advance(2_000)
    assert worker.got == []


async def test_c40_cancel_and_the_last_complete_agree(world: World) -> None:
    server, other = await world.server(), await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, slots=60)
    for number in range(60):
        await world.start(server, f"k{number}")
    await world.settle()
    calls = []
    for number, claim in enumerate(list(worker.held.values())):
        engine = other if number % 3 else server
        if number % 2:
            worker.send(claim, Completed(payload(1)))
        calls.append(world.spawn(_cancel(engine, world, claim.key.business_key)))
        if not number % 2:
            worker.send(claim, Completed(payload(1)))
    await world.settle()
    for number, call in enumerate(calls):
        accepted = await call
        workflow = await world.stored(f"k{number}")
        assert workflow.state is (WorkflowState.CANCELLED if accepted else WorkflowState.COMPLETED)
        assert workflow.steps["a"].output == payload(1), "the output of a step that completes meanwhile is kept"


async def _cancel(engine: object, world: World, name: str) -> bool:
    try:
        await engine.cancel(world.ref(name), "", "")  # type: ignore[attr-defined]  # an Engine
    except Rejection:
        return False
    return True


async def test_attempt_timeout_while_the_worker_renews_and_says_nothing(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("a", attempt_timeout=20_000, retry=RetryPolicy(max_attempts=2, initial_interval=100)))
    worker = await world.worker(server, script=holding)
    await world.start(server)
    passed = await world.until(lambda: worker.lost)
    assert 20_000 <= passed <= 21_200
    assert worker.lost[0].cause is LossCause.TIMED_OUT
    await world.until(lambda: worker.held)
    assert (worker.claim("a").attempt, worker.claim("a").attempt_remaining) == (2, 20_000)
    await world.until(lambda: not worker.held)
    await world.settle()
    workflow = await world.stored()
    assert workflow.state is WorkflowState.FAILED
    assert workflow.failure is not None
    assert workflow.failure.type == "ATTEMPT_TIMEOUT"


async def test_silence_timeout_fences_what_the_session_keeps_alive(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("quiet", silence_timeout=30_000, retry=ONCE), activity("busy", silence_timeout=30_000))
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    worker.silent_for[worker.claim("busy").token] = 0
    passed = await world.until(lambda: worker.lost)
    assert 30_000 <= passed <= 31_000
    assert [item.token for item in worker.lost] == [worker.got[0].token]
    await world.advance(60_000)
    assert (await world.step("busy")).claim_no == 1
    assert (await world.stored()).steps["quiet"].failure.type == "SILENCE_TIMEOUT"  # type: ignore[union-attr]  # it failed


async def test_silence_is_judged_again_if_the_store_did_not_take_it(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("a", silence_timeout=30_000, retry=ONCE))
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.advance(29_500)
    world.faults.away = True
    await world.advance(15_000)
    world.faults.away = False
    assert await world.until(lambda: worker.lost) <= 12_000


@pytest.mark.parametrize(
    ("step", "plan_fields", "failure"),
    [
        ({"attempt_timeout": 40_000}, {}, "ATTEMPT_TIMEOUT"),
        ({"silence_timeout": 30_000}, {}, "SILENCE_TIMEOUT"),
        ({"step_timeout": 40_000}, {}, "STEP_TIMEOUT"),
        ({}, {"workflow_timeout": 40_000, "cancel_grace": 1_000}, "WORKFLOW_TIMEOUT"),
    ],
)
async def test_c29_after_any_timeout_the_late_worker_is_fenced_before_anything_follows(
    world: World, step: dict[str, Any], plan_fields: dict[str, Any], failure: str
) -> None:
    server = await world.server()
    await world.define(server, activity("a", retry=ONCE, **step), "b: a", **plan_fields)
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    (claim,) = worker.got
    await world.until(lambda: worker.lost, within=60_000)
    workflow = await world.stored()
    assert (workflow.state, workflow.failure.type) == (WorkflowState.FAILED, failure)  # type: ignore[union-attr]  # it failed
    late = await worker.settle(claim)
    assert isinstance(late.error, Rejection)
    assert late.error.reason is Reason.CLAIM_LOST
    assert await world.stored() == workflow, "it changed nothing"


async def test_queue_timeout_fails_a_step_that_nobody_takes_and_a_late_worker_gets_nothing(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("a", queue_timeout=10_000))
    await world.start(server)
    await world.advance(12_000)
    workflow = await world.stored()
    assert (workflow.state, workflow.failure.type) == (WorkflowState.FAILED, "QUEUE_TIMEOUT")  # type: ignore[union-attr]  # it failed
    worker = await world.worker(server)
    await world.advance(5_000)
    assert worker.got == []


async def test_workflow_timeout(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", workflow_timeout=12_000, cancel_grace=2_000)
    worker = await world.worker(server, script=holding)
    await world.start(server)
    passed = await world.until(lambda: worker.cancels)
    assert 12_000 <= passed <= 13_200
    assert [cancel.reason for cancel in worker.cancels] == ["WORKFLOW_FAILING"]
    passed = await world.until(lambda: worker.lost)
    assert passed <= 3_200
    workflow = await world.stored()
    assert (workflow.state, workflow.failure.type) == (WorkflowState.FAILED, "WORKFLOW_TIMEOUT")  # type: ignore[union-attr]  # it failed


async def test_a_blocked_step_times_out_with_its_workflow_and_unlocks_nothing(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a", workflow_timeout=5_000)
    await world.start(server)
    await world.advance(6_500)
    workflow = await world.stored()
    assert workflow.state is WorkflowState.FAILED
    worker = await world.worker(server)
    await world.advance(2_000)
    assert worker.got == []


async def test_c20_a_long_backoff_holds_no_claim(world: World) -> None:
    server = await world.server()
    slow = RetryPolicy(initial_interval=300_000, max_interval=300_000, jitter=0.0)
    await world.define(server, activity("a", retry=slow))
    worker = await world.worker(server, script=lambda claim: failing(claim) if claim.attempt == 1 else None)
    await world.start(server)
    await world.settle()
    assert (await world.stored()).sessions == ()
    passed = await world.until(lambda: len(worker.got) == 2, within=400_000)
    assert 300_000 <= passed <= 301_200
    assert (await world.step("a")).claim_no == 2


@pytest.mark.parametrize("days", [24.8, 24.9, 49.8, 365, 36_500])
async def test_c14_very_long_waits_do_not_fire_early(world: World, days: float) -> None:
    server = await world.server()
    await world.define(server, waiting("w", after(int(days * limits.DAY))))
    await world.start(server)
    await world.advance(10_000)
    assert (await world.step("w")).state is StepState.WAITING
    assert (await world.stored()).wake_time == world.now() - 10_000 + int(days * limits.DAY)


async def test_c18_a_thousand_timers_due_at_once_fire_once_each(world: World) -> None:
    servers = [await world.server() for _ in range(3)]
    await world.define(servers[0], waiting("w", after(5_000)))
    for number in range(1_000):
        await world.start(servers[number % 3], f"k{number}")
    assert world.writes == 1_000
    world.coordination.flush()
    await world.advance(4_900)
    writes = world.writes
    await world.advance(6_000)
    assert world.writes - writes == 1_000
    conflicts = sum(server.mailboxes.conflicts for server in servers)
    assert conflicts < 100, "the share of each server keeps them apart"
    for number in range(1_000):
        assert await world.completed(f"k{number}")

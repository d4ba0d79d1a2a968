"""What people ask of one workflow, with workers at work: pause, terminate, replay, resolve, delete; hooks and branches run by a worker."""

import asyncio

import pytest

from perdure_server.engine.people import Conditions
from perdure_server.engine.values import EndItem, GrantedClaim, Ref, SnapshotItem, etag_of
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Exhaustion, Hook, HookKind, Hooks, StepDefinition
from perdure_server.kernel.outcomes import Completed, Failed
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.resolving import PassedOver, Retried
from perdure_server.kernel.values import Failure, LossCause, RetryPolicy
from perdure_server.kernel.workflow import Paused, StepState, WorkflowState
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.workers import Script, completing, failing, holding
from tests.kernel.harness import activity, payload

ONCE = RetryPolicy(max_attempts=1)
NOW = Conditions()


def hook(name: str, **fields: object) -> StepDefinition:
    return activity(name, needs=(), **fields)


def failing_in(*steps: str) -> Script:
    """These steps fail, all others complete."""
    return lambda claim: failing(claim) if claim.plan.name in steps else completing(claim)


def names(claims: list[GrantedClaim]) -> list[str]:
    return [claim.plan.name for claim in claims]


async def test_a_pause_lets_a_worker_finish_and_grants_nothing_until_resumed(world: World) -> None:
    here, there = await world.server(), await world.server()
    await world.define(here, "a", "b: a", "c: b")
    worker = await world.worker(here, script=holding)
    await world.start(here)
    await world.settle()
    done = await there.people.pause(world.ref(), Paused(0, "kim", "a look"), Conditions("r1"))
    assert (done.duplicate, done.workflow.paused) == (False, Paused(world.now(), "kim", "a look"))
    await world.settle()
    settled = await worker.settle(worker.claim("a"))
    assert (settled.error, settled.next_claims) == (None, ())
    await world.advance(limits.MINUTE)
    assert names(worker.got) == ["a"]
    assert (await world.stored()).steps["b"].state is StepState.READY
    assert (await there.people.pause(world.ref(), Paused(0), Conditions("r1"))).duplicate
    worker.script = completing
    await there.people.resume(world.ref(), Conditions("r2"))
    await world.until(lambda: names(worker.got) == ["a", "b", "c"])
    await world.settle()
    assert await world.completed()


async def test_a_pause_whose_result_is_unknown_is_done_once(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server)
    world.faults.fail("workflows.commit", Moment.AFTER)
    call = world.spawn(server.people.pause(world.ref(), Paused(0), Conditions("r")))
    await world.until(call.done)
    assert (await world.stored()).paused is not None
    assert (await server.people.pause(world.ref(), Paused(0), Conditions("r"))).duplicate
    assert [event.reason for event in (await world.stored()).events].count("PAUSED") == 1


@pytest.mark.parametrize("away", [False, True])
async def test_terminate_fences_a_running_worker_over_its_stream(world: World, away: bool) -> None:
    here, there = await world.server(), await world.server()
    await world.define(here, "a", hook("tidy"), hooks=Hooks(cancel_finalizer=Hook("tidy")))
    worker = await world.worker(here, script=holding)
    await world.start(here)
    await world.settle()
    claim = worker.claim("a")
    world.coordination.deaf = away
    await there.people.terminate(world.ref(), "enough", NOW)
    passed = await world.until(lambda: worker.lost)
    assert passed <= (limits.REVISION_POLL_INTERVAL if away else 0)
    assert [(lost.token, lost.cause) for lost in worker.lost] == [(claim.token, LossCause.CLOSED)]
    stored = await world.stored()
    assert (stored.state, stored.steps["a"].state, "tidy" in stored.steps) == (WorkflowState.TERMINATED, StepState.CANCELLED, False)
    late = worker.send(claim, Completed())
    await world.settle()
    error = worker.settled[late].error
    assert isinstance(error, Rejection)
    assert (error.reason, error.facts["cause"]) == (Reason.CLAIM_LOST, "CLOSED")


async def test_a_replay_is_run_to_the_end_by_a_worker(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", activity("b: a", retry=ONCE), "c: b", hook("again"), hooks=Hooks(prepare_replay=Hook("again")))
    worker = await world.worker(server, script=failing_in("b"))
    await world.start(server)
    await world.settle()
    before = await world.stored()
    assert before.state is WorkflowState.FAILED
    worker.script = completing
    would = await server.people.replay(world.ref(), (), Conditions(validate_only=True))
    assert (would.reopened, (await world.stored()).revision) == (("b", "c"), before.revision)
    done = await server.people.replay(Ref(world.key(), None, before.fence), (), Conditions("r", etag_of(before)))
    assert (done.reopened, done.workflow.state) == (("b", "c"), WorkflowState.PREPARING_REPLAY)
    await world.settle()
    after = await world.stored()
    assert (after.state, after.fence > before.fence, after.replays) == (WorkflowState.COMPLETED, True, 1)
    assert names(worker.got) == ["a", "b", "again", "b", "c"]
    assert {claim.fence for claim in worker.got[2:]} == {after.fence}
    assert worker.got[2].hook is not None
    assert worker.got[2].hook.kind is HookKind.PREPARE_REPLAY
    again = await server.people.replay(Ref(world.key(), None, before.fence), (), Conditions("r", etag_of(before)))
    assert (again.duplicate, again.reopened, again.workflow.state) == (True, (), WorkflowState.COMPLETED)


async def test_of_two_replays_by_one_fence_one_happens(world: World) -> None:
    here, there = await world.server(), await world.server()
    await world.define(here, activity("a", retry=ONCE))
    worker = await world.worker(here, script=failing)
    await world.start(here)
    await world.settle()
    worker.script = holding
    named = Ref(world.key(), None, (await world.stored()).fence)
    both = await asyncio.gather(*(server.people.replay(named, (), NOW) for server in (here, there)), return_exceptions=True)
    (refused,) = (answer for answer in both if isinstance(answer, BaseException))
    assert isinstance(refused, Rejection)
    assert refused.reason is Reason.FENCED
    assert (await world.stored()).replays == 1


async def test_a_watcher_that_follows_hears_the_second_end(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("a", retry=ONCE))
    worker = await world.worker(server, script=failing)
    await world.start(server)
    await world.settle()
    ends: list[WorkflowState] = []

    async def watch() -> None:
        async for batch in server.watch(world.ref(), "", False, True):
            ends.extend(item.view.workflow.state for item in batch if isinstance(item, EndItem))

    watching = world.spawn(watch())
    await world.settle()
    worker.script = completing
    await server.people.replay(world.ref(), (), NOW)
    await world.settle()
    assert ends == [WorkflowState.FAILED, WorkflowState.COMPLETED]
    watching.cancel()


async def test_a_held_step_waits_for_a_person_and_a_worker_goes_on(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("a", retry=ONCE, on_exhausted=Exhaustion.HOLD), "b: a")
    worker = await world.worker(server, script=failing)
    await world.start(server)
    await world.settle()
    assert (await world.step("a")).state is StepState.HELD
    worker.script = completing
    await world.advance(limits.HOUR)
    assert names(worker.got) == ["a"]
    tried = await server.people.resolve(world.ref(), "a", PassedOver(), Conditions(validate_only=True))
    assert tried.workflow.steps["b"].state is StepState.SKIPPED
    await server.people.resolve(world.ref(), "a", Retried(), Conditions("r"))
    await world.settle()
    assert ((await world.completed()), names(worker.got)) == (True, ["a", "a", "b"])
    assert (await server.people.resolve(world.ref(), "a", Retried(), Conditions("r"))).duplicate


async def test_a_hook_that_does_not_succeed_is_passed_and_its_worker_fenced(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("a", retry=ONCE), hook("tidy"), hooks=Hooks(failure_finalizer=Hook("tidy")))
    worker = await world.worker(server, script=lambda claim: failing(claim) if claim.plan.name == "a" else None)
    await world.start(server)
    await world.settle()
    await server.people.resolve(world.ref(), "tidy", PassedOver(), NOW)
    await world.settle()
    assert ((await world.stored()).state, len(worker.lost)) == (WorkflowState.FAILED, 1)


async def test_of_two_verbs_of_one_write_with_the_same_etag_the_second_conflicts(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    etag = etag_of((await world.start(server)).workflow)
    calls = [world.spawn(server.people.pause(world.ref(), Paused(0, reason=str(n)), Conditions(etag=etag))) for n in range(2)]
    await world.settle()
    error = calls[1].exception()
    assert isinstance(error, Rejection)
    assert (error.reason, (await world.stored()).paused) == (Reason.REVISION_CONFLICT, calls[0].result().workflow.paused)


async def test_a_deleted_workflow_is_gone_for_watchers_of_every_server(world: World) -> None:
    here, there = await world.server(), await world.server()
    await world.define(here, "a")
    await world.worker(here)
    await world.start(here, value="x" * (limits.INLINE_PAYLOAD + 1))
    await world.settle()
    refusals: list[Reason] = []

    async def watch(server: object) -> None:
        try:
            async for batch in server.watch(world.ref(), "", False, True):  # type: ignore[attr-defined]  # an Engine
                assert any(isinstance(item, SnapshotItem | EndItem) for item in batch)
        except Rejection as error:
            refusals.append(error.reason)

    for server in (here, there):
        world.spawn(watch(server))
    await world.settle()
    ended = await world.stored()
    with pytest.raises(FieldViolation):
        await there.remove(Ref(world.key(), 1), NOW)
    await there.remove(world.ref(), Conditions(etag=etag_of(ended)))
    await world.settle()
    assert refusals == [Reason.WORKFLOW_NOT_FOUND] * 2
    assert not await world.store.payloads.get(ended.run_id, [ended.input.ref.payload_id if ended.input and ended.input.ref else ""])
    with pytest.raises(Rejection) as refused:
        await here.remove(world.ref(), NOW)
    assert refused.value.reason is Reason.WORKFLOW_NOT_FOUND
    assert (await world.start(here)).created


async def test_a_watcher_of_the_deleting_server_hears_it_at_once_without_redis(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.worker(server)
    await world.start(server)
    await world.settle()
    world.coordination.deaf = True

    async def watch() -> None:
        async for _ in server.watch(world.ref(), "", False, True):
            pass

    watching = world.spawn(watch())
    await world.settle()
    await server.remove(world.ref(), NOW)
    await world.settle()
    error = watching.exception()
    assert isinstance(error, Rejection)
    assert error.reason is Reason.WORKFLOW_NOT_FOUND


async def test_an_open_workflow_is_not_deleted(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server)
    with pytest.raises(Rejection) as refused:
        await server.remove(world.ref(), NOW)
    assert refused.value.reason is Reason.WORKFLOW_NOT_CLOSED


async def test_an_explanation_needs_no_redis(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    for number in range(3):
        await world.start(server, f"k{number}")
    await world.settle()
    facts = (await server.explain(world.ref("k0"))).steps
    assert [(fact.plan.name, fact.open_dependencies) for fact in facts] == [("a", ()), ("b", (("a", StepState.READY),))]
    assert facts[0].queue is not None
    assert (facts[0].queue.queue, facts[0].queue.workers) == ("default", 0)
    assert facts[0].queue.ahead in {0, 1, 2}, "ready at the same moment as two others"
    world.coordination.away = True
    facts = (await server.explain(world.ref("k0"))).steps
    assert facts[0].queue is not None
    assert facts[0].queue.ahead is None, "not known, which is no 0"
    world.coordination.away = False


async def test_a_failed_resolution_follows_the_policy(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("a", retry=ONCE, on_exhausted=Exhaustion.HOLD))
    await world.worker(server, script=failing)
    await world.start(server)
    await world.settle()
    details = payload("x" * (limits.INLINE_PAYLOAD + 1))
    done = await server.people.resolve(world.ref(), "a", Failed(Failure("by.hand", "no", details)), NOW)
    assert (done.workflow.state, done.workflow.failure and done.workflow.failure.type) == (WorkflowState.FAILED, "by.hand")
    assert done.workflow.failure is not None
    assert done.workflow.failure.details is not None
    assert done.workflow.failure.details.ref is not None

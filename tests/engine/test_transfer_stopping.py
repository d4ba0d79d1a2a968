"""Imports of workflows that are on their way to an end, or that have children: they rest, and go on to that end when resumed."""

import pytest

from perdure_server.engine.people import Conditions
from perdure_server.engine.service import Engine
from perdure_server.engine.transfer import Destination
from perdure_server.engine.values import GrantedClaim
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Hook, Hooks
from perdure_server.kernel.outcomes import Outcome
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import Paused, StepState, WorkflowState
from tests.engine.families import family, pools
from tests.engine.harness import World
from tests.engine.test_people import ONCE, hook
from tests.engine.test_transfer import exported
from tests.engine.workers import Script, Worker, completing, failing, holding
from tests.kernel.families import mapping
from tests.kernel.harness import activity

S, W = StepState, WorkflowState
HOOKS = Hooks(failure_finalizer=Hook("tidy"), cancel_finalizer=Hook("clear"), prepare_replay=Hook("look"))


async def begun(world: World) -> tuple[Engine, Worker]:
    """`a` is done and would be undone by `undo`; `b` runs; nobody of its own accord answers."""
    server = await world.server()
    steps = (activity("a", compensate_with="undo"), activity("b: a", retry=ONCE), hook("undo"), hook("tidy"), hook("clear"), hook("look"))
    await world.define(server, *steps, hooks=HOOKS)
    worker = await world.worker(server, script=only("a"), slots=10)
    await world.start(server)
    await world.settle()
    return server, worker


def only(*names: str) -> Script:
    def script(claim: GrantedClaim) -> Outcome | None:
        return completing(claim) if claim.plan.name in names else holding(claim)

    return script


async def copied(world: World, server: Engine, request_id: str = "r") -> None:
    await server.operations.transfer.take_in(await exported(world, server), Destination("default", "copy", request_id, "kim"))


async def rests(world: World, server: Engine, worker: Worker, state: WorkflowState) -> None:
    """Nothing of the copy moves, whatever the time; then it goes on to its end."""
    before = await world.stored("copy")
    assert (before.state, before.paused is not None, before.grace_deadline) == (state, True, None)
    await world.advance(2 * limits.CANCEL_GRACE)
    assert not any(claim.key.business_key == "copy" for claim in worker.got)
    assert await world.stored("copy") == before
    worker.script = completing
    await server.people.resume(world.ref("copy"), Conditions())
    await world.until(lambda: world._state("copy") not in {state, W.RUNNING})


async def test_one_that_is_cancelling_waits_for_nobody_and_runs_its_finalizer_when_resumed(world: World) -> None:
    server, worker = await begun(world)
    await server.cancel(world.ref(), "no more", "")
    await world.settle()
    assert (await world.step("b")).state is S.CANCELLING, "it was told, and its worker has not answered"
    await copied(world, server)
    assert (await world.states("copy"))["b"] == "CANCELLED"
    assert (await world.states("copy"))["clear"] == "READY"
    await rests(world, server, worker, W.CANCELLING)
    done = await world.stored("copy")
    assert (done.state, done.steps["clear"].state, done.cancel_reason) == (W.CANCELLED, S.COMPLETED, "no more")


async def test_one_that_is_failing_goes_on_with_its_compensations(world: World) -> None:
    server, worker = await begun(world)
    await worker.settle(worker.claim("b"), failing(worker.claim("b")))
    await world.settle()
    assert (await world.step("undo")).state is S.RUNNING
    await copied(world, server)
    copy = await world.stored("copy")
    assert (copy.steps["undo"].state, copy.steps["undo"].attempt, copy.steps["undo"].claim) == (S.READY, 0, None)
    await rests(world, server, worker, W.FAILING)
    done = await world.stored("copy")
    assert (done.state, done.steps["a"].state, done.steps["tidy"].state) == (W.FAILED, S.COMPENSATED, S.COMPLETED)


async def test_one_whose_replay_is_being_prepared_is_prepared_and_replayed_when_resumed(world: World) -> None:
    server, worker = await begun(world)
    worker.script = only("a", "undo", "tidy")
    await worker.settle(worker.claim("b"), failing(worker.claim("b")))
    await world.until(world.has_failed)
    await server.people.replay(world.ref(), (), Conditions())
    await world.settle()
    assert (await world.step("look")).state is S.RUNNING
    await copied(world, server)
    await rests(world, server, worker, W.PREPARING_REPLAY)
    done = await world.stored("copy")
    assert (done.state, done.replays, done.steps["b"].state) == (W.COMPLETED, 1, S.COMPLETED)


async def test_one_that_only_waited_for_a_worker_to_stop_ends_with_its_import(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    await server.cancel(world.ref(), "no more", "")
    await copied(world, server)
    made = await world.stored("copy")
    assert (made.state, made.paused, made.expire_time) == (W.CANCELLED, None, world.now() + made.retention)


async def test_children_that_are_not_yet_counted_are_counted_and_open_ones_are_refused(world: World) -> None:
    server = await family(world, mapping("m", max_in_flight=1))
    worker = await world.worker(server, pools=pools(5), script=holding)
    await world.start(server, value=[1, 2])
    await world.until(lambda: len(worker.held) == 1)
    await server.people.pause(world.ref(), Paused(0), Conditions())
    await worker.settle(next(iter(worker.held.values())))
    await world.advance(5_000)
    await copied(world, server)
    copy = await world.stored("copy")
    assert copy.steps["m"].children is not None
    assert (copy.steps["m"].children.completed, copy.steps["m"].state, copy.duties != ()) == (1, S.WAITING, True)
    await server.people.resume(world.ref("copy"), Conditions())
    await world.until(lambda: len(worker.held) == 1)
    await worker.settle(next(iter(worker.held.values())))
    await world.until(lambda: world.is_completed("copy"))
    await server.people.resume(world.ref(), Conditions())
    await world.until(lambda: len(worker.held) == 1)
    with pytest.raises(Rejection) as caught:
        await server.operations.transfer.take_in(await exported(world, server), Destination("default", "late", "r"))
    assert caught.value.reason is Reason.EXPORT_INVALID
    assert "'m' has open children" in caught.value.message

"""What is said to, and asked of, a round that is archived."""

import pytest

from perdure_server.engine.people import Conditions
from perdure_server.engine.values import GrantedClaim, Ref, ResultIn
from perdure_server.kernel.outcomes import Completed, Outcome, Waiting
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.resolving import PassedOver
from perdure_server.kernel.tokens import wake_token
from perdure_server.kernel.values import Wait
from perdure_server.kernel.workflow import StepState, WorkflowState
from tests.engine.harness import World
from tests.engine.rounds import archived, defined, reason_of, supersede
from tests.engine.workers import Worker, completing, holding
from tests.kernel.harness import on_signal, payload, signal


async def test_a_result_that_comes_again_after_the_round_was_archived_is_a_duplicate(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    claim = worker.claim("a")
    outcome = Completed(payload("done"))
    await worker.settle(claim, outcome)
    for number in range(3):
        await supersede(world, server, f"r{number}")
    again = await server.complete(ResultIn(claim.token, outcome))
    assert again.duplicate
    with pytest.raises(Rejection) as refused:
        await server.complete(ResultIn(claim.token, Completed(payload("other"))))
    assert refused.value.reason is Reason.CLAIM_ALREADY_SETTLED
    lost = next(held for held in worker.got if held.plan.name == "b")
    with pytest.raises(Rejection) as refused:
        await server.complete(ResultIn(lost.token, outcome))
    assert reason_of(refused.value) == (Reason.CLAIM_LOST, "SUPERSEDED")
    with pytest.raises(Rejection) as refused:
        await server.inspect(lost.token)
    assert reason_of(refused.value) == (Reason.CLAIM_LOST, "SUPERSEDED")


async def test_only_the_current_round_can_be_changed_but_a_finalizer_can_be_passed(world: World) -> None:
    server = await world.server()
    await defined(world, server)
    await world.start(server)
    await supersede(world, server)
    await world.settle()
    old = Ref(world.key(), round=1)
    calls = [
        server.cancel(old, "", ""),
        server.signal(old, signal("go")),
        server.people.terminate(old, "", Conditions()),
        server.people.replay(old, (), Conditions()),
    ]
    for call in calls:
        with pytest.raises(Rejection) as refused:
            await call
        assert (refused.value.reason, refused.value.facts["current_round"]) == (Reason.ROUND_ARCHIVED, "2")
    with pytest.raises(Rejection) as refused:
        await server.cancel(Ref(world.key(), round=3), "", "")
    assert refused.value.reason is Reason.WORKFLOW_NOT_FOUND
    done = await server.people.resolve(old, "tidy", PassedOver(), Conditions())
    assert (done.workflow.round, done.workflow.state) == (1, WorkflowState.CANCELLED)
    assert (await world.stored()).state is WorkflowState.RUNNING


async def test_a_callback_of_the_old_run_reaches_its_finalizer_and_never_the_new_round(world: World) -> None:
    server = await world.server()

    def script(claim: GrantedClaim) -> Outcome | None:
        waits = claim.plan.name == "tidy" and not claim.wakes
        return Waiting(Wait((on_signal("done"),)), None, True) if waits else holding(claim) if claim.plan.name == "a" else completing(claim)

    await defined(world, server)
    await world.worker(server, script=script)
    await world.start(server)
    await world.settle()
    first = await world.stored()
    await server.cancel(world.ref(), "", "")
    await world.advance(31_000)
    assert (await world.step("tidy")).state is StepState.WAITING
    token = wake_token((first.workflow_id, first.run_id, "tidy"), first.wake_secret)
    await supersede(world, server)
    await world.settle()
    assert (await archived(world, 1)).steps["tidy"].state is StepState.WAITING
    reached = await server.signal(token, signal("done"))
    assert (reached.workflow.round, reached.consumed) == (1, True)
    await world.settle()
    assert (await archived(world, 1)).state is WorkflowState.CANCELLED
    with pytest.raises(Rejection) as refused:
        await server.signal(token, signal("done again"))
    assert refused.value.reason is Reason.FENCED
    assert (await world.stored()).signals_received == 0


async def test_the_result_of_a_named_round_is_waited_for_though_it_is_superseded(world: World) -> None:
    server = await world.server()
    await defined(world, server)
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    waiting = world.spawn(server.wait_for_result(Ref(world.key(), round=1), 60_000))
    await world.settle()
    await supersede(world, server)
    await world.settle()
    again = world.spawn(server.wait_for_result(Ref(world.key(), round=1), 60_000))
    await worker.settle(_held(worker, "tidy"))
    await world.until(lambda: waiting.done() and again.done(), within=70_000)
    for task in (waiting, again):
        view = await task
        assert (view.workflow.round, view.workflow.state) == (1, WorkflowState.CANCELLED)


def _held(worker: Worker, step: str) -> GrantedClaim:
    return next(claim for claim in worker.held.values() if claim.plan.name == step)


async def test_kept_rounds_are_listed_newest_first_in_pages(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.worker(server)
    await world.start(server)
    for number in range(250):
        await world.settle()
        await supersede(world, server, f"r{number}")
    await world.settle()
    workflows = world.store.workflows
    for number in range(50, 200):
        assert await workflows.delete(await archived(world, number))
    seen: list[int] = []
    below: int | None = None
    pages = 0
    while pages == 0 or below is not None:
        found, below = await server.rounds.kept(world.key(), below, 30)
        seen += [workflow.round for workflow in found]
        pages += 1
    assert seen == [*range(251, 199, -1), *range(49, 0, -1)]
    assert pages == 4
    with pytest.raises(Rejection) as refused:
        await server.rounds.kept(world.key("other"), None, 10)
    assert refused.value.reason is Reason.WORKFLOW_NOT_FOUND

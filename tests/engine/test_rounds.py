"""New rounds of a key: what a start opens, what becomes of the round before, and whom repeats answer."""

import asyncio
import random
from typing import Any

import pytest

from perdure_server.engine.values import Ref, Started
from perdure_server.kernel.definition import Hook, Hooks
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import LossCause
from perdure_server.kernel.workflow import StepState, Workflow, WorkflowState
from tests.engine.harness import World
from tests.engine.rounds import AGAIN, SUPERSEDE, archived, defined, reason_of, supersede, superseding
from tests.engine.workers import holding
from tests.kernel.harness import activity, payload, signal


async def test_an_ended_key_begins_a_new_round_and_the_old_one_stays_readable(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server)
    first = await world.start(server, request_id="r1", value="one")
    await world.settle()
    ended = await world.stored()
    second = await world.start(server, request_id="r2", value="two", on_closed=AGAIN)
    await world.settle()
    assert (second.created, second.superseded) == (True, None)
    now = await world.stored()
    assert (now.round, now.state, now.input) == (2, WorkflowState.COMPLETED, payload("two"))
    assert now.fence > first.workflow.fence
    assert now.run_id != first.workflow.run_id
    old = await archived(world, 1)
    assert (old.run_id, old.state, old.inert, old.steps) == (first.workflow.run_id, WorkflowState.COMPLETED, False, ended.steps)
    assert old.expire_time == ended.expire_time
    assert now.duties == ()
    view = await server.get(Ref(world.key(), round=1), with_payloads=True)
    assert (view.workflow.run_id, view.workflow.archived, view.workflow.input) == (first.workflow.run_id, True, payload("one"))
    assert [(claim.round, claim.plan.name) for claim in worker.got] == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]


async def test_a_superseded_round_is_fenced_at_once_and_settles_aside_while_the_new_one_runs(world: World) -> None:
    server = await world.server()
    await defined(world, server)
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    old_claim = worker.claim("a")
    second = await supersede(world, server, value=2)
    assert second.superseded is not None
    assert (second.superseded.round, second.superseded.fence) == (1, old_claim.fence)
    await world.settle()
    assert [(item.token, item.cause) for item in worker.lost] == [(old_claim.token, LossCause.SUPERSEDED)]
    held = {(claim.round, claim.plan.name): claim for claim in worker.held.values()}
    assert sorted(held) == [(1, "tidy"), (2, "a")], "both are alive, told apart by their fences"
    assert held[2, "a"].fence > held[1, "tidy"].fence == old_claim.fence
    late = await worker.settle(old_claim)
    assert reason_of(late.error) == (Reason.CLAIM_LOST, "SUPERSEDED")
    assert (await worker.settle(held[1, "tidy"])).error is None
    assert (await archived(world, 1)).state is WorkflowState.CANCELLED
    assert (await world.stored()).state is WorkflowState.RUNNING
    await worker.settle(held[2, "a"])
    await worker.settle(worker.claim("b"))
    assert await world.completed()


async def test_the_worker_on_another_server_hears_that_its_run_is_superseded(world: World) -> None:
    here, there = await world.server(), await world.server()
    await world.define(here, "a")
    worker = await world.worker(there, script=holding)
    await world.start(here)
    await world.settle()
    await world.advance(20)
    first = worker.claim("a")
    await supersede(world, here)
    await world.advance(5_000)
    assert [(item.token, item.cause) for item in worker.lost] == [(first.token, LossCause.SUPERSEDED)]
    assert worker.claim("a").round == 2


async def test_a_start_at_and_signals_ride_along_with_a_new_round(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    await world.worker(server)
    await world.start(server)
    await world.settle()
    at = world.now() + 10_000
    second = await supersede(world, server, start_at=at, signals=(signal("go"),))
    assert [kept.name for kept in second.workflow.inbox] == ["go"]
    assert second.workflow.inbox[0].time == world.now()
    await world.advance(9_000)
    assert (await world.step("a")).state is StepState.BACKOFF
    await world.advance(3_000)
    assert await world.completed()


async def test_a_new_round_runs_by_the_definition_that_is_active_now(world: World) -> None:
    server = await world.server()
    old = await world.define(server, "a", activity("tidy", needs=()), hooks=Hooks(cancel_finalizer=Hook("tidy")))
    await world.start(server)
    new = await world.define(server, "x", "y: x")
    second = await supersede(world, server)
    worker = await world.worker(server)
    await world.advance(2_000)
    assert (second.workflow.fingerprint, (await archived(world, 1)).fingerprint) == (new.fingerprint, old.fingerprint)
    assert await world.completed()
    assert (await archived(world, 1)).state is WorkflowState.CANCELLED
    assert {(claim.round, claim.plan.name) for claim in worker.got} == {(1, "tidy"), (2, "x"), (2, "y")}


async def test_repeats_answer_their_own_round_and_never_open_another(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.worker(server)
    firsts = []
    for number in range(1, 4):
        command = world.command(value=number, request_id=f"r{number}", on_open=SUPERSEDE, on_closed=AGAIN)
        firsts.append(await server.start(command))
        await world.settle()
    for number, first in enumerate(firsts, 1):
        repeat = await world.start(server, value=number, request_id=f"r{number}", on_open=SUPERSEDE, on_closed=AGAIN)
        assert (repeat.created, repeat.workflow.round, repeat.workflow.run_id) == (False, number, first.workflow.run_id)
        with pytest.raises(Rejection) as refused:
            await world.start(server, value="other", request_id=f"r{number}", on_closed=AGAIN)
        assert refused.value.reason is Reason.START_INPUT_MISMATCH
    assert (await world.stored()).round == 3


async def test_c03_use_existing_compares_with_the_current_round(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.worker(server)
    await world.start(server, value="one")
    await world.settle()
    await world.start(server, value="two", request_id="r2", on_closed=AGAIN)
    await world.settle()
    met = await world.start(server, value="two")
    assert (met.created, met.workflow.round) == (False, 2)
    with pytest.raises(Rejection) as refused:
        await world.start(server, value="one")
    assert (refused.value.reason, refused.value.facts["round"]) == (Reason.START_INPUT_MISMATCH, "2")


async def test_an_expected_fence_lets_one_of_two_open_the_next_round(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.worker(server)
    first = await world.start(server, expected_fence=17)  # of no round: there is none
    await world.settle()
    fields: dict[str, Any] = {"on_closed": AGAIN, "expected_fence": first.workflow.fence}
    second = await world.start(server, request_id="x", **fields)
    assert second.workflow.round == 2
    with pytest.raises(Rejection) as refused:
        await world.start(server, request_id="y", **fields)
    assert (refused.value.reason, refused.value.facts["fence"]) == (Reason.FENCED, str(second.workflow.fence))
    repeat = await world.start(server, request_id="x", **fields)
    assert (repeat.created, repeat.workflow.round) == (False, 2), "a repeat has changed the fence itself"


async def test_c01_racing_starts_on_two_servers_open_their_rounds_one_after_the_other(world: World, random_source: random.Random) -> None:
    servers = [await world.server(), await world.server()]
    await defined(world, servers[0])
    workers = [await world.worker(server, script=holding, slots=100) for server in servers]
    await world.start(servers[0])
    world.faults.jitter(random_source)
    calls = [superseding(world, servers[number % 2], f"r{number // 2}", value=number // 2) for number in range(30)]
    gathering = world.spawn(_gather(calls))
    await world.until(gathering.done)
    answers = await gathering
    assert sum(answer.created for answer in answers) == 15, "each request once"
    assert sorted({answer.workflow.round for answer in answers if answer.created}) == list(range(2, 17))
    await world.advance(10_000)
    for number in range(1, 16):
        assert not (await archived(world, number)).inert
    fences = [(await archived(world, number)).fence for number in range(1, 16)] + [(await world.stored()).fence]
    assert fences == sorted(set(fences))
    current = [claim for worker in workers for claim in worker.held.values() if claim.plan.name == "a"]
    assert [claim.round for claim in current] == [16], "every claim of an earlier round is lost"


async def _gather(calls: list["asyncio.Task[Started]"]) -> list[Started]:
    return list(await asyncio.gather(*calls))


async def test_many_starts_that_supersede_one_another_open_a_round_each_in_turn(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server)
    commits: list[bool] = []
    gate = asyncio.Event()
    inner = world.store.workflows.commit

    async def commit(old: Workflow | None, new: Workflow) -> bool:
        await gate.wait()
        done = await inner(old, new)
        if old is not None and old.run_id != new.run_id:
            commits.append(done)
        return done

    monkeypatch.setattr(world.store.workflows, "commit", commit)
    starts = [superseding(world, server, f"r{number}") for number in range(50)]
    gone = superseding(world, server, "gone")
    await world.settle()
    gone.cancel()
    gate.set()
    await world.until(lambda: all(start.done() for start in starts))
    assert [start.result().created for start in starts] == [True] * 50
    assert commits.count(True) == 50, "one whose caller has left meanwhile opens none"
    assert commits.count(False) <= 50, "a race is lost to the duty of the round before, not to one another"
    assert (await world.stored()).round == 51

"""Signals: stored before they are acknowledged, consumed once, whatever the store says."""

import random

import pytest

from perdure_server.engine.service import Engine
from perdure_server.engine.values import Ref, Signalled
from perdure_server.kernel.outcomes import Completed, Waiting
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.tokens import Address, encode_token
from perdure_server.kernel.values import Wait
from perdure_server.kernel.workflow import StepState, WorkflowState
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.workers import holding
from tests.kernel.harness import after, on_signal, signal, waiting


async def test_c07_a_signal_before_its_wait_is_consumed(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a", waiting("w: b", on_signal("go"), after(60_000)))
    worker = await world.worker(server, script=holding)
    await world.start(server)
    answer = await server.signal(world.ref(), signal("go", value="early"))
    assert (answer.duplicate, answer.consumed) == (False, False)
    await worker.settle(worker.claim("a"))
    await worker.settle(worker.claim("b"))
    workflow = await world.stored()
    assert workflow.state is WorkflowState.COMPLETED
    assert workflow.inbox == ()
    assert "early" in (workflow.steps["w"].output.json or "")  # type: ignore[union-attr]  # it is completed


async def test_c07_signals_while_the_write_that_opens_the_wait_is_under_way(world: World) -> None:
    server, other = await world.server(), await world.server()
    await world.define(server, "a", waiting("w: a", on_signal("go"), after(60_000)))
    worker = await world.worker(server, script=holding, slots=20)
    for number in range(20):
        await world.start(server, f"k{number}")
    await world.settle()
    gate = world.faults.hold("workflows.commit")
    for claim in list(worker.held.values()):
        worker.send(claim, Completed())
    await world.settle()
    calls = [world.spawn((server if n % 2 else other).signal(world.ref(f"k{n}"), signal("go", f"s{n}"))) for n in range(20)]
    await world.settle()
    gate.set()
    await world.until(lambda: all(call.done() for call in calls))
    await world.settle()
    for number in range(20):
        assert await world.completed(f"k{number}"), number


async def test_c08_one_signal_is_consumed_once_by_two_waits_of_its_name(world: World) -> None:
    server, other = await world.server(), await world.server()
    await world.define(server, waiting("first", on_signal("go")), waiting("second: first", on_signal("go")))
    await world.start(server)
    world.faults.fail("workflows.commit", Moment.AFTER)
    sent = signal("go", "the-id", value=1)
    calls = [world.spawn(engine.signal(world.ref(), sent)) for engine in (server, other, server, other, server)]
    await world.until(lambda: all(call.done() for call in calls))
    answers = [await call for call in calls]
    assert all(answer.consumed for answer in answers)
    assert await world.states() == {"first": "COMPLETED", "second": "WAITING"}
    assert (await world.stored()).signals_received == 1


@pytest.mark.parametrize("moment", list(Moment))
async def test_c68_a_signal_whose_result_is_unknown(world: World, moment: Moment) -> None:
    server = await world.server()
    await world.define(server, waiting("w", on_signal("go", count=2)))
    await world.start(server)
    world.faults.fail("workflows.commit", moment)
    call = world.spawn(server.signal(world.ref(), signal("go", "one")))
    await world.until(call.done)
    assert (await call).duplicate is False
    assert (await world.stored()).signals_received == 1
    again = await server.signal(world.ref(), signal("go", "one"))
    assert again.duplicate


async def test_c10_signals_race_with_the_last_complete(world: World, random_source: random.Random) -> None:
    server, other = await world.server(), await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, slots=100)
    for number in range(100):
        await world.start(server, f"k{number}")
    await world.settle()
    world.faults.jitter(random_source)
    calls = {}
    for number, claim in enumerate(list(worker.held.values())):
        name = claim.key.business_key
        if number % 2:
            worker.send(claim, Completed())
            calls[name] = world.spawn(_try(random_source.choice((server, other)), world.ref(name), name))
        else:
            calls[name] = world.spawn(_try(random_source.choice((server, other)), world.ref(name), name))
            worker.send(claim, Completed())
    await world.until(lambda: all(call.done() for call in calls.values()))
    late = 0
    for name, call in calls.items():
        answer = await call
        workflow = await world.stored(name)
        assert workflow.state is WorkflowState.COMPLETED
        kept = any(stored.signal_id == name for stored in workflow.inbox)
        assert kept is isinstance(answer, Signalled), "OK means it is in the document, closed means that it is not"
        if isinstance(answer, Rejection):
            assert answer.reason is Reason.WORKFLOW_CLOSED
            late += 1
    assert 0 < late < 100


async def _try(engine: Engine, ref: Ref, name: str) -> Signalled | Rejection:
    try:
        return await engine.signal(ref, signal("go", name))
    except Rejection as error:
        return error


async def test_a_signal_for_nobody_is_not_found(world: World) -> None:
    server = await world.server()
    with pytest.raises(Rejection) as refused:
        await server.signal(world.ref("nobody"), signal("go"))
    assert refused.value.reason is Reason.WORKFLOW_NOT_FOUND


@pytest.mark.parametrize("size", [1, 100_000])
async def test_a_signal_for_another_round_is_refused_and_not_kept(world: World, size: int) -> None:
    here, there = await world.server(), await world.server()
    await world.define(here, "a")
    await world.start(here)
    before = await world.stored()
    others = {Reason.FENCED: Ref(world.key(), None, before.fence - 1), Reason.WORKFLOW_NOT_FOUND: Ref(world.key(), 2, None)}
    for reason, wrong in others.items():
        with pytest.raises(Rejection) as refused:
            await there.signal(wrong, signal("go", value="x" * size))
        assert refused.value.reason is reason
    assert await world.stored() == before
    assert not (await there.signal(Ref(world.key(), 1, before.fence), signal("go"))).duplicate


async def test_a_start_and_a_signal_that_come_together(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", on_signal("go")))
    early = world.spawn(server.signal(world.ref(), signal("go")))
    starting = world.spawn(world.start(server, signals=(signal("go", "with-it"),)))
    await world.settle()
    assert (await starting).created
    with pytest.raises(Rejection):
        await early
    assert await world.completed()


async def test_a_wake_token_reaches_its_run_only(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    claim = worker.claim("a")
    await worker.settle(claim, Waiting(Wait((on_signal("done"),))))
    answer = await server.signal(claim.wake_token, signal("done", value=7))
    assert answer.consumed
    await world.settle()
    woken = worker.claim("a")
    assert [(wake.condition, wake.payload.json) for wake in woken.wakes if wake.payload] == [("done", "7")]
    forged = encode_token(Address(claim.key.workflow_id, claim.run_id, "a", "00" * 14))
    with pytest.raises(Rejection) as refused:
        await server.signal(forged, signal("done"))
    assert refused.value.reason is Reason.WAKE_TOKEN_INVALID


async def test_c12_a_signal_and_its_timeout_choose_one_branch(world: World) -> None:
    server, other = await world.server(), await world.server()
    await world.define(server, waiting("w", on_signal("go"), after(1_000)))
    for number in range(40):
        await world.start(server, f"k{number}")
    calls = []
    await world.advance(980)
    for number in range(40):
        await world.advance(1)
        calls.append(world.spawn(_try(other if number % 2 else server, world.ref(f"k{number}"), f"s{number}")))
    await world.advance(3_000)
    won = {"go": 0, "timer": 0}
    for number, call in enumerate(calls):
        workflow = await world.stored(f"k{number}")
        assert workflow.state is WorkflowState.COMPLETED
        text = workflow.steps["w"].output.json or ""  # type: ignore[union-attr]  # it is completed
        answer = await call
        by_signal = isinstance(answer, Signalled) and answer.consumed
        won["go" if by_signal else "timer"] += 1
        assert ('"go"' in text) is by_signal
    assert all(won.values()), won


async def test_step_states_of_a_waiting_workflow(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", on_signal("go", count=2)))
    await world.start(server)
    first = await server.signal(world.ref(), signal("go"))
    assert not first.consumed
    assert (await world.step("w")).state is StepState.WAITING
    assert (await server.signal(world.ref(), signal("go"))).consumed
    assert await world.completed()

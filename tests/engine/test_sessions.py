"""Sessions: expiry, late results, reconnects to another server, superseded connections."""

import pytest

from perdure_server.engine.service import Engine
from perdure_server.engine.values import GoAwayOut, ResultIn
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Completed
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import LossCause
from perdure_server.kernel.workflow import StepState
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.workers import holding
from tests.kernel.harness import on_signal, payload, waiting

DONE = Completed(payload("done"))


async def test_a_dead_session_loses_what_it_had_acknowledged_and_gives_back_the_rest(world: World) -> None:
    server, other = await world.server(), await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, renews=False, slots=2)
    await world.start(server, "kept")
    await world.settle()
    worker.renew()
    await world.advance(29_000)
    worker.stop()
    await world.start(server, "fresh")  # granted to it just before the end of its lease
    await world.settle()
    assert (await world.step("a", "fresh")).state is StepState.RUNNING
    passed = await world.until(lambda: not server.claims, within=10_000)
    assert passed <= 4_500, "lease, 2 s of margin, one pass"
    kept, fresh = await world.step("a", "kept"), await world.step("a", "fresh")
    assert (kept.state, kept.attempt, kept.lost_claims) == (StepState.READY, 1, 1)
    assert (fresh.state, fresh.attempt, fresh.lost_claims) == (StepState.READY, 0, 0)
    await world.advance(limits.LOOK_AGAIN + 2_000)
    assert worker.welcome.session_id not in world.store.sessions._stored, "forgotten"  # type: ignore[attr-defined]  # the memory store's
    assert worker.stream.closed is False
    assert other.supervisor.failures == server.supervisor.failures == 0


async def test_c29_a_late_complete_is_accepted_until_the_loss_is_stored(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, script=holding, renews=False)
    for name in ("early", "late"):
        await world.start(server, name)
    await world.settle()
    worker.renew()
    await world.advance(31_500)
    early = await server.complete(ResultIn(worker.claim("a", "early").token, DONE, want_next=True))
    assert early.next_claims == (), "its lease is over: granted nothing more"
    await world.advance(3_000)
    with pytest.raises(Rejection) as refused:
        await server.complete(ResultIn(worker.got[1].token, DONE))
    assert (refused.value.reason, refused.value.facts["cause"]) == (Reason.CLAIM_LOST, "EXPIRED")
    assert (await world.step("a", "early")).state is StepState.COMPLETED
    assert (await world.step("a", "late")).state is StepState.READY


async def test_c29_complete_and_expiry_at_the_same_time_have_one_outcome(world: World) -> None:
    server, other = await world.server(), await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, renews=False, slots=40)
    for number in range(40):
        await world.start(server, f"k{number}")
    await world.settle()
    worker.renew()
    await world.settle()
    claims = list(worker.held.values())
    await world.advance(31_400)
    calls = []
    for number, claim in enumerate(claims):
        await world.advance(30)
        calls.append(world.spawn(_try(other if number % 2 else server, claim.token)))
    await world.advance(3_000)
    outcomes = {True: 0, False: 0}
    for number, call in enumerate(calls):
        accepted = await call
        step = await world.step("a", f"k{number}")
        assert step.state is (StepState.COMPLETED if accepted else StepState.READY)
        assert step.lost_claims == (0 if accepted else 1)
        outcomes[accepted] += 1
    assert all(outcomes.values()), outcomes


async def _try(engine: Engine, token: str) -> bool:
    answer = await engine.settle(ResultIn(token, DONE), None)
    if answer.error is None:
        return True
    assert isinstance(answer.error, Rejection)
    assert answer.error.facts["cause"] == "EXPIRED"
    return False


async def test_c36_a_dead_session_can_never_renew_again(world: World) -> None:
    server, other = await world.server(), await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, renews=False)
    await world.start(server)
    await world.settle()
    worker.renew()
    session = await world.session(worker)
    assert await other.sessions.mark_dead(session.session_id, session.lease_until)
    await world.advance(1_500)
    worker.renew()
    await world.settle()
    error = worker.renewed[-1].error
    assert isinstance(error, Rejection)
    assert error.reason is Reason.SESSION_LOST
    assert [item.cause for item in worker.lost] == [LossCause.EXPIRED]
    assert worker.gone is not None
    assert worker.gone.reason is Reason.SESSION_LOST
    again = await worker.reconnect(held=[])
    assert not again.resumed
    assert again.session_id != session.session_id


async def test_the_server_that_marks_a_session_dead_ends_its_stream(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, renews=False)
    await world.start(server)
    await world.settle()
    worker.renew()
    await world.advance(34_000)
    assert [item.cause for item in worker.lost] == [LossCause.EXPIRED]
    assert worker.gone is not None
    assert worker.gone.reason is Reason.SESSION_LOST


async def test_c21_nobody_is_judged_before_the_store_was_reached_for_one_lease(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, slots=2)
    for name in ("k1", "k2"):
        await world.start(server, name)
    await world.advance(5_000)
    world.faults.away = True
    await world.advance(60_000)
    world.faults.away = False
    await world.advance(25_000)
    assert (await world.session(worker)).alive
    assert worker.lost == []
    await worker.settle(worker.claim("a", "k1"))
    await worker.settle(worker.claim("a", "k2"))
    assert await world.completed("k1")
    assert await world.completed("k2")


async def test_c21_a_worker_that_died_in_the_outage_is_judged_one_lease_later(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.advance(5_000)
    world.faults.away = True
    worker.stop()
    await world.advance(60_000)
    world.faults.away = False
    assert 29_000 <= await world.until(lambda: not server.claims) <= 36_000


async def test_c21_a_server_that_was_stopped_for_long_judges_nobody_at_once(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.advance(12_000)
    gate = world.faults.hold("sessions.expired")
    renewal = world.faults.hold("sessions.renew")
    await world.advance(40_000)  # the store hangs, then answers everything at once
    world.faults.release("sessions.expired")
    world.faults.release("sessions.renew")
    gate.set()
    await world.settle()
    renewal.set()
    await world.advance(5_000)
    assert worker.lost == []
    assert (await world.session(worker)).alive


async def test_a_fresh_server_waits_one_lease_before_it_judges(world: World) -> None:
    first = await world.server(judging=False)
    await world.define(first, "a")
    worker = await world.worker(first, reads=False, renews=False)
    await world.start(first)
    await world.advance(29_000)
    assert (await world.step("a")).state is StepState.RUNNING
    assert await world.until(lambda: not first.claims) <= 9_000
    assert worker.gone is None


async def test_a_reconnect_to_another_server_goes_on_with_what_it_names(world: World) -> None:
    here, there = await world.server(), await world.server()
    await world.define(here, "a", "b", "c", "d")
    worker = await world.worker(here, script=holding, slots=4, renews=False)
    await world.start(here)
    await world.settle()
    worker.renew("a", "b")
    await world.advance(500)
    named = worker.claim("a").token
    welcome = await worker.reconnect(there, held=[named], close=False)
    assert welcome.resumed
    assert welcome.connection_no == 2
    assert welcome.lost == ()
    await world.settle()
    states = {name: (step.claim_no, step.attempt, step.lost_claims) for name, step in (await world.stored()).steps.items()}
    assert states["a"] == (1, 1, 0), "named: goes on"
    assert states["b"] == (2, 2, 1), "acknowledged and not named: lost, charged, granted again"
    assert states["c"] == states["d"] == (2, 1, 0), "of the lower connection and never acknowledged: refused"
    assert {claim.plan.name for claim in worker.held.values()} == {"a", "b", "c", "d"}
    answer = await there.complete(ResultIn(named, DONE))
    assert answer.error is None


@pytest.mark.parametrize("deaf", [False, True])
async def test_after_a_reconnect_the_old_stream_is_told_to_leave(world: World, deaf: bool) -> None:
    here, there = await world.server(), await world.server()
    await world.define(here, "a")
    worker = await world.worker(here, script=holding)
    await world.start(here)
    await world.advance(2_000)
    world.coordination.deaf = deaf
    old = worker.stream
    await worker.reconnect(there, close=False)
    await world.settle()
    if deaf:
        old.renew(1, [])
        await world.settle()
    told = [item for item in await old.receive() if isinstance(item, GoAwayOut)]
    assert [item.reason for item in told] == [Reason.SESSION_SUPERSEDED]
    old.credit("pool", 5)
    await world.start(here, "next")
    await world.advance(1_100)
    assert [claim.key.business_key for claim in worker.got] == ["k", "next"]
    assert len(worker.held) == 2


async def test_a_reconnect_to_the_same_server_closes_the_old_stream(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, renews=False)
    await world.start(server)
    await world.advance(1_000)
    worker.beat(worker.claim("a"))
    await world.settle()
    old = worker.stream
    welcome = await worker.reconnect(close=False)
    assert old.closed
    assert welcome.lost == ()
    assert isinstance((await old.receive())[-1], GoAwayOut)
    assert await old.receive() == []
    assert len(server.claims) == 1
    await world.advance(8_000)
    assert (await world.step("a")).claim_no == 1


async def test_held_tokens_that_are_gone_are_named_with_their_cause(world: World) -> None:
    here, there = await world.server(), await world.server()
    await world.define(here, "a", "b: a")
    worker = await world.worker(here, script=holding, slots=2)
    await world.start(here, "settled")
    await world.start(here, "closed")
    await world.settle()
    settled, closed = worker.claim("a", "settled"), worker.claim("a", "closed")
    await here.complete(ResultIn(settled.token, DONE))
    await here.cancel(world.ref("closed"), "no more", "")
    await here.complete(ResultIn(closed.token, DONE))
    welcome = await worker.reconnect(there, held=[settled.token, closed.token, "nonsense"], close=False)
    assert dict(welcome.lost) == {settled.token: LossCause.UNKNOWN, closed.token: LossCause.CLOSED, "nonsense": LossCause.UNKNOWN}
    assert (await there.complete(ResultIn(settled.token, DONE))).duplicate


async def test_a_wrong_secret_opens_a_new_session(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    first = worker.welcome
    thief = await world.worker(
        server, script=holding, session_id=first.session_id, session_secret="guessed", held_tokens=tuple(worker.held)
    )
    assert not thief.welcome.resumed
    assert thief.welcome.session_id != first.session_id
    assert [cause for _, cause in thief.welcome.lost] == [LossCause.EXPIRED]
    assert not worker.stream.closed
    await worker.settle(worker.claim("a"))
    assert await world.completed()


@pytest.mark.parametrize("operation", ["sessions.open", "definitions.versions"])
async def test_a_connect_that_fails_leaves_nothing(world: World, operation: str) -> None:
    server = await world.server()
    await world.define(server, "a")
    server.catalog.forget()
    world.faults.fail(operation, Moment.BEFORE)
    with pytest.raises(Exception, match="planned"):
        await world.worker(server)
    assert len(server.workers) == 0
    assert world.credit(server) == 0


async def test_a_reconnect_that_is_cancelled_leaves_nothing(world: World) -> None:
    here, there = await world.server(), await world.server()
    await world.define(here, "a", "b")
    worker = await world.worker(here, script=holding, renews=False)
    await world.start(here)
    await world.settle()
    worker.renew()
    await world.settle()
    world.faults.hold("sessions.hold")
    call = world.spawn(worker.reconnect(there, close=False))
    await world.settle()
    call.cancel()
    await world.settle()
    world.faults.release("sessions.hold")
    assert len(there.workers) == 0
    assert len(there.claims) == 0


async def test_claims_of_a_reconnected_worker_are_told_what_the_old_server_does(world: World) -> None:
    here, there = await world.server(), await world.server()
    await world.define(here, "a")
    worker = await world.worker(here, script=holding)
    await world.start(here)
    await world.settle()
    await worker.reconnect(there, close=False)
    await here.cancel(world.ref(), "stop", "")
    await world.settle()
    assert [(cancel.reason, cancel.grace) for cancel in worker.cancels] == [("WORKFLOW_CANCELLED", limits.CANCEL_GRACE)]


async def test_a_session_without_claims_just_goes(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", on_signal("go")))
    worker = await world.worker(server)
    await worker.drop()
    await world.advance(35_000)
    assert await server.list_workers("default", 10) == []

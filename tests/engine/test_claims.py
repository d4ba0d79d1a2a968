"""Acknowledgement: undelivered claims come back uncharged, acknowledged ones are held, and one write decides."""

import pytest

from perdure_server.engine.values import HeldIn, LostOut, ResultIn
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import LossCause, RetryPolicy
from perdure_server.kernel.workflow import StepState
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.workers import Worker, completing, holding
from tests.kernel.harness import activity


async def test_c32_never_acknowledged_is_ready_again_after_5_s_uncharged(world: World) -> None:
    server, other = await world.server(), await world.server()
    await world.define(server, "a")
    mute = await world.worker(server, slots=1, reads=False, renews=False)
    await world.start(server)
    await world.settle()
    assert (await world.step("a")).state is StepState.RUNNING
    healthy = await world.worker(other, script=holding)
    passed = await world.until(lambda: healthy.held, within=10_000)
    assert 4_900 <= passed <= 6_500
    claim = healthy.claim("a")
    assert (claim.attempt, claim.claim_no) == (1, 2)
    assert "UNDELIVERED" in await world.reasons("a")
    assert mute.stream.session.session_id != healthy.stream.session.session_id


async def test_acknowledged_at_3_s_is_held_and_goes_on(world: World) -> None:
    server, other = await world.server(), await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, renews=False)
    await world.start(server)
    await world.advance(2_900)
    worker.beat(worker.claim("a"))
    await world.advance(800)
    session = await world.session(worker)
    assert session.held == (server.claims.get(next(iter(server.claims)).nonce).nonce,)  # type: ignore[union-attr]  # it is there
    await world.advance(4_000)
    step = await world.step("a")
    assert step.claim is not None
    assert step.claim.acknowledged
    assert worker.lost == []
    assert other.supervisor.failures == 0


async def test_a_fast_step_costs_no_session_write(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a", "c: b")
    worker = await world.worker(server, renews=False)
    await world.start(server)
    await world.advance(2_900)
    assert await world.completed()
    assert world.faults.calls["sessions.hold"] == world.faults.calls["sessions.renew"] == 0
    assert worker.lost == []


@pytest.mark.parametrize("first", ["hold", "refuse"])
async def test_hold_and_refuse_race_between_two_servers(world: World, first: str) -> None:
    here, there = await world.server(), await world.server()
    await world.define(here, "a")
    worker = await world.worker(here, script=holding, renews=False)
    await world.start(here)
    await world.settle()
    step = await world.step("a")
    assert step.claim is not None
    session_id, nonce = step.claim.session_id, step.claim.nonce
    if first == "refuse":
        assert await there.sessions.refuse(session_id, nonce)
    worker.renew()
    await world.advance(3_600)
    assert (nonce in await here.sessions.hold(session_id, [nonce])) is (first == "hold")
    if first == "hold":
        assert not await there.sessions.refuse(session_id, nonce)
    await world.advance(5_000)
    assert (await world.step("a")).claim_no == (1 if first == "hold" else 2)
    assert bool(worker.lost) is (first == "refuse")


async def test_a_renewal_and_a_hold_that_cross_lose_no_acknowledgement(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, renews=False)
    await world.start(server)
    await world.advance(2_950)
    gate = world.faults.hold("sessions.renew")
    worker.renew_none()  # computed before the claim was named
    await world.settle()
    worker.beat(worker.claim("a"))
    await world.advance(900)
    gate.set()
    world.faults.release("sessions.renew")
    await world.advance(3_000)
    assert worker.lost == []
    assert (await world.step("a")).claim_no == 1


async def test_max_attempts_1_begins_after_the_answered_renew_and_is_held_at_once(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("a", retry=RetryPolicy(max_attempts=1)), "b: a")
    worker = await world.worker(server, script=holding, renews=False)
    await world.start(server)
    await world.settle()
    claim = worker.claim("a")
    assert claim.begin_after_renewed
    worker.renew()
    await world.settle()
    assert worker.renewed[-1].error is None
    assert len((await world.session(worker)).held) == 1
    await worker.settle(claim)
    await world.settle()
    assert not worker.claim("b").begin_after_renewed


async def test_a_claim_missing_from_two_renewals_is_lost_and_charged(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b")
    worker = await world.worker(server, script=holding, renews=False, slots=2)
    await world.start(server)
    await world.settle()
    lost = worker.claim("a")
    worker.renew()
    await world.advance(1_000)
    worker.renew("b")
    await world.settle()
    assert (await world.step("a")).claim_no == 1
    await world.advance(1_000)
    worker.renew("b")
    await world.settle()
    assert [item.token for item in worker.lost] == [lost.token]
    assert (worker.claim("a").attempt, (await world.step("a")).lost_claims) == (2, 1)
    assert (await world.step("b")).claim_no == 1


async def test_a_claim_that_never_came_is_not_missing(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, renews=False)
    await world.start(server)
    await world.settle()
    for _ in range(3):
        worker.renew_none()
        await world.advance(500)
    assert worker.lost == []


async def test_results_in_flight_are_not_judged_missing(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, renews=False)
    await world.start(server)
    await world.settle()
    worker.renew()
    await world.settle()
    gate = world.faults.hold("workflows.commit")
    number = worker.send(worker.claim("a"), completing(worker.claim("a")))  # type: ignore[arg-type]  # it has an outcome
    for _ in range(3):
        worker.renew_none()
        await world.advance(1_000)
    gate.set()
    await world.settle()
    assert worker.settled[number].error is None
    assert worker.lost == []
    assert await world.completed()


async def test_a_closed_stream_gives_back_at_once_what_it_had_not_sent(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    mute = await world.worker(server, slots=3, reads=False, renews=False)
    for number in range(3):
        await world.start(server, f"k{number}")
    await world.settle()
    await mute.drop()
    healthy = await world.worker(server, script=holding)
    await world.advance(100)
    assert len(healthy.held) == 3
    assert {claim.attempt for claim in healthy.held.values()} == {1}
    assert len(server.claims) == 3


async def test_a_claim_granted_while_its_stream_closes_is_given_back_at_once(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, script=holding, slots=1)
    gate = world.faults.hold("workflows.commit")
    starting = world.spawn(world.start(server))
    await world.settle()
    await worker.drop()
    gate.set()
    await world.settle()
    await starting
    healthy = await world.worker(server, script=holding)
    await world.advance(100)
    assert healthy.claim("a").attempt == 1
    assert len(server.claims) == 1


async def test_what_is_acknowledged_and_not_yet_held_survives_a_closed_stream(world: World) -> None:
    server, other = await world.server(), await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, renews=False)
    await world.start(server)
    await world.advance(500)
    worker.beat(worker.claim("a"))
    await world.settle()
    await worker.drop()
    await world.advance(7_000)
    assert (await world.step("a")).claim_no == 1, "nobody un-grants what this server has seen acknowledged"
    await worker.reconnect(other)
    assert worker.welcome.lost == ()
    await worker.settle(worker.claim("a"))
    assert await world.completed()


async def test_undelivered_once_and_again_backs_off(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.worker(server, slots=10, reads=False, renews=False)
    await world.start(server)
    await world.advance(29_000)
    step = await world.step("a")
    assert step.attempt <= 1
    assert step.claim_no >= 4
    assert step.idle_returns >= 3


async def test_c57_a_session_whose_lease_is_over_gets_nothing(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    mute = await world.worker(server, slots=10, reads=False, renews=False)
    await world.advance(33_000)
    await world.start(server)
    await world.advance(5_000)
    assert (await world.step("a")).state is StepState.READY
    assert (await world.step("a")).claim_no == 0
    healthy = await world.worker(server)
    await world.settle()
    assert len(healthy.got) == 1
    assert mute.stream.lease_remaining() == 0


async def test_a_token_named_in_a_renewal_that_is_not_current_is_told_lost(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, renews=False)
    await world.start(server)
    await world.settle()
    claim = worker.claim("a")
    await world.start(server, "other")
    await world.settle()
    await worker.settle(claim)
    reads = world.faults.calls["workflows.load"]
    worker.stream.renew(99, [HeldIn(claim.token), HeldIn("nonsense")])
    await world.settle()
    told = {item.token: item.cause for item in worker.told if isinstance(item, LostOut)}
    assert told == {"nonsense": LossCause.UNKNOWN}, "the answer to its result may not have been read yet"
    assert world.faults.calls["workflows.load"] == reads
    worker.stream.renew(100, [HeldIn(claim.token)])
    await world.settle()
    told = {item.token: item.cause for item in worker.told if isinstance(item, LostOut)}
    assert told == {claim.token: LossCause.CLOSED, "nonsense": LossCause.UNKNOWN}


async def test_auto_acknowledged_claims_need_no_answer(world: World) -> None:
    server, other = await world.server(), await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, renews=False, auto_ack=True)
    await world.start(server)
    await world.advance(15_000)
    assert (await world.step("a")).claim_no == 1
    assert worker.lost == []
    assert other.draining is False


async def test_a_slot_offered_with_the_result_of_a_lost_claim_counts_once(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("a", attempt_timeout=1_000, retry=RetryPolicy(max_attempts=1)))
    worker = await world.worker(server, script=holding, slots=1)
    await world.start(server)
    await world.settle()
    claim = worker.claim("a")
    worker.stop()
    await world.until(lambda: len(server.claims) == 0)
    answer = await server.settle(ResultIn(claim.token, completing(claim)), None)  # type: ignore[arg-type]  # it has an outcome
    assert isinstance(answer.error, Rejection)
    worker.stream.results([ResultIn(claim.token, completing(claim), want_next=True)] * 2)  # type: ignore[arg-type]  # it has an outcome
    await world.settle()
    assert world.credit(server) == 1


async def test_credit_has_a_bound(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker: Worker = await world.worker(server, slots=10)
    for count, pool in ((0, "pool"), (-1, "pool"), (10_001, "pool"), (9_991, "pool"), (1, "nonsense")):
        with pytest.raises(Exception, match="credit"):
            worker.credit(count, pool)
    worker.credit(9_990)
    assert world.credit(server) == 10_000


async def test_a_renewal_while_the_store_is_away_is_answered_so(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, renews=False)
    await world.advance(12_000)
    world.faults.fail("sessions.renew", Moment.BEFORE)
    worker.renew()
    await world.settle()
    answer = worker.renewed[-1]
    assert answer.error is not None
    assert answer.lease == 18_000
    worker.renew()
    await world.settle()
    assert (worker.renewed[-1].error, worker.renewed[-1].lease) == (None, 30_000)
    assert Reason.SESSION_LOST.name

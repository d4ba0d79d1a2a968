"""PollClaims, RenewClaims and unary heartbeats: every claim is its own session."""

import pytest

from perdure_server.engine.service import Engine
from perdure_server.engine.values import GrantedClaim, HeartbeatIn, HeldIn, Hello, ResultIn
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Completed
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import StepState
from perdure_server.ports.coordination import ReadyItem
from perdure_server.ports.store import Subscription
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.workers import holding
from tests.kernel.harness import activity, payload

POOLS = (Subscription("hand", "default", "note", {}, 10),)
DONE = Completed(payload("done"))


def hello(lease: int = 0) -> Hello:
    return Hello("default", "a person", "grpcurl", POOLS, auto_ack=True, lease=lease)


async def poll(world: World, server: Engine, most: int = 1, wait: int = 10_000, lease: int = 0) -> tuple[GrantedClaim, ...]:
    call = world.spawn(server.poll(hello(lease), most, wait))
    await world.until(call.done)
    return (await call)[1]


async def test_a_poll_takes_what_is_ready_each_in_its_own_session(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    for number in range(3):
        await world.start(server, f"k{number}")
    claims = await poll(world, server, most=2)
    assert len(claims) == 2
    sessions = {(await world.step("a", claim.key.business_key)).claim.session_id for claim in claims}  # type: ignore[union-attr]  # it is granted
    assert len(sessions) == 2
    assert [claim.lease_remaining for claim in claims] == [30_000, 30_000]
    assert [claim.pool for claim in claims] == ["hand", "hand"]
    await world.advance(10_000)
    for claim in claims:
        assert (await server.complete(ResultIn(claim.token, DONE))).error is None
        assert await world.completed(claim.key.business_key)


async def test_a_poll_times_out_empty_and_not_before(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    call = world.spawn(server.poll(hello(), 1, 7_000))
    assert 7_000 <= await world.until(call.done) <= 7_001
    served, claims, lease = await call
    assert (claims, lease) == ((), 30_000)
    assert [(status.pool, [step.step for step in status.steps]) for status in served] == [("hand", ["a"])]
    assert world.credit(server) == 0


async def test_a_poll_waits_no_longer_than_a_minute(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    call = world.spawn(server.poll(hello(), 1, 10 * limits.MINUTE))
    assert await world.until(call.done, within=70_000) == 60_000


async def test_a_poll_that_waits_gets_what_comes(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    call = world.spawn(server.poll(hello(), 5, 20_000))
    await world.advance(3_000)
    assert not call.done()
    await world.start(server)
    await world.settle()
    claims = (await call)[1]
    assert [claim.plan.name for claim in claims] == ["a"]
    assert (await world.step("a")).claim.acknowledged  # type: ignore[union-attr]  # it is granted


async def test_a_stale_offer_does_not_end_a_poll(world: World) -> None:
    server, other = await world.server(), await world.server()
    await world.define(server, "a")
    await world.start(server)
    await world.settle()
    taken = await poll(world, other)
    assert len(taken) == 1
    call = world.spawn(server.poll(hello(), 1, 5_000))
    await world.settle()
    server.dispatch.place(_item(world, server, "k"))
    await world.advance(1_000)
    assert not call.done()
    await world.start(server, "second")
    await world.settle()
    assert [claim.key.business_key for claim in (await call)[1]] == ["second"]


def _item(world: World, server: Engine, name: str) -> ReadyItem:
    return ReadyItem(server.desk.served_queues()[0], world.key(name).workflow_id, "a", world.now())


@pytest.mark.parametrize("when", ["waiting", "opening", "granting", "granted"])
async def test_a_cancelled_poll_gives_back_uncharged(world: World, when: str) -> None:
    server = await world.server()
    await world.define(server, "a")
    if when != "waiting":
        await world.start(server)
        await world.settle()
    operation = {"opening": "sessions.open", "granting": "workflows.commit", "granted": "workflows.commit", "waiting": "none"}[when]
    gate = world.faults.hold(operation)
    call = world.spawn(server.poll(hello(), 2 if when == "granted" else 1, 30_000))
    await world.settle()
    if when == "granted":
        world.faults.release(operation)
        gate.set()
    call.cancel()
    await world.settle()
    world.faults.release(operation)
    gate.set()
    await world.settle()
    if when == "waiting":
        await world.start(server)
        await world.settle()
    step = await world.step("a")
    assert (step.state, step.attempt, step.lost_claims) == (StepState.READY, 0, 0)
    worker = await world.worker(server)
    await world.advance(100)
    assert [claim.attempt for claim in worker.got] == [1]


async def test_a_poll_whose_session_cannot_be_opened_takes_nothing(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server)
    await world.settle()
    world.faults.fail("sessions.open", Moment.BEFORE)
    claims = await poll(world, server, wait=5_000)
    assert len(claims) == 1, "tried again within the wait"
    assert (await world.step("a")).claim_no == 1


async def test_a_unary_lease_ends_without_renewal(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server)
    (claim,) = await poll(world, server, lease=10_000)
    assert claim.lease_remaining == 10_000
    await world.advance(11_000)
    assert (await world.step("a")).state is StepState.RUNNING
    await world.advance(3_000)
    step = await world.step("a")
    assert (step.state, step.attempt, step.lost_claims) == (StepState.READY, 1, 1)
    (answer,) = await server.renew_claims([HeldIn(claim.token)], 10_000)
    assert isinstance(answer[3], Rejection)
    assert answer[3].facts["cause"] == "EXPIRED"


async def test_renew_claims_extends_each_and_heartbeats_never_shorten(world: World) -> None:
    server, other = await world.server(), await world.server()
    await world.define(server, "a", "b")
    await world.start(server)
    claims = await poll(world, server, most=2)
    answers = await other.renew_claims([HeldIn(claim.token) for claim in claims], 120_000)
    assert [(token, lease, cancel, error) for token, lease, cancel, error in answers] == [
        (claim.token, 120_000, False, None) for claim in claims
    ]
    await world.advance(20_000)
    beaten = await server.heartbeat(HeartbeatIn(claims[0].token))
    assert beaten.lease_remaining == 100_000
    await world.advance(95_000)
    assert {step.claim_no for step in (await world.stored()).steps.values()} == {1}
    await server.cancel(world.ref(), "", "")
    assert [answer[2] for answer in await server.renew_claims([HeldIn(claim.token) for claim in claims], 30_000)] == [True, True]


async def test_renewals_of_several_tokens_are_answered_one_by_one(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server)
    (claim,) = await poll(world, server)
    answers = await server.renew_claims([HeldIn("nonsense"), HeldIn(claim.token)], 0)
    assert [error is None for *_, error in answers] == [False, True]
    assert answers[1][1] == 30_000


async def test_unary_silence_is_judged_from_what_renewals_report(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("a", silence_timeout=60_000))
    await world.start(server)
    (claim,) = await poll(world, server, lease=300_000)
    (fine,) = await server.renew_claims([HeldIn(claim.token, 59_000)], 300_000)
    assert fine[3] is None
    (silent,) = await server.renew_claims([HeldIn(claim.token, 60_000)], 300_000)
    assert isinstance(silent[3], Rejection)
    assert (await world.step("a")).state is StepState.BACKOFF


async def test_a_heartbeat_is_not_refused_for_a_small_cache(world: World) -> None:
    server = await world.server(cache_size=1)
    await world.define(server, "a")
    for number in range(5):
        await world.start(server, f"k{number}")
    claims = await poll(world, server, most=5)
    for claim in claims:
        assert (await server.heartbeat(HeartbeatIn(claim.token))).error is None
    assert len(server.mailboxes) <= 2


async def test_a_unary_heartbeat_for_a_streams_claim_on_another_server_acknowledges_it(world: World) -> None:
    here, there = await world.server(), await world.server()
    await world.define(here, "a")
    worker = await world.worker(here, script=holding, renews=False)
    await world.start(here)
    await world.settle()
    answer = await there.heartbeat(HeartbeatIn(worker.claim("a").token))
    assert answer.lease_remaining == 30_000
    await world.advance(10_000)
    assert (await world.step("a")).claim_no == 1
    assert worker.lost == []


async def test_a_poll_while_draining_is_refused(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    waiting = world.spawn(server.poll(hello(), 1, 5_000))
    await world.advance(100)
    await server.drain(1_000)
    await world.start(await world.server())
    taken = world.coordination.taken
    await world.until(waiting.done)
    assert (await waiting)[1] == ()
    assert world.coordination.taken - taken <= 1, "no taking and putting back in a circle"
    with pytest.raises(Rejection) as refused:
        await server.poll(hello(), 1, 0)
    assert refused.value.reason is Reason.DRAINING


async def test_sessions_of_polls_go_with_their_claims(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server)
    (claim,) = await poll(world, server)
    await server.complete(ResultIn(claim.token, DONE))
    await world.advance(40_000)
    assert await server.list_workers("default", 10) == []
    await world.advance(limits.LOOK_AGAIN)
    assert world.store.sessions._stored == {}  # type: ignore[attr-defined]  # the memory store's

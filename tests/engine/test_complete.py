"""Complete: one effect, whatever is repeated, lost or late; and the claims that travel with its answer."""

import pytest

from perdure_server.engine.values import ResultIn
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Completed
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import StepState
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.ports.store import Subscription
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.permits import Permits, limited
from tests.engine.workers import completing, failing, holding
from tests.kernel.harness import chain, payload

DONE = Completed(payload("done"))


async def test_c34_the_same_twice_is_a_duplicate_another_outcome_is_refused(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, script=holding, slots=1, want_next=False)
    await world.start(server)
    await world.settle()
    claim = worker.claim("a")
    first = await worker.settle(claim, DONE)
    again = await worker.settle(claim, DONE)
    other = await worker.settle(claim, Completed(payload("another")))
    assert (first.duplicate, first.error) == (False, None)
    assert (again.duplicate, again.error) == (True, None)
    assert isinstance(other.error, Rejection)
    assert other.error.reason is Reason.CLAIM_ALREADY_SETTLED
    assert (await world.step("a")).output == payload("done")
    with pytest.raises(Rejection):
        await server.complete(ResultIn(claim.token, Completed(payload("another"))))
    assert (await server.complete(ResultIn(claim.token, DONE))).duplicate


@pytest.mark.parametrize("unary", [False, True])
async def test_c34_a_duplicate_brings_the_undelivered_next_claim_again(world: World, unary: bool) -> None:
    server, other = await world.server(), await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, script=holding, slots=1, renews=False)
    await world.start(server)
    await world.settle()
    claim = worker.claim("a")
    result = ResultIn(claim.token, DONE, want_next=True)
    first = (await server.complete(result)) if unary else await worker.settle(claim, DONE)
    again = await server.complete(result)
    elsewhere = await other.complete(result)
    assert again.duplicate
    assert elsewhere.duplicate
    tokens = [[following.token for following in answer.next_claims] for answer in (first, again, elsewhere)]
    assert tokens[0] == tokens[1] == tokens[2]
    assert len(tokens[0]) == 1
    assert world.credit(server) == 0
    worker.held.setdefault(first.next_claims[0].token, first.next_claims[0])
    worker.renew()
    await worker.settle(first.next_claims[0], DONE)
    assert (await server.complete(result)).next_claims == (), "it was acknowledged, and is settled now"
    assert await world.completed()


async def test_the_next_claim_goes_over_the_stream_if_a_unary_result_did_not_ask_for_it(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, script=holding, slots=2)
    await world.start(server)
    await world.settle()
    answer = await server.complete(ResultIn(worker.claim("a").token, DONE))
    await world.settle()
    assert answer.next_claims == ()
    assert worker.claim("b").claim_no == 1


@pytest.mark.parametrize("moment", list(Moment))
async def test_c68_a_result_whose_write_is_unknown_is_found_and_answered_once(world: World, moment: Moment) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, script=holding, slots=1)
    await world.start(server)
    await world.settle()
    world.faults.fail("workflows.commit", moment)
    number = worker.send(worker.claim("a"), DONE)
    await world.until(lambda: number in worker.settled)
    answer = worker.settled[number]
    assert answer.error is None
    assert [claim.plan.name for claim in answer.next_claims] == ["b"]
    assert world.credit(server) == 0, "one slot, one claim"
    assert len(worker.held) == 1
    await worker.settle(worker.claim("b"))
    assert await world.completed()
    assert (await world.stored()).revision == 3


async def test_a_store_that_stays_away_is_answered_and_the_claim_goes_on(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, script=holding, slots=1, renews=False)
    await world.start(server)
    await world.settle()
    claim = worker.claim("a")
    world.faults.away = True
    number = worker.send(claim, DONE)
    await world.until(lambda: number in worker.settled)
    assert isinstance(worker.settled[number].error, StoreUnavailable)
    world.faults.away = False
    assert world.credit(server) == 1, "its activity is over: the slot was offered with the result"
    answer = await worker.settle(claim, DONE)
    assert answer.error is None
    assert [following.plan.name for following in answer.next_claims] == ["b"]
    assert world.credit(server) == 0


async def test_an_old_token_after_expiry_is_lost_and_changes_nothing(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    claim = worker.claim("a")
    await world.advance(1_000)
    await worker.drop()
    await world.advance(40_000)
    assert (await world.step("a")).state is StepState.READY
    before = await world.stored()
    with pytest.raises(Rejection) as refused:
        await server.complete(ResultIn(claim.token, DONE))
    assert (refused.value.reason, refused.value.facts["cause"]) == (Reason.CLAIM_LOST, "EXPIRED")
    assert await world.stored() == before


async def test_a_token_of_nobody(world: World) -> None:
    server = await world.server()
    for token in ("", "nonsense", "AAAA.a"):
        with pytest.raises(Rejection) as refused:
            await server.complete(ResultIn(token, DONE))
        assert refused.value.facts["cause"] == "UNKNOWN"


async def test_n_plus_1_writes_for_n_steps(world: World) -> None:
    server = await world.server()
    definition = chain(8)
    await server.register(definition, True, False, False)
    await world.worker(server, slots=1)
    await world.start(server)
    await world.settle()
    assert await world.completed()
    assert world.writes == 9


async def test_eager_dispatch_ends_after_16_in_a_row(world: World) -> None:
    server = await world.server()
    await server.register(chain(40), True, False, False)
    worker = await world.worker(server, slots=1)
    await world.start(server)
    await world.advance(1_000)
    assert await world.completed()
    sent = [len(answer.next_claims) for answer in worker.settled.values()]
    assert sum(sent) < 39
    row = longest = 0
    for count in sent:
        row = row + 1 if count else 0
        longest = max(longest, row)
    assert longest == limits.EAGER_IN_A_ROW
    assert world.writes > 41


async def test_eager_dispatch_does_not_overtake_a_known_backlog(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, script=holding, slots=2)
    await world.start(server, "first")
    await world.start(server, "second")
    await world.settle()
    await worker.settle(worker.claim("a", "first"), want_next=False)
    await world.settle()
    assert (await world.step("b", "first")).state is StepState.READY
    await world.advance(600)
    answer = await worker.settle(worker.claim("a", "second"))
    assert answer.next_claims == (), "first's b waits in that queue"
    await world.settle()
    assert [claim.key.business_key for claim in worker.held.values()] == ["first"]


async def test_a_step_with_permits_is_never_granted_in_the_write_of_a_result(world: World) -> None:
    server = await world.server()
    await Permits(world).put(server, capacity=1)
    await world.define(server, "a", limited("b: a"), "c: a")
    worker = await world.worker(server, script=holding, slots=5)
    await world.start(server)
    await world.settle()
    answer = await worker.settle(worker.claim("a"))
    assert answer.error is None
    assert [claim.plan.name for claim in answer.next_claims] == ["c"]
    await world.settle()
    assert [claim.plan.name for claim in worker.got] == ["a", "c", "b"], "it comes when its permit is taken, by a write of its own"


async def test_no_grants_past_drain(world: World) -> None:
    server, other = await world.server(), await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, script=holding, slots=5)
    await world.start(server)
    await world.settle()
    await server.drain(10_000)
    answer = await worker.settle(worker.claim("a"))
    assert answer.error is None
    assert answer.next_claims == ()
    assert (await world.step("b")).state is StepState.READY
    elsewhere = await world.worker(other)
    await world.settle()
    assert await world.completed()
    assert [claim.plan.name for claim in elsewhere.got] == ["b"]


async def test_a_worker_that_drains_gets_nothing_more(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, script=holding, slots=5)
    await world.start(server)
    await world.settle()
    worker.stream.drain()
    answer = await worker.settle(worker.claim("a"))
    assert answer.next_claims == ()
    await world.advance(5_000)
    assert [claim.plan.name for claim in worker.got] == ["a"]


async def test_branches_go_to_their_pools(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "left: a", "right: a", "join: left right")
    light = Subscription("light", "default", "note", {"a": "", "left": "", "join": ""}, 4)
    heavy = Subscription("heavy", "default", "note", {"right": ""}, 1)
    worker = await world.worker(server, script=holding, slots=4, pools=(light, heavy))
    await world.start(server)
    await world.settle()
    await worker.settle(worker.claim("a"))
    await world.settle()
    assert {(claim.plan.name, claim.pool) for claim in worker.held.values()} == {("left", "light"), ("right", "heavy")}
    await worker.settle(worker.claim("left"))
    assert "join" not in await world.states()
    await worker.settle(worker.claim("right"))
    await world.settle()
    join = worker.claim("join")
    assert {name: value.json for name, value in join.inputs.items()} == {"left": '"left 1"', "right": '"right 1"'}
    await worker.settle(join)
    assert await world.completed()


async def test_fails_twice_then_succeeds(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=lambda claim: failing(claim) if claim.attempt < 3 else completing(claim))
    await world.start(server)
    await world.settle()
    step = await world.step("a")
    assert (step.state, step.attempt) == (StepState.BACKOFF, 1)
    first = await world.until(lambda: len(worker.got) == 2)
    assert 800 <= first <= 1_300, "by the timer, 20 % jitter"
    second = await world.until(lambda: len(worker.got) == 3)
    assert 1_600 <= second <= 2_500
    assert [claim.attempt for claim in worker.got] == [1, 2, 3]
    assert worker.got[2].last_failure is not None
    assert len({claim.idempotency_key for claim in worker.got}) == 1
    await world.settle()
    assert await world.completed()


async def test_c13_backoff_and_waits_fire_by_the_sweep_alone(world: World) -> None:
    world.coordination.away = True
    server = await world.server()
    await world.define(server, "a")

    def script(claim: object) -> object:
        return failing(claim) if claim.attempt == 1 and not claim.wakes else completing(claim)  # type: ignore[attr-defined,arg-type]  # an in-process Claim

    worker = await world.worker(server, script=script)  # type: ignore[arg-type]  # a plain function
    for number in range(20):
        await world.start(server, f"k{number}")
    assert await world.until(lambda: len(worker.got) == 40) <= 3_500
    await world.settle()
    for number in range(20):
        assert await world.completed(f"k{number}")

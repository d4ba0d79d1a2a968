"""No answer comes from what a server remembers: a refusal is read again, and what is stored after an unknown result counts as stored."""

import pytest

from perdure_server.engine.addresses import address_of
from perdure_server.engine.people import Conditions
from perdure_server.kernel.outcomes import Completed
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import RetryPolicy
from perdure_server.kernel.workflow import Paused
from perdure_server.store.memory import Moment
from tests.engine.faults import FrailCoordination
from tests.engine.harness import World
from tests.engine.permits import Permits, limited
from tests.engine.workers import holding
from tests.kernel.harness import activity


async def test_a_refusal_is_never_what_another_server_has_changed_since(world: World) -> None:
    here = await world.server()
    there = await world.server(coordination=FrailCoordination(world.clock))  # no hint comes from there
    await world.define(here, "a")
    await world.start(here)
    ref = world.ref()
    with pytest.raises(Rejection) as refused:
        await here.people.replay(ref, (), Conditions())
    assert refused.value.reason is Reason.WORKFLOW_NOT_CLOSED
    await there.people.terminate(ref, "enough", Conditions())
    done = await here.people.replay(ref, (), Conditions())
    assert done.workflow.replays == 1


async def test_a_result_that_is_stored_though_nobody_said_so_has_all_that_follows(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    worker = await world.worker(server, script=holding, slots=2, want_next=False)
    await world.start(server)
    await world.settle()
    world.coordination.deaf = True  # what is offered comes to a slot here, or by the sweep
    claim = worker.claim("a")
    world.faults.fail("workflows.commit", Moment.AFTER)
    number = worker.send(claim, Completed())
    await world.advance(100)
    assert worker.settled[number].duplicate is False
    assert [got.plan.name for got in worker.got] == ["a", "b"]


async def test_a_throttled_step_is_found_though_this_server_remembers_it_paused(world: World) -> None:
    permits = Permits(world)
    here = await world.server()
    there = await world.server(coordination=FrailCoordination(world.clock))  # no hint comes from there
    await permits.put(here, capacity=1)
    await world.define(here, limited())
    worker = await world.worker(here, script=holding)
    await world.start(here, "first")
    await world.start(here, "second")
    await world.advance(2_000)
    await here.people.pause(world.ref("second"), Paused(0), Conditions())
    await there.people.resume(world.ref("second"), Conditions())
    await worker.settle(worker.claim("a", "first"))
    await world.until(lambda: any(claim.key.business_key == "second" for claim in worker.got), within=30_000)
    permits.quiet()


async def test_a_renewal_that_waited_while_its_stream_ended_takes_no_acknowledgement_away(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.advance(3_000)
    nonce = address_of(worker.got[0].token).nonce
    gate = world.faults.hold("sessions.renew", Moment.AFTER)
    worker.renew()
    await world.settle()
    worker.renew()  # waits for the one before
    await world.advance(3_000)
    leave = world.faults.hold("sessions.hold")
    leaving = world.spawn(worker.drop())
    await world.settle()
    world.faults.release("sessions.renew", Moment.AFTER)
    gate.set()
    await world.settle()
    assert (await world.session(worker)).held == (nonce,), "at no time is it forgotten"
    world.faults.release("sessions.hold")
    leave.set()
    await world.until(leaving.done)


async def test_one_attempt_is_begun_only_when_its_acknowledgement_is_stored(world: World) -> None:
    server = await world.server()
    await world.define(server, activity("a", retry=RetryPolicy(max_attempts=1)))
    worker = await world.worker(server, script=holding)
    worker.renew()  # stored just now, so another one could do without a write
    await world.advance(100)
    await world.start(server)
    await world.advance(10)
    [claim] = worker.got
    assert claim.begin_after_renewed
    assert worker.renewed[-1].error is None
    assert (await world.session(worker)).held == (address_of(claim.token).nonce,)

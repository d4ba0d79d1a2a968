"""Slots: what a worker offers is lent out once and comes back once, whatever becomes of the answers."""

import asyncio
from contextlib import suppress
from functools import partial
from operator import contains

import pytest

from perdure_server.engine.service import Engine
from perdure_server.engine.values import ResultIn
from perdure_server.kernel.outcomes import Completed
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.workers import Worker, holding
from tests.kernel.harness import payload, signal

DONE = Completed(payload("done"))


@pytest.fixture
async def server(world: World) -> Engine:
    server = await world.server()
    await world.define(server, "a", "b: a")
    return server


@pytest.fixture
async def worker(world: World, server: Engine) -> Worker:
    """It holds the claim of `a` in its only slot."""
    worker = await world.worker(server, script=holding, slots=1)
    await world.start(server)
    await world.settle()
    return worker


async def _overtaken(world: World, worker: Worker) -> int:
    """A result whose write is stored, but nobody knows, and another server writes before anybody looks."""
    other = await world.server()
    stored = world.faults.hold("workflows.commit", Moment.AFTER)
    world.faults.fail("workflows.commit", Moment.AFTER)
    number = worker.send(worker.claim("a"), DONE)
    await world.settle()
    world.faults.release("workflows.commit", Moment.AFTER)
    stored.set()
    await world.settle()
    await other.signal(world.ref(), signal("go", "one"))
    return number


async def test_a_next_claim_whose_write_is_found_late_fills_the_slot_that_it_took(world: World, server: Engine, worker: Worker) -> None:
    number = await _overtaken(world, worker)
    await world.until(lambda: number in worker.settled)
    assert [claim.plan.name for claim in worker.settled[number].next_claims] == ["b"]
    assert world.credit(server) == 0
    await worker.settle(worker.claim("b"), DONE)
    assert world.credit(server) == 1


async def test_a_next_claim_that_is_never_answered_gives_its_slot_back(world: World, server: Engine, worker: Worker) -> None:
    claim = worker.claim("a")
    world.faults.fail("sessions.hold", Moment.BEFORE)
    number = await _overtaken(world, worker)
    await world.until(lambda: number in worker.settled)
    assert isinstance(worker.settled[number].error, StoreUnavailable)
    assert world.credit(server) == 1, "the activity is over, and nothing else was sent"
    await worker.settle(claim, DONE)
    assert world.credit(server) == 0
    await worker.settle(worker.claim("b"), DONE)
    assert world.credit(server) == 1


async def test_a_result_that_is_not_taken_offers_its_slot_once_however_often_it_comes(world: World, server: Engine, worker: Worker) -> None:
    claim = worker.claim("a")
    world.faults.away = True
    for _ in range(2):
        number = worker.send(claim, DONE)
        await world.until(partial(contains, worker.settled, number))
        assert isinstance(worker.settled[number].error, StoreUnavailable)
        assert world.credit(server) == 1
    world.faults.away = False
    answer = await worker.settle(claim, DONE, want_next=False)
    assert [following.plan.name for following in answer.next_claims] == ["b"]
    assert world.credit(server) == 0


async def test_the_next_claim_of_a_unary_result_goes_over_the_stream_if_its_caller_has_gone(
    world: World, server: Engine, worker: Worker
) -> None:
    stored = world.faults.hold("workflows.commit", Moment.AFTER)
    call = world.spawn(server.complete(ResultIn(worker.claim("a").token, DONE, want_next=True)))
    await world.settle()
    call.cancel()
    world.faults.release("workflows.commit", Moment.AFTER)
    stored.set()
    await world.settle()
    with suppress(asyncio.CancelledError):
        await call
    assert call.cancelled()
    assert worker.claim("b").claim_no == 1
    assert world.credit(server) == 0
    await worker.settle(worker.claim("b"), DONE)
    assert world.credit(server) == 1

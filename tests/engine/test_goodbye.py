"""The end of a worker's stream: a goodbye ends the session at once, anything else leaves it to its lease."""

import pytest

from perdure_server.kernel import limits
from tests.engine.harness import World
from tests.engine.workers import holding


async def test_a_worker_that_has_stopped_and_says_goodbye_ends_its_session(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding)
    worker.stop()
    worker.stream.leave()
    await world.settle()
    await worker.stream.close(goodbye=True)
    assert await world.store.sessions.list("default", 10) == []
    await world.start(server)
    await world.settle()
    [facts] = (await server.explain(world.ref())).steps
    assert facts.queue is not None
    assert facts.queue.workers == 0, "nobody seems to serve it"
    await world.advance(limits.LOOK_AGAIN + 4_000)
    assert worker.welcome.session_id not in world.store.sessions._stored, "forgotten"  # type: ignore[attr-defined]  # the memory store's


@pytest.mark.parametrize(("stops", "goodbye", "holds"), [(False, True, False), (True, False, False), (True, True, True)])
async def test_any_other_end_of_a_stream_leaves_the_session_to_its_lease(world: World, stops: bool, goodbye: bool, holds: bool) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding)
    if holds:
        await world.start(server)
        await world.settle()
        worker.renew()
        await world.settle()
    worker.stop()
    if stops:
        worker.stream.leave()
        await world.settle()
    await worker.stream.close(goodbye=goodbye)
    assert [session.alive for session in await world.store.sessions.list("default", 10)] == [True]
    welcome = await worker.connect(
        session_id=worker.welcome.session_id, session_secret=worker.welcome.session_secret, held_tokens=tuple(worker.held)
    )
    assert welcome.resumed


async def test_a_goodbye_that_the_store_does_not_hear_is_no_failure(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding)
    worker.stop()
    worker.stream.leave()
    await world.settle()
    world.faults.away = True
    await worker.stream.close(goodbye=True)
    world.faults.away = False
    assert len(await world.store.sessions.list("default", 10)) == 1, "its lease ends it"
    assert server.supervisor.failures == 0

"""Verbs whose write has an unknown result, while others write, too: each recognises its own effect, with or without a request id."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from perdure_server.engine.people import Conditions
from perdure_server.engine.service import Engine
from perdure_server.engine.values import etag_of
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import Paused, WorkflowState
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.rounds import supersede
from tests.kernel.harness import signal

Verb = Callable[[World, Engine], Coroutine[Any, Any, Any]]
VERBS: dict[str, Verb] = {
    "cancel": lambda world, server: server.cancel(world.ref(), "enough", ""),
    "terminate": lambda world, server: server.people.terminate(world.ref(), "enough", Conditions()),
    "pause": lambda world, server: server.people.pause(world.ref(), Paused(0), Conditions()),
}


@pytest.mark.parametrize("name", VERBS)
async def test_c68_a_verb_without_a_request_id_is_found_though_others_wrote_since(world: World, name: str) -> None:
    here, there = await world.server(), await world.server()
    await world.define(here, "a", "b: a")
    await world.start(here)
    world.faults.fail("workflows.commit", Moment.AFTER)
    reading = world.faults.hold("workflows.load")
    doing = world.spawn(VERBS[name](world, here))
    await world.advance(100)
    world.faults.release("workflows.load")
    if name == "pause":
        await there.people.resume(world.ref(), Conditions())
    reading.set()
    await world.until(doing.done)
    assert doing.exception() is None, "it was done; a refusal would say that it was not"
    states = {"cancel": WorkflowState.CANCELLED, "terminate": WorkflowState.TERMINATED, "pause": WorkflowState.RUNNING}
    now = await world.stored()
    assert now.state is states[name]
    assert now.paused is None, "and not done twice"


async def test_a_cancel_by_etag_is_of_what_was_read(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server)
    old = etag_of(await world.stored())
    await server.signal(world.ref(), signal("go"))
    with pytest.raises(Rejection) as refused:
        await server.cancel(world.ref(), "", "", old)
    assert refused.value.reason is Reason.REVISION_CONFLICT
    etag = etag_of(await world.stored())
    assert not (await server.cancel(world.ref(), "", "r", etag)).duplicate
    assert (await server.cancel(world.ref(), "", "r", etag)).duplicate, "a repeat does not conflict with itself"


async def test_a_late_repeat_of_a_verb_leaves_the_next_round_alone(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server)
    await server.cancel(world.ref(), "", "c1")
    await supersede(world, server, "r2")
    await server.people.terminate(world.ref(), "", Conditions("t1"))
    await supersede(world, server, "r3")
    assert (await server.cancel(world.ref(), "", "c1")).duplicate
    assert (await server.people.terminate(world.ref(), "", Conditions("t1"))).duplicate
    assert (await world.stored()).state is WorkflowState.RUNNING

"""Requests that put and delete resources are remembered, wherever they were broken off."""

import pytest

from perdure_server.kernel.resources import PutRequest
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.permits import Permits

ASKED = PutRequest("r", "digest")


@pytest.mark.parametrize("operation", ["resources.put", "resources.delete"])
@pytest.mark.parametrize("moment", Moment)
async def test_a_deletion_that_broke_off_is_gone_on_with_or_found_done(world: World, operation: str, moment: Moment) -> None:
    server = await world.server()
    made = await Permits(world).put(server, capacity=1)
    resources = server.permits.resources
    world.faults.fail(operation, moment)
    with pytest.raises(StoreUnavailable):
        await resources.delete(made, ASKED)
    found = await resources.get("default", "llm")
    is_done = operation == "resources.delete" and moment is Moment.AFTER
    assert (found is None, await resources.was_deleted("default", "llm", found, ASKED)) == (is_done, is_done)
    if found is not None:
        await resources.delete(found, ASKED)
    assert await resources.get("default", "llm") is None
    assert await resources.was_deleted("default", "llm", None, ASKED)
    assert await resources.list("default", "", 10) == [], "what is remembered is in no list"


async def test_a_put_whose_result_is_unknown_is_recognised(world: World) -> None:
    server = await world.server()
    permits = Permits(world)
    made = await permits.put(server, capacity=1)
    resources = server.permits.resources
    world.faults.fail("resources.put", Moment.AFTER)
    with pytest.raises(StoreUnavailable):
        await resources.put(made, made.__class__("default", "llm", 2), ASKED)
    stored = await resources.get("default", "llm")
    assert stored is not None
    assert stored.remembered(ASKED) == ASKED
    assert stored.capacity == 2

"""Maps of very many children: the parent stays small, and the time grows with their number only."""

import cProfile
import json
import logging
from typing import cast

import pytest

from perdure_server.kernel.definition import Join
from perdure_server.kernel.workflow import Workflow
from perdure_server.store.memory import MemoryWorkflows
from tests.engine.families import CHILD
from tests.engine.harness import World
from tests.kernel.families import mapping

logger = logging.getLogger(__name__)

PARENT_BYTES = 64 * 1024  # with a thousand in flight, whatever the number of its children


async def mapped(world: World, count: int, in_flight: int) -> tuple[int, int]:
    """Runs a map of `count` children that end as they begin; returns the parent's largest size, and its revision."""
    server = await world.server()
    await world.define(server, mapping("m", joined=Join.BEST_EFFORT, max_in_flight=in_flight))
    await world.define(server, mapping("nothing"), workflow_type=CHILD)
    world.definitions.clear()  # the rules are checked elsewhere
    documents = cast("MemoryWorkflows", world.store.workflows)
    parent_id, largest, commit = world.key().workflow_id, 0, documents.commit

    async def measured(old: Workflow | None, new: Workflow) -> bool:
        nonlocal largest
        stored = await commit(old, new)
        if new.key.business_key == "k":
            largest = max(largest, len(documents._stored[parent_id].raw))
        return stored

    documents.commit = measured  # type: ignore[method-assign]  # a look at what is stored, on the way
    await world.start(server, value=[[] for _ in range(count)])
    await world.until(world.is_completed, 3_600_000)
    parent = await world.stored()
    output = parent.steps["m"].output
    assert output is not None
    progress = json.loads(output.json or "")["progress"]
    assert progress == {"totalCount": str(count), "completedCount": str(count), "totalKnown": True}
    assert world.stored_types().count(CHILD) == count
    return largest, parent.revision


async def profiled(count: int) -> tuple[int, int]:
    """How many functions were called, which no load of the machine changes, and the parent's largest size."""
    world = World()
    profile = cProfile.Profile()
    try:
        with profile:
            largest, _ = await mapped(world, count, 100)
    finally:
        await world.close()
    return sum(entry.callcount for entry in profile.getstats()), largest


@pytest.mark.slow
async def test_c47_five_times_the_children_take_less_than_seven_times_the_work() -> None:
    few, small = await profiled(1_000)
    many, large = await profiled(5_000)
    logger.info("1,000 children: %d calls, 5,000: %d", few, many)
    assert many < 7 * few
    assert large < 1.2 * small < PARENT_BYTES


@pytest.mark.chaos
@pytest.mark.timeout(900)
async def test_c47_a_hundred_thousand_children_leave_the_parent_small(world: World) -> None:
    largest, revision = await mapped(world, 100_000, 1_000)
    logger.info("100,000 children: parent at most %d bytes, %d writes of it", largest, revision)
    assert largest < PARENT_BYTES
    assert revision < 20_000, "ends are counted together"

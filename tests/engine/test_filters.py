"""Filters by what other parts store: parents, schedules, archived rounds."""

from msgspec.structs import replace

from perdure_server.engine.people import Conditions
from perdure_server.engine.selection import Selection
from perdure_server.kernel.start import OnClosed
from perdure_server.ports.store import WorkflowQuery
from tests.engine.families import family
from tests.engine.harness import World
from tests.kernel.families import mapping

ALL = Selection(WorkflowQuery("default"))


async def found(world: World, selection: Selection) -> list[tuple[str, int]]:
    page = await world.engines[0].listing.page(selection, 10, None)
    assert (await world.engines[0].listing.count(selection, 10)).count == len(page.views)
    return sorted((view.workflow.key.business_key, view.workflow.round) for view in page.views)


async def test_archived_rounds_are_listed_if_asked_for(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server, "x")
    await server.people.terminate(world.ref("x"), "", Conditions())
    await world.start(server, "x", 2, on_closed=OnClosed.NEW_ROUND, request_id="next")
    await world.advance(2_000)
    assert await found(world, ALL) == [("x", 2)]
    assert await found(world, Selection(WorkflowQuery("default", include_archived=True))) == [("x", 1), ("x", 2)]
    with_key = WorkflowQuery("default", ("note",), business_keys=("x",), include_archived=True)
    assert await found(world, Selection(with_key)) == [("x", 1), ("x", 2)]


async def test_what_a_schedule_started(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.start(server, "x", schedule_id="daily")
    await world.start(server, "y")
    assert await found(world, Selection(ALL.query, schedule_id="daily")) == [("x", 1)]


async def test_children_of_a_workflow_and_of_a_step(world: World) -> None:
    await family(world, mapping("m"))
    await world.start(world.engines[0], "parent", [1, 2])
    await world.start(world.engines[0], "other", [3])
    await world.advance(2_000)
    everything = await found(world, ALL)
    assert len(everything) == 5
    chosen = Selection(ALL.query, parent=("note", "parent", None))
    children = await found(world, chosen)
    assert len(children) == 2
    assert await found(world, replace(chosen, parent_step="m")) == children
    assert await found(world, replace(chosen, parent=("note", "parent", 1))) == children
    assert await found(world, replace(chosen, parent_step="n")) == []
    assert await found(world, replace(chosen, parent=("note", "parent", 2))) == []

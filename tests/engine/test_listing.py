"""Lists while workflows come and go: complete, without repeats, in bounded looks."""

import pytest

from perdure_server.engine import listing
from perdure_server.engine.listing import Detail
from perdure_server.engine.people import Conditions
from perdure_server.engine.selection import Selection
from perdure_server.engine.service import Engine
from perdure_server.engine.values import View
from perdure_server.kernel import limits
from perdure_server.kernel.workflow import Paused, WorkflowState
from perdure_server.ports.store import PageKey, WorkflowQuery
from tests.engine.harness import World
from tests.engine.workers import completing, failing
from tests.kernel.harness import payload

ALL = Selection(WorkflowQuery("default"))


async def keys(server: Engine, selection: Selection, limit: int) -> list[list[str]]:
    """The business keys of each page."""
    pages: list[list[str]] = []
    after: PageKey | None = None
    while True:
        page = await server.listing.page(selection, limit, after)
        pages.append([view.workflow.key.business_key for view in page.views])
        after = page.after
        if after is None:
            return pages


async def test_pages_stay_stable_under_inserts_and_equal_start_times(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    for number in range(7):
        await world.start(server, f"k{number}")
    seen: list[str] = []
    after: PageKey | None = None
    for turn in range(10):
        page = await server.listing.page(ALL, 2, after)
        seen += [view.workflow.key.business_key for view in page.views]
        await world.advance(1)
        await world.start(server, f"new-{turn}")
        after = page.after
        if after is None:
            break
    assert sorted(seen) == [f"k{number}" for number in range(7)]


async def test_a_filter_that_no_index_answers_is_complete_in_short_pages(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LIST_ROWS", 40)
    monkeypatch.setattr(listing, "_CHUNK", 20)
    server = await world.server()
    await world.define(server, "a")
    for number in range(90):
        await world.start(server, f"k{number}")
    for number in (3, 45, 89):
        await server.people.pause(world.ref(f"k{number}"), Paused(0), Conditions())
    pages = await keys(server, Selection(ALL.query, paused=True), 2)
    assert sorted(key for page in pages for key in page) == ["k3", "k45", "k89"]
    assert len(pages) == 3, "each looked at 40 rows at most"
    assert (await server.listing.count(Selection(ALL.query, paused=True), 100)).count == 3


async def test_large_plans_and_payloads_make_a_page_short(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "_CHUNK", 4)
    monkeypatch.setattr(listing, "_FULL_CHUNK", 3)
    monkeypatch.setattr(listing, "_STEPS", 5)
    server = await world.server()
    await world.define(server, "a", "b", "c")
    for number in range(10):
        await world.start(server, f"k{number}")
    pages = await keys(server, ALL, 1_000)
    assert [len(page) for page in pages] == [4, 4, 2]
    assert sorted(key for page in pages for key in page) == [f"k{number}" for number in range(10)]
    assert len((await server.listing.page(ALL, 1_000, None, Detail.FULL)).views) == 3


async def test_queues_ready_or_running_and_phases(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    server.listing.phase_of = _first_state
    await world.worker(server, script=lambda claim: completing(claim) if claim.key.business_key == "done" else None, slots=2)
    await world.start(server, "done")
    await world.settle()
    await world.start(server, "held")
    await world.start(server, "slow", queue="gpu")
    await world.settle()
    assert await keys(server, Selection(ALL.query, queues=("gpu",)), 10) == [["slow"]]
    assert await keys(server, Selection(ALL.query, queues=("default",)), 10) == [["held"]]
    assert await keys(server, Selection(ALL.query, phases=(3,)), 10) == [["held"]]
    assert await keys(server, Selection(WorkflowQuery("default", states=(WorkflowState.COMPLETED,)), phases=(3,)), 10) == [[]]
    tally = await server.listing.count_by_phase(ALL, 100)
    assert (tally.count, tally.estimate, dict(tally.groups)) == (3, True, {"2": 1, "3": 1})


async def test_rows_have_their_steps_without_payloads_and_full_ones_all(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    await world.worker(server, script=lambda claim: failing(claim) if claim.plan.name == "b" else completing(claim))
    await world.start(server, value="secret")
    await world.settle()
    (outline,) = (await server.listing.page(ALL, 10, None)).views
    a, b = (outline.workflow.steps[name] for name in "ab")
    assert (a.state.name, a.output, outline.workflow.input, b.errors) == ("COMPLETED", None, None, ())
    assert b.failure is not None
    assert b.claim_no == (await world.step("b")).claim_no
    (full,) = (await server.listing.page(ALL, 10, None, Detail.FULL)).views
    assert (full.workflow.input, full.workflow.steps["a"].output) == (payload("secret"), (await world.step("a")).output)


async def test_counts_in_groups(world: World) -> None:
    server = await world.server()
    await world.define(server, "a")
    await world.define(server, "a", workflow_type="other")
    for number in range(3):
        await world.start(server, f"k{number}")
    await world.start(server, "k", workflow_type="other")
    await server.cancel(world.ref("k0"), "", "")
    assert (await server.listing.count_by_state(ALL, 100)).groups == {"RUNNING": 3, "CANCELLED": 1}
    assert (await server.listing.count_by_type(ALL, 100)).groups == {"note": 3, "other": 1}
    tally = await server.listing.count_by_type(ALL, 2)
    assert (tally.groups, tally.estimate) == ({"note": 2, "other": 1}, True)
    unpaused = Selection(ALL.query, paused=False)
    assert (await server.listing.count_by_state(unpaused, 100)).groups == {"RUNNING": 3, "CANCELLED": 1}
    assert (await server.listing.count(unpaused, 3)).estimate


def _first_state(view: View) -> int:
    return max((int(step.state) for step in view.workflow.steps.values()), default=0)

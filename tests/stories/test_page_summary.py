"""A page is fetched, read and summarised; the server is killed at every boundary between steps. Every step ran once."""

import asyncio
from collections import Counter

import pytest

from perdure import Client, Context, Definition, WorkflowState
from tests.e2e.conftest import MakeServer
from tests.e2e.servers import PerdureProcess
from tests.stories.conftest import Working

pytestmark = pytest.mark.slow

page = Definition("page")
ran: Counter[str] = Counter()
boundary = asyncio.Event()  # a step has given its result
go_on = asyncio.Event()  # the server is back


async def between() -> None:
    """Every step but the first begins only after the server was killed and started again."""
    await go_on.wait()
    go_on.clear()


@page.step()
async def fetch(ctx: Context[None], input: str) -> str:
    ran[ctx.step] += 1
    return f"<p>{input}</p>"


@page.step()
async def extract(ctx: Context[None], fetch: str) -> str:
    ran[ctx.step] += 1
    boundary.set()
    await between()
    return fetch.removeprefix("<p>").removesuffix("</p>")


@page.step()
async def summarise(ctx: Context[None], extract: str) -> str:
    ran[ctx.step] += 1
    boundary.set()
    await between()
    return extract.upper()


@page.step()
async def publish(ctx: Context[None], summarise: str) -> str:
    ran[ctx.step] += 1
    boundary.set()
    await between()
    return f"published {summarise}"


@pytest.fixture
def server(new_server: MakeServer) -> PerdureProcess:
    """Its lease outlives a restart on a slow machine, so that no step is begun again for that."""
    return new_server(session_lease_ms=60_000)


async def test_a_page_summary_survives_a_kill_at_every_step_boundary(client: Client, server: PerdureProcess, working: Working) -> None:
    async with working(page):
        run = await client.start(page, key="page-1", input="a page")
        for done in ("fetch", "extract", "summarise"):
            await asyncio.wait_for(boundary.wait(), 10)
            boundary.clear()
            server.kill()
            server.start()
            assert (await run.get()).steps[done].state == "COMPLETED", "what was answered OK is there after the kill"
            go_on.set()
        assert await run.result() == "published A PAGE"
    assert ran == {"fetch": 1, "extract": 1, "summarise": 1, "publish": 1}
    found = await run.get()
    assert found.state is WorkflowState.COMPLETED
    assert [step.attempt for step in found.steps.values()] == [1, 1, 1, 1]

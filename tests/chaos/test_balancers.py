"""Between workers and servers stand balancers, and servers age their connections (case C58)."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest

from perdure import Client, Context, Definition
from perdure.events import Frame, Gap
from tests.chaos.balancer import Balancer
from tests.chaos.extent import extent
from tests.conftest import Eventually
from tests.e2e.conftest import MakeServer, new_server
from tests.e2e.servers import PerdureProcess

__all__ = ["new_server"]

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(180)]

IDLE_LIMIT = 20.0
IDLE_FOR = 32.0
AGE_MS = 1_000  # the transport's own GOAWAY comes at 1.5 s
WORKERS = 12
ROUNDS = extent(6, long=12)
AT_ONCE = 20
FRAMES = extent(75, long=150)


@pytest.fixture
async def balancer(new_server: MakeServer) -> AsyncIterator[Balancer]:
    """In front of a server with the default lease: a worker renews every 10 s."""
    server = new_server(session_lease_ms=30_000)
    async with Balancer(server.port, IDLE_LIMIT) as made:
        yield made


async def test_c58_idle_streams_live_behind_a_balancer_that_counts_no_pings(balancer: Balancer, eventually: Eventually) -> None:
    quiet = Definition("quiet")
    gate = quiet.wait("gate", signal="go")

    @quiet.step(after=gate)
    async def speak(ctx: Context[None]) -> str:
        ctx.frame("at last")
        return "done"

    async with Client(balancer.address) as client, client.worker(quiet):
        run = await client.start(quiet, key="k")
        watch = run.watch()
        events = [await anext(watch)]
        nothing = asyncio.get_running_loop().create_task(anext(watch))
        _, pending = await asyncio.wait([nothing], timeout=IDLE_FOR)
        assert pending, "nothing happened in all that time"
        began = asyncio.get_running_loop().time()
        await run.signal("go")
        events.append(await nothing)
        events += [event async for event in watch]
        assert asyncio.get_running_loop().time() - began < 5.0
        assert [event.text for event in events if isinstance(event, Frame)] == ["at last"]
    assert balancer.cuts == 0, f"a call was silent for {balancer.longest_idle:.1f} s"
    assert balancer.longest_idle > 5.0, "the balancer saw silence, so that the limit meant something"


async def test_c58_no_claim_and_no_frame_is_lost_where_connections_age(new_server: MakeServer) -> None:
    server: PerdureProcess = new_server(stream_age_ms=AGE_MS)
    busy = Definition("busy")
    ran: Counter[str] = Counter()
    told = asyncio.Event()

    @busy.step()
    async def first(ctx: Context[None], input: int) -> int:
        ran[f"{ctx.business_key}/first"] += 1
        return input

    @busy.step()
    async def second(ctx: Context[None], first: int) -> int:
        ran[f"{ctx.business_key}/second"] += 1
        return first + 1

    talk = Definition("talk")

    @talk.step()
    async def speak(ctx: Context[None]) -> None:
        for number in range(FRAMES):
            ctx.frame(f"{number} ")
            try:
                async with asyncio.timeout(0.1):
                    await told.wait()
            except TimeoutError:
                continue

    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(server.address))
        for _ in range(WORKERS):
            own = await stack.enter_async_context(Client(server.address))  # a connection of its own
            await stack.enter_async_context(own.worker(busy, slots=4))
        await stack.enter_async_context(client.worker(talk))
        long = await client.start(talk, key="talk")
        frames = asyncio.get_running_loop().create_task(_listen(client))
        for number in range(ROUNDS):
            await _round(client, busy, number)
        await long.result(timeout=timedelta(seconds=60))
        heard = await frames
    assert set(ran.values()) == {1}, "no claim was given twice"
    assert "".join(heard) == "".join(f"{number} " for number in range(FRAMES)), "no gap and no repeat"
    assert not any("too many pings" in line.lower() or "too_many_pings" in line.lower() for line in server.log)
    assert not server.complaints


async def _round(client: Client, busy: Definition, number: int) -> None:
    runs = [await client.start(busy, key=f"{number}-{item}", input=item) for item in range(AT_ONCE)]
    results = await asyncio.gather(*(run.result(timeout=timedelta(seconds=30)) for run in runs))
    assert results == [item + 1 for item in range(AT_ONCE)]
    found = [await run.get() for run in runs]
    assert [step.attempt for workflow in found for step in workflow.steps.values()] == [1, 1] * AT_ONCE, "no claim was lost"


async def _listen(client: Client) -> list[str]:
    heard: list[str] = []
    async for event in client.run("talk", "talk").watch():
        assert not isinstance(event, Gap)
        if isinstance(event, Frame):
            heard.append(event.text)
    return heard

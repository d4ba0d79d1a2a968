"""perdure.testing beyond what its page shows: errors, namespaces, `def` activities, every kind of script."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from importlib.metadata import EntryPoints

import pytest

from perdure import ClaimLost, Client, Context, Definition, Failure, InvalidRequest, NotImplementedYet, Wait
from perdure.testing import (
    ActivityEnvironment,
    TestServer,
    completes,
    fails,
    loses_worker,
    never_ends,
    start_server,
    waits,
    wake,
)
from perdure.testing import server as module
from perdure.trial import TrialCancel, TrialSignal
from perdure_server.main import Running
from tests.conftest import Eventually

HOUR = timedelta(hours=1)
note = Definition("note")


@note.step()
async def work(ctx: Context[int], input: int) -> int:
    await ctx.save(input)
    ctx.alive()
    await asyncio.Event().wait()
    return input


@note.step()
def check(ctx: Context[None], work: int) -> int:
    woken = ctx.woken(int)
    ctx.raise_if_cancelled()
    return (woken.value or 0) + work if woken is not None else work


@pytest.fixture
async def server() -> AsyncIterator[TestServer]:
    async with start_server() as found:
        yield found


async def test_a_server_that_keeps_real_work_is_not_moved(real: Running) -> None:
    async with TestServer(f"127.0.0.1:{real.port}") as server:
        with pytest.raises(NotImplementedYet):
            await server.advance(HOUR)


async def test_without_the_server_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "entry_points", lambda **_: EntryPoints(()))
    with pytest.raises(RuntimeError, match=r"perdure\[server\]"):
        async with start_server():
            pytest.fail("there is none")


async def test_a_cancel_reaches_an_activity_in_the_middle(eventually: Eventually) -> None:
    env = ActivityEnvironment(business_key="k", labels={"tenant": "acme"}, fence=7)
    running = asyncio.create_task(env.run(work, 3))  # noqa: TID251 -- the activity waits for the cancel
    await eventually(lambda: env.signs_of_life)
    env.cancel("TERMINATED")
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (env.checkpoints, env.checkpoint, env.context.cancel_reason) == ([3], 3, "TERMINATED")
    assert (env.context.business_key, env.context.labels["tenant"], env.context.fence) == ("k", "acme", 7)


async def test_def_activities_and_failing_saves() -> None:
    assert await ActivityEnvironment().run(check, 2) == 2
    env = ActivityEnvironment(wakes=[wake("go", 5)])
    assert [await env.run(check.function, 2), await env.run(check, 3)] == [7, 8]
    assert env.results == [7, 8]
    env.fail_next_save(ClaimLost("EXPIRED"))
    with pytest.raises(ClaimLost):
        await env.run(work, 1)


async def test_times_need_a_zone(server: TestServer) -> None:
    with pytest.raises(ValueError, match="time zone"):
        await server.advance_to(datetime(2100, 1, 1))  # noqa: DTZ001 -- that is the fault
    assert (await server.advance_to(datetime(2100, 1, 1, tzinfo=UTC))).now.year == 2100


async def test_every_kind_of_script(server: TestServer) -> None:
    async with server.client() as client:
        await client.definitions.register(note, activate=True)
        count = await server.script(
            note,
            waits(work, Wait.any(after=HOUR, checkpoint="task-7")),
            loses_worker(work, attempt=1),
            never_ends(work, attempt=2),
            completes(work, 7, attempt=3, takes=HOUR / 12),
            fails("check", Failure("test.once", "once", details={"x": 1}, retry_after=HOUR), attempt=1),
            completes("check", 8, attempt=2, key="k"),
        )
        assert count == 6
        run = await client.start(note, key="k", input=1)
        idle = await server.wait_idle(workflow=note)
        assert idle.next_due is not None
        assert timedelta(minutes=50) < idle.next_due - idle.now <= HOUR
        began = (await run.get()).start_time
        assert await server.result(run, int) == 8
        ended = (await run.get()).end_time
        assert began is not None
        assert ended is not None
        assert 2.2 * HOUR < ended - began < 2.3 * HOUR, "an hour's wait, ten minutes, five minutes of work, an hour's back-off"


async def test_a_trial_by_name_with_events(client: Client) -> None:
    made = Definition("asks")
    made.wait("answer", signal="answer", payload=int)
    registered = await client.definitions.register(made, activate=True)
    trial = await client.definitions.test("asks", events=[TrialSignal("answer", HOUR, 5)], input={"x": 1})
    assert (trial.state, trial.elapsed, trial.fingerprint) == ("COMPLETED", HOUR, registered.fingerprint)
    assert trial.step("answer") == "COMPLETED"
    stopped = await client.definitions.test(made, events=[TrialCancel(HOUR, "enough")])
    assert (stopped.state, stopped.failure) == ("CANCELLED", None)
    waiting = await client.definitions.test(made, duration=HOUR, events=[TrialSignal("answer", 2 * HOUR)])
    assert (waiting.state, waiting.elapsed) == ("RUNNING", HOUR)
    with pytest.raises(InvalidRequest, match="names no step"):
        await client.definitions.test(made, completes("nothing"))

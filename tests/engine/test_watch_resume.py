"""Watch, cut and resumed at any moment, and WaitForResult: nothing missing, nothing twice, on any server."""

import random
from collections import defaultdict

import pytest
from msgspec.structs import replace

from perdure_server.engine.service import Engine
from perdure_server.engine.values import (
    EndItem,
    HeartbeatIn,
    Ref,
    ResultIn,
    WatchItem,
)
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Completed, Failed, Waiting
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import Failure, Wait
from perdure_server.kernel.workflow import WorkflowState
from perdure_server.ports.coordination import Frame
from tests.engine.harness import World
from tests.engine.watching import FAST, Watching, brief, by_step, one_claim
from tests.engine.workers import Worker
from tests.kernel.harness import activity, after, on_signal, payload, signal, waiting


async def test_a_watch_cut_at_every_item_resumes_with_exactly_the_rest(world: World) -> None:
    """0 missing, 0 repeated: per step, as the order between steps is nobody's promise."""
    server, worker = await one_claim(
        world, activity("a", retry=FAST), "left: a", activity("right: a", retry=FAST), "join: left right", slots=4
    )
    watching = Watching(world, server)
    await world.settle()
    await _story(world, worker)
    assert watching.ended
    whole = watching.items
    assert len(whole) >= 40
    assert {type(item).__name__ for item in whole} >= {"FrameItem", "FramesResetItem", "ChangeItem", "EndItem"}
    for position, item in enumerate(whole):
        resumed = Watching(world, server, item.resume_token)
        await world.settle()
        assert by_step(resumed.items) == by_step(whole[position + 1 :] or whole[-1:]), f"cut after item {position}: {brief(item)}"


async def _story(world: World, worker: Worker) -> None:
    worker.beat(worker.claim("a"), "a1", "a2")
    await world.settle()
    worker.beat(worker.claim("a"), "a3", first=3)
    await worker.settle(worker.claim("a"), Failed(Failure("x.y")))
    await world.until(lambda: worker.held)
    worker.beat(worker.claim("a"), "a4")
    await worker.settle(worker.claim("a"), Waiting(Wait((after(60),))), last_frame_seq=1)
    await world.until(lambda: worker.held)
    worker.beat(worker.claim("a"), "a5", "a6")
    await worker.settle(worker.claim("a"), last_frame_seq=2)
    for number in range(1, 4):
        worker.beat(worker.claim("left"), f"l{number}", first=number)
        worker.beat(worker.claim("right"), f"r{number}", first=number)
        await world.settle()
    await worker.settle(worker.claim("right"), Failed(Failure("x.y")), last_frame_seq=3)
    worker.beat(worker.claim("left"), "l4", first=4)
    await world.until(lambda: len(worker.held) == 2)
    worker.beat(worker.claim("right"), "r4", "r5")
    await world.settle()
    await worker.settle(worker.claim("left"), last_frame_seq=4)
    await worker.settle(worker.claim("right"), last_frame_seq=2)
    worker.beat(worker.claim("join"), "j1")
    await worker.settle(worker.claim("join"), last_frame_seq=1)
    await world.settle()


@pytest.mark.parametrize("story", range(6))
async def test_any_watch_cut_at_every_item_resumes_with_exactly_the_rest(world: World, random_source: random.Random, story: int) -> None:
    patient = replace(FAST, max_attempts=None)  # a story may fail one step more often than nine times
    steps = (activity("a", retry=patient), activity("left: a", retry=patient), activity("right: a", retry=patient), "join: left right")
    server, worker = await one_claim(world, *steps, slots=4)
    watching = Watching(world, server)
    await world.settle()
    await _any_story(world, worker, random_source)
    assert watching.ended
    for position, item in enumerate(watching.items):
        resumed = Watching(world, server, item.resume_token)
        await world.settle()
        rest = by_step(watching.items[position + 1 :] or watching.items[-1:])
        assert by_step(resumed.items) == rest, f"cut after item {position}: {brief(item)}"


async def _any_story(world: World, worker: Worker, source: random.Random) -> None:
    sent: dict[str, int] = defaultdict(int)
    for _ in range(14):
        await world.until(lambda: worker.held)
        claim = source.choice(list(worker.held.values()))
        for _ in range(source.randrange(3)):
            count = source.randrange(1, 4)
            worker.beat(claim, *(["x"] * count), first=sent[claim.token] + 1)
            sent[claim.token] += count
            if source.random() < 0.5:
                await world.settle()
        if (outcome := source.choice([None, Failed(Failure("x.y")), Waiting(Wait((after(60),)))])) is not None:
            await worker.settle(claim, outcome, last_frame_seq=sent[claim.token])
    while (await world.stored()).state is WorkflowState.RUNNING:
        await world.until(lambda: worker.held)
        claim = next(iter(worker.held.values()))
        await worker.settle(claim, last_frame_seq=sent[claim.token])
        await world.settle()


async def test_a_live_watch_cut_and_resumed_at_every_moment_has_no_hole(world: World) -> None:
    """The watcher is cut whenever it has got something, and goes on with its last token."""
    server, worker = await one_claim(
        world, activity("a", retry=FAST), "left: a", activity("right: a", retry=FAST), "join: left right", slots=4
    )
    whole = Watching(world, server)
    cut: list[WatchItem] = []
    done = world.spawn(_cut_again_and_again(world, server, cut))
    await world.settle()
    await _story(world, worker)
    await world.until(done.done)
    assert by_step(cut) == by_step(whole.items)


async def _cut_again_and_again(world: World, server: Engine, into: list[WatchItem]) -> None:
    token = ""
    while True:
        flow = server.watch(world.ref(), token, True, False)
        async for batch in flow:
            into.append(batch[0])
            token = batch[0].resume_token
            break
        await flow.aclose()  # type: ignore[attr-defined]  # an async generator
        if isinstance(into[-1], EndItem):
            return


async def test_unary_frames_reach_watchers_on_another_server(world: World) -> None:
    here, worker = await one_claim(world)
    there = await world.server()
    await world.advance(1_500)
    watching = Watching(world, there)
    await world.settle()
    await here.heartbeat(HeartbeatIn(worker.claim("a").token, frames=(Frame("", 0, 1, 1, 0, payload("far")),)))
    await world.settle()
    assert watching.texts == ["far"]


async def test_wait_for_result_across_servers(world: World) -> None:
    here, worker = await one_claim(world)
    there = await world.server()
    await world.advance(1_500)
    calls = [world.spawn(engine.wait_for_result(world.ref(), 60_000)) for engine in (here, there)]
    await world.settle()
    reads = world.faults.calls["workflows.load"]
    await worker.settle(worker.claim("a"))
    await world.settle()
    assert [(await call).workflow.state for call in calls] == [WorkflowState.COMPLETED] * 2
    assert world.faults.calls["workflows.load"] - reads == 1, "the server that stored the end does not read it again"
    again = await here.wait_for_result(world.ref(), 0)
    assert again.workflow.is_ended


async def test_wait_for_result_of_what_is_open_here_reads_nothing(world: World) -> None:
    here, worker = await one_claim(world)
    reads = world.faults.calls["workflows.load"]
    call = world.spawn(here.wait_for_result(Ref(world.key(), round=1), 60_000))
    await world.settle()
    await worker.settle(worker.claim("a"))
    await world.settle()
    assert (await call).workflow.is_ended
    assert world.faults.calls["workflows.load"] == reads
    refused = world.spawn(here.wait_for_result(Ref(world.key(), round=2), 60_000))
    await world.settle()
    assert isinstance(refused.exception(), Rejection)


async def test_wait_for_result_by_a_stale_instance(world: World) -> None:
    here, worker = await one_claim(world)
    there = await world.server()
    await world.advance(1_500)
    world.coordination.deaf = True
    await there.complete(ResultIn(worker.claim("a").token, Completed(payload("done"))))
    known = here.mailboxes.known(world.key().workflow_id)
    assert known is not None
    assert not known.is_ended, "this server does not know it yet"
    call = world.spawn(here.wait_for_result(world.ref(), 60_000))
    assert await world.until(call.done) <= limits.REVISION_POLL_INTERVAL
    assert (await call).workflow.is_ended


async def test_a_change_that_only_a_mailbox_here_has_read_is_told(world: World) -> None:
    here, worker = await one_claim(world)
    there = await world.server()
    await world.advance(1_500)
    call = world.spawn(here.wait_for_result(world.ref(), 60_000))
    await world.settle()
    world.coordination.deaf = True
    await there.complete(ResultIn(worker.claim("a").token, Completed(payload("done"))))
    refused = world.spawn(here.signal(world.ref(), signal("late")))
    await world.settle()
    assert isinstance(refused.exception(), Rejection), "it has read the end"
    assert await world.until(call.done) <= limits.REVISION_POLL_INTERVAL
    assert (await call).workflow.is_ended


async def test_wait_for_result_says_not_yet_in_time(world: World) -> None:
    server, _ = await one_claim(world)
    call = world.spawn(server.wait_for_result(world.ref(), 10 * limits.MINUTE))
    assert await world.until(call.done, within=70_000) == 60_000
    assert not (await call).workflow.is_ended
    short = world.spawn(server.wait_for_result(world.ref(), 0))
    await world.settle()
    assert short.done()
    assert server.hub.watching == 0


async def test_wait_for_result_with_wakeups_lost(world: World) -> None:
    _, worker = await one_claim(world)
    there = await world.server()
    await world.advance(1_500)
    call = world.spawn(there.wait_for_result(world.ref(), 60_000))
    await world.settle()
    world.coordination.deaf = True
    await worker.settle(worker.claim("a"))
    assert await world.until(call.done) <= limits.REVISION_POLL_INTERVAL
    assert (await call).workflow.is_ended


async def test_a_workflow_deleted_while_it_is_watched(world: World) -> None:
    server, _ = await one_claim(world)
    watching = Watching(world, server, include_frames=False)
    await world.settle()
    stored = await world.stored()
    await world.store.workflows.delete(stored)
    server.mailboxes.forget(stored.workflow_id)
    await world.advance(2_100)
    assert isinstance(watching.error, Rejection)
    assert watching.error.reason is Reason.WORKFLOW_NOT_FOUND


async def test_waits_are_watched_too(world: World) -> None:
    server = await world.server()
    await world.define(server, waiting("w", on_signal("go")))
    await world.start(server)
    watching = Watching(world, server)
    await world.settle()
    await server.signal(world.ref(), signal("go"))
    await world.settle()
    assert by_step(watching.items) == {"w": [("change", 3, "WON")], "": [("change", 4, "LAST_STEP_ENDED"), ("end", "COMPLETED")]}

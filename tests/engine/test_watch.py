"""Watch: everything once and in order, from any token, whatever is lost on the way."""

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any

import pytest

from perdure_server.engine.service import Engine
from perdure_server.engine.values import (
    ChangeItem,
    EndItem,
    FrameItem,
    FramesResetItem,
    GapItem,
    HeartbeatIn,
    KeepAliveItem,
    SnapshotItem,
    WatchItem,
)
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Completed, Failed, Waiting
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import Failure, RetryPolicy, Wait
from perdure_server.kernel.workflow import WorkflowState
from perdure_server.ports.coordination import Frame
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.workers import Worker, holding
from tests.kernel.harness import activity, after, on_signal, payload, signal, waiting

FAST = RetryPolicy(max_attempts=9, initial_interval=60, coefficient=1.0, jitter=0.0)
AT_ONCE = RetryPolicy(max_attempts=None, initial_interval=1, coefficient=1.0)


class Watching:
    """A watcher that reads at its own pace."""

    def __init__(self, world: World, engine: Engine, token: str = "", name: str = "k", **options: Any) -> None:
        self.items: list[WatchItem] = []
        self.error: Exception | None = None
        self.paused = asyncio.Event()
        self.paused.set()
        flow = engine.watch(world.ref(name), token, options.get("include_frames", True), options.get("follow", False))
        self.task = world.spawn(self._read(flow))

    async def _read(self, flow: AsyncIterator[list[WatchItem]]) -> None:
        try:
            async for batch in flow:
                self.items += batch
                await self.paused.wait()
        except Rejection as error:
            self.error = error

    def of(self, kind: type) -> list[Any]:
        return [item for item in self.items if isinstance(item, kind)]

    @property
    def texts(self) -> list[str]:
        return [item.frame.payload.json.strip('"') for item in self.of(FrameItem)]

    @property
    def ended(self) -> bool:
        return bool(self.items) and isinstance(self.items[-1], EndItem)


def brief(item: WatchItem) -> tuple[str, Any]:
    """What an item says, without its token."""
    match item:
        case ChangeItem(event):
            return event.step, ("change", event.seq, event.reason)
        case FrameItem(frame):
            return frame.step, ("frame", frame.claim_no, frame.seq)
        case FramesResetItem(step, claim_no):
            return step, ("reset", claim_no)
        case GapItem(changes, frames):
            return "", ("gap", changes, frames)
        case EndItem(view):
            return "", ("end", view.workflow.state.name)
        case SnapshotItem() | KeepAliveItem():
            return "", (type(item).__name__,)


def by_step(items: list[WatchItem]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for item in items:
        if not isinstance(item, KeepAliveItem | SnapshotItem):
            step, what = brief(item)
            found[step].append(what)
    return dict(found)


async def one_claim(world: World, *steps: Any, **options: Any) -> tuple[Engine, Worker]:
    server = await world.server()
    await world.define(server, *(steps or ("a",)))
    worker = await world.worker(server, script=holding, **options)
    await world.start(server)
    await world.settle()
    return server, worker


async def test_a_snapshot_then_changes_then_the_end(world: World) -> None:
    server, worker = await one_claim(world, "a", "b: a")
    watching = Watching(world, server)
    await world.settle()
    assert [type(item).__name__ for item in watching.items] == ["SnapshotItem"]
    await worker.settle(worker.claim("a"))
    await worker.settle(worker.claim("b"))
    await world.settle()
    assert watching.ended
    told = [(item.event.step, item.event.reason) for item in watching.of(ChangeItem)]
    assert told == [
        ("a", "COMPLETED"), ("b", "UNBLOCK"), ("b", "GRANT"), ("b", "COMPLETED"), ("", "LAST_STEP_ENDED"),
    ]  # fmt: skip  # one line per write reads better
    assert watching.items[-1].view.workflow.state is WorkflowState.COMPLETED  # type: ignore[union-attr]  # the end


async def test_frames_come_in_order_and_before_the_end_of_their_claim(world: World) -> None:
    server, worker = await one_claim(world)
    watching = Watching(world, server)
    claim = worker.claim("a")
    worker.beat(claim, "1", "2")
    await world.settle()
    worker.beat(claim, "3", first=3)
    number = worker.send(claim, Completed(), last_frame_seq=3)
    await world.settle()
    assert worker.settled[number].error is None
    kinds = [brief(item)[1][0] for item in watching.items[1:]]
    assert kinds == ["frame", "frame", "frame", "change", "change", "end"]
    assert watching.of(ChangeItem)[0].event.last_frame_seq == 3


async def test_a_hole_in_the_frames_is_named(world: World) -> None:
    server, worker = await one_claim(world)
    watching = Watching(world, server)
    claim = worker.claim("a")
    worker.beat(claim, "1")
    await world.settle()
    world.coordination.deaf = True
    worker.beat(claim, "2", first=2)
    await world.settle()
    world.coordination.deaf = False
    worker.beat(claim, "3", first=3)
    await world.settle()
    world.coordination.deaf = True
    worker.beat(claim, "4", first=4)
    worker.send(claim, Completed(), last_frame_seq=4)
    await world.settle()
    assert by_step(watching.items)["a"] == [("frame", 1, 1), ("frame", 1, 3), ("change", 4, "COMPLETED")]
    order = [brief(item)[1] for item in watching.items[1:]]
    assert order.index(("gap", False, True)) == 1
    assert order.count(("gap", False, True)) == 2


async def test_frames_of_a_failed_attempt_are_reset_those_before_a_wait_are_not(world: World) -> None:
    server, worker = await one_claim(world, activity("a", retry=FAST))
    watching = Watching(world, server)
    worker.beat(worker.claim("a"), "void")
    await worker.settle(worker.claim("a"), Failed(Failure("x.y")))
    await world.until(lambda: worker.held)
    worker.beat(worker.claim("a"), "kept")
    await worker.settle(worker.claim("a"), Waiting(Wait((after(60),))))
    await world.until(lambda: worker.held)
    worker.beat(worker.claim("a"), "more")
    await worker.settle(worker.claim("a"))
    await world.settle()
    told = [what for what in by_step(watching.items)["a"] if what[0] in ("frame", "reset")]
    assert told == [("frame", 1, 1), ("reset", 1), ("frame", 2, 1), ("frame", 3, 1)]
    late = Watching(world, server)
    await world.settle()
    assert late.texts == ["kept", "more"], "what is void is not shown to those who come later"


async def test_a_fresh_watcher_sees_what_is_retained(world: World) -> None:
    server, worker = await one_claim(world)
    worker.beat(worker.claim("a"), "1", "2", "3")
    await world.settle()
    watching = Watching(world, server)
    await world.settle()
    assert watching.texts == ["1", "2", "3"]


@pytest.mark.parametrize("lost", [False, True])
async def test_another_servers_change_is_heard_and_found_when_the_wakeup_is_lost(world: World, lost: bool) -> None:
    here, worker = await one_claim(world)
    there = await world.server()
    await world.advance(1_500)
    watching = Watching(world, there)
    await world.settle()
    world.coordination.deaf = lost
    await worker.settle(worker.claim("a"))
    passed = await world.until(lambda: watching.ended)
    assert passed <= (limits.REVISION_POLL_INTERVAL if lost else 0)
    assert here.hub.watching == 0


async def test_changes_while_the_watcher_reads_are_not_lost(world: World) -> None:
    here, worker = await one_claim(world, "a", "b: a")
    there = await world.server()
    await world.advance(1_500)
    watching = Watching(world, there)
    await world.settle()
    gate = world.faults.hold("workflows.load", Moment.AFTER)
    await here.signal(world.ref(), signal("x"))
    await world.settle()  # `there` reads the signal's state, and its answer is on its way
    world.faults.release("workflows.load", Moment.AFTER)
    await worker.settle(worker.claim("a"))
    await worker.settle(worker.claim("b"))
    await world.settle()
    gate.set()
    assert await world.until(lambda: watching.ended) == 0


async def test_an_own_change_during_a_read_is_not_overwritten_by_it(world: World) -> None:
    here, there = await world.server(), await world.server()
    await world.define(here, "a")
    worker = await world.worker(here, script=holding)
    await world.start(here)
    await world.advance(1_500)
    watching = Watching(world, here)
    await world.settle()
    gate = world.faults.hold("workflows.load", Moment.AFTER)
    sent = world.spawn(there.signal(world.ref(), signal("x")))
    await world.settle()
    world.faults.release("workflows.load", Moment.AFTER)
    assert not sent.done()
    here.hub._stale(world.key().workflow_id)  # a hint that came late
    gate.set()
    await world.settle()
    gate = world.faults.hold("workflows.load", Moment.AFTER)
    here.hub._stale(world.key().workflow_id)
    await world.settle()
    world.faults.release("workflows.load", Moment.AFTER)
    await worker.settle(worker.claim("a"))
    await world.settle()
    gate.set()
    assert await world.until(lambda: watching.ended) == 0


async def test_c79_a_slow_watcher_gets_a_gap_and_a_snapshot(world: World) -> None:
    server, worker = await one_claim(
        world, activity("a", retry=RetryPolicy(max_attempts=None, initial_interval=1, coefficient=1.0)), "b: a"
    )
    watching = Watching(world, server)
    await world.settle()
    watching.paused.clear()
    for number in range(40):
        worker.beat(worker.claim("a"), f"{number}")
        await worker.settle(worker.claim("a"), Failed(Failure("x.y")))
        await world.until(lambda: worker.held)
    watching.paused.set()
    await world.settle()
    kinds = [type(item).__name__ for item in watching.items]
    position = kinds.index("GapItem")
    assert "SnapshotItem" in kinds[position:]
    await worker.settle(worker.claim("a"))
    await worker.settle(worker.claim("b"))
    await world.settle()
    assert watching.ended
    after_gap = [item.event.seq for item in watching.of(ChangeItem)]
    assert after_gap == sorted(set(after_gap))


async def test_c79_tokens_of_the_future_and_nonsense_are_refused(world: World) -> None:
    server, worker = await one_claim(world, "a", "b: a")
    watching = Watching(world, server)
    await worker.settle(worker.claim("a"))
    await world.settle()
    token = watching.items[-1].resume_token
    stored = world.store.workflows._stored  # type: ignore[attr-defined]  # the memory store's
    past = dict(stored)
    await worker.settle(worker.claim("b"))
    await world.settle()
    assert watching.ended
    future = watching.items[-1].resume_token
    stored.update(past)
    for refused in (future, "nonsense", "x" * 10, "AAAA"):
        resumed = Watching(world, server, refused)
        await world.settle()
        assert isinstance(resumed.error, Rejection), refused
        assert resumed.error.reason is Reason.RESUME_TOKEN_INVALID
    assert Watching(world, server, token).error is None
    await world.settle()


async def test_c79_the_end_is_always_told(world: World) -> None:
    server, worker = await one_claim(world)
    watching = Watching(world, server)
    worker.beat(worker.claim("a"), "1")
    await worker.settle(worker.claim("a"))
    await world.settle()
    for item in watching.items:
        resumed = Watching(world, server, item.resume_token)
        await world.settle()
        assert resumed.ended
        assert resumed.task.done()
    world.coordination.flush()
    fresh = Watching(world, server)
    await world.settle()
    assert [type(item).__name__ for item in fresh.items] == ["SnapshotItem", "EndItem"]


async def test_keep_alive(world: World) -> None:
    server, _ = await one_claim(world)
    watching = Watching(world, server)
    await world.advance(31_000)
    assert [type(item).__name__ for item in watching.items] == ["SnapshotItem", "KeepAliveItem", "KeepAliveItem"]
    resumed = Watching(world, server, watching.items[-1].resume_token)
    await world.settle()
    assert resumed.items == []


async def test_a_follower_is_told_the_end_once(world: World) -> None:
    server, worker = await one_claim(world)
    watching = Watching(world, server, follow=True)
    await worker.settle(worker.claim("a"))
    await world.advance(40_000)
    assert len(watching.of(EndItem)) == 1
    assert not watching.task.done()


async def test_a_watch_of_nothing(world: World) -> None:
    server = await world.server()
    watching = Watching(world, server)
    await world.settle()
    assert isinstance(watching.error, Rejection)
    assert watching.error.reason is Reason.WORKFLOW_NOT_FOUND
    assert server.hub.watching == 0


async def test_1_000_watchers_cost_one_subscription_and_few_reads(world: World) -> None:
    server, worker = await one_claim(world)
    watchers = [Watching(world, server, include_frames=False) for _ in range(1_000)]
    await world.settle()
    reads = world.faults.calls["workflows.load"]
    await world.advance(4_500)
    assert world.faults.calls["workflows.load"] == reads, "the poll compares revisions"
    await worker.settle(worker.claim("a"))
    await world.settle()
    assert all(watching.ended for watching in watchers)
    assert world.faults.calls["workflows.load"] == reads, "a change made here is handed on"
    assert server.hub.watching == 0


async def test_frames_that_cannot_be_read_are_named_once_and_then_go_on(world: World) -> None:
    server, worker = await one_claim(world)
    watching = Watching(world, server)
    claim = worker.claim("a")
    worker.beat(claim, "1")
    await world.settle()
    world.coordination.away = True
    for number in range(2, 5):
        worker.beat(claim, f"{number}", first=number)
        server.hub.frames_came(world.key().workflow_id)
        await world.settle()
    world.coordination.away = False
    worker.beat(claim, "5", first=5)
    await world.settle()
    worker.send(claim, Completed(), last_frame_seq=5)
    await world.settle()
    assert watching.texts == ["1", "5"]
    assert len(watching.of(GapItem)) == 2, "once for the outage, once for what was lost in it"
    assert watching.ended


async def test_late_frames_of_a_claim_that_has_ended_are_not_shown(world: World) -> None:
    server, worker = await one_claim(world, activity("a", retry=FAST))
    watching = Watching(world, server)
    run_id = worker.claim("a").run_id
    worker.beat(worker.claim("a"), "1")
    await worker.settle(worker.claim("a"), Failed(Failure("x.y")))
    await world.coordination.append_frames(run_id, [Frame("a", 1, 2, 1, 0, payload("late"))])
    server.hub.frames_came(world.key().workflow_id)
    await world.until(lambda: worker.held)
    worker.beat(worker.claim("a"), "2")
    await world.settle()
    assert watching.texts == ["1", "2"]


async def test_frames_of_a_newer_claim_wait_for_the_change_that_voids_the_older(world: World) -> None:
    here, worker = await one_claim(world, activity("a", retry=FAST))
    there = await world.server()
    await world.advance(1_500)
    watching = Watching(world, there)
    worker.beat(worker.claim("a"), "old")
    await world.settle()
    world.coordination.deaf = True  # the wake-ups about the workflow are lost ...
    await worker.settle(worker.claim("a"), Failed(Failure("x.y")))
    await world.until(lambda: worker.held)
    world.coordination.deaf = False  # ... and the frames of the next claim are not
    worker.beat(worker.claim("a"), "new")
    await world.settle()
    told = [what for what in by_step(watching.items)["a"] if what[0] in ("frame", "reset")]
    assert told == [("frame", 1, 1), ("reset", 1), ("frame", 2, 1)]
    assert here.supervisor.failures == there.supervisor.failures == 0


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
    steps = (activity("a", retry=FAST), activity("left: a", retry=FAST), activity("right: a", retry=FAST), "join: left right")
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

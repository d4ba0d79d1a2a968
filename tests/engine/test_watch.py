"""Watch: everything once and in order, from any token, whatever is lost on the way."""

import pytest

from perdure_server.engine.values import (
    ChangeItem,
    EndItem,
    FrameItem,
    GapItem,
)
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Completed, Failed, Waiting
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import Failure, RetryPolicy, Wait
from perdure_server.kernel.workflow import WorkflowState
from perdure_server.ports.coordination import Frame
from perdure_server.store.memory import Moment
from tests.engine.harness import World
from tests.engine.watching import FAST, Watching, brief, by_step, one_claim
from tests.engine.workers import holding
from tests.kernel.harness import activity, after, payload, signal


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


async def test_c79_a_watch_after_the_end_says_that_the_last_frames_are_gone(world: World) -> None:
    server, worker = await one_claim(world, activity("a"))
    claim = worker.claim("a")
    worker.beat(claim, "1")
    await world.settle()
    await worker.settle(claim, Completed(), last_frame_seq=3)
    watching = Watching(world, server)
    await world.settle()
    assert watching.ended
    assert [item.frame.seq for item in watching.of(FrameItem)] == [1]
    assert len(watching.of(GapItem)) == 1
    again = Watching(world, server, watching.items[-2].resume_token)
    await world.settle()
    assert again.of(GapItem) == again.of(FrameItem) == [], "told once"

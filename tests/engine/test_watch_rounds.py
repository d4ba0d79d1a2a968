"""Watch over rounds: to the end of the one that is watched, or on into the next, without silent gap or repeat."""

import pytest

from perdure_server.engine.service import Engine
from perdure_server.engine.values import (
    ChangeItem,
    EndItem,
    FrameItem,
    FramesResetItem,
    GapItem,
    GrantedClaim,
    KeepAliveItem,
    Ref,
    SnapshotItem,
    WatchItem,
)
from perdure_server.kernel.rejection import Reason
from perdure_server.kernel.workflow import WorkflowState
from tests.engine.harness import World
from tests.engine.rounds import defined, supersede
from tests.engine.watching import Watching
from tests.engine.workers import Worker, holding


async def watched(world: World, *, follow: bool, frames: bool = False) -> tuple[Engine, Worker, Watching]:
    """A watcher of the first round, whose step `a` is held by a worker."""
    server = await world.server()
    await defined(world, server)
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    watching = Watching(world, server, follow=follow)
    if frames:
        worker.beat(worker.claim("a"), "one", "two")
    await world.settle()
    return server, worker, watching


def held(worker: Worker, step: str, number: int) -> GrantedClaim:
    return next(claim for claim in worker.held.values() if (claim.plan.name, claim.round) == (step, number))


def story(items: list[WatchItem]) -> list[tuple[str, int]]:
    """Snapshots, ends, resets and gaps, with the round of the first two."""
    found: list[tuple[str, int]] = []
    for item in items:
        match item:
            case SnapshotItem(view):
                found.append(("snapshot", view.workflow.round))
            case EndItem(view):
                found.append(("end", view.workflow.round))
            case FramesResetItem():
                found.append(("reset", 0))
            case GapItem():
                found.append(("gap", 0))
            case _:
                pass
    return found


def seqs(items: list[WatchItem]) -> list[int]:
    return [item.event.seq for item in items if isinstance(item, ChangeItem)]


async def test_without_follow_a_superseded_round_is_watched_to_its_own_end(world: World) -> None:
    server, worker, watching = await watched(world, follow=False)
    await supersede(world, server)
    await world.settle()
    await worker.settle(held(worker, "tidy", 1))
    await world.until(watching.task.done)
    assert story(watching.items) == [("snapshot", 1), ("end", 1)]
    end = watching.items[-1]
    assert isinstance(end, EndItem)
    assert end.view.workflow.state is WorkflowState.CANCELLED
    first = watching.items[0]
    assert isinstance(first, SnapshotItem)
    assert seqs(watching.items) == list(range(first.view.workflow.event_seq + 1, end.view.workflow.event_seq + 1))


async def test_with_follow_a_superseded_round_is_left_at_once_and_its_frames_are_void(world: World) -> None:
    server, worker, watching = await watched(world, follow=True, frames=True)
    await supersede(world, server)
    await world.until(lambda: ("snapshot", 2) in story(watching.items))
    assert story(watching.items) == [("snapshot", 1), ("reset", 0), ("snapshot", 2)]
    assert len(watching.of(FrameItem)) == 2
    await worker.settle(held(worker, "a", 2))
    await worker.settle(worker.claim("b"))
    await world.settle()
    assert story(watching.items)[-1] == ("end", 2)
    assert not watching.task.done()


async def test_with_follow_the_end_of_a_round_is_told_before_the_next_however_late(world: World) -> None:
    server, worker, watching = await watched(world, follow=True)
    watching.paused.clear()
    await worker.settle(worker.claim("a"))
    await worker.settle(worker.claim("b"))
    await supersede(world, server, "r2")
    await world.settle()
    watching.paused.set()
    await world.until(lambda: ("snapshot", 2) in story(watching.items))
    assert story(watching.items) == [("snapshot", 1), ("end", 1), ("snapshot", 2)]


@pytest.mark.parametrize("follow", [True, False])
async def test_a_resume_token_of_an_earlier_round_goes_on_with_what_is_left_of_it(world: World, follow: bool) -> None:
    server, worker, watching = await watched(world, follow=True)
    token = watching.items[0].resume_token
    await worker.settle(worker.claim("a"))
    await worker.settle(worker.claim("b"))
    await supersede(world, server, "r2")
    await world.settle()
    again = Watching(world, server, token, follow=follow)
    await world.settle()
    assert story(again.items) == [("end", 1), ("snapshot", 2)] if follow else [("end", 1)]
    first = watching.items[0]
    assert isinstance(first, SnapshotItem)
    assert seqs(again.items)[0] == first.view.workflow.event_seq + 1
    assert again.task.done() is not follow


async def test_a_round_is_watched_by_its_number(world: World) -> None:
    server, worker, _ = await watched(world, follow=True)
    await supersede(world, server)
    await world.settle()
    items: list[WatchItem] = []

    async def watch() -> None:
        async for batch in server.watch(Ref(world.key(), round=1), "", False, False):
            items.extend(batch)

    watching = world.spawn(watch())
    await world.settle()
    assert story(items) == [("snapshot", 1)]
    await worker.settle(held(worker, "tidy", 1))
    await world.until(watching.done)
    assert story(items)[-1] == ("end", 1)
    assert not any(isinstance(item, KeepAliveItem) for item in items)


async def test_a_round_that_is_not_there_is_not_watched(world: World) -> None:
    server, _, _ = await watched(world, follow=False)
    watching = Watching(world, server)
    await world.settle()
    assert watching.error is None

    async def watch(number: int) -> None:
        async for _ in server.watch(Ref(world.key(), round=number), "", False, False):
            pass

    for number in (0, 2):
        task = world.spawn(watch(number))
        await world.settle()
        error = task.exception()
        assert getattr(error, "reason", None) is Reason.WORKFLOW_NOT_FOUND

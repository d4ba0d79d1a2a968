"""Heartbeats: checkpoints and frames in their order, whatever is slow."""

import asyncio
from typing import Any

from perdure_server.engine.values import HeartbeatIn, ResultIn
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Completed
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.ports.coordination import Frame
from tests.engine.harness import World
from tests.engine.workers import Worker, holding
from tests.kernel.harness import payload


async def running(world: World, **options: Any) -> Worker:
    server = await world.server()
    await world.define(server, "a")
    worker = await world.worker(server, script=holding, **options)
    await world.start(server)
    await world.settle()
    return worker


async def stored_frames(world: World) -> list[Frame]:
    run_id = (await world.stored()).run_id
    return list((await world.coordination.read_frames(run_id, "", 1_000)).frames)


async def test_frames_are_numbered_by_the_worker_and_stamped_by_the_server(world: World) -> None:
    worker = await running(world)
    worker.beat(worker.claim("a"), "one", "two")
    await world.settle()
    frames = await stored_frames(world)
    assert [(frame.step, frame.claim_no, frame.seq, frame.time) for frame in frames] == [("a", 1, 1, world.now()), ("a", 1, 2, world.now())]


async def test_heartbeats_of_one_claim_keep_their_order_behind_a_slow_checkpoint(world: World) -> None:
    worker = await running(world)
    claim = worker.claim("a")
    gate = world.faults.hold("workflows.commit")
    worker.beat(claim, "1", "2", has_checkpoint=True, checkpoint=payload("cursor"))
    await world.settle()
    worker.beat(claim, "3", "4", first=3)
    await world.settle()
    assert await stored_frames(world) == []
    gate.set()
    await world.settle()
    assert [frame.seq for frame in await stored_frames(world)] == [1, 2, 3, 4]
    assert (await world.step("a")).checkpoint == payload("cursor")


async def test_several_heartbeats_in_one_message_keep_their_order_and_do_not_wait_for_other_claims(world: World) -> None:
    server = await world.server()
    await world.define(server, "a", "b")
    worker = await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    gate = world.faults.hold("workflows.commit")
    slow, quick = worker.claim("a"), worker.claim("b")
    beats = [
        HeartbeatIn(slow.token, True, payload(1), 1, _frames(1), heartbeat_id=101),
        HeartbeatIn(quick.token, frames=_frames(1), heartbeat_id=102),
        HeartbeatIn(slow.token, frames=_frames(2), heartbeat_id=103),
    ]
    worker.stream.heartbeats(beats)
    await world.settle()
    assert set(worker.heartbeats) == {102}
    gate.set()
    await world.settle()
    assert set(worker.heartbeats) == {101, 102, 103}
    assert [(frame.step, frame.seq) for frame in await stored_frames(world)] == [("b", 1), ("a", 1), ("a", 2)]


def _frames(seq: int) -> tuple[Frame, ...]:
    return (Frame("", 0, seq, 1, 0, payload(seq)),)


async def test_a_result_waits_for_the_frames_before_it(world: World) -> None:
    worker = await running(world)
    claim = worker.claim("a")
    world.coordination.append_gate = asyncio.Event()
    worker.beat(claim, "1", "2", "3")
    number = worker.send(claim, Completed())
    await world.settle()
    assert number not in worker.settled
    world.coordination.append_gate.set()
    await world.settle()
    assert worker.settled[number].error is None
    assert len(await stored_frames(world)) == 3
    assert len(worker.engine.workers._turns) == 0


async def test_a_result_does_not_wait_for_ever(world: World) -> None:
    worker = await running(world)
    world.coordination.append_gate = asyncio.Event()
    worker.beat(worker.claim("a"), "1")
    number = worker.send(worker.claim("a"), Completed())
    assert await world.until(lambda: number in worker.settled) <= limits.FRAMES_WITHIN + 100
    assert await world.completed()
    world.coordination.append_gate.set()
    await world.settle()


async def test_frames_are_lost_and_nothing_else_when_coordination_is_away(world: World) -> None:
    worker = await running(world)
    world.coordination.away = True
    number = worker.beat(worker.claim("a"), "1", has_checkpoint=True, checkpoint=payload(1))
    await world.settle()
    assert worker.heartbeats[number].error is None
    assert (await world.step("a")).checkpoint == payload(1)


async def test_checkpoints_are_ordered_and_number_0_comes_after_all(world: World) -> None:
    worker = await running(world)
    claim = worker.claim("a")

    async def save(number: int, value: int) -> object:
        await worker.engine.heartbeat(HeartbeatIn(claim.token, has_checkpoint=True, checkpoint=payload(value), checkpoint_no=number))
        return (await world.step("a")).checkpoint

    assert await save(0, 1) == payload(1)
    assert await save(0, 2) == payload(2)
    assert await save(1, 3) == payload(2), "lower than stored"
    assert await save(5, 4) == payload(4)
    assert await save(5, 5) == payload(4)
    assert await save(0, 6) == payload(6)
    cleared = HeartbeatIn(claim.token, has_checkpoint=True)
    await worker.engine.heartbeat(cleared)
    assert (await world.step("a")).checkpoint is None


async def test_a_heartbeat_of_a_lost_claim_says_so(world: World) -> None:
    worker = await running(world)
    claim = worker.claim("a")
    await worker.engine.complete(ResultIn(claim.token, Completed()))
    number = worker.beat(claim, "late")
    await world.settle()
    error = worker.heartbeats[number].error
    assert isinstance(error, Rejection)
    assert error.reason is Reason.CLAIM_LOST
    assert await stored_frames(world) == []


async def test_frames_alone_read_and_write_nothing_in_the_store(world: World) -> None:
    worker = await running(world, renews=False)
    before = dict(world.faults.calls)
    for number in range(10):
        worker.beat(worker.claim("a"), "x", first=number + 1)
    await world.settle()
    assert dict(world.faults.calls) == before

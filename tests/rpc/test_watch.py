"""Watch over a real channel."""

import asyncio
from typing import Any

import grpc
import pytest

from perdure.v1 import watch_pb2, worker_service_pb2, workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.engine.values import FrameItem, KeepAliveItem
from perdure_server.kernel.values import Payload
from perdure_server.ports.coordination import Frame
from perdure_server.ports.instruments import RPC_TIME
from perdure_server.rpc import limits, watch_stream
from perdure_server.rpc.encode.watching import response
from tests.conftest import Eventually
from tests.rpc.conftest import Served, ref, refusal_of, refused
from tests.rpc.worker import connected

FULL = workflow_pb2.WORKFLOW_VIEW_FULL


async def events(served: Served, **fields: Any) -> list[watch_pb2.WatchEvent]:
    """Everything until the end of the stream."""
    call = served.workflows.Watch(wire.WatchRequest(workflow=ref(), **fields))
    return [event async for message in call for event in message.events]


def kinds(found: list[watch_pb2.WatchEvent]) -> list[str]:
    return [event.WhichOneof("event") or "" for event in found]


class Reader:
    """Reads a Watch in the background."""

    def __init__(self, served: Served, **fields: Any) -> None:
        self.call = served.workflows.Watch(wire.WatchRequest(workflow=ref(), **fields))
        self.events: list[watch_pb2.WatchEvent] = []

    async def until(self, kind: str, count: int = 1) -> None:
        async with asyncio.timeout(10):
            while kinds(self.events).count(kind) < count:
                message: Any = await self.call.read()
                assert message is not grpc.aio.EOF  # type: ignore[attr-defined]  # the stubs do not have it
                self.events += message.events


async def test_a_run_from_snapshot_to_end(served: Served) -> None:
    await served.register("a", "b:a")
    await served.start()
    reader = Reader(served)
    await reader.until("snapshot")
    async with connected(served) as worker:
        settled = await worker.complete(await worker.claim(), '"x"', want_next=True)
        await worker.complete(settled.next_claims[0], '"y"', result_id=2)
        await reader.until("end")
    changes = [event.change for event in reader.events if event.WhichOneof("event") == "change"]
    seqs = [change.seq for change in changes]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
    steps = [(change.step, workflow_pb2.StepView.State.Name(change.step_state).removeprefix("STATE_")) for change in changes if change.step]
    assert steps == [("a", "RUNNING"), ("a", "COMPLETED"), ("b", "READY"), ("b", "RUNNING"), ("b", "COMPLETED")]
    end = reader.events[-1].end
    assert (end.state, end.output.json, end.round) == (workflow_pb2.Workflow.STATE_COMPLETED, '"y"', 1)
    assert all(event.resume_token for event in reader.events)


async def test_resumed_at_every_event_nothing_is_missing_and_nothing_repeated(served: Served) -> None:
    await served.register("a", "wait_go:a")
    await served.start()
    reader = Reader(served)
    await reader.until("snapshot")
    async with connected(served) as worker:
        await worker.complete(await worker.claim())
    await served.workflows.Signal(wire.SignalRequest(workflow=ref(), signal_name="wait_go", signal_id="s"))
    await reader.until("end")
    whole = [event.change.seq for event in reader.events if event.WhichOneof("event") == "change"]
    for index, event in enumerate(reader.events):
        before = [item.change.seq for item in reader.events[: index + 1] if item.WhichOneof("event") == "change"]
        after = [item.change.seq for item in await events(served, resume_token=event.resume_token) if item.WhichOneof("event") == "change"]
        assert before + after == whole


async def test_frames_come_in_order_and_only_if_asked_for(served: Served, eventually: Eventually) -> None:
    await served.register("a")
    await served.start()
    with_frames, without = Reader(served, include_frames=True), Reader(served)
    await with_frames.until("snapshot")
    await without.until("snapshot")
    async with connected(served) as worker:
        claim = await worker.claim()
        beat = worker_service_pb2.StreamHeartbeat(claim_token=claim.claim_token, heartbeat_id=1)
        for seq in (1, 2, 3):
            beat.frames.add(seq=seq, kind=watch_pb2.Frame.KIND_TEXT).payload.json = f'"{seq}"'
        await worker.say(heartbeats=worker_service_pb2.Heartbeats(heartbeats=[beat]))
        await worker.hear_one("heartbeats_answered")
        await with_frames.until("frame", 3)
        await worker.complete(claim)
    await with_frames.until("end")
    await without.until("end")
    frames = [event.frame for event in with_frames.events if event.WhichOneof("event") == "frame"]
    assert [(frame.seq, frame.step, frame.claim_no, frame.payload.json) for frame in frames] == [
        (seq, "a", 1, f'"{seq}"') for seq in (1, 2, 3)
    ]
    assert "frame" not in kinds(without.events)


async def test_basic_views_carry_no_payloads(served: Served) -> None:
    await served.register("a")
    await served.start()
    async with connected(served) as worker:
        await worker.complete(await worker.claim(), '"secret"')
    found = await events(served, view=workflow_pb2.WORKFLOW_VIEW_BASIC)
    assert "secret" not in str(found)
    assert not found[0].snapshot.steps


async def test_faults(served: Served) -> None:
    call: Any = served.workflows.Watch(wire.WatchRequest(workflow=ref()))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call.read()
    assert refusal_of(caught.value).reason == "WORKFLOW_NOT_FOUND"
    await served.register("a")
    await served.start()
    call = served.workflows.Watch(wire.WatchRequest(workflow=ref(), resume_token="nonsense"))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call.read()
    assert refusal_of(caught.value).reason == "RESUME_TOKEN_INVALID"


async def test_c59_watchers_that_leave_are_gone(served: Served, eventually: Eventually) -> None:
    await served.register("a")
    await served.start()
    for _ in range(50):
        reader = Reader(served)
        await reader.until("snapshot")
        reader.call.cancel()
    await eventually(lambda: served.running.server.guard.in_flight == 0)


async def test_an_old_watch_is_told_to_resume_elsewhere(served: Served) -> None:
    served.running.server.leaving.stream_age = 50
    await served.register("a")
    await served.start()
    reader = Reader(served)
    await reader.until("snapshot")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await reader.call.read()
    found = refusal_of(caught.value)
    assert (found.code, found.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")


async def test_c62_a_watcher_that_does_not_read_is_cut_and_may_resume(
    served: Served, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    monkeypatch.setattr(limits, "WRITE_STALL", 200)
    await served.register("a")
    await served.start()
    async with connected(served) as worker:
        claim = await worker.claim()
        beat = worker_service_pb2.StreamHeartbeat(claim_token=claim.claim_token, heartbeat_id=1)
        for seq in range(1, 15):
            beat.frames.add(seq=seq, kind=watch_pb2.Frame.KIND_TEXT).payload.binary = b"x" * 60_000
        await worker.say(heartbeats=worker_service_pb2.Heartbeats(heartbeats=[beat]))
        await worker.hear_one("heartbeats_answered")
    # A window of 64 KiB, so that a client that does not read stops the server's writes.
    narrow = (("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 65_536))
    async with grpc.aio.insecure_channel(f"127.0.0.1:{served.running.port}", options=narrow) as channel:
        slow = Reader(Served(served.running, channel), include_frames=True)
        cut = ("grpc", "perdure.v1.WorkflowService/Watch", "RESOURCE_EXHAUSTED")
        await eventually(lambda: served.running.telemetry.counted(RPC_TIME, cut) == 1)
        told = await refused(slow.until("end"))
        assert (told.code, told.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "WATCHER_TOO_SLOW")
    resumed = Reader(served, include_frames=True)
    await resumed.until("frame", 14)


def test_c62_no_message_is_larger_than_clients_take() -> None:
    items = [FrameItem(Frame("a", 1, seq + 1, 1, 5, Payload(binary=b"x" * 65_536)), "t") for seq in range(200)]
    parts = list(watch_stream._parts([*items, KeepAliveItem("t")]))
    assert [item for part in parts for item in part] == [*items, KeepAliveItem("t")]
    assert all(response(part, FULL).ByteSize() <= limits.RESPONSE_MAX for part in parts)
    assert len(parts) == 4

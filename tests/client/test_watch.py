"""Watches: they resume by themselves, repeat nothing, and say what is missing."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
import pytest
from grpc import aio

from perdure import Change, Client, End, Event, Frame, FramesReset, Gap, Idle, NotFound, Snapshot
from perdure.statuses import STATUS_DETAILS
from perdure.v1 import watch_pb2, workflow_pb2, workflow_service_pb2
from tests.client.messages import status

Part = list[watch_pb2.WatchEvent] | tuple[grpc.StatusCode, str]


class WatchServer:
    """Answers each Watch with the next part of a script: events, then its end; or an error."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts
        self.tokens: list[str] = []
        self.hangs = asyncio.Event()
        self.later: asyncio.Queue[list[watch_pb2.WatchEvent]] = asyncio.Queue()  # what the last stream says behind its part
        self.left = asyncio.Event()

    async def watch(self, request: workflow_service_pb2.WatchRequest, context: Any) -> AsyncIterator[workflow_service_pb2.WatchResponse]:
        self.tokens.append(request.resume_token)
        part = self.parts.pop(0)
        if isinstance(part, tuple):
            await self._refuse(context, *part)
            return
        if part:
            yield workflow_service_pb2.WatchResponse(events=part)
        if not self.parts:
            self.hangs.set()
            try:
                while True:
                    yield workflow_service_pb2.WatchResponse(events=await self.later.get())
            finally:
                self.left.set()

    async def _refuse(self, context: Any, code: grpc.StatusCode, reason: str) -> None:
        context.set_trailing_metadata(((STATUS_DETAILS, status(code, reason).SerializeToString()),))
        await context.abort(code, reason)


@pytest.fixture
async def watched() -> AsyncIterator[Callable[[list[Part]], Any]]:
    started: list[Any] = []

    async def start(parts: list[Part]) -> tuple[WatchServer, Client]:
        behaviour = WatchServer(parts)
        server = aio.server()
        handler = grpc.unary_stream_rpc_method_handler(
            behaviour.watch, workflow_service_pb2.WatchRequest.FromString, workflow_service_pb2.WatchResponse.SerializeToString
        )
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("perdure.v1.WorkflowService", {"Watch": handler}),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        client = Client(f"127.0.0.1:{port}")
        started.extend([server, client])
        return behaviour, client

    yield start
    for server, client in zip(started[::2], started[1::2], strict=True):
        await client.close()
        await server.stop(0)


def snapshot(token: str, seq: int, round_number: int = 1) -> watch_pb2.WatchEvent:
    workflow = workflow_pb2.Workflow(last_change_seq=seq, state=workflow_pb2.Workflow.STATE_RUNNING)
    workflow.workflow.round = round_number
    return watch_pb2.WatchEvent(resume_token=token, snapshot=workflow)


def change(token: str, seq: int, round_number: int = 1) -> watch_pb2.WatchEvent:
    return watch_pb2.WatchEvent(resume_token=token, change=watch_pb2.StateChange(seq=seq, round=round_number, step="a"))


def frame(token: str, claim_no: int, seq: int) -> watch_pb2.WatchEvent:
    made = watch_pb2.Frame(step="a", claim_no=claim_no, seq=seq, kind=watch_pb2.Frame.KIND_TEXT)
    made.payload.json = f'"{seq}"'
    return watch_pb2.WatchEvent(resume_token=token, frame=made)


def end(token: str) -> watch_pb2.WatchEvent:
    return watch_pb2.WatchEvent(resume_token=token, end=watch_pb2.WatchEnd(state=workflow_pb2.Workflow.STATE_COMPLETED))


async def collect(client: Client, **options: Any) -> list[Event]:
    return [event async for event in client.run("note", "k").watch(**options)]


UNAVAILABLE = (grpc.StatusCode.UNAVAILABLE, "DRAINING")


async def test_a_cut_watch_goes_on_behind_the_last_event_without_repeats(watched: Callable[..., Any]) -> None:
    keep_alive = watch_pb2.WatchEvent(resume_token="t4", keep_alive=watch_pb2.KeepAlive())
    server, client = await watched(
        [
            [snapshot("t1", 3), change("t2", 4), frame("t3", 1, 1)],
            UNAVAILABLE,
            [change("t2", 4), frame("t3", 1, 1), frame("t3", 1, 2), keep_alive],
            [end("t5")],
        ]
    )
    events = await collect(client)
    assert server.tokens == ["", "t3", "t3", "t4"]
    assert [type(event) for event in events] == [Snapshot, Change, Frame, Frame, End]
    assert [event.seq for event in events if isinstance(event, Frame)] == [1, 2]
    assert events[-1].resume_token == "t5"


async def test_frames_of_a_new_claim_begin_again_and_late_ones_of_an_old_one_count(watched: Callable[..., Any]) -> None:
    reset = watch_pb2.WatchEvent(resume_token="r", frames_reset=watch_pb2.FramesReset(step="a", claim_no=1))
    _, client = await watched([[frame("1", 1, 1), reset, frame("2", 2, 1), frame("3", 1, 2), frame("4", 2, 2), end("5")]])
    events = await collect(client)
    assert [(event.claim_no, event.seq) for event in events if isinstance(event, Frame)] == [(1, 1), (2, 1), (1, 2), (2, 2)]
    assert any(isinstance(event, FramesReset) for event in events)


async def test_c79_a_gap_is_shown_and_the_snapshot_behind_it_counts(watched: Callable[..., Any]) -> None:
    gap = watch_pb2.WatchEvent(resume_token="g", gap=watch_pb2.Gap(changes=True, frames=True, reason="retention"))
    _, client = await watched([[snapshot("1", 1), change("2", 2)], [gap, snapshot("3", 90), change("4", 90), change("5", 91), end("6")]])
    events = await collect(client)
    assert [type(event) for event in events] == [Snapshot, Change, Gap, Snapshot, Change, End]
    assert "changes and frames missing (retention)" in str(events[2])


async def test_a_slow_watcher_resumes_and_a_token_of_another_version_begins_anew(watched: Callable[..., Any]) -> None:
    server, client = await watched(
        [
            [snapshot("t1", 1)],
            (grpc.StatusCode.RESOURCE_EXHAUSTED, "WATCHER_TOO_SLOW"),
            (grpc.StatusCode.INVALID_ARGUMENT, "RESUME_TOKEN_INVALID"),
            [snapshot("t2", 2), end("t3")],
        ]
    )
    assert len(await collect(client)) == 3
    assert server.tokens == ["", "t1", "t1", ""]


async def test_what_a_new_try_cannot_help_is_raised(watched: Callable[..., Any]) -> None:
    _, client = await watched([[snapshot("t1", 1)], (grpc.StatusCode.NOT_FOUND, "WORKFLOW_NOT_FOUND")])
    with pytest.raises(NotFound):
        await collect(client)


async def test_following_goes_on_into_the_next_round(watched: Callable[..., Any]) -> None:
    _, client = await watched(
        [[snapshot("1", 5), frame("2", 1, 1), end("3"), snapshot("4", 1, 2), change("5", 2, 2), frame("6", 1, 1), end("7")], []]
    )
    seen: list[Event] = []
    async for event in client.run("note", "k", round=1).watch(follow=True):
        seen.append(event)
        if len(seen) == 7:
            break
    assert [type(event) for event in seen] == [Snapshot, Frame, End, Snapshot, Change, Frame, End]


async def test_an_event_of_another_process_s_watch_is_a_place_to_go_on(watched: Callable[..., Any]) -> None:
    server, client = await watched([[end("t9")]])
    await collect(client, resume_token="t8", frames=False)
    assert server.tokens == ["t8"]


async def test_a_silent_stream_is_opened_again(watched: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.limits.WATCH_IDLE_TIMEOUT", 0.2)
    server, client = await watched([[snapshot("t1", 1)], [], [end("t2")]])
    server.parts.insert(1, [])
    assert isinstance((await collect(client))[-1], End)


async def test_a_time_limit_around_a_step_loses_and_repeats_nothing(watched: Callable[..., Any]) -> None:
    server, client = await watched([[snapshot("t1", 1)]])
    watching = client.run("note", "k").watch()
    assert isinstance(await anext(watching), Snapshot)
    for number in range(2, 6):
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(watching), 0.02)
        server.later.put_nowait([change(f"t{number}", number)])
        event = await asyncio.wait_for(anext(watching), 5)
        assert isinstance(event, Change)
        assert event.seq == number
    server.later.put_nowait([end("t6")])
    assert [type(event) async for event in watching] == [End]
    assert server.tokens == [""], "all in one stream"


async def test_a_watch_that_is_dropped_in_a_read_ends_its_stream(watched: Callable[..., Any]) -> None:
    server, client = await watched([[snapshot("t1", 1)]])
    watching = client.run("note", "k").watch()
    await anext(watching)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(watching), 0.02)
    del watching
    gc.collect()
    await asyncio.wait_for(server.left.wait(), 5)


async def test_idleness_is_told_to_who_asks_for_it(watched: Callable[..., Any]) -> None:
    alive = [watch_pb2.WatchEvent(resume_token=f"k{number}", keep_alive=watch_pb2.KeepAlive()) for number in range(3)]
    script: list[Part] = [[snapshot("t1", 1)], [alive[0]], [alive[1]], [alive[2], end("t2")]]
    server, client = await watched([*script])
    events = [event async for event in client.run("note", "k").watch(idle=True)]
    assert [type(event) for event in events if not isinstance(event, Idle)] == [Snapshot, End]
    assert {"k0", "k1"} <= {event.resume_token for event in events if isinstance(event, Idle)}, "it moves the token"
    assert server.tokens == ["", "t1", "k0", "k1"]
    server.parts = [*script]
    assert [type(event) for event in await collect(client)] == [Snapshot, End]

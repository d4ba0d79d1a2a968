"""A watcher whose connection is cut: it goes on where it was, nothing missing, nothing twice."""

from collections.abc import AsyncIterator

import grpc
import pytest

from perdure import Client
from perdure.events import Change, Event, Frame
from perdure.v1 import claim_pb2, payload_pb2, watch_pb2, worker_service_pb2, workflow_service_pb2
from tests.coordination.proxy import Proxy
from tests.e2e.channels import COMPLETED, Perdure, connected
from tests.e2e.servers import PerdureProcess
from tests.e2e.watcher import Watched

FRAMES = 10


@pytest.fixture
async def proxy(server: PerdureProcess) -> AsyncIterator[Proxy]:
    """The wire between a watcher and the server."""
    async with Proxy(server.port) as made:
        yield made


async def send_frames(perdure: Perdure, claim: claim_pb2.Claim, first: int) -> None:
    """FRAMES pieces of text, numbered from `first`."""
    request = worker_service_pb2.HeartbeatRequest(claim_token=claim.claim_token)
    for seq in range(first, first + FRAMES):
        request.frames.add(seq=seq, kind=watch_pb2.Frame.KIND_TEXT, payload=payload_pb2.Payload(json=f'"{seq} "'))
    await perdure.workers.Heartbeat(request)


async def test_a_watch_goes_on_after_a_cut_with_nothing_missing(perdure: Perdure, proxy: Proxy) -> None:
    await perdure.register("a", "b: a")
    await perdure.start()
    claim = await perdure.taken()
    await send_frames(perdure, claim, 1)
    seen = Watched()
    async with connected(f"127.0.0.1:{proxy.port}", perdure.workflow_type) as watcher:
        await seen.follow(watcher, watcher.ref(), frames=FRAMES)
        proxy.drop()
        await send_frames(perdure, claim, 1 + FRAMES)  # while nobody watches
        await perdure.complete(claim)
        await perdure.complete(await perdure.taken("b"))
    async with connected(f"127.0.0.1:{proxy.port}", perdure.workflow_type) as watcher:
        await seen.follow(watcher, watcher.ref())
    assert seen.ended == COMPLETED
    assert not seen.gaps, "everything is still retained"
    assert seen.frames == [("a", 1, seq) for seq in range(1, 1 + 2 * FRAMES)]
    assert seen.missing == []
    assert seen.changes[-1] == (await perdure.get()).last_change_seq


async def test_a_watch_that_is_cut_in_the_middle_ends_with_an_error_that_says_so(perdure: Perdure, proxy: Proxy) -> None:
    await perdure.register("a")
    await perdure.start()
    async with connected(f"127.0.0.1:{proxy.port}", perdure.workflow_type) as watcher:
        watch = watcher.workflows.Watch(workflow_service_pb2.WatchRequest(workflow=watcher.ref()))
        await watch.read()
        proxy.drop()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await watch.read()
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_the_python_client_goes_on_by_itself(perdure: Perdure, proxy: Proxy) -> None:
    await perdure.register("a", "b: a")
    await perdure.start()
    claim = await perdure.taken()
    await send_frames(perdure, claim, 1)
    frames: list[int] = []
    changes: list[int] = []

    async def cut_once(event: Event) -> None:
        if isinstance(event, Frame) and event.seq == FRAMES:
            proxy.drop()
            await send_frames(perdure, claim, 1 + FRAMES)
            await perdure.complete(claim)
            await perdure.complete(await perdure.taken("b"))

    async with Client(f"127.0.0.1:{proxy.port}") as client:
        async for event in client.run(perdure.workflow_type, "k").watch():
            if isinstance(event, Change):
                changes.append(event.seq)
            elif isinstance(event, Frame):
                frames.append(event.seq)
            await cut_once(event)
    assert frames == list(range(1, 1 + 2 * FRAMES))
    assert changes == list(range(changes[0], changes[-1] + 1))
    assert (await perdure.get()).state == COMPLETED

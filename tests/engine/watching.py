"""A watcher for tests, and what its items say in short."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any

from perdure_server.engine.service import Engine
from perdure_server.engine.values import (
    ChangeItem,
    EndItem,
    FrameItem,
    FramesResetItem,
    GapItem,
    KeepAliveItem,
    SnapshotItem,
    WatchItem,
)
from perdure_server.kernel.rejection import Rejection
from perdure_server.kernel.values import RetryPolicy
from tests.engine.harness import World
from tests.engine.workers import Worker, holding

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

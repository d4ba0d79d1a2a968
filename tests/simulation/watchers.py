"""A watcher that is cut off now and then, goes on with its token, and must have missed nothing."""

import random
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from perdure_server.engine.values import (
    ChangeItem,
    EndItem,
    FrameItem,
    FramesResetItem,
    GapItem,
    Ref,
    SnapshotItem,
    WatchItem,
)
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.ports.errors import StoreUnavailable
from tests.engine.virtual_loop import pause
from tests.simulation.fleet import Gone, Server

if TYPE_CHECKING:
    from tests.simulation.world import Simulation


class Watcher:
    """Watches one workflow until its end."""

    def __init__(self, simulation: "Simulation", name: str, key: WorkflowKey) -> None:
        self.name = name
        self.key = key
        self.ended = False
        self._simulation = simulation
        self._source = random.Random(f"{simulation.seed} {name}")
        self._token = ""
        self._run_id = ""
        self._seq = 0
        self._gap = False  # named, and a snapshot must follow
        self._frames: dict[tuple[str, str, int], int] = {}  # (run, step, claim_no) -> the last seq shown

    async def live(self) -> None:
        """Watch, and come back after every break."""
        while not self.ended:
            try:
                server = self._simulation.fleet.any(self._source)
                await server.call(self._watch(server))
            except (Gone, StoreUnavailable):
                pass
            except Rejection as error:
                stored = self._simulation.oracle.latest(self.key.workflow_id)
                if self._simulation.script.benign and (stored is None or stored.tombstone is not None):
                    return  # it was removed before the end could be told
                if error.reason is not Reason.WORKFLOW_NOT_FOUND:
                    self._breach(f"was refused with {error.reason}")
            await pause(self._source.choice((0.1, 1.0)))

    async def _watch(self, server: Server) -> None:
        flow: AsyncIterator[list[WatchItem]] = server.engine.watch(Ref(self.key), self._token, True, False)
        left = self._source.choice((2, 5, 1_000))
        self._gap = False
        async for batch in flow:
            for item in batch:
                self._hear(item)
            left -= 1
            if self.ended or not left:
                await flow.aclose()  # type: ignore[attr-defined]  # an async generator
                return
            if self._source.random() < 0.1:
                await pause(self._source.random() * 2.0)  # a slow reader

    def _hear(self, item: WatchItem) -> None:
        match item:
            case SnapshotItem(view):
                self._gap = False
                self._run_id, self._seq = view.workflow.run_id, view.workflow.event_seq
            case GapItem(changes):
                self._gap = changes
            case ChangeItem(event):
                if event.seq != self._seq + 1 or self._gap or not self._run_id:
                    self._breach(f"was told change {event.seq} after {self._seq}{' in a gap' if self._gap else ''}")
                self._seq = event.seq
            case FrameItem(frame):
                source = (self._run_id, frame.step, frame.claim_no)
                if frame.seq <= self._frames.get(source, 0):
                    self._breach(f"was shown frame {frame.seq} of {source} after {self._frames[source]}")
                self._frames[source] = frame.seq
            case FramesResetItem(step, claim_no):
                self._frames.setdefault((self._run_id, step, claim_no), 0)
            case EndItem(view):
                if view.workflow.event_seq != self._seq or not view.workflow.is_ended:
                    self._breach(f"was told the end as of change {view.workflow.event_seq}, and saw {self._seq}")
                self.ended = True
            case _:
                pass
        self._token = item.resume_token

    def _breach(self, text: str) -> None:
        self._simulation.oracle.breach(f"{self.name} of {self.key.business_key} {text}")

"""Progress frames in this process: per run capped by number and size, all runs together capped by size, expiring."""

import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from perdure_server.coordination.frames import decode_frame, encode_frame
from perdure_server.coordination.limits import FRAME_OVERHEAD, FRAME_SOURCES, FRAMES, FRAMES_KEPT, FRAMES_SIZE, FRAMES_TOTAL, RUN_OVERHEAD
from perdure_server.ports.clock import Clock
from perdure_server.ports.coordination import Frame, FrameBatch

_CURSOR = re.compile("[0-9]{1,19}")


class _Entry(NamedTuple):
    number: int
    data: bytes

    @property
    def size(self) -> int:
        return len(self.data) + FRAME_OVERHEAD


class _Run:
    """One run's frames, oldest first, and the last seq of each (step, claim_no)."""

    def __init__(self) -> None:
        self.entries: list[_Entry] = []
        self.last: dict[tuple[str, int], int] = {}
        self.size = 0
        self.expires = 0

    def is_new(self, frame: Frame) -> bool:
        """Notes the frame's seq; False if it is not above the last one of its source."""
        source = (frame.step, frame.claim_no)
        if frame.seq <= self.last.get(source, 0):
            return False
        self.last[source] = frame.seq
        if len(self.last) > FRAME_SOURCES:
            del self.last[next(iter(self.last))]
        return True

    def trim(self) -> None:
        """Drops the oldest until both caps hold; the newest frame always stays."""
        surplus = max(0, len(self.entries) - FRAMES)
        size = self.size - sum(entry.size for entry in self.entries[:surplus])
        while size > FRAMES_SIZE and surplus < len(self.entries) - 1:
            size -= self.entries[surplus].size
            surplus += 1
        del self.entries[:surplus]
        self.size = size


class LocalFrames:
    """The Frames port, in this process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._runs: OrderedDict[str, _Run] = OrderedDict()  # the run appended to longest ago comes first
        self._size = 0
        # Seeded by time, so that a cursor from before a restart is below all numbers of this process, as one that was trimmed.
        self._number = clock.now() * 1_000

    async def append_frames(self, run_id: str, frames: Sequence[Frame]) -> None:
        """See the port."""
        if not frames:
            return
        self._expire()
        run = self._runs.get(run_id)
        if run is None:
            run = self._runs[run_id] = _Run()
            self._size += RUN_OVERHEAD
        self._runs.move_to_end(run_id)
        run.expires = self._clock.now() + FRAMES_KEPT
        before = run.size
        for frame in frames:
            if run.is_new(frame):
                self._number += 1
                entry = _Entry(self._number, encode_frame(frame))
                run.entries.append(entry)
                run.size += entry.size
        run.trim()
        self._size += run.size - before
        while self._size > FRAMES_TOTAL and len(self._runs) > 1:
            self._forget(next(iter(self._runs)))

    async def read_frames(self, run_id: str, after: str, limit: int) -> FrameBatch:
        """See the port."""
        self._expire()
        run = self._runs.get(run_id)
        if run is None:
            return FrameBatch((), "", restarted=bool(after))
        position = int(after) if _CURSOR.fullmatch(after) else 0
        known = not after or 0 < position <= run.entries[-1].number
        start = bisect_right(run.entries, position, key=lambda entry: entry.number) if known else 0
        chosen = run.entries[start : start + max(0, limit)]
        cursor = str(chosen[-1].number) if chosen else after if known else ""
        return FrameBatch(tuple(decode_frame(entry.data) for entry in chosen), cursor, restarted=not known)

    async def drop_frames(self, run_id: str) -> None:
        """See the port."""
        self._forget(run_id)

    def _expire(self) -> None:
        now = self._clock.now()
        while self._runs:
            run_id, oldest = next(iter(self._runs.items()))
            if oldest.expires > now:
                return
            self._forget(run_id)

    def _forget(self, run_id: str) -> None:
        run = self._runs.pop(run_id, None)
        if run is not None:
            self._size -= run.size + RUN_OVERHEAD

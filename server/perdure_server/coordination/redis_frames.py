"""The Frames port on Redis: a capped, expiring stream per run; a cursor is a stream id."""

import logging
import re
from collections.abc import Sequence

from perdure_server.coordination.commands import Commands
from perdure_server.coordination.frames import decode_frame, encode_frame
from perdure_server.coordination.keys import Keys
from perdure_server.coordination.limits import FRAME_OVERHEAD, FRAME_SOURCES, FRAMES, FRAMES_KEPT, FRAMES_SIZE
from perdure_server.coordination.scripts import APPEND_FRAMES, Argument
from perdure_server.coordination.wire import Reply
from perdure_server.ports.coordination import Frame, FrameBatch

_log = logging.getLogger(__name__)

_STREAM_ID = re.compile(r"([0-9]{1,19})-([0-9]{1,19})")


class RedisFrames:
    """See the port."""

    def __init__(self, commands: Commands, keys: Keys) -> None:
        self._frame_commands = commands
        self._frame_keys = keys

    async def append_frames(self, run_id: str, frames: Sequence[Frame]) -> None:
        """See the port. All frames of one call become visible together."""
        if not frames:
            return
        arguments: list[Argument] = [FRAMES, FRAMES_SIZE, FRAME_OVERHEAD, FRAMES_KEPT, FRAME_SOURCES]
        size = 0
        for frame in frames:
            data = encode_frame(frame)
            size += len(data)
            arguments += [f"{frame.step}:{frame.claim_no}", frame.seq, data]
        keys = [self._frame_keys.frames(run_id), self._frame_keys.seqs(run_id)]
        await self._frame_commands.call([APPEND_FRAMES.call(keys, arguments)], size=size)

    async def read_frames(self, run_id: str, after: str, limit: int) -> FrameBatch:
        """See the port."""
        position = _position(after)
        if position is None:
            return await self._read_from_oldest(run_id, limit, restarted=bool(after))
        key = self._frame_keys.frames(run_id)
        newest, entries = await self._frame_commands.call(
            [("XREVRANGE", key, "+", "-", "COUNT", 1), ("XRANGE", key, f"({after}", "+", "COUNT", max(1, limit))]
        )
        if entries:
            return _batch(entries[: max(0, limit)], after)
        if newest and _position(newest[0][0].decode()) == position:
            return FrameBatch((), after)
        return await self._read_from_oldest(run_id, limit, restarted=True)

    async def drop_frames(self, run_id: str) -> None:
        """See the port."""
        await self._frame_commands.call([("UNLINK", self._frame_keys.frames(run_id), self._frame_keys.seqs(run_id))])

    async def _read_from_oldest(self, run_id: str, limit: int, *, restarted: bool) -> FrameBatch:
        key = self._frame_keys.frames(run_id)
        (entries,) = await self._frame_commands.call([("XRANGE", key, "-", "+", "COUNT", max(1, limit))])
        return _batch(entries[: max(0, limit)], "", restarted=restarted)


def _position(cursor: str) -> tuple[int, int] | None:
    match = _STREAM_ID.fullmatch(cursor)
    return (int(match[1]), int(match[2])) if match else None


def _batch(entries: list[Reply], cursor: str, *, restarted: bool = False) -> FrameBatch:
    frames: list[Frame] = []
    for entry_id, fields in entries:
        cursor = entry_id.decode()
        try:
            frames.append(decode_frame(fields[1]))
        except ValueError:
            _log.warning("a stored frame does not decode and is passed over", exc_info=True)
    return FrameBatch(tuple(frames), cursor, restarted)

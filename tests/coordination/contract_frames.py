"""What every Frames does."""

import asyncio

import pytest

from perdure_server.coordination import limits
from perdure_server.kernel.values import Payload, PayloadRef
from perdure_server.ports.coordination import Coordination, Frame
from tests.coordination.samples import NOW, frame


async def read_all(coordination: Coordination, run_id: str) -> list[Frame]:
    found: list[Frame] = []
    cursor = ""
    while (batch := await coordination.read_frames(run_id, cursor, 300)).frames:
        found += batch.frames
        cursor = batch.cursor
    return found


class FramesContract:
    """A capped stream per run."""

    async def test_frames_come_back_as_they_were(self, coordination: Coordination) -> None:
        frames = [
            Frame("s", 1, 1, 1, NOW, None),
            Frame("s", 1, 2, 2, NOW, Payload(binary=b"\x00\xff", content_type="x/y", metadata={"k": b"\x00"})),
            Frame("s", 1, 3, 3, NOW, Payload(ref=PayloadRef("id", 9), encoding="codec", digest="d")),
            Frame("s", 2**40, 2**50, 3, NOW, Payload(json='{"a": "ü"}')),
        ]
        await coordination.append_frames("run", frames)
        batch = await coordination.read_frames("run", "", 10)
        assert list(batch.frames) == frames
        assert not batch.restarted

    async def test_reading_on_from_the_cursor(self, coordination: Coordination) -> None:
        await coordination.append_frames("run", [frame(seq) for seq in range(1, 11)])
        first = await coordination.read_frames("run", "", 4)
        second = await coordination.read_frames("run", first.cursor, 100)
        assert [each.seq for each in (*first.frames, *second.frames)] == list(range(1, 11))
        nothing = await coordination.read_frames("run", second.cursor, 100)
        assert (nothing.frames, nothing.cursor, nothing.restarted) == ((), second.cursor, False)
        await coordination.append_frames("run", [frame(11)])
        assert [each.seq for each in (await coordination.read_frames("run", second.cursor, 100)).frames] == [11]

    async def test_a_frame_not_above_its_last_is_ignored(self, coordination: Coordination) -> None:
        await coordination.append_frames("run", [frame(1), frame(2), frame(2), frame(1)])
        await coordination.append_frames("run", [frame(2, text='"again"'), frame(3), frame(1, claim_no=2), frame(1, step="other")])
        kept = [(each.step, each.claim_no, each.seq) for each in await read_all(coordination, "run")]
        assert kept == [("step", 1, 1), ("step", 1, 2), ("step", 1, 3), ("step", 2, 1), ("other", 1, 1)]

    async def test_two_senders_of_the_same_frames_store_each_once(self, coordination: Coordination) -> None:
        async def send() -> None:
            for seq in range(1, 60, 3):
                await coordination.append_frames("run", [frame(seq), frame(seq + 1), frame(seq + 2)])

        async with asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(send())
        assert [each.seq for each in await read_all(coordination, "run")] == list(range(1, 61))

    async def test_c79_trimmed_by_number(self, coordination: Coordination) -> None:
        await coordination.append_frames("run", [frame(seq) for seq in range(1, 11)])
        early = (await coordination.read_frames("run", "", 5)).cursor
        for start in range(11, 1_501, 100):
            await coordination.append_frames("run", [frame(seq) for seq in range(start, min(start + 100, 1_501))])
        kept = [each.seq for each in await read_all(coordination, "run")]
        assert kept == list(range(1_501 - limits.FRAMES, 1_501))
        # A cursor before the oldest retained: on from there; the reader sees the hole by seq.
        batch = await coordination.read_frames("run", early, 1)
        assert (batch.frames[0].seq, batch.restarted) == (1_501 - limits.FRAMES, False)

    async def test_c79_trimmed_by_size(self, coordination: Coordination) -> None:
        text = '"' + "x" * 60_000 + '"'
        for seq in range(1, 41):
            await coordination.append_frames("run", [frame(seq, text=text)])
        kept = [each.seq for each in await read_all(coordination, "run")]
        assert kept == list(range(41 - len(kept), 41))
        assert limits.FRAMES_SIZE - 2 * len(text) < len(kept) * len(text) <= limits.FRAMES_SIZE

    async def test_the_newest_frame_always_stays(self, coordination: Coordination) -> None:
        await coordination.append_frames("run", [frame(1), frame(2, text='"' + "x" * (2 * limits.FRAMES_SIZE) + '"')])
        assert [each.seq for each in await read_all(coordination, "run")] == [2]
        await coordination.append_frames("run", [frame(3)])
        assert [each.seq for each in await read_all(coordination, "run")] == [3]

    @pytest.mark.parametrize("cursor", ["9999999999999999-1", "99999999999999999999999", "-", "0-", "nonsense", "1-2-3", "٣"])
    async def test_c79_an_unknown_cursor_restarts_and_says_so(self, coordination: Coordination, cursor: str) -> None:
        await coordination.append_frames("run", [frame(1), frame(2)])
        batch = await coordination.read_frames("run", cursor, 10)
        assert ([each.seq for each in batch.frames], batch.restarted) == ([1, 2], True)
        assert (await coordination.read_frames("run", batch.cursor, 10)).frames == ()

    async def test_c79_a_cursor_of_a_dropped_run_restarts_once(self, coordination: Coordination) -> None:
        await coordination.append_frames("run", [frame(1), frame(2)])
        cursor = (await coordination.read_frames("run", "", 10)).cursor
        await coordination.drop_frames("run")
        batch = await coordination.read_frames("run", cursor, 10)
        assert (batch.frames, batch.cursor, batch.restarted) == ((), "", True)
        assert not (await coordination.read_frames("run", batch.cursor, 10)).restarted
        await coordination.append_frames("run", [frame(3)])
        # Whoever did not look in between sees the new frames only, and the hole by seq.
        assert [each.seq for each in (await coordination.read_frames("run", cursor, 10)).frames] == [3]

    async def test_runs_are_apart(self, coordination: Coordination) -> None:
        await coordination.append_frames("run}1", [frame(1)])
        await coordination.append_frames("run}2", [frame(1), frame(2)])
        assert len(await read_all(coordination, "run}1")) == 1
        await coordination.drop_frames("run}1")
        assert len(await read_all(coordination, "run}2")) == 2
        assert await coordination.read_frames("never", "", 10) == await coordination.read_frames("run}1", "", 10)

    async def test_nothing_to_append(self, coordination: Coordination) -> None:
        await coordination.append_frames("run", [])
        assert (await coordination.read_frames("run", "", 10)).frames == ()

"""Frames and checkpoints that the server cannot store at once, against a scripted server."""

import asyncio
from datetime import timedelta

import grpc
import pytest

from perdure import Client, Context, Definition
from tests.client.conftest import ScriptServer
from tests.client.messages import answered, status
from tests.client.scripted import Stream

BUSY = status(grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE")


class Talker:
    """An activity that sends as many frames as it is asked for, and says when it has."""

    def __init__(self) -> None:
        self.definition = Definition("note")
        self._wanted: asyncio.Queue[int] = asyncio.Queue()
        self.definition.step(name="talk")(self._talk)
        self.definition.step(name="other")(self._other)

    async def says(self, count: int) -> None:
        """So many frames, all given to the worker; 0 ends the activity."""
        self._wanted.put_nowait(count)
        async with asyncio.timeout(10):
            await self._wanted.join()

    async def _talk(self, ctx: Context[None]) -> None:
        while count := await self._wanted.get():
            for number in range(count):
                ctx.frame(str(number))
            self._wanted.task_done()
        self._wanted.task_done()

    async def _other(self, ctx: Context[None]) -> None:
        return None


async def frames(stream: Stream, heartbeat: int) -> tuple[int, list[int]]:
    """The id of the n-th heartbeat, and the numbers of its frames."""
    found = (await stream.until(lambda stream: stream.heartbeats[heartbeat - 1 : heartbeat]))[0]
    return found.heartbeat_id, [frame.seq for frame in found.frames]


async def test_a_frame_that_is_sent_again_counts_once(scripted: ScriptServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.limits.FRAME_BACKLOG", 1)
    monkeypatch.setattr("perdure.limits.RETRY_MAX_INTERVAL", 0.2)
    server = scripted(answers_heartbeats=False)
    talker = Talker()
    async with Client(server.address) as client, client.worker(talker.definition):
        stream = await server.stream()
        await stream.grant("talk")
        await talker.says(1)
        first, sequence = await frames(stream, 1)
        assert sequence == [1]
        stream.say(answered(first, BUSY))
        again, sequence = await frames(stream, 2)
        assert sequence == [1]
        await talker.says(1)  # the first is still open: this one finds no room
        stream.say(answered(again))
        await stream.result(await stream.grant("other"))  # granted after the answer, so that it has been read
        await talker.says(2)  # there is room for one
        assert (await frames(stream, 3))[1] == [2]
        await talker.says(0)
    assert len(stream.heartbeats) == 3, "what found no room is not sent later either"


async def test_a_checkpoint_that_was_not_stored_is_sent_again_by_itself(scripted: ScriptServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.limits.RETRY_MAX_INTERVAL", 0.2)
    server = scripted(answers_heartbeats=False, renew_interval=60, lease=180)
    definition = Definition("note")

    @definition.step(name="work")
    async def work(ctx: Context[int]) -> int:
        return await ctx.save(1)

    async with Client(server.address) as client, client.worker(definition, grace=timedelta(0)):
        stream = await server.stream()
        token = await stream.grant("work")
        first = await stream.until(lambda stream: stream.heartbeats)
        stream.say(answered(first[0].heartbeat_id, BUSY))
        async with asyncio.timeout(5):  # nothing else is to be said for a minute
            again = await stream.until(lambda stream: stream.heartbeats[1:])
        assert (again[0].checkpoint.json, again[0].checkpoint_no) == ("1", 1)
        stream.say(answered(again[0].heartbeat_id))
        assert (await stream.result(token)).completed.output.json == "1"

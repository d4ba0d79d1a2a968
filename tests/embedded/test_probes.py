"""What a probe asks and believes. The mongod here is a script that answers as the manual says; docs/notes-secantus.md: none was at hand."""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import bson
import pytest

from perdure_server.embedded.directory import free_port
from perdure_server.embedded.probes import Answer, NotReadyError, probe_redis, probe_store
from tests.conftest import RunningServer

Answerer = Callable[[dict[str, Any]], dict[str, Any]]


@asynccontextmanager
async def listening(answer: Answerer) -> AsyncIterator[int]:
    """A server that answers OP_MSG."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                size, request, _, _ = struct.unpack("<iiii", await reader.readexactly(16))
                body = b"\0" * 5 + bson.encode(answer(bson.decode((await reader.readexactly(size - 16))[5:])))
                writer.write(struct.pack("<iiii", 16 + len(body), 1, request, 2013) + body)
        except asyncio.IncompleteReadError:
            pass  # the prober has closed
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


class ScriptedMongod:
    """A member of a replica set that is not configured, or is for another port."""

    def __init__(self, port: int | None = None) -> None:
        self.configured_port = port
        self.port = 0

    def __call__(self, command: dict[str, Any]) -> dict[str, Any]:
        assert command["$db"] == "admin"
        name = next(iter(command))
        if name == "replSetInitiate" and self.configured_port is not None:
            return {"ok": 0.0, "code": 23, "codeName": "AlreadyInitialized"}
        if name in {"replSetInitiate", "replSetReconfig"}:
            self._configure(command[name])
        if name == "replSetReconfig":
            assert command["force"] is True
            assert command[name]["version"] == 4
        return {**self._facts().get(name, {}), "ok": 1.0}

    def _facts(self) -> dict[str, dict[str, Any]]:
        configured = self.configured_port == self.port
        return {
            "hello": {"isWritablePrimary": configured, "isreplicaset": True, **({"setName": "perdure"} if configured else {})},
            "buildInfo": {"version": "8.0.4"},
            "serverStatus": {"pid": bson.Int64(4711)},
            "replSetGetConfig": {"config": {"_id": "perdure", "version": 3, "members": []}},
        }

    def _configure(self, configuration: dict[str, Any]) -> None:
        assert configuration["_id"] == "perdure"
        (member,) = configuration["members"]
        assert member["_id"] == 0
        self.configured_port = int(member["host"].removeprefix("127.0.0.1:"))


@pytest.mark.parametrize("earlier_port", [None, 1])
async def test_a_mongod_is_made_a_replica_set_of_one(earlier_port: int | None) -> None:
    mongod = ScriptedMongod(earlier_port)
    async with listening(mongod) as port:
        mongod.port = port
        with pytest.raises(NotReadyError, match="no primary yet"):
            await probe_store(port)
        assert await probe_store(port) == Answer("8.0.4", 4711)


async def test_what_does_not_answer_is_not_ready() -> None:
    port = free_port()
    with pytest.raises(NotReadyError):
        await probe_store(port)
    with pytest.raises(NotReadyError):
        await probe_redis(port)


async def test_what_speaks_another_protocol_is_not_ready(redis_process: RunningServer) -> None:
    with pytest.raises(NotReadyError):
        await probe_store(int(redis_process.url.rpartition(":")[2].partition("/")[0]))

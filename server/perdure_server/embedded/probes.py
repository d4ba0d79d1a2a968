"""Whether a child answers as what it should be: asked over its own protocol, and it must be our child that answers."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from perdure_server.embedded.bson_wire import WireError, command
from perdure_server.embedded.limits import PROBE_SECONDS

REPLICA_SET = "perdure"
_ALREADY_INITIALIZED = 23


class NotReadyError(Exception):
    """It does not answer yet, or says that it is not ready."""


@dataclass(frozen=True)
class Answer:
    """What a ready server says of itself; `pid` is 0 if it does not tell."""

    version: str
    pid: int


Probe = Callable[[int], Awaitable[Answer]]
"""Takes the port. Raises NotReadyError; anything else is a bug."""


async def probe_store(port: int) -> Answer:
    """Ready = a writable primary. A mongod that has no replica set configuration, or an old port in it, is given one."""
    try:
        hello, build, status = await command(port, _admin(hello=1), _admin(buildInfo=1), _admin(serverStatus=1))
        if not hello.get("isWritablePrimary"):
            if hello.get("isreplicaset") and "setName" not in hello:
                await _configure(port)
            raise NotReadyError("no primary yet")
    except (OSError, TimeoutError, WireError) as error:
        raise NotReadyError(str(error)) from error
    return Answer(str(build.get("secantusVersion") or build.get("version", "unknown")), int(status.get("pid") or 0))


async def _configure(port: int) -> None:
    host = f"127.0.0.1:{port}"
    member = {"_id": 0, "host": host}
    (reply,) = await command(port, _admin(replSetInitiate={"_id": REPLICA_SET, "members": [member]}))
    if reply.get("code") != _ALREADY_INITIALIZED:
        return
    # Its port was taken by somebody since the last run, so it does not find itself in its own configuration.
    (answer,) = await command(port, _admin(replSetGetConfig=1))
    known = answer.get("config")
    version = int(known["version"]) + 1 if known else 1
    await command(port, _admin(replSetReconfig={"_id": REPLICA_SET, "version": version, "members": [member]}, force=True))


def _admin(**fields: Any) -> dict[str, Any]:
    return {**fields, "$db": "admin"}


async def probe_redis(port: int) -> Answer:
    """Ready = PING is answered, and INFO names the process."""
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            told = await _ping_and_info(port)
    except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError) as error:
        raise NotReadyError(str(error)) from error
    fields = dict(line.split(":", 1) for line in told.splitlines() if ":" in line)
    # Valkey tells under redis_version which Redis it is compatible with.
    return Answer(fields.get("valkey_version") or fields.get("redis_version", "unknown"), int(fields.get("process_id", "0")))


async def _ping_and_info(port: int) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"PING\r\nINFO server\r\n")
        pong = await reader.readline()
        if not pong.startswith(b"+PONG"):
            raise NotReadyError(pong.decode(errors="replace"))
        length = int((await reader.readline())[1:])
        return (await reader.readexactly(length)).decode()
    finally:
        writer.close()

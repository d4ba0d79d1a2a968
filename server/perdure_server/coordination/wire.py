"""One connection to Redis: raw replies, no retries, no pool. Cancelling a call closes it, so that no reply is left to another."""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import Any, Protocol

from hiredis import pack_command
from redis.asyncio import RedisCluster
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError

from perdure_server.coordination.scripts import Command

# At DEBUG redis-py tells every message of a subscription. Whoever sets the root logger to DEBUG has not asked for that.
logging.getLogger("push_response").setLevel(logging.INFO)

# What Redis answers: bytes, int, None, a list of these, or an error in their place. Only the sender of a command knows which.
Reply = Any

# Everything that means "not reached, or not in time, or it refuses". RuntimeError: uvloop's word for a connection that is closed.
UNREACHABLE = (RedisError, OSError, TimeoutError, RuntimeError)


def _pack(command: Command) -> bytes:
    # In C; redis-py's own packing was half of what a batch cost.
    packed: bytes = pack_command(command)  # type: ignore[arg-type]  # hiredis's stub knows tuples of one element only
    return packed


class Session(Protocol):
    """Where batches of commands go."""

    async def execute(self, commands: Sequence[Command]) -> list[Reply]:
        """Send all, then read all, in order. A refused command leaves its error in its place, as does, on a Cluster, a node away.

        UNREACHABLE if nothing was reached.
        """

    async def close(self) -> None:
        """Drop it; never waits."""


class Wire:
    """A Session on one connection of redis-py; also what blocked pops and subscriptions use."""

    def __init__(self, connection: AbstractConnection) -> None:
        self._connection = connection

    async def execute(self, commands: Sequence[Command]) -> list[Reply]:
        """See Session."""
        if not self._connection.is_connected:
            # redis-py would connect again by itself, past every check that was made when this connection was opened.
            raise RedisConnectionError("closed")
        await self._connection.send_packed_command([_pack(command) for command in commands], check_health=False)
        replies: list[Reply] = []
        for _ in commands:
            try:
                replies.append(await self._connection.read_response())
            except ResponseError as error:
                replies.append(error)
        return replies

    async def ask(self, *command: Reply) -> Reply:
        """One command, one reply; a refused command raises its ResponseError."""
        (reply,) = await self.execute((command,))
        if isinstance(reply, ResponseError):
            raise reply
        return reply

    async def send(self, *command: Reply) -> None:
        """Send without reading; for connections in subscribed mode."""
        await self._connection.send_packed_command(_pack(command), check_health=False)

    async def receive(self, within: int) -> Reply:
        """The next message, None after `within` ms without one; for connections in subscribed mode."""
        return await self._connection.read_response(False, within / 1_000)

    async def close(self) -> None:
        """See Session."""
        await self._connection.disconnect(nowait=True)


class ClusterSession:
    """A Session on a Redis Cluster: redis-py splits each batch by node and follows redirections."""

    def __init__(self, cluster: RedisCluster) -> None:
        self._cluster = cluster

    async def execute(self, commands: Sequence[Command]) -> list[Reply]:
        """See Session. What has no key (PUBLISH, PING, INFO) goes last, and to one node, so that messages keep their order."""
        replies: list[Reply] = [None] * len(commands)
        keyed = [position for position, command in enumerate(commands) if command[0] not in _WITHOUT_KEY]
        if keyed:
            pipeline = self._cluster.pipeline()
            for position in keyed:
                pipeline.execute_command(*commands[position])
            for position, reply in zip(keyed, await pipeline.execute(raise_on_error=False), strict=True):
                replies[position] = reply
        for position, command in enumerate(commands):
            if command[0] in _WITHOUT_KEY:
                replies[position] = await self._cluster.execute_command(*command, target_nodes=self._cluster.get_default_node())
        return replies

    async def close(self) -> None:
        """See Session."""
        with contextlib.suppress(*UNREACHABLE):
            async with asyncio.timeout(1):
                await self._cluster.aclose()


_WITHOUT_KEY = frozenset({"PUBLISH", "PING", "INFO"})

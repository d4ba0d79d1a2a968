"""The Timers port on Redis: sorted sets in a few shards, popped by script."""

from collections.abc import Mapping, Sequence

from perdure_server.coordination.commands import Commands
from perdure_server.coordination.keys import Keys
from perdure_server.coordination.limits import TIMER_SHARDS, TIMERS_KEPT, TIMERS_PER_POP
from perdure_server.coordination.scripts import POP_DUE, Command
from perdure_server.coordination.wire import Reply

_SET_TIMERS_PER_COMMAND = 500


class RedisTimers:
    """See the port. Oldest first within a shard; every pop begins with another shard."""

    def __init__(self, commands: Commands, keys: Keys) -> None:
        self._timer_commands = commands
        self._timer_keys = keys
        self._first_shard = 0

    async def set_timers(self, due: Mapping[bytes, int]) -> None:
        """See the port."""
        shards: dict[str, list[bytes | int]] = {}
        for workflow_id, time in due.items():
            shards.setdefault(self._timer_keys.timers_of(workflow_id), []).extend((time, workflow_id))
        commands: list[Command] = []
        step = 2 * _SET_TIMERS_PER_COMMAND
        for key, pairs in shards.items():
            commands += [("ZADD", key, "LT", *pairs[start : start + step]) for start in range(0, len(pairs), step)]
            commands.append(("PEXPIRE", key, TIMERS_KEPT))
        if commands:
            await self._timer_commands.call(commands)

    async def due_timers(self, now: int, limit: int) -> Sequence[bytes]:
        """See the port."""
        keys = list(self._timer_keys.timers)
        self._first_shard = (self._first_shard + 1) % TIMER_SHARDS
        keys = keys[self._first_shard :] + keys[: self._first_shard]
        found: list[tuple[int, bytes]] = []
        remaining = min(limit, TIMERS_PER_POP)
        while keys and remaining > 0:
            quotas = _share_out(remaining, len(keys))
            popped = await self._pop_due(dict(zip(keys, quotas, strict=True)), now)
            # A shard that gave less than its quota has no more; the others share what is left.
            keys = [key for key, quota in zip(keys, quotas, strict=True) if len(popped.get(key, ())) == quota]
            for timers in popped.values():
                found += timers
                remaining -= len(timers)
        return [workflow_id for _, workflow_id in sorted(found)]

    async def next_timer(self) -> int | None:
        """See the port."""
        commands = [("ZRANGE", key, 0, 0, "WITHSCORES") for key in self._timer_keys.timers]
        replies = await self._timer_commands.call(commands)
        return min((int(float(reply[1])) for reply in replies if reply), default=None)

    async def _pop_due(self, quotas: Mapping[str, int], now: int) -> dict[str, list[tuple[int, bytes]]]:
        keys = [key for key, quota in quotas.items() if quota]
        commands = [POP_DUE.call([key], [now, quotas[key]]) for key in keys]

        def put_back(replies: list[Reply]) -> None:
            restored: list[Command] = [
                ("ZADD", key, "LT", *(part for workflow_id, time in _pairs(reply) for part in (time, workflow_id)))
                for key, reply in zip(keys, replies, strict=True)
                if reply
            ]
            if restored:
                self._timer_commands.post(restored)

        replies = await self._timer_commands.call(commands, abandoned=put_back)
        return {
            key: [(int(float(time)), workflow_id) for workflow_id, time in _pairs(reply)] for key, reply in zip(keys, replies, strict=True)
        }


def _share_out(amount: int, parts: int) -> list[int]:
    return [amount // parts + (part < amount % parts) for part in range(parts)]


def _pairs(reply: Reply) -> list[tuple[bytes, bytes]]:
    return list(zip(reply[::2], reply[1::2], strict=True))

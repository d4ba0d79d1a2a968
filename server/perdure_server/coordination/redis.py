"""Coordination through Redis or Valkey, 6.2 or later: one server, Sentinel or Cluster.

Three connections per server process: commands (batched), the blocked pop, the subscription. On a Cluster, and on Redis 6, pops
cannot block over several queues: there takers poll, every 100-300 ms, and at once when this process offers something.
"""

import asyncio
from collections.abc import Mapping

from perdure_server.coordination.blocked import BlockedPop
from perdure_server.coordination.commands import Commands
from perdure_server.coordination.endpoint import parse_endpoint
from perdure_server.coordination.keys import Keys
from perdure_server.coordination.limits import TIMEOUT
from perdure_server.coordination.redis_frames import RedisFrames
from perdure_server.coordination.redis_queues import RedisReadyQueues
from perdure_server.coordination.redis_timers import RedisTimers
from perdure_server.coordination.redis_wakeups import RedisWakeUps
from perdure_server.ports.telemetry import SILENCE, Meter


class RedisCoordination(RedisReadyQueues, RedisTimers, RedisWakeUps, RedisFrames):
    """The whole Coordination port. `url`: see endpoint.parse_endpoint. `prefix`: of every key. `timeout` ms bounds each trip.

    Every method ends within about twice `timeout` (take: after its wait), whatever the network does. ValueError on a bad URL.
    """

    def __init__(self, url: str, prefix: str = "perdure", timeout: int = TIMEOUT, *, meter: Meter = SILENCE) -> None:
        self._endpoint = parse_endpoint(url, timeout)
        keys = Keys(prefix)
        self._commands = Commands(self._endpoint, timeout, meter)
        self._blocked = BlockedPop(self._endpoint, self._commands, keys, timeout)
        self._timeout = timeout
        RedisReadyQueues.__init__(self, self._commands, self._blocked, keys)
        RedisTimers.__init__(self, self._commands, keys)
        RedisWakeUps.__init__(self, self._commands, self._endpoint, keys, timeout)
        RedisFrames.__init__(self, self._commands, keys)

    async def open(self) -> None:
        """See the port. Returns when the first try to connect has ended, after about `timeout` ms at the latest."""
        links = [self._commands.link, self._subscription_link]
        if self._endpoint.mode != "cluster":
            links.append(self._blocked.link)
        await asyncio.gather(*(link.start(self._timeout) for link in links))

    async def close(self) -> None:
        """See the port."""
        for link in (self._subscription_link, self._blocked.link, self._commands.link):
            await link.stop()
        self._close_subscriptions()

    def description(self) -> Mapping[str, str]:
        """See the port: kind, version, mode, health, maxmemory_policy, and `warning` if keys may be evicted."""
        server = self._commands.server
        facts = {
            "kind": server.kind if server else "redis",
            "version": server.version if server else "",
            "mode": self._endpoint.mode,
            "health": self._commands.link.health,
        }
        if server is not None:
            facts["maxmemory_policy"] = server.maxmemory_policy
            if server.may_evict:
                facts["warning"] = "maxmemory-policy may evict keys: set noeviction; until then work waits for the sweep when it happens"
        return facts

"""A look at a Redis or Valkey without a server."""

from collections.abc import AsyncIterator
from typing import Final

from perdure_server.coordination import limits
from perdure_server.coordination.endpoint import inspect, parse_endpoint
from perdure_server.coordination.wire import UNREACHABLE

Finding = tuple[str, str, str, str]
"""Name; OK, WARNING or ERROR; what was found; what to do about it."""

_NEWEST_BLOCKING: Final = "BZMPOP (Redis 7, Valkey)"


async def examine_redis(url: str) -> AsyncIterator[Finding]:
    """All findings. Never raises for what is wrong with it."""
    try:
        endpoint = parse_endpoint(url, limits.TIMEOUT)
    except ValueError as error:
        yield "redis.url", "ERROR", str(error), "redis://HOST:PORT/, rediss:// for TLS"
        return
    try:
        session = await endpoint.session()
        try:
            server = await inspect(session)
        finally:
            await session.close()
    except UNREACHABLE as error:
        text = f"not reached: {type(error).__name__}"
        yield "redis.reachable", "ERROR", text, "is it running, and is the address right? A firewall, a password, TLS?"
        return
    yield "redis.reachable", "OK", f"{server.kind} {server.version}, {endpoint.mode}, answers", ""
    if server.may_evict:
        text = f"maxmemory-policy {server.maxmemory_policy} may evict keys"
        yield "redis.eviction", "WARNING", text, "set noeviction; until then work waits for the sweep when it happens"
    else:
        yield "redis.eviction", "OK", f"maxmemory-policy {server.maxmemory_policy or 'unknown'}, and no key is evicted", ""
    if not server.pops_block:
        yield (
            "redis.version",
            "WARNING",
            f"{server.version} has no {_NEWEST_BLOCKING}: waiting workers ask again and again",
            "use Redis 7 or Valkey",
        )
    else:
        yield "redis.version", "OK", f"{server.kind} {server.version} lets waiting workers wait", ""

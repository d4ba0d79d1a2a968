"""A plug-in of `perdure doctor --mongo-url ... --redis-url ...`: a look at the store and at Redis without a server."""

import asyncio

from perdure_server.config import Config
from perdure_server.coordination.examination import examine_redis
from perdure_server.store.examination import examine_store

Finding = tuple[str, str, str, str]
"""Name; OK, WARNING or ERROR; what was found; what to do about it."""


def examine(mongo_url: str, redis_url: str) -> list[Finding]:
    """Findings about each of the two that is named. No password of a URL is in them."""
    return asyncio.run(_all(mongo_url, redis_url))


async def _all(mongo_url: str, redis_url: str) -> list[Finding]:
    found: list[Finding] = []
    if mongo_url:
        found += [(*finding,) async for finding in examine_store(mongo_url, Config.database)]
    if redis_url:
        found += [finding async for finding in examine_redis(redis_url)]
    return found


__all__ = ["examine"]

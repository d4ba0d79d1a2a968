"""A whole server inside a test's process, found by `perdure.testing.start_server` through the entry point group `perdure.testing`."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from perdure_server import config as configuration
from perdure_server.config import Config
from perdure_server.kernel.limits import SECOND
from perdure_server.main import Parts, serve
from perdure_server.store.memory import MemoryStore


@asynccontextmanager
async def server(lease: timedelta) -> AsyncIterator[str]:
    """Serve for the time of the context, as `perdure dev --test` does, from a store in memory; gives host:port."""
    config = Config(port=0, session_lease_ms=round(lease.total_seconds() * SECOND), drain_grace_ms=configuration.TEST_DRAIN_GRACE_MS)
    store = MemoryStore(lambda: time.time_ns() // 1_000_000)
    async with serve(config, Parts(store=store, dev=True, test=True)) as running:
        yield f"{config.address}:{running.port}"

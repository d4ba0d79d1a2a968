"""Keeps one thing connected: connect, use until it breaks, pause longer and longer, again; until stopped."""

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable

from perdure_server.coordination.limits import BACKOFF_MAX, BACKOFF_MIN, STABLE
from perdure_server.coordination.wire import UNREACHABLE

_log = logging.getLogger(__name__)

STARTING = "connecting"
OK = "ok"


class Link:
    """Runs `use` over and over; `use` connects, calls `up()` when it is ready, and returns or raises when it has broken.

    `health` is "ok", "connecting", or the class of the error that it is down for (no host, no text of a driver).
    """

    def __init__(self, name: str, use: Callable[[], Awaitable[None]]) -> None:
        self.health = STARTING
        self._name = name
        self._use = use
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._tried = asyncio.Event()
        self._up_since: float | None = None

    @property
    def is_up(self) -> bool:
        """Whether it can be used now."""
        return self.health == OK

    async def start(self, wait: int) -> None:
        """Begins; returns when the first try has ended, either way, and after `wait` ms at the latest."""
        # A link outlives every call and is ended by `stop` alone, so no task group can span it; _run supervises itself.
        self._task = asyncio.create_task(self._run(), name=f"redis {self._name}")  # noqa: TID251 -- see above, one per link
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait / 1_000):
                await self._tried.wait()

    async def stop(self) -> None:
        """Ends it; returns when it has ended. It cannot be started again."""
        self._stopping.set()
        while self._task is not None and not self._task.done():
            # More than once: before Python 3.12 asyncio.wait_for, inside redis-py's connect, may swallow a cancellation.
            self._task.cancel()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(BACKOFF_MIN / 1_000):
                    await asyncio.wait([self._task])
        self.health = "closed"

    def up(self) -> None:
        """`use` calls this when it is ready."""
        if self.health != STARTING:
            _log.info("redis %s: connected again", self._name)
        self.health = OK
        self._up_since = asyncio.get_running_loop().time()
        self._tried.set()

    def lost(self) -> None:
        """`use` calls this first thing when it has broken, so that nobody is sent there while it cleans up."""
        if self.is_up:
            self.health = "disconnected"

    async def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            self._up_since = None
            try:
                await self._use()
                error: Exception = ConnectionError("ended")
            except UNREACHABLE as unreachable:
                error = unreachable
            except Exception as defect:  # noqa: BLE001 -- a defect here must not end coordination until the next restart
                _log.exception("redis %s: unexpected error", self._name)
                error = defect
            failures = 1 if self._was_stable() else failures + 1
            self._down(error)
            await self._pause(failures)

    def _was_stable(self) -> bool:
        return self._up_since is not None and (asyncio.get_running_loop().time() - self._up_since) * 1_000 >= STABLE

    def _down(self, error: Exception) -> None:
        health = type(error).__name__
        if self.health != health:
            _log.warning("redis %s: unavailable: %s: %s", self._name, health, error)
        self.health = health
        self._tried.set()

    async def _pause(self, failures: int) -> None:
        longest = min(BACKOFF_MAX, BACKOFF_MIN * 2 ** min(failures, 16))
        pause = longest * random.uniform(0.5, 1.0) / 1_000  # noqa: S311 -- jitter, not a secret
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._stopping.wait()

"""Background work that cannot die unseen: a loop that fails is logged, counted and run again after a pause (case C56)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from perdure_server.ports.clock import Clock
from perdure_server.ports.errors import CoordinationUnavailable, StoreUnavailable

logger = logging.getLogger(__name__)

_PAUSE_FIRST = 50
_PAUSE_CAP = 1_000


class Supervisor:
    """Owns every task of the engine. The only place that creates tasks; `close` waits until all are gone."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()
        self._loops: dict[str, int] = {}
        self.failures = 0

    def run(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Run one piece of work that outlives its caller; an exception is logged and counted."""
        task = asyncio.create_task(self._guarded(work, name), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def loop(self, step: Callable[[], Awaitable[None]], name: str) -> None:
        """Call `step` again and again; it waits by itself. A failure pauses it, from 50 ms doubling to 1 s."""
        self._loops[name] = self._clock.now()
        self.run(self._forever(step, name), name)

    def ages(self) -> dict[str, int]:
        """How long ago (ms) each loop last succeeded."""
        now = self._clock.now()
        return {name: now - last for name, last in self._loops.items()}

    async def close(self) -> None:
        """Cancel all and wait."""
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _guarded(self, work: Coroutine[Any, Any, None], name: str) -> None:
        try:
            await work
        except asyncio.CancelledError:
            raise
        except (StoreUnavailable, CoordinationUnavailable) as error:
            logger.warning("%s gave up: %s", name, type(error).__name__)
        except Exception:
            self.failures += 1
            logger.exception("%s failed", name)

    async def _forever(self, step: Callable[[], Awaitable[None]], name: str) -> None:
        pause = _PAUSE_FIRST
        while True:
            try:
                await step()
                self._loops[name] = self._clock.now()
                pause = _PAUSE_FIRST
                continue
            except (StoreUnavailable, CoordinationUnavailable) as error:
                logger.warning("%s: %s; trying again", name, type(error).__name__)
            except Exception:
                self.failures += 1
                logger.exception("%s failed; trying again", name)
            await self._clock.sleep(pause)
            pause = min(pause * 2, _PAUSE_CAP)

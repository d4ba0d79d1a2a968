"""Background work that cannot die unseen: a loop that fails is logged, counted and run again after a pause (case C56)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from perdure_server.kernel.limits import SECOND
from perdure_server.ports.clock import Clock
from perdure_server.ports.errors import CoordinationUnavailable, StoreUnavailable

logger = logging.getLogger(__name__)

_PAUSE_FIRST = 50
_PAUSE_CAP = 1_000


class Supervisor:
    """Owns every task of the engine. The only place that creates tasks; `close` waits until all are gone."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._works: dict[asyncio.Task[None], Coroutine[Any, Any, None]] = {}  # in the order in which they began
        self._loops: dict[str, asyncio.Task[None]] = {}
        self._came_round: dict[str, int] = {}
        self.failures = 0
        self.closed = False

    def run(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Run one piece of work that outlives its caller; an exception is logged and counted. After `close`: not run at all."""
        if self.closed:
            work.close()
            return
        task = asyncio.create_task(self._guarded(work, name), name=name)
        self._works[task] = work
        task.add_done_callback(self._done)

    def loop(self, step: Callable[[], Awaitable[None]], name: str) -> None:
        """Call `step` again and again; it waits by itself. A failure pauses it, from 50 ms doubling to 1 s."""
        self.beat(name)
        self._loops[name] = asyncio.create_task(self._forever(step, name), name=name)

    def beat(self, name: str) -> None:
        """The loop `name` gets on, though its step has not returned."""
        self._came_round[name] = self._clock.unshifted()

    def ages(self) -> dict[str, int]:
        """How long ago (ms) each loop last came round: its step done, or what it needs away."""
        now = self._clock.unshifted()
        return {name: now - last for name, last in self._came_round.items()}

    @property
    def running(self) -> list[str]:
        """The names of all tasks that have not ended."""
        return [task.get_name() for task in (*self._works, *self._loops.values()) if not task.done()]

    @property
    def works(self) -> list[str]:
        """The names of all pieces of work that have not ended; loops are none."""
        return [task.get_name() for task in self._works if not task.done()]

    async def finish(self, within: int) -> None:
        """Wait until all work but the loops is done, for `within` ms at most."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within / SECOND
        while self._works and (left := deadline - loop.time()) > 0:
            await asyncio.wait(list(self._works), timeout=left)

    async def close(self) -> None:
        """Cancel all and wait. Nothing runs from here on."""
        self.closed = True
        while tasks := [task for task in (*self._works, *self._loops.values()) if not task.done()]:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._works.pop(task).close()  # one that was cancelled before it began has not run

    async def _guarded(self, work: Coroutine[Any, Any, None], name: str) -> None:
        try:
            await work
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
                self.beat(name)
                pause = _PAUSE_FIRST
                continue
            except (StoreUnavailable, CoordinationUnavailable) as error:
                self.beat(name)
                logger.warning("%s: %s; trying again", name, type(error).__name__)
            except asyncio.CancelledError:
                if _is_cancelled():
                    raise
                self.failures += 1
                logger.exception("%s was cancelled from inside; trying again", name)
            except Exception:
                self.failures += 1
                logger.exception("%s failed; trying again", name)
            await self._clock.sleep(pause)
            pause = min(pause * 2, _PAUSE_CAP)


def _is_cancelled() -> bool:
    # A CancelledError may also come out of a future that somebody else cancelled: that is a failure like others.
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0

"""Calls from any thread to one event loop, gathered: however many come in one go, the loop is woken once."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any


class Mailbox:
    """Runs calls on one loop in the order in which they were put."""

    def __init__(self, loop: asyncio.AbstractEventLoop, after: Callable[[], None] = lambda: None) -> None:
        self._loop = loop
        self._after = after
        self._calls: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._scheduled = False

    def put(self, call: Callable[..., None], *arguments: Any) -> bool:
        """Has `call(*arguments)` run soon; False if the loop is closed. From any thread."""
        self._calls.append((call, arguments))
        if self._scheduled:
            return True
        self._scheduled = True
        try:
            self._loop.call_soon_threadsafe(self._run)
        except RuntimeError:
            return False
        return True

    def _run(self) -> None:
        # Before the calls are taken: what is put from now on schedules another run, so that nothing is left lying.
        self._scheduled = False
        try:
            while self._calls:
                call, arguments = self._calls.popleft()
                call(*arguments)
        finally:
            if self._calls and not self._scheduled:
                # One call was faulty; its error goes to the loop, the others still run.
                self._scheduled = True
                self._loop.call_soon(self._run)
            self._after()

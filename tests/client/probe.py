"""An activity that a test can hold and look into."""

import asyncio
from collections.abc import Callable

from perdure import Context, Definition


class Probe:
    """An activity that a test can hold and look into."""

    def __init__(self) -> None:
        self.definition = Definition("note")
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.reasons: list[str] = []
        self.go = asyncio.Event()
        self.running = asyncio.Condition()
        self.definition.step(name="work")(self._work)
        self.definition.step(name="other")(self._other)

    async def _work(self, ctx: Context[str]) -> str:
        self.begun.append(ctx.wake_token)
        async with self.running:
            self.running.notify_all()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.reasons.append(ctx.cancel_reason)
            raise
        finally:
            self.ended.append(ctx.wake_token)
            async with self.running:
                self.running.notify_all()
        return "done"

    async def _other(self, ctx: Context[None]) -> str:
        return "other"

    async def until(self, predicate: Callable[[], bool]) -> None:
        async with asyncio.timeout(10), self.running:
            await self.running.wait_for(predicate)

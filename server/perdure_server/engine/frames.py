"""The order of what one claim says: heartbeats in the order in which they came, a result after the frames before it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class ClaimTurns:
    """One lock per claim that has something under way. Locks are fair, so the order of asking is the order of turns."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    def __len__(self) -> int:
        return len(self._locks)

    @asynccontextmanager
    async def turn(self, nonce: str) -> AsyncIterator[None]:
        """This claim's turn."""
        lock, users = self._locks.get(nonce, (None, 0))
        lock = lock or asyncio.Lock()
        self._locks[nonce] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            _, users = self._locks[nonce]
            if users == 1:
                del self._locks[nonce]
            else:
                self._locks[nonce] = (lock, users - 1)

    def busy(self, nonce: str) -> bool:
        """Whether the claim has something under way."""
        return nonce in self._locks

    async def passed(self, nonce: str) -> None:
        """Return when all turns that were asked for before this call are over."""
        if nonce in self._locks:
            async with self.turn(nonce):
                return

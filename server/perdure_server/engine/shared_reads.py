"""Reads that many ask for at once: the first one reads, the others wait for its answer."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SharedReads(Generic[K, V]):
    """One read per key at a time. `forget` lets nobody join a read that is under way, as it may not see what has changed since."""

    def __init__(self) -> None:
        self._under_way: dict[K, asyncio.Future[V]] = {}

    async def read(self, key: K, read: Callable[[], Awaitable[V]]) -> V:
        """What `read` gives, or raises, here or for somebody who asked before and has no answer yet."""
        while (found := self._under_way.get(key)) is not None:
            await asyncio.wait([found])
            if not found.cancelled():
                return found.result()
        future: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        self._under_way[key] = future
        try:
            value = await read()
        except BaseException as error:
            if isinstance(error, Exception):
                future.set_exception(error)
                future.exception()  # known, though nobody waits
            else:
                future.cancel()  # this caller was cancelled: another one reads
            raise
        finally:
            if self._under_way.get(key) is future:
                del self._under_way[key]
        future.set_result(value)
        return value

    def forget(self, key: K) -> None:
        """Who asks from now on reads anew."""
        self._under_way.pop(key, None)

    def clear(self) -> None:
        """The same for all keys."""
        self._under_way.clear()

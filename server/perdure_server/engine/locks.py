"""Locks by key: of those in this process who change one thing that has a revision, one at a time reads and writes it.

It decides nothing, as other servers do not hear of it; it only keeps many at once from losing one another's races until they give up.
"""

import asyncio
from collections.abc import Hashable
from weakref import WeakValueDictionary


class KeyedLocks:
    """One lock per key, in the order of asking; one that nobody waits for is forgotten."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    def of(self, thing: Hashable) -> asyncio.Lock:
        """The lock of this thing; to be kept while it is waited for and held."""
        return self._locks.setdefault(thing, asyncio.Lock())

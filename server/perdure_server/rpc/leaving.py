"""How long calls end: politely, when the server leaves or their stream is old, with a reason that tells the client to go on elsewhere."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from perdure_server.kernel.limits import SECOND
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.rpc import limits
from perdure_server.rpc.doors.identity import CURRENT


class Leaving:
    """The server's one-way switch. Calls that may wait for long wait inside `cut_short`; short ones just finish."""

    def __init__(self, stream_age: int = limits.STREAM_AGE) -> None:
        self.begun = False
        self.stream_age = stream_age  # ms
        self._waiting: set[asyncio.Timeout] = set()

    def begin(self) -> None:
        """The server leaves: every long call ends now."""
        self.begun = True
        now = asyncio.get_running_loop().time()
        for limit in self._waiting:
            limit.reschedule(now)

    def age(self) -> int:
        """How long, in ms, a stream that begins now may live: up to a quarter more than `stream_age`, so that they do not end together.

        Less where its token expires before: then it comes again with a new one in time, instead of being cut.
        """
        age = self.stream_age + secrets.randbelow(self.stream_age // 4 + 1)
        admission = CURRENT.get()
        if admission is None or admission.ends is None:
            return age
        left = round((admission.ends - asyncio.get_running_loop().time()) * SECOND)
        return max(0, min(age, left - min(limits.GO_AWAY_GRACE, left // 2)))

    @asynccontextmanager
    async def cut_short(self, age: int | None = None) -> AsyncIterator[None]:
        """Run the body until the server leaves or `age` ms have passed; then Rejection DRAINING."""
        if self.begun:
            raise _draining()
        limit = asyncio.timeout(None if age is None else age / SECOND)
        try:
            async with limit:
                self._waiting.add(limit)
                yield
        except TimeoutError:
            if limit.expired():
                raise _draining() from None
            raise
        finally:
            self._waiting.discard(limit)


def _draining() -> Rejection:
    return Rejection(Reason.DRAINING, "This server is leaving, or the stream is old; go on at another one.")

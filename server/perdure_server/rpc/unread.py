"""Writing to a peer that may not read.

A call's first write, while it waits for its reader, cannot be given up: gRPC sends no status behind it, as the call's metadata goes with
it. So it goes on, without the handler, and the guard sends the status when it is done; a peer that never reads again loses its connection
by keepalive, or with the server.
"""

import asyncio

from perdure_server.kernel.limits import SECOND
from perdure_server.rpc import limits
from perdure_server.rpc.errors import CallRefused
from perdure_server.rpc.transport import Context


class PeerDoesNotRead(CallRefused):
    """The last write still waits for its reader."""

    def __init__(self, writing: asyncio.Future[None], reason: str, message: str, **facts: str) -> None:
        super().__init__(reason, message, **facts)
        self.writing = writing


async def write(
    context: Context,
    message: object,
    reason: str = "WATCHER_TOO_SLOW",
    text: str = "The watcher does not read; resume with the last token.",
    **facts: str,
) -> None:
    """Send it to a peer that reads. Raises PeerDoesNotRead with the reason, the text and the facts."""
    writing = asyncio.get_running_loop().create_task(_write(context, message))
    try:
        await asyncio.wait({writing}, timeout=limits.WRITE_STALL / SECOND)
    except asyncio.CancelledError:
        writing.cancel()
        raise
    if not writing.done():
        raise PeerDoesNotRead(writing, reason, text, **facts)
    await writing


async def written(writing: asyncio.Future[None]) -> None:
    """Return when nothing stands in the way of a status any more."""
    await asyncio.wait({writing})
    if not writing.cancelled():
        writing.exception()  # the peer is gone: nobody is left to be told


async def _write(context: Context, message: object) -> None:
    await context.write(message)

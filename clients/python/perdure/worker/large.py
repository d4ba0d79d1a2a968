"""Results and checkpoints that are too large for the stream: by unary calls, on a connection of their own."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from perdure import limits
from perdure.calls import Calls
from perdure.errors import CallTimeout, ClaimLost, PerdureError, Unavailable
from perdure.v1 import worker_service_pb2
from perdure.worker.claims import Held, Save
from perdure.worker.ledger import Ledger

_log = logging.getLogger("perdure.worker")


class LargeCalls:
    """Sends what is large, as long as it takes; the claims stay held meanwhile."""

    def __init__(self, calls: Calls, ledger: Ledger) -> None:
        self._calls = calls
        self._ledger = ledger
        self._tasks: set[asyncio.Task[None]] = set()

    def result(self, held: Held) -> None:
        """Settles a claim by Complete."""
        self._run(self._complete(held))

    def checkpoint(self, held: Held, save: Save) -> None:
        """Stores a checkpoint by Heartbeat."""
        self._run(self._heartbeat(held, save))

    async def close(self) -> None:
        """Gives up what still runs."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._calls.close()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _complete(self, held: Held) -> None:
        assert held.result is not None
        request = worker_service_pb2.CompleteRequest()
        # Same fields and numbers by design; what only the stream has is cleared.
        request.MergeFromString(held.result.SerializeToString())
        request.DiscardUnknownFields()
        request.want_next = False
        error: PerdureError | None = None
        try:
            await self._calls.unary(self._calls.workers.Complete, request)
        except (Unavailable, CallTimeout) as failure:
            error = Unavailable(failure.message, retry_after=failure.retry_after)
        except PerdureError as failure:
            error = failure
        self._ledger.conclude(held, error)

    async def _heartbeat(self, held: Held, save: Save) -> None:
        request = worker_service_pb2.HeartbeatRequest(claim_token=held.token, checkpoint=save.checkpoint, checkpoint_no=save.checkpoint_no)
        while not held.is_lost:
            try:
                answer = await self._calls.unary(self._calls.workers.Heartbeat, request)
            except (Unavailable, CallTimeout):
                await asyncio.sleep(limits.RETRY_INITIAL_INTERVAL)
                continue
            except PerdureError as error:
                if isinstance(error, ClaimLost):
                    self._ledger.lose(held.token, error.cause)
                save.reply(error)
                return
            save.reply(None)
            if answer.cancel_requested:
                self._ledger.cancel(held.token, "")
            return

"""Starts that are under way at once share calls: one call of many costs little more than one of one, on both sides.

The first ones go out at once, each by a call of its own, as if nobody else were here. Those that come while calls are in flight wait
until one of these has returned, or for `STARTS_WAIT`, and go out together by StartWorkflows. A start that such a call could not settle
is made again by a call of its own, which tells what is wrong and has all the retries; its request id makes the repeat harmless.
"""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perdure import limits
from perdure.errors import Overloaded, PerdureError, Unavailable
from perdure.statuses import error_of_status
from perdure.v1.workflow_service_pb2 import StartWorkflowRequest, StartWorkflowResponse, StartWorkflowsRequest

if TYPE_CHECKING:
    from perdure.calls import Calls


@dataclass(eq=False, slots=True)
class _Waiting:
    """A start that waits to be sent; its result is None if it has to go by itself."""

    request: StartWorkflowRequest
    metadata: tuple[tuple[str, str], ...]
    size: int
    result: "asyncio.Future[StartWorkflowResponse | None]"


class StartBatches:
    """The starts of one client, on its loop."""

    def __init__(self, calls: "Calls") -> None:
        self._calls = calls
        self._in_flight = 0
        self._waiting: list[_Waiting] = []
        self._timer: asyncio.TimerHandle | None = None
        self._sending: set[asyncio.Task[None]] = set()

    async def start(self, request: StartWorkflowRequest) -> StartWorkflowResponse:
        """One start, alone or with others. Raises PerdureError."""
        began = time.monotonic()
        size = request.ByteSize()
        if self._in_flight >= limits.STARTS_IN_FLIGHT and size <= limits.START_BYTES_TOGETHER and not request.validate_only:
            answer = await self._together(request, size)
            if answer is not None:
                return answer
        self._in_flight += 1
        try:
            left = began + self._calls.timeout - time.monotonic()
            return await self._calls.unary(self._calls.workflows.StartWorkflow, request, left)
        finally:
            self._returned()

    async def _together(self, request: StartWorkflowRequest, size: int) -> StartWorkflowResponse | None:
        loop = asyncio.get_running_loop()
        waiting = _Waiting(request, tuple(self._calls.metadata()), size, loop.create_future())
        self._waiting.append(waiting)
        if self._timer is None:
            self._timer = loop.call_later(limits.STARTS_WAIT, self._waited_enough)
        return await waiting.result

    def _returned(self) -> None:
        self._in_flight -= 1
        if self._waiting:
            self._send_next()

    def _waited_enough(self) -> None:
        self._timer = None
        while self._waiting:
            self._send_next()

    def _send_next(self) -> None:
        batch = list(self._take())
        if not self._waiting and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if batch:
            self._in_flight += 1
            task = asyncio.get_running_loop().create_task(self._send(batch))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    def _take(self) -> Iterator[_Waiting]:
        """The next ones that may share a call: of one trace, and not too many bytes. Whoever was cancelled meanwhile is not sent."""
        waiting, self._waiting = self._waiting, []
        first: _Waiting | None = None
        count = size = 0
        for item in waiting:
            if item.result.done():
                continue
            first = first or item
            fits = count < limits.STARTS_TOGETHER and size + item.size <= limits.START_BYTES_TOGETHER
            if fits and item.metadata == first.metadata:
                count, size = count + 1, size + item.size
                yield item
            else:
                self._waiting.append(item)

    async def _send(self, batch: list[_Waiting]) -> None:
        try:
            request = StartWorkflowsRequest(requests=[item.request for item in batch])
            answer = await self._calls.once(self._calls.workflows.StartWorkflows, request, batch[0].metadata)
            for item, found in zip(batch, answer.results, strict=True):
                _settle(item, found.response, error_of_status(found.status) if found.HasField("status") else None)
        except (PerdureError, ValueError):
            pass  # nothing is known of those that have no result yet
        finally:
            for item in batch:
                if not item.result.done():
                    item.result.set_result(None)
            self._returned()


def _settle(item: _Waiting, answer: StartWorkflowResponse, error: PerdureError | None) -> None:
    if item.result.done():
        return  # its caller was cancelled
    if error is None:
        item.result.set_result(answer)
    elif isinstance(error, Unavailable | Overloaded):
        item.result.set_result(None)
    else:
        item.result.set_exception(error)

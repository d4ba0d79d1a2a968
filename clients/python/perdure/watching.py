"""Watching one workflow: a stream that opens itself again after a cut, without repeats, and says what is missing."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from grpc import aio

from perdure import limits
from perdure.calls import END_OF_STREAM, Calls, jittered
from perdure.errors import Overloaded, PerdureError, Unavailable
from perdure.events import Change, End, Event, Frame, Snapshot, event_of
from perdure.reasons import ErrorReason
from perdure.statuses import error_of_call
from perdure.v1 import workflow_service_pb2


class Watching:
    """State of one watch over all its streams."""

    def __init__(self, calls: Calls, request: workflow_service_pb2.WatchRequest) -> None:
        self._calls = calls
        self._request = request
        self._changes: dict[int, int] = {}
        self._frames: dict[tuple[str, int], int] = {}
        self._ended = False

    async def events(self) -> AsyncIterator[Event]:
        """Events in order, until the end. Raises PerdureError for what a new try cannot help."""
        failures = 0
        while not self._ended:
            try:
                async for event in self._stream():
                    failures = 0
                    yield event
            except PerdureError as error:
                failures += 1
                await self._consider(error, failures)
            else:
                failures += 1
                await self._after_end(failures)

    async def _after_end(self, failures: int) -> None:
        # A stream that ends well without the workflow's end was cut by a server that leaves.
        if not self._ended:
            await asyncio.sleep(self._pause(failures))

    async def _stream(self) -> AsyncIterator[Event]:
        call = self._calls.workflows.Watch(self._request, metadata=self._calls.metadata())
        try:
            while True:
                response = await self._read(call)
                if response is END_OF_STREAM:
                    return
                self._calls.note_reached()
                for message in response.events:
                    event = event_of(message)
                    if event is not None and self._is_new(event):
                        yield event
                    # After the yield: a consumer that stopped in between has not seen the event.
                    self._request.resume_token = message.resume_token or self._request.resume_token
                    if isinstance(event, End) and not self._request.follow:
                        self._ended = True
                        return
        except aio.AioRpcError as failure:
            raise error_of_call(failure) from None
        finally:
            call.cancel()

    async def _read(self, call: Any) -> Any:
        try:
            async with asyncio.timeout(limits.WATCH_IDLE_TIMEOUT):
                return await call.read()
        except TimeoutError:
            raise Unavailable("the watch heard nothing, not even a keep-alive", reason="") from None

    async def _consider(self, error: PerdureError, failures: int) -> None:
        if error.reason == ErrorReason.RESUME_TOKEN_INVALID and self._request.resume_token:
            self._request.resume_token = ""  # of a version that is gone: begin anew, with the snapshot that comes
            return
        slow = error.reason == ErrorReason.WATCHER_TOO_SLOW
        if not slow and not isinstance(error, Unavailable | Overloaded):
            raise error
        if not self._calls.reached and not error.reason and failures * limits.RETRY_MAX_INTERVAL > limits.FIRST_CONTACT_TIMEOUT:
            raise error
        asked = error.retry_after.total_seconds() if error.retry_after is not None else 0.0
        await asyncio.sleep(0.0 if slow else max(asked, self._pause(failures)))

    @staticmethod
    def _pause(failures: int) -> float:
        return jittered(min(limits.RETRY_MAX_INTERVAL, limits.RETRY_INITIAL_INTERVAL * 2 ** min(failures, 8)))

    def _is_new(self, event: Event) -> bool:
        """False for what was told before; resume tokens make that rare."""
        if isinstance(event, Snapshot):
            self._changes = {event.workflow.round: event.workflow.message.last_change_seq}
        elif isinstance(event, Change):
            if event.seq <= self._changes.get(event.round, 0):
                return False
            self._changes[event.round] = event.seq
        elif isinstance(event, Frame):
            if event.seq <= self._frames.get((event.step, event.claim_no), 0):
                return False
            self._frames[event.step, event.claim_no] = event.seq
        elif isinstance(event, End):
            self._frames.clear()  # the next round numbers its claims from 1 again
        return True

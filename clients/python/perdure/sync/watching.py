# Made by `python tools/sync_client.py` from perdure/watching.py; do not edit.
"""Watching one workflow: a stream that opens itself again after a cut, without repeats, and says what is missing."""

import time
from collections import deque
from typing import Self

from perdure import limits
from perdure.contact import jittered
from perdure.errors import Overloaded, PerdureError, Unavailable
from perdure.events import Change, End, Event, Frame, Snapshot, event_of
from perdure.reasons import ErrorReason
from perdure.sync.calls import Calls, WatchStream
from perdure.v1 import workflow_service_pb2


class Watching:
    """An iterator of events, over as many streams as it takes; made by `run.watch`."""

    def __init__(self, calls: Calls, request: workflow_service_pb2.WatchRequest) -> None:
        self._calls = calls
        self._request = request
        self._stream: WatchStream | None = None
        self._pending: deque[tuple[Event | None, str]] = deque()
        self._changes: dict[int, int] = {}
        self._frames: dict[tuple[str, int], int] = {}
        self._failures = 0
        self._began = time.monotonic()
        self._ended = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        """The next event. Raises PerdureError for what a new try cannot help."""
        while not self._ended:
            while self._pending:
                event, token = self._pending.popleft()
                self._request.resume_token = token or self._request.resume_token
                if event is not None and self._is_new(event):
                    self._note_end(event)
                    return event
            self._read_more()
        raise StopIteration

    def close(self) -> None:
        """Ends the watch; an iterator that is dropped ends too, if later."""
        self._ended = True
        self._drop_stream()

    def _read_more(self) -> None:
        try:
            response = self._read()
        except PerdureError as error:
            self._drop_stream()
            self._failures += 1
            self._consider(error)
            return
        if response is None:
            # Without the workflow's end, a server that leaves has cut it.
            self._drop_stream()
            self._failures += 1
            time.sleep(self._pause())
            return
        self._failures = 0
        self._calls.note_reached()
        self._pending.extend((event_of(message), message.resume_token) for message in response.events)

    def _read(self) -> workflow_service_pb2.WatchResponse | None:
        if self._stream is None:
            self._stream = self._calls.watch(self._request)
        return self._stream.read()

    def _consider(self, error: PerdureError) -> None:
        if error.reason == ErrorReason.RESUME_TOKEN_INVALID and self._request.resume_token:
            self._request.resume_token = ""  # of a version that is gone: begin anew, with the snapshot that comes
            return
        slow = error.reason == ErrorReason.WATCHER_TOO_SLOW
        if not slow and not isinstance(error, Unavailable | Overloaded):
            raise error
        if not self._calls.reached and not error.reason and time.monotonic() - self._began > self._calls.connect_timeout:
            raise self._calls.explained(error)
        asked = error.retry_after.total_seconds() if error.retry_after is not None else 0.0
        time.sleep(0.0 if slow else max(asked, self._pause()))

    def _pause(self) -> float:
        return jittered(min(limits.RETRY_MAX_INTERVAL, limits.RETRY_INITIAL_INTERVAL * 2 ** min(self._failures, 8)))

    def _drop_stream(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.cancel()

    def _note_end(self, event: Event) -> None:
        if isinstance(event, End) and not self._request.follow:
            self._ended = True
            self._drop_stream()

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

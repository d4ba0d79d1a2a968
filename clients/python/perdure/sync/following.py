# Made by `python tools/sync_client.py` from perdure/following.py; do not edit.
"""Following a stream of events: it opens itself again after a cut, where it was."""

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, Self, TypeVar

from perdure import limits
from perdure.contact import jittered
from perdure.errors import Overloaded, PerdureError, Unavailable
from perdure.reasons import ErrorReason
from perdure.sync.calls import Calls, EventStream

A = TypeVar("A")
E = TypeVar("E")


class Resumable(Protocol):
    """A request that can go on behind an event."""

    resume_token: str


class Following(Generic[A, E]):
    """An iterator of events E, over as many streams of answers A as it takes.

    `idle`: what to yield whenever the server, or the connection to it, brought nothing new; None: nothing.
    """

    def __init__(self, calls: Calls, request: Resumable, idle: Callable[[str], E] | None = None) -> None:
        self._idle = idle
        self._is_idle = False
        self._calls = calls
        self._resumable = request
        self._stream: EventStream[A] | None = None
        self._pending: deque[tuple[E | None, str]] = deque()
        self._failures = 0
        self._began = time.monotonic()
        self._ended = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> E:
        """The next event. Raises PerdureError for what a new try cannot help."""
        while not self._ended:
            while self._pending:
                event, token = self._pending.popleft()
                self._resumable.resume_token = token or self._resumable.resume_token
                if event is not None and self._is_new(event):
                    self._is_idle = False
                    return event
            if self._is_idle and self._idle is not None:
                self._is_idle = False
                return self._idle(self._resumable.resume_token)
            self._read_more()
            self._is_idle = True
        raise StopIteration

    def close(self) -> None:
        """Ends the watch; an iterator that is dropped ends too, if later."""
        self._end()

    @abstractmethod
    def _open(self) -> EventStream[A]:
        """Asks again, behind the last event."""

    @abstractmethod
    def _events_of(self, answer: A) -> Iterable[tuple[E | None, str]]:
        """Events with their tokens; None: only the token moves."""

    def _is_new(self, event: E) -> bool:
        """False for what was told before. May end the watch."""
        del event
        return True

    def _end(self) -> None:
        self._ended = True
        self._drop_stream()

    def _read_more(self) -> None:
        stream = self._stream
        if stream is None:
            stream = self._stream = self._open()
        if self._ended:
            self._drop_stream()  # closed by another thread while we opened: its close may have found no stream
            return
        try:
            answer = stream.read()
        except PerdureError as error:
            self._drop_stream()
            self._failures += 1
            self._consider(error)
            return
        if answer is None:
            # Without the workflow's end, a server that leaves has cut it.
            self._drop_stream()
            self._failures += 1
            time.sleep(self._pause())
            return
        self._failures = 0
        self._calls.note_reached()
        self._pending.extend(self._events_of(answer))

    def _consider(self, error: PerdureError) -> None:
        if self._ended:
            return
        if error.reason == ErrorReason.RESUME_TOKEN_INVALID and self._resumable.resume_token:
            self._resumable.resume_token = ""  # of a version that is gone: begin anew, with what there is
            return
        slow = error.reason == ErrorReason.WATCHER_TOO_SLOW
        # A watch has no deadline: a proxy on the way has one.
        is_cut = isinstance(error, Unavailable | Overloaded) or error.code == "DEADLINE_EXCEEDED"
        if not slow and not is_cut:
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

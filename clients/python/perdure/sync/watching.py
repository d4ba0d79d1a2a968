# Made by `python tools/sync_client.py` from perdure/watching.py; do not edit.
"""Watching one workflow: a stream that opens itself again after a cut, without repeats, and says what is missing."""

from collections.abc import Iterable

from perdure.events import Change, End, Event, Frame, Snapshot, event_of, idle_of
from perdure.sync.calls import Calls, EventStream
from perdure.sync.following import Following
from perdure.v1 import workflow_service_pb2


class Watching(Following[workflow_service_pb2.WatchResponse, Event]):
    """An iterator of events, over as many streams as it takes; made by `run.watch`."""

    def __init__(self, calls: Calls, request: workflow_service_pb2.WatchRequest, *, idle: bool = False) -> None:
        super().__init__(calls, request, idle_of if idle else None)
        self._request = request
        self._changes: dict[int, int] = {}
        self._frames: dict[tuple[str, int], int] = {}

    def _open(self) -> EventStream[workflow_service_pb2.WatchResponse]:
        return self._calls.watch(self._request)

    def _events_of(self, answer: workflow_service_pb2.WatchResponse) -> Iterable[tuple[Event | None, str]]:
        return [(event_of(message), message.resume_token) for message in answer.events]

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
            if not self._request.follow:
                self._end()
        return True

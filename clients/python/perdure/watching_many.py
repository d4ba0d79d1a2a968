"""Watching many workflows by filter."""

from collections.abc import Iterable

from perdure.calls import Calls, EventStream
from perdure.following import Following
from perdure.many_events import ManyEvent, many_event_of, many_idle_of
from perdure.v1 import workflow_service_pb2


class WatchingMany(Following[workflow_service_pb2.WatchWorkflowsResponse, ManyEvent]):
    """An asynchronous iterator of events, over as many streams as it takes; made by `client.watch_many`. It has no end of its own."""

    def __init__(self, calls: Calls, request: workflow_service_pb2.WatchWorkflowsRequest, *, idle: bool = False) -> None:
        super().__init__(calls, request, many_idle_of if idle else None)
        self._request = request

    def _open(self) -> EventStream[workflow_service_pb2.WatchWorkflowsResponse]:
        return self._calls.watch_many(self._request)

    def _events_of(self, answer: workflow_service_pb2.WatchWorkflowsResponse) -> Iterable[tuple[ManyEvent | None, str]]:
        return [(many_event_of(message), message.resume_token) for message in answer.events]

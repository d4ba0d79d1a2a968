"""Readers of server-sent events that leave while nothing happens: the samples notice it, because they write something all the same."""

import io
import queue
from collections.abc import Iterator
from typing import Any

import pytest

from examples.streaming.sse import Stories
from examples.web.flask_app import create_app
from perdure.v1 import workflow_pb2, workflow_service_pb2
from tests.client.test_sync import SERVICE, Calls

WATCH = SERVICE.methods_by_name["Watch"]


@pytest.fixture
def calls() -> Iterator[Calls]:
    made = Calls()
    yield made
    made.close()


def keep_alive() -> workflow_service_pb2.WatchResponse:
    answer = workflow_service_pb2.WatchResponse()
    answer.events.add(resume_token="t").keep_alive.SetInParent()
    return answer


def watched(calls: Calls) -> Any:
    """The stream of the Watch that comes behind a Get."""
    calls.answer("GetWorkflow", workflow_service_pb2.GetWorkflowResponse(workflow=workflow_pb2.Workflow()))
    _, _, stream = calls.channel.take_unary_stream(WATCH)
    return stream


def test_flask_writes_something_while_nothing_happens(calls: Calls) -> None:
    told: queue.Queue[bytes] = queue.Queue()

    def read() -> None:
        answer = create_app(calls.client).test_client().get("/exports/k/events", buffered=False)
        told.put(next(answer.iter_encoded()))
        answer.close()  # as a server does when a write fails

    reading = calls.begin(read)
    stream = watched(calls)
    stream.send_response(keep_alive())
    assert told.get(timeout=10) == b": idle\n\n"
    stream.cancelled()  # returns when the watch was closed
    reading.result(timeout=10)


class Gone(io.BytesIO):
    """A connection whose reader has left."""

    def write(self, _: Any) -> int:
        raise BrokenPipeError


def test_a_story_ends_for_a_reader_that_has_left(calls: Calls) -> None:
    def serve() -> None:
        page = Stories.__new__(Stories)
        page.client, page.path, page.headers, page.wfile = calls.client, "/stories/k", {}, Gone()  # type: ignore[assignment]  # as much as it reads
        page.send_response = page.send_header = page.end_headers = lambda *_: None  # type: ignore[method-assign]  # the head went out before
        page.do_GET()

    serving = calls.begin(serve)
    stream = watched(calls)
    stream.send_response(keep_alive())
    stream.cancelled()
    serving.result(timeout=10)

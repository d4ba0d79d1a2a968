"""Readers of server-sent events that leave while nothing happens: the samples notice it, because they write something all the same."""

import io
import queue
from collections.abc import Iterator
from http.client import HTTPMessage
from typing import Any

import pytest

from examples.streaming.sse import Stories
from examples.web.flask_app import create_app
from perdure.sync import Client
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


class Page(Stories):
    """As much of a handler as do_GET uses, for a reader that left after the head."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.path = "/stories/k"
        self.headers = HTTPMessage()
        self.wfile = Gone()

    def send_response(self, code: int, message: str | None = None) -> None:
        """Went out before."""

    def send_header(self, keyword: str, value: str) -> None:
        """Went out before."""

    def end_headers(self) -> None:
        """Went out before."""


def test_a_story_ends_for_a_reader_that_has_left(calls: Calls) -> None:
    serving = calls.begin(lambda: Page(calls.client).do_GET())
    stream = watched(calls)
    stream.send_response(keep_alive())
    stream.cancelled()
    serving.result(timeout=10)

"""The client for programs without an event loop: generated from the asynchronous one, and here on the channel of grpc_testing."""

import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from queue import Queue
from typing import Any

import grpc
import grpc_testing  # type: ignore[import-untyped]  # it has no types
import pytest
from google.rpc import error_details_pb2, status_pb2

from perdure import AlreadyExists, Context, Definition, ErrorReason, Snapshot, Unavailable, WorkflowState
from perdure.events import End, Event, Frame
from perdure.statuses import STATUS_DETAILS
from perdure.sync import Client
from perdure.v1 import payload_pb2, watch_pb2, workflow_pb2, workflow_service_pb2
from tools import sync_client

SERVICE = workflow_service_pb2.DESCRIPTOR.services_by_name["WorkflowService"]
NO_METADATA: tuple[tuple[str, str], ...] = ()

note = Definition("note")


@note.step()
def transcribe(ctx: Context[None], input: str) -> str:
    return input.upper()


class Calls:
    """A client on a channel that is no wire: what it calls is taken and answered by hand."""

    def __init__(self) -> None:
        self.channel = grpc_testing.channel([SERVICE], grpc_testing.strict_real_time())
        self.client = Client("nowhere:1", channel=self.channel)
        self._threads = ThreadPoolExecutor(2)

    def begin(self, work: Any) -> Future[Any]:
        """Calls block, so they run beside the test."""
        return self._threads.submit(work)

    def taken(self, name: str) -> tuple[Any, Any]:
        """The next unary call of this method: (request, rpc)."""
        _, request, rpc = self.channel.take_unary_unary(SERVICE.methods_by_name[name])
        return request, rpc

    def answer(self, name: str, message: Any) -> Any:
        """Answers the next call with a message; returns its request."""
        request, rpc = self.taken(name)
        rpc.terminate(message, NO_METADATA, grpc.StatusCode.OK, "")
        return request

    def close(self) -> None:
        """Nothing is left behind."""
        self._threads.shutdown(wait=True, cancel_futures=True)


@pytest.fixture
def calls() -> Iterator[Calls]:
    made = Calls()
    yield made
    made.close()


def refusal(code: grpc.StatusCode, reason: ErrorReason) -> tuple[tuple[str, bytes], ...]:
    """Trailing metadata of an error, as the server writes it."""
    status = status_pb2.Status(code=code.value[0], message="no")
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason=reason, domain="perdure"))
    return ((STATUS_DETAILS, status.SerializeToString()),)


def test_what_is_generated_is_fresh() -> None:
    for name in sync_client.SOURCES:
        assert (sync_client.PACKAGE / "sync" / f"{name}.py").read_text(encoding="utf-8") == sync_client.translated(name), name


def test_a_start_sends_what_the_asynchronous_client_sends(calls: Calls) -> None:
    starting = calls.begin(lambda: calls.client.start(note, key="k", input="hello", labels={"tenant": "acme"}))
    answer = workflow_service_pb2.StartWorkflowResponse(created=True, run_id="r", fence=1, state=workflow_pb2.Workflow.STATE_RUNNING)
    answer.workflow.round = 1
    request = calls.answer("StartWorkflow", answer)
    run = starting.result(timeout=5)
    assert (request.workflow.workflow_type, request.workflow.business_key, request.input.json) == ("note", "k", '"hello"')
    assert (dict(request.labels), len(request.request_id)) == ({"tenant": "acme"}, 32)
    assert (run.created, run.ref.round, run.started.state) == (True, 1, WorkflowState.RUNNING)


def test_unavailable_is_tried_again_with_the_same_request_id(calls: Calls) -> None:
    starting = calls.begin(lambda: calls.client.start(note, key="k", input="x"))
    first, rpc = calls.taken("StartWorkflow")
    rpc.terminate(None, refusal(grpc.StatusCode.UNAVAILABLE, ErrorReason.DRAINING), grpc.StatusCode.UNAVAILABLE, "leaving")
    again = calls.answer("StartWorkflow", workflow_service_pb2.StartWorkflowResponse())
    assert starting.result(timeout=5).created is False
    assert first.request_id == again.request_id


def test_an_error_is_typed_and_is_not_tried_again(calls: Calls) -> None:
    starting = calls.begin(lambda: calls.client.start(note, key="k", input="x"))
    _, rpc = calls.taken("StartWorkflow")
    code = grpc.StatusCode.ALREADY_EXISTS
    rpc.terminate(None, refusal(code, ErrorReason.START_INPUT_MISMATCH), code, "another input")
    with pytest.raises(AlreadyExists) as caught:
        starting.result(timeout=5)
    assert caught.value.reason == ErrorReason.START_INPUT_MISMATCH


def test_a_client_that_never_reached_a_server_says_so_soon() -> None:
    with Client("127.0.0.1:1", connect_timeout=timedelta(seconds=0.3)) as client:
        began = time.monotonic()
        with pytest.raises(Unavailable, match="perdure dev"):
            client.get("note", "k")
        assert time.monotonic() - began < 10, "a call has 30 s"


def test_a_list_fetches_page_after_page(calls: Calls) -> None:
    listing = calls.begin(lambda: [found.message.workflow.business_key for found in calls.client.list("note")])
    for token, key in (("next", "a"), ("", "b")):
        page = workflow_service_pb2.ListWorkflowsResponse(next_page_token=token)
        page.workflows.add().workflow.business_key = key
        request = calls.answer("ListWorkflows", page)
        assert request.page_token == ("" if key == "a" else "next")
    assert listing.result(timeout=5) == ["a", "b"]


def test_a_watch_goes_on_where_it_was_after_a_cut(calls: Calls) -> None:
    events: Queue[Event] = Queue()
    watching = calls.begin(lambda: deque(map(events.put, calls.client.run(note, "k").watch())))
    method = SERVICE.methods_by_name["Watch"]
    _, request, rpc = calls.channel.take_unary_stream(method)
    assert (request.workflow.business_key, request.resume_token) == ("k", "")
    first = workflow_service_pb2.WatchResponse()
    event = first.events.add(resume_token="t1")
    event.snapshot.workflow.round = 1
    piece = first.events.add(resume_token="t2").frame
    piece.step, piece.claim_no, piece.seq, piece.kind = "transcribe", 1, 1, watch_pb2.Frame.KIND_TEXT
    piece.payload.CopyFrom(payload_pb2.Payload(json='"piece"'))
    rpc.send_response(first)
    assert [type(events.get(timeout=5)) for _ in range(2)] == [Snapshot, Frame]
    rpc.terminate(NO_METADATA, grpc.StatusCode.UNAVAILABLE, "cut")

    _, request, rpc = calls.channel.take_unary_stream(method)
    assert request.resume_token == "t2"
    last = workflow_service_pb2.WatchResponse()
    last.events.add(resume_token="t3").end.state = workflow_pb2.Workflow.STATE_COMPLETED
    rpc.send_response(last)
    rpc.terminate(NO_METADATA, grpc.StatusCode.OK, "")
    watching.result(timeout=10)
    assert isinstance(events.get(timeout=5), End)

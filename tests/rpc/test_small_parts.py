"""Trace context, page tokens, phases, registry."""

import asyncio

import pytest

from perdure.v1 import workflow_pb2 as wire
from perdure_server.engine.entropy import Entropy
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import Trace
from perdure_server.kernel.workflow import Step, StepState, WorkflowState
from perdure_server.ports.store import PageKey, WorkflowQuery
from perdure_server.rpc import page_tokens
from perdure_server.rpc.admin_service import AdminService
from perdure_server.rpc.encode.phases import step_phase
from perdure_server.rpc.leaving import Leaving
from perdure_server.rpc.registry import unimplemented_methods
from perdure_server.rpc.server import is_loopback
from perdure_server.rpc.trace_context import Metadata, format_traceparent, parse_traceparent
from perdure_server.rpc.trace_context import workflow_trace as trace_of
from perdure_server.rpc.worker_service import WorkerService
from perdure_server.rpc.workflow_service import WorkflowService

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def workflow_trace(metadata: Metadata, sample_ratio: float) -> Trace:
    return trace_of(metadata, sample_ratio, Entropy())


class TestTraceContext:
    def test_the_callers_trace_goes_on(self) -> None:
        found = workflow_trace([("traceparent", PARENT), ("tracestate", "a=1"), ("tracestate", "b=2")], 0.0)
        assert found == Trace("0af7651916cd43dd8448eb211c80319c", found.root_span_id, "b7ad6b7169203331", 1, "a=1,b=2")
        assert len(found.root_span_id) == 16

    def test_the_callers_decision_not_to_sample_stands(self) -> None:
        assert workflow_trace([("traceparent", PARENT[:-2] + "00")], 1.0).flags == 0

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "x",
            PARENT.upper(),
            "ff" + PARENT[2:],
            PARENT + "-more",
            "00-" + "0" * 32 + "-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-" + "0" * 16 + "-01",
        ],
    )
    def test_what_is_malformed_counts_as_absent(self, text: str) -> None:
        assert parse_traceparent(text) is None
        assert workflow_trace([("traceparent", text)], 1.0).parent_span_id == ""

    def test_newer_versions_may_have_more(self) -> None:
        assert parse_traceparent("01" + PARENT[2:] + "-more") == ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", 1)

    def test_two_parents_are_none(self) -> None:
        assert workflow_trace([("traceparent", PARENT), ("traceparent", PARENT)], 1.0).parent_span_id == ""

    def test_a_state_that_is_too_long_is_dropped(self) -> None:
        assert workflow_trace([("traceparent", PARENT), ("tracestate", "a=" + "x" * 600)], 1.0).state == ""

    @pytest.mark.parametrize(("ratio", "least", "most"), [(0.0, 0, 0), (1.0, 400, 400), (0.5, 120, 280)])
    def test_new_traces_are_sampled_by_the_ratio(self, ratio: float, least: int, most: int) -> None:
        assert least <= sum(workflow_trace([], ratio).flags for _ in range(400)) <= most

    def test_it_is_written_for_workers(self) -> None:
        trace = workflow_trace([("traceparent", PARENT)], 1.0)
        assert format_traceparent(trace, "1" * 16) == f"00-{trace.trace_id}-{'1' * 16}-01"
        assert format_traceparent(trace, "") == ""


class TestPageTokens:
    query = WorkflowQuery("default", labels={"b": "1", "a": "2"})

    def test_they_come_back_for_the_same_query(self) -> None:
        key = PageKey(1_800_000_000_000, b"i" * 16)
        token = page_tokens.encode(self.query, key)
        assert page_tokens.decode(WorkflowQuery("default", labels={"a": "2", "b": "1"}), token) == key
        assert page_tokens.decode(self.query, "") is None
        assert page_tokens.encode(self.query, None) == ""

    @pytest.mark.parametrize("token", ["x", "eA==", "é", "////"])
    def test_what_is_no_token(self, token: str) -> None:
        for call in (lambda: page_tokens.decode(self.query, token), lambda: page_tokens.decode_key(("a",), token)):
            with pytest.raises(Rejection) as caught:
                call()
            assert caught.value.reason is Reason.PAGE_TOKEN_INVALID

    def test_they_belong_to_their_query(self) -> None:
        token = page_tokens.encode(self.query, PageKey(1, b"i" * 16))
        with pytest.raises(Rejection):
            page_tokens.decode(WorkflowQuery("other"), token)
        with pytest.raises(Rejection):
            page_tokens.decode_key(("b",), page_tokens.encode_key(("a",), ["x"]))
        assert page_tokens.decode_key(("a",), page_tokens.encode_key(("a",), ["x"])) == ["x"]


class TestPhases:
    def test_states_are_numbered_as_on_the_wire(self) -> None:
        assert {state.value: f"STATE_{state.name}" for state in WorkflowState} == {
            value: name for name, value in wire.Workflow.State.items() if value
        }
        assert {state.value: f"STATE_{state.name}" for state in StepState} == {
            value: name for name, value in wire.StepView.State.items() if value
        }

    @pytest.mark.parametrize("state", list(StepState))
    def test_every_step_that_is_not_blocked_and_has_not_ended_has_a_phase(self, state: StepState) -> None:
        found = step_phase(Step(state=state, since=5, attempt=1))
        idle = {StepState.BLOCKED, StepState.COMPLETED, StepState.FAILED, StepState.CANCELLED, StepState.SKIPPED, StepState.COMPENSATED}
        assert (found is None) == (state in idle)

    def test_a_delayed_start_is_waiting_not_backing_off(self) -> None:
        found = step_phase(Step(state=StepState.BACKOFF, since=5))
        assert found is not None
        assert found.phase == wire.PHASE_WAITING


class TestLeaving:
    async def test_long_calls_end_with_draining(self) -> None:
        leaving = Leaving()
        asyncio.get_running_loop().call_soon(leaving.begin)
        with pytest.raises(Rejection) as caught:
            async with leaving.cut_short():
                await asyncio.Event().wait()
        assert caught.value.reason is Reason.DRAINING
        with pytest.raises(Rejection):
            async with leaving.cut_short():
                pytest.fail("nothing begins after the switch")

    async def test_old_calls_end_too(self) -> None:
        with pytest.raises(Rejection):
            async with Leaving().cut_short(1):
                await asyncio.Event().wait()

    async def test_a_timeout_of_the_body_is_its_own(self) -> None:
        with pytest.raises(TimeoutError):
            async with Leaving().cut_short(10_000):
                raise TimeoutError


def test_the_services_serve_what_they_have_and_refuse_the_rest() -> None:
    refused = unimplemented_methods(WorkflowService, WorkerService, AdminService)
    assert not [name for name in refused if name.startswith("WorkerService/")]
    for service in (WorkflowService, WorkerService, AdminService):
        short = service.descriptor.name
        served = {method.name for method in service.descriptor.methods} - {
            name.partition("/")[2] for name in refused if name.startswith(short)
        }
        public = {name for name in dir(service) if not name.startswith("_") and name != "descriptor"}
        assert len(served) == len(public), "every public method of a servicer is an RPC"


@pytest.mark.parametrize(
    ("address", "loopback"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False), ("example.org", False)],
)
def test_loopback(address: str, loopback: bool) -> None:
    assert is_loopback(address) is loopback

"""What business services send, with every entry limit."""

from collections.abc import Callable
from functools import partial

import pytest

from perdure.v1.workflow_service_pb2 import (
    CancelWorkflowRequest,
    FetchPayloadRequest,
    SignalRequest,
    StartWorkflowRequest,
    WaitForResultRequest,
    WatchRequest,
)
from perdure_server.engine.entropy import Entropy
from perdure_server.engine.values import Ref
from perdure_server.kernel import limits
from perdure_server.kernel.canonical import payload_digest
from perdure_server.kernel.rejection import Reason
from perdure_server.kernel.start import OnClosed, OnOpen, Start
from perdure_server.kernel.values import Payload, Trace
from perdure_server.kernel.workflow import Signal, WorkflowKey
from perdure_server.rpc.decode import workflows
from perdure_server.rpc.faults import RequestRefused
from tests.rpc.conftest import ref

TRACE = Trace("1" * 32, "2" * 16)


def starting(**fields: object) -> StartWorkflowRequest:
    return StartWorkflowRequest(workflow=ref(), **fields)  # type: ignore[arg-type]  # fields of the message


def decoded(message: StartWorkflowRequest) -> Start:
    return workflows.start(message, TRACE, Entropy())


def start_refused(message: StartWorkflowRequest) -> RequestRefused:
    with pytest.raises(RequestRefused) as caught:
        decoded(message)
    return caught.value


def fields_of(call: Callable[[], object]) -> list[str]:
    with pytest.raises(RequestRefused) as caught:
        call()
    return sorted(field for field, _ in caught.value.violations)


class TestStart:
    def test_a_start_with_everything(self) -> None:
        message = starting(
            request_id="r", labels={"tenant": "acme"}, priority=7, fairness_key="acme", queue="gpu", step_queues={"a": "cpu"}
        )
        message.input.json = '{"b": 1, "a": 2}'
        message.start_at.seconds = 9
        message.workflow_timeout.seconds = 60
        message.retention.seconds = 5
        message.signals.add(signal_name="go", signal_id="s1").payload.json = "1"
        message.on_open = StartWorkflowRequest.ON_OPEN_REJECT
        found = decoded(message)
        content = Payload(json='{"b": 1, "a": 2}')
        assert found == Start(
            key=WorkflowKey("default", "note", "k"),
            run_id=found.run_id,
            trace=TRACE,
            input=content,
            input_digest=payload_digest("input", content),
            request_id="r",
            on_open=OnOpen.REJECT,
            on_closed=OnClosed.USE_EXISTING,
            start_at=9_000,
            labels={"tenant": "acme"},
            priority=7,
            queue="gpu",
            step_queues={"a": "cpu"},
            fairness_key="acme",
            workflow_timeout=60_000,
            retention=5_000,
            signals=(Signal("s1", "go", 0, Payload(json="1")),),
        )
        assert len(found.run_id) == 24

    def test_every_try_has_a_run_id_of_its_own_and_equal_inputs_one_digest(self) -> None:
        first, second = starting(), starting()
        first.input.json, second.input.json = '{"a":1,"b":"\\u00e9"}', '{ "b": "é", "a": 1 }'
        one, two = decoded(first), decoded(second)
        assert one.run_id != two.run_id
        assert one.input_digest == two.input_digest

    def test_all_faults_at_once(self) -> None:
        message = StartWorkflowRequest(priority=10, fairness_key="x" * 257, queue="?", step_queues={"A": "?"}, request_id="x" * 129)
        message.workflow.round = 1
        message.input.json = "{"
        message.start_at.seconds = -1
        message.workflow_timeout.SetInParent()
        message.retention.seconds = -1
        message.labels["$"] = ""
        for _ in range(17):
            message.signals.add()
        found = set(fields_of(lambda: decoded(message)))
        assert {
            "workflow.round",
            "workflow.workflow_type",
            "workflow.business_key",
            "input",
            "priority",
            "fairness_key",
            "queue",
            "step_queues",
            "step_queues['A']",
            "request_id",
            "start_at",
            "workflow_timeout",
            "retention",
            "labels['$']",
            "signals",
            "signals[0].signal_id",
            "signals[0].signal_name",
        } <= found

    def test_policies_that_open_rounds(self) -> None:
        message = starting(
            on_open=StartWorkflowRequest.ON_OPEN_SUPERSEDE, on_closed=StartWorkflowRequest.ON_CLOSED_NEW_ROUND_IF_FAILED, request_id="r"
        )
        message.workflow.expected_fence = 7
        found = decoded(message)
        assert (found.on_open, found.on_closed, found.expected_fence) == (OnOpen.SUPERSEDE, OnClosed.NEW_ROUND_IF_FAILED, 7)
        message.on_closed = StartWorkflowRequest.ON_CLOSED_NEW_ROUND
        assert decoded(message).on_closed is OnClosed.NEW_ROUND

    def test_a_weight_is_one_unless_given_and_has_bounds(self) -> None:
        assert decoded(starting()).fairness_weight == 1.0
        assert decoded(starting(fairness_weight=2.5)).fairness_weight == 2.5
        for weight in (0.0, -1.0, 1_001.0, float("nan")):
            assert start_refused(starting(fairness_weight=weight)).violations[0][0] == "fairness_weight"

    def test_a_policy_other_than_use_existing_needs_a_request_id(self) -> None:
        for field, policies in (("on_closed", (2, 3, 4)), ("on_open", (2, 3))):
            for policy in policies:
                assert fields_of(partial(decoded, starting(**{field: policy}))) == ["request_id"]
        message = starting(on_closed=StartWorkflowRequest.ON_CLOSED_REJECT)
        message.request_id = "r"
        assert decoded(message).on_closed is OnClosed.REJECT

    def test_policies_of_newer_clients(self) -> None:
        message = StartWorkflowRequest.FromString(starting().SerializeToString() + b"\x20\x63\x28\x63")
        assert fields_of(lambda: decoded(message)) == ["on_closed", "on_open"]

    def test_c05_a_payload_over_the_limit(self) -> None:
        message = starting()
        message.input.binary = b"x" * (limits.PAYLOAD + 1)
        error = start_refused(message)
        assert error.reason is Reason.PAYLOAD_TOO_LARGE
        assert error.facts == {"field": "input", "limit_bytes": str(limits.PAYLOAD), "size_bytes": str(limits.PAYLOAD + 1)}

    def test_two_signals_of_one_id(self) -> None:
        message = starting()
        message.signals.add(signal_name="a", signal_id="s")
        message.signals.add(signal_name="b", signal_id="s")
        assert fields_of(lambda: decoded(message)) == ["signals"]


class TestSignals:
    def test_by_name_and_by_token(self) -> None:
        message = SignalRequest(workflow=ref(), signal_name="go", signal_id="s1")
        message.payload.json = "1"
        assert workflows.signal(message) == (Ref(WorkflowKey("default", "note", "k")), Signal("s1", "go", 0, Payload(json="1")))
        message = SignalRequest(wake_token="t.a", signal_name="go", signal_id="s1")
        assert workflows.signal(message) == ("t.a", Signal("s1", "go", 0))

    def test_faults(self) -> None:
        assert fields_of(lambda: workflows.signal(SignalRequest())) == ["signal_id", "signal_name", "target"]


class TestOthers:
    def test_cancel(self) -> None:
        assert workflows.cancel(CancelWorkflowRequest(workflow=ref(), reason="x")) == Ref(WorkflowKey("default", "note", "k"))
        message = CancelWorkflowRequest(workflow=ref(), reason="é" * 2_049, etag="e" * 300, request_id="x" * 129)
        assert fields_of(lambda: workflows.cancel(message)) == ["etag", "reason", "request_id"]

    def test_wait_for_result_is_capped(self) -> None:
        message = WaitForResultRequest(workflow=ref())
        assert workflows.result_wait(message)[1] == limits.RESULT_WAIT_MAX
        message.timeout.seconds = 3_600
        assert workflows.result_wait(message)[1] == limits.RESULT_WAIT_MAX
        message.timeout.seconds = 0
        assert workflows.result_wait(message)[1] == 0

    def test_holders_of_payloads(self) -> None:
        assert fields_of(lambda: workflows.payload_holder(FetchPayloadRequest())) == ["holder", "payload_id"]
        assert workflows.payload_holder(FetchPayloadRequest(claim_token="t", payload_id="p")) == "t"

    def test_watch(self) -> None:
        assert workflows.look(WatchRequest(workflow=ref())).key.business_key == "k"
        message = WatchRequest.FromString(WatchRequest(workflow=ref()).SerializeToString() + b"\x28\x63")
        assert fields_of(lambda: workflows.look(message)) == ["view"]

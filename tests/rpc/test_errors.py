"""The error table: complete, and nothing of ours leaks through it."""

import inspect
import logging
from types import ModuleType

import pytest
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, ResourceInfo, RetryInfo
from grpc import StatusCode

from perdure.v1.errors_pb2 import ErrorReason
from perdure.v1.worker_service_pb2 import ClaimLossCause
from perdure_server.kernel import rejection, transitions
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.values import LossCause
from perdure_server.ports import errors as port_errors
from perdure_server.ports.errors import CorruptDocument, DocumentTooLarge, StoreUnavailable
from perdure_server.rpc import limits
from perdure_server.rpc.encode.workers import reason_value
from perdure_server.rpc.errors import CODES, CallRefused, grpc_code, not_implemented, protocol_violation, to_status
from perdure_server.rpc.faults import RequestRefused
from tests.rpc.conftest import from_status, unpacked

WIRE_REASONS = {name.removeprefix("ERROR_REASON_") for name in ErrorReason.DESCRIPTOR.values_by_name} - {"UNSPECIFIED"}

# Every error class that a handler may meet, with the reason that the client gets.
CLASSES: dict[type[Exception], str] = {
    Rejection: "FENCED",
    FieldViolation: "INVALID_ARGUMENT",
    transitions.IllegalTransition: "INTERNAL",
    port_errors.StoreError: "INTERNAL",
    port_errors.StoreUnavailable: "STORE_UNAVAILABLE",
    port_errors.DocumentTooLarge: "DOCUMENT_FULL",
    port_errors.CorruptDocument: "DOCUMENT_QUARANTINED",
    port_errors.CoordinationUnavailable: "INTERNAL",
}


def made(kind: type[Exception]) -> Exception:
    if kind is Rejection:
        return Rejection(Reason.FENCED, "another fence", fence="7")
    if kind is FieldViolation:
        return FieldViolation([("a.b", "is wrong")])
    return kind("marker-17")


def errors_of(*modules: ModuleType) -> set[type[Exception]]:
    return {
        found
        for module in modules
        for _, found in inspect.getmembers(module, inspect.isclass)
        if issubclass(found, Exception) and found.__module__ == module.__name__
    }


def test_every_reason_of_the_wire_has_one_row() -> None:
    assert set(CODES) == WIRE_REASONS


def test_every_reason_of_the_kernel_is_on_the_wire() -> None:
    assert {reason.name for reason in Reason} <= WIRE_REASONS
    for reason in Reason:
        assert ErrorReason.Name(reason_value(reason)) == f"ERROR_REASON_{reason.name}"


def test_every_error_class_is_known() -> None:
    assert errors_of(rejection, transitions, port_errors) == set(CLASSES)


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_class_becomes_a_status_without_its_own_text(kind: type[Exception]) -> None:
    found = from_status(to_status(made(kind)))
    assert found.reason == CLASSES[kind]
    assert found.code is CODES[found.reason]
    assert "marker-17" not in str(found.status)


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_carries_what_its_code_promises(reason: Reason) -> None:
    status = to_status(Rejection(reason, "Words.", one="1"), "default/note/k")
    found = from_status(status)
    assert (found.reason, found.facts, found.message) == (reason.name, {"one": "1"}, "Words.")
    code = grpc_code(status)
    assert (unpacked(status, RetryInfo) is not None) == (code in {StatusCode.RESOURCE_EXHAUSTED, StatusCode.UNAVAILABLE})
    assert (unpacked(status, ResourceInfo) is not None) == (code in {StatusCode.NOT_FOUND, StatusCode.ALREADY_EXISTS})
    info = unpacked(status, ErrorInfo)
    assert info is not None
    assert info.domain == "perdure"  # type: ignore[attr-defined]  # google.rpc has no types


def test_the_codes_of_the_design() -> None:
    expected = {
        "START_INPUT_MISMATCH": StatusCode.ALREADY_EXISTS,
        "CLAIM_LOST": StatusCode.FAILED_PRECONDITION,
        "CLAIM_ALREADY_SETTLED": StatusCode.FAILED_PRECONDITION,
        "REVISION_CONFLICT": StatusCode.ABORTED,
        "FENCED": StatusCode.ABORTED,
        "PAYLOAD_TOO_LARGE": StatusCode.INVALID_ARGUMENT,
        "DEFINITION_CYCLE": StatusCode.INVALID_ARGUMENT,
        "OVERLOADED": StatusCode.RESOURCE_EXHAUSTED,
        "STORE_UNAVAILABLE": StatusCode.UNAVAILABLE,
        "DRAINING": StatusCode.UNAVAILABLE,
    }
    assert {reason: CODES[reason] for reason in expected} == expected


def test_a_missing_definition_is_a_precondition_where_a_command_puts_it_right() -> None:
    asked = Rejection(Reason.DEFINITION_NOT_FOUND, "No such definition.")
    start = Rejection(Reason.DEFINITION_NOT_FOUND, "No active definition.", command="perdure definitions apply FILE --activate")
    assert grpc_code(to_status(asked)) is StatusCode.NOT_FOUND
    assert grpc_code(to_status(start)) is StatusCode.FAILED_PRECONDITION


def test_unknown_exceptions_are_internal_with_an_id_that_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        found = from_status(to_status(RuntimeError("E11000 duplicate key marker-17 at mongodb://host")))
    assert (found.code, found.reason) == (StatusCode.INTERNAL, "INTERNAL")
    assert "marker-17" not in str(found.status)
    assert found.facts["incident_id"] in caplog.text
    assert "marker-17" in caplog.text


@pytest.mark.parametrize("kind", [CorruptDocument, DocumentTooLarge])
def test_store_faults_carry_an_incident_id(kind: type[Exception]) -> None:
    assert from_status(to_status(kind("x"))).facts["incident_id"]


def test_an_unreachable_store_says_when_to_retry() -> None:
    retry = unpacked(to_status(StoreUnavailable("host down")), RetryInfo)
    assert retry is not None
    assert retry.retry_delay.ToMilliseconds() == limits.RETRY_STORE  # type: ignore[attr-defined]  # google.rpc has no types


def test_every_violation_is_listed_with_its_path() -> None:
    found = from_status(to_status(RequestRefused([("a", "is wrong"), ("b[0].c", "too")], Reason.PAYLOAD_TOO_LARGE, {"field": "a"})))
    assert found.fields == {"a": "is wrong", "b[0].c": "too"}
    assert (found.reason, found.facts) == ("PAYLOAD_TOO_LARGE", {"field": "a"})


def test_details_fit_into_a_trailer_however_many_faults_there_are() -> None:
    status = to_status(FieldViolation([(f"definition.steps[{index}].name", "x" * 500) for index in range(2_000)]))
    assert status.ByteSize() < limits.ERROR_DETAILS + limits.ERROR_MESSAGE
    bad = unpacked(status, BadRequest)
    assert bad is not None
    listed = bad.field_violations  # type: ignore[attr-defined]  # google.rpc has no types
    assert len(listed) > 5
    assert listed[-1].description == f"{2_000 - len(listed) + 1} more faults are not listed"


def test_long_texts_and_names_are_cut() -> None:
    status = to_status(Rejection(Reason.WORKFLOW_NOT_FOUND, "y" * 10_000, key="z" * 10_000), "r" * 10_000)
    assert status.ByteSize() < limits.ERROR_DETAILS


def test_errors_of_the_wire_alone() -> None:
    assert from_status(to_status(protocol_violation("hello first"))).code is StatusCode.INVALID_ARGUMENT
    found = from_status(to_status(not_implemented("AdminService/PutSchedule")))
    assert (found.code, found.facts) == (StatusCode.UNIMPLEMENTED, {"method": "AdminService/PutSchedule"})
    assert from_status(to_status(CallRefused("UNKNOWN_MESSAGE", "x"))).reason == "UNKNOWN_MESSAGE"


def test_causes_of_a_lost_claim_have_the_wires_names() -> None:
    names = {name.removeprefix("CLAIM_LOSS_CAUSE_") for name in ClaimLossCause.DESCRIPTOR.values_by_name} - {"UNSPECIFIED"}
    assert {cause.name for cause in LossCause} == names

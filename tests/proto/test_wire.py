"""The wire as a whole: exactly the RPCs of the closed list, each element told about, and the habits that keep clients from breaking."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

from perdure.testing.v1 import test_service_pb2
from perdure.v1 import admin_service_pb2, claim_pb2, errors_pb2, payload_pb2, worker_service_pb2, workflow_service_pb2
from perdure_server.kernel import limits

PROTO_DIRECTORY = Path(__file__).parents[2] / "proto"

# The list of design/3-api.md. It is closed: a name more or less is a decision about the product, not a slip.
WORKFLOW_SERVICE = """
    StartWorkflow StartWorkflows Signal Watch WatchWorkflows GetWorkflow WaitForResult ListWorkflows CountWorkflows ListRounds
    ListChildren ListAttempts FetchPayload ExplainWorkflow CancelWorkflow TerminateWorkflow PauseWorkflow ResumeWorkflow
    ReplayWorkflow DeleteWorkflow
"""
WORKER_SERVICE = "Claim Complete Heartbeat PollClaims RenewClaims"
ADMIN_SERVICE = """
    RegisterDefinition SetActiveDefinition UpdatePolicy GetDefinition ListDefinitions DeleteDefinition TestDefinition
    PauseDefinition ResumeDefinition MigrateWorkflows PutResource ListResources DeleteResource ListQueues ListWorkers ResolveStep
    UpdateStepOptions ExportWorkflow ImportWorkflow StartBatch GetBatch ListBatches StopBatch PurgeWorkflows RedactPayloads
    PutSchedule ListSchedules TriggerSchedule DeleteSchedule PutNamespace ListNamespaces ListAuditRecords GetServerInfo
"""
TEST_SERVICE = "AdvanceTime ScriptOutcomes WaitIdle"

# The reasons that design/3-api.md names, and those that its rules speak of.
DESIGN_REASONS = """
    START_INPUT_MISMATCH WORKFLOW_ALREADY_EXISTS WORKFLOW_NOT_FOUND DEFINITION_NOT_FOUND DEFINITION_CYCLE DEFINITION_INVALID
    DEFINITION_MISMATCH INVALID_ARGUMENT PAYLOAD_TOO_LARGE PAYLOAD_INVALID CLAIM_LOST CLAIM_ALREADY_SETTLED SESSION_LOST
    WORKFLOW_CLOSED WORKFLOW_NOT_CLOSED WORKFLOW_FAILING WORKFLOW_CANCELLING WORKFLOW_PAUSED SIGNAL_INBOX_FULL WAKE_TOKEN_INVALID
    REVISION_CONFLICT FENCED OVERLOADED STORE_UNAVAILABLE DRAINING NOT_IMPLEMENTED NOT_SUPPORTED_YET INTERNAL UNAUTHENTICATED
    PERMISSION_DENIED STEP_NOT_FOUND RESOURCE_NOT_FOUND PAGE_TOKEN_INVALID RESUME_TOKEN_INVALID
"""

# What makes a repeat of these recognisable, where it is not request_id.
OTHER_DEVICES = {
    "Claim": "claim_token",
    "Complete": "claim_token",
    "Heartbeat": "claim_token",
    "RenewClaims": "claim_token",
    "PollClaims": "a lost answer's claims run out with their own short lease",
    "Signal": "signal_id",
    "StartWorkflows": "request_id of each start",
    "ImportWorkflow": "request_id of its options",
}
READS = ("Get", "List", "Count", "Watch", "Explain", "Fetch", "Wait", "Test", "Export")

# Bounds that a comment tells in figures, which must be those that the server enforces.
TOLD_BOUNDS = {
    "Definition.steps": limits.STEPS,
    "SignalCondition.count": limits.SIGNAL_COUNT,
    "Wait.any_of": limits.WAIT_CONDITIONS,
    "WorkflowRef.business_key": limits.KEY_LENGTH,
    "Failure.type": limits.FAILURE_TYPE_LENGTH,
    "SignalRequest.signal_id": limits.ID_LENGTH,
    "StartWorkflowRequest.request_id": limits.ID_LENGTH,
    "StartWorkflowRequest.labels": limits.LABELS,
    "StartWorkflowsRequest.requests": limits.STARTS_PER_CALL,
    "ListWorkflowsRequest.page_size": limits.PAGE_SIZE,
    "Hello.pools": limits.POOLS,
    "Credit.count": limits.CREDIT,
    "PollClaimsRequest.pools": limits.POOLS,
    "PollClaimsRequest.max_claims": limits.POLL_CLAIMS_MAX,
    "HeartbeatRequest.frames": limits.FRAMES_PER_CALL,
}

# FileDescriptorProto, DescriptorProto, EnumDescriptorProto and ServiceDescriptorProto field numbers, as source paths use them.
FILE_MESSAGES, FILE_ENUMS, FILE_SERVICES = 4, 5, 6
MESSAGE_FIELDS, MESSAGE_MESSAGES, MESSAGE_ENUMS, MESSAGE_ONEOFS = 2, 3, 4, 8
ENUM_VALUES = 2
SERVICE_METHODS = 2

INTEGERS = {
    FieldDescriptorProto.TYPE_INT32,
    FieldDescriptorProto.TYPE_INT64,
    FieldDescriptorProto.TYPE_UINT32,
    FieldDescriptorProto.TYPE_UINT64,
    FieldDescriptorProto.TYPE_SINT32,
    FieldDescriptorProto.TYPE_SINT64,
}
TIME_WORDS = {
    "ms",
    "millis",
    "seconds",
    "minutes",
    "time",
    "timeout",
    "interval",
    "duration",
    "lease",
    "grace",
    "ttl",
    "delay",
    "remaining",
}


@pytest.fixture(scope="module")
def protos(tmp_path_factory: pytest.TempPathFactory) -> list[FileDescriptorProto]:
    """Our protos as protoc reads them, comments included."""
    output = tmp_path_factory.mktemp("wire") / "wire.binpb"
    names = sorted(path.relative_to(PROTO_DIRECTORY).as_posix() for path in (PROTO_DIRECTORY / "perdure").rglob("*.proto"))
    includes = [f"-I{PROTO_DIRECTORY}", f"-I{files('grpc_tools') / '_proto'}"]
    options = ["--include_source_info", f"--descriptor_set_out={output}"]
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *includes, *options, *names], check=True)
    return list(FileDescriptorSet.FromString(output.read_bytes()).file)


def messages(protos: list[FileDescriptorProto]) -> Iterator[tuple[str, DescriptorProto]]:
    """Every message with its dotted name; entries of maps are left out."""

    def inside(prefix: str, found: DescriptorProto) -> Iterator[tuple[str, DescriptorProto]]:
        yield prefix + found.name, found
        for nested in found.nested_type:
            if not nested.options.map_entry:
                yield from inside(f"{prefix}{found.name}.", nested)

    for file in protos:
        for message in file.message_type:
            yield from inside("", message)


def enums(protos: list[FileDescriptorProto]) -> Iterator[EnumDescriptorProto]:
    """Every enum, at whatever depth."""
    for file in protos:
        yield from file.enum_type
    for _, message in messages(protos):
        yield from message.enum_type


def fields(protos: list[FileDescriptorProto]) -> Iterator[tuple[str, FieldDescriptorProto]]:
    """Every field with its dotted name."""
    for name, message in messages(protos):
        for field in message.field:
            yield f"{name}.{field.name}", field


def elements(file: FileDescriptorProto) -> Iterator[tuple[tuple[int, ...], str]]:
    """Source path and name of everything in a file that must have a comment."""
    for number, service in enumerate(file.service):
        yield (FILE_SERVICES, number), service.name
        for method_number, method in enumerate(service.method):
            yield (FILE_SERVICES, number, SERVICE_METHODS, method_number), f"{service.name}.{method.name}"
    for number, enum in enumerate(file.enum_type):
        yield from enum_elements((FILE_ENUMS, number), enum)
    for number, message in enumerate(file.message_type):
        yield from message_elements((FILE_MESSAGES, number), message)


def message_elements(path: tuple[int, ...], message: DescriptorProto) -> Iterator[tuple[tuple[int, ...], str]]:
    """The message and all that is in it. The oneof that protoc makes of an `optional` field is not in the source."""
    yield path, message.name
    made_up = {field.oneof_index for field in message.field if field.proto3_optional}
    for number, field in enumerate(message.field):
        yield (*path, MESSAGE_FIELDS, number), f"{message.name}.{field.name}"
    for number, oneof in enumerate(message.oneof_decl):
        if number not in made_up:
            yield (*path, MESSAGE_ONEOFS, number), f"{message.name}.{oneof.name}"
    for number, enum in enumerate(message.enum_type):
        yield from enum_elements((*path, MESSAGE_ENUMS, number), enum)
    for number, nested in enumerate(message.nested_type):
        if not nested.options.map_entry:
            yield from message_elements((*path, MESSAGE_MESSAGES, number), nested)


def enum_elements(path: tuple[int, ...], enum: EnumDescriptorProto) -> Iterator[tuple[tuple[int, ...], str]]:
    """The enum and its values."""
    yield path, enum.name
    for number, value in enumerate(enum.value):
        yield (*path, ENUM_VALUES, number), value.name


@pytest.mark.parametrize(
    ("module", "service", "methods"),
    [
        (workflow_service_pb2, "WorkflowService", WORKFLOW_SERVICE),
        (worker_service_pb2, "WorkerService", WORKER_SERVICE),
        (admin_service_pb2, "AdminService", ADMIN_SERVICE),
        (test_service_pb2, "TestService", TEST_SERVICE),
    ],
)
def test_closed_list_of_rpcs(module: object, service: str, methods: str) -> None:
    descriptor = module.DESCRIPTOR.services_by_name  # type: ignore[attr-defined]  # the four modules have no common type
    assert list(descriptor) == [service]
    assert sorted(descriptor[service].methods_by_name) == sorted(methods.split())


def test_only_these_rpcs_stream(protos: list[FileDescriptorProto]) -> None:
    streams = {
        method.name: (method.client_streaming, method.server_streaming)
        for file in protos
        for service in file.service
        for method in service.method
        if method.client_streaming or method.server_streaming
    }
    assert streams == {
        "Claim": (True, True),
        "Watch": (False, True),
        "WatchWorkflows": (False, True),
        "ExportWorkflow": (False, True),
        "ImportWorkflow": (True, False),
    }


def test_every_element_has_a_comment(protos: list[FileDescriptorProto]) -> None:
    silent = []
    for file in protos:
        told = {tuple(place.path) for place in file.source_code_info.location if place.leading_comments.strip()}
        silent += [f"{file.name}: {name}" for path, name in elements(file) if path not in told]
    assert silent == []


def test_bounds_in_comments_are_those_enforced(protos: list[FileDescriptorProto]) -> None:
    told = {}
    for file in protos:
        comments = {tuple(place.path): place.leading_comments for place in file.source_code_info.location}
        told.update({name: comments.get(path, "") for path, name in elements(file)})
    assert {name: told[name] for name, bound in TOLD_BOUNDS.items() if f"{bound:,}" not in told[name]} == {}


def test_enums_begin_unspecified_and_values_carry_the_prefix(protos: list[FileDescriptorProto]) -> None:
    for enum in enums(protos):
        prefix = "".join(f"_{letter}" if letter.isupper() else letter.upper() for letter in enum.name).lstrip("_") + "_"
        assert enum.value[0].name == f"{prefix}UNSPECIFIED"
        assert enum.value[0].number == 0
        assert all(value.name.startswith(prefix) for value in enum.value), enum.name


def test_error_reasons_of_the_design_are_there() -> None:
    names = errors_pb2.ErrorReason.DESCRIPTOR.values_by_name
    assert {f"ERROR_REASON_{reason}" for reason in DESIGN_REASONS.split()} <= set(names)


def test_times_and_durations_are_never_integers(protos: list[FileDescriptorProto]) -> None:
    suspects = [name for name, field in fields(protos) if field.type in INTEGERS and TIME_WORDS & set(field.name.split("_"))]
    assert suspects == []


def test_timestamps_are_named_as_times(protos: list[FileDescriptorProto]) -> None:
    stamps = [(name, field) for name, field in fields(protos) if field.type_name == ".google.protobuf.Timestamp"]
    odd = [name for name, field in stamps if not field.name.endswith(("_time", "_times")) and field.name != "start_at"]
    assert odd == []
    named_so = {field.type_name for _, field in fields(protos) if field.name.endswith("_time")} - {".google.protobuf.Timestamp"}
    # A filter's range of times, and the longest wait of a poll.
    assert named_so == {".perdure.v1.TimeRange", ".google.protobuf.Duration"}


def test_every_mutation_has_a_device_against_repeats(protos: list[FileDescriptorProto]) -> None:
    requests = {name: {field.name for field in message.field} for name, message in messages(protos)}
    bare = [
        method.name
        for file in protos
        for service in file.service
        if service.name != "TestService"
        for method in service.method
        if not method.name.startswith(READS) and method.name not in OTHER_DEVICES and "request_id" not in requests[f"{method.name}Request"]
    ]
    assert bare == []


def test_lists_come_in_pages(protos: list[FileDescriptorProto]) -> None:
    known = dict(messages(protos))
    lists = [name.removesuffix("Request") for name in known if name.startswith("List") and name.endswith("Request")]
    assert len(lists) > 10
    for name in lists:
        assert {"page_size", "page_token"} <= {field.name for field in known[f"{name}Request"].field}, name
        assert "next_page_token" in {field.name for field in known[f"{name}Response"].field}, name


@pytest.mark.parametrize(
    ("streamed", "unary", "identifier"),
    [
        (worker_service_pb2.Result, worker_service_pb2.CompleteRequest, "result_id"),
        (worker_service_pb2.StreamHeartbeat, worker_service_pb2.HeartbeatRequest, "heartbeat_id"),
    ],
)
def test_streamed_twins_are_the_unary_message_and_an_id(streamed: type, unary: type, identifier: str) -> None:
    def shape(message: type) -> set[tuple[str, int, int, bool, str, str]]:
        return {
            (
                field.name,
                field.number,
                field.type,
                field.is_repeated,
                field.message_type.full_name if field.message_type else "",
                field.containing_oneof.name if field.containing_oneof else "",
            )
            for field in message.DESCRIPTOR.fields  # type: ignore[attr-defined]  # generated messages have no common typed base
            if field.name != identifier
        }

    assert shape(streamed) == shape(unary)


def test_secrets_stand_only_where_they_are_needed(protos: list[FileDescriptorProto]) -> None:
    """Whoever reads workflows, attempts, queues or workers must never see a handle that lets them act as a worker."""
    holders = {name.split(".")[0] for name, field in fields(protos) if "claim_token" in field.name or field.name == "session_secret"}
    assert holders == {
        "Claim",
        "HeldClaim",
        "Hello",
        "Welcome",
        "Result",
        "StreamHeartbeat",
        "CancelClaim",
        "LostClaim",
        "HeartbeatAnswer",
        "CompleteRequest",
        "HeartbeatRequest",
        "RenewedClaim",
        "FetchPayloadRequest",
    }


def test_a_checkpoint_kept_and_a_checkpoint_cleared_differ() -> None:
    kept, cleared = claim_pb2.Waiting(), claim_pb2.Waiting(checkpoint=payload_pb2.Payload())
    assert not kept.HasField("checkpoint")
    assert claim_pb2.Waiting.FromString(cleared.SerializeToString()).HasField("checkpoint")


def test_committed_code_is_fresh() -> None:
    finished = subprocess.run(
        [sys.executable, PROTO_DIRECTORY.parent / "tools" / "gen.py", "--check"], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr

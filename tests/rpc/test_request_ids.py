"""The same `request_id` with other content is refused, by every RPC that remembers one; the same content again is a repeat."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.message_factory import GetMessageClass

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.rpc.decode.content import NOT_CONTENT, content_of
from tests.rpc.conftest import Served, refusal_of
from tests.rpc.every_rpc import NOTE, WAITS, ref
from tests.rpc.test_every_rpc import METHODS, call

Case = tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]

WHY = {"reason": "tests"}
SCHEDULE = {"schedule_id": "s", "triggers": [{"interval": {"every": "3600s"}}], "start": {"workflow_type": "note"}, "paused": True}


def signal(value: str) -> dict[str, Any]:
    return {"operation": {"signal": {"signal_name": "go", "payload": {"json": value}}}}


def output(value: str) -> dict[str, Any]:
    return {"resolution": {"completed": {"output": {"json": value}}}}


def rounds(number: int) -> dict[str, Any]:
    return {"workflow": {**ref("rounds")["workflow"], "round": number}}


def cases(known: Mapping[str, str]) -> list[Case]:
    """The RPC, what both requests have, what the first one asks for, and what the other one does."""
    held, b = {**ref("held", "waits"), **WHY}, {"step": "b"}
    move = {"workflow_type": "waits", "from_fingerprint": known["waits"], "to_fingerprint": known["other"], **WHY}
    return [
        ("PutNamespace", {}, {"namespace": {"namespace": "n"}}, {"namespace": {"namespace": "n", "description": "x"}}),
        ("PutResource", {}, {"resource": {"resource": "asr", "capacity": 1}}, {"resource": {"resource": "asr", "capacity": 2}}),
        ("PutSchedule", {}, {"schedule": SCHEDULE}, {"schedule": {**SCHEDULE, "note": "other"}}),
        ("TriggerSchedule", {"schedule_id": "s"}, {}, {"overlap": "OVERLAP_ALLOW"}),
        ("StartWorkflow", ref("started"), {"input": {"json": "1"}}, {"input": {"json": "2"}}),
        ("UpdateStepOptions", ref("k"), {"update": {**b, "policy": {"priority": 7}}}, {"update": {**b, "policy": {"priority": 8}}}),
        ("ResolveStep", {**held, "step": "go"}, output("1"), output("2")),
        ("ReplayWorkflow", ref("ended"), {}, {"reopen_steps": ["a"]}),
        ("RedactPayloads", held, {}, {"steps": ["go"]}),
        ("StartBatch", {"filter": {"workflow_types": ["none"]}, **WHY}, signal("1"), signal("2")),
        ("PurgeWorkflows", WHY, {"filter": {"business_keys": ["purged"]}}, {"filter": {"business_keys": ["purged", "other"]}}),
        ("MigrateWorkflows", move, {}, {"accepted_losses": ["MIGRATION_LOSS_OPEN_WAIT"]}),
        ("ImportWorkflow", {"business_key": "copy"}, {"file": known["file 1"]}, {"file": known["file 2"]}),
        ("DeleteWorkflow", WHY, rounds(1), rounds(2)),
    ]


NAMES = [name for name, *_ in cases(defaultdict(str))]

TARGET_ONLY = {
    "CancelWorkflow": {"workflow"},
    "TerminateWorkflow": {"workflow"},
    "PauseWorkflow": {"workflow"},
    "ResumeWorkflow": {"workflow"},
    "StopBatch": {"batch_id"},
    "DeleteSchedule": {"schedule_id"},
    "DeleteDefinition": {"workflow_type", "definition_fingerprint"},
    "DeleteResource": {"resource"},
}
"""What asks for nothing beside its verb and its target: the target's fields, under which the id is remembered."""

NOT_REMEMBERED = {"RegisterDefinition", "SetActiveDefinition", "UpdatePolicy", "PauseDefinition", "ResumeDefinition"}
"""The proto says so: what they ask for is a state, and a repeat is no change."""


def requests() -> Iterator[tuple[str, Descriptor]]:
    """Every RPC whose request, or the beginning of whose stream, has a request_id, with the message that has it."""
    for name, method in METHODS.items():
        message = admin.ImportOptions.DESCRIPTOR if name == "ImportWorkflow" else method.input_type
        if "request_id" in message.fields_by_name:
            yield name, message


def test_every_rpc_that_takes_one_is_told_of() -> None:
    named = [*NAMES, *TARGET_ONLY, *NOT_REMEMBERED]
    assert sorted(named) == sorted(name for name, _ in requests())


@pytest.mark.parametrize("name", sorted(TARGET_ONLY))
def test_there_is_nothing_that_could_differ(name: str) -> None:
    fields = set(METHODS[name].input_type.fields_by_name)
    assert fields - set(NOT_CONTENT) - TARGET_ONLY[name] == set()


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"StartWorkflow"}))
def test_every_field_counts_but_those_that_say_why_and_when(name: str) -> None:
    message = dict(requests())[name]
    own = {"PutSchedule": "schedule", "PutNamespace": "namespace"}.get(name, "")
    for field in message.fields:
        made = GetMessageClass(message)()
        before = content_of(made, own)
        if field.is_repeated:
            value = getattr(made, field.name)
            value.add() if field.message_type is not None else value.append(1 if field.enum_type is not None else "x")
        elif field.message_type is not None:
            getattr(made, field.name).SetInParent()
        else:
            setattr(made, field.name, "x" if field.type == field.TYPE_STRING else 1)
        assert (content_of(made, own) != before) is (field.name not in NOT_CONTENT or field.name == own), field.name


def test_a_value_counts_by_its_digest_wherever_it_is() -> None:
    def sent(value: bytes, digest: str) -> admin.StartBatchRequest:
        request = admin.StartBatchRequest()
        request.operation.signal.payload.binary, request.operation.signal.payload.digest = value, digest
        return request

    assert content_of(sent(b"nonce 1", "d")) == content_of(sent(b"nonce 2", "d"))
    assert content_of(sent(b"nonce 1", "d")) != content_of(sent(b"nonce 1", "e"))
    assert content_of(sent(b"nonce 1", "")) != content_of(sent(b"nonce 2", ""))


@pytest.fixture
async def known(served: Served) -> dict[str, str]:
    """The fingerprints and files that the cases name; the workflows that they act on are there."""
    found: dict[str, str] = {}
    for name, made in (("note", NOTE), ("waits", WAITS), ("other", {**WAITS, "version": "2"})):
        request = {"definition": made, "activate": name != "other"}
        found[name] = (await call(served, "RegisterDefinition", request))["definition"]["fingerprint"]
    for key, workflow_type in (("held", "waits"), ("ended", "note"), ("rounds", "note"), ("purged", "note"), ("k", "note")):
        await call(served, "StartWorkflow", ref(key, workflow_type))
    await call(served, "TerminateWorkflow", ref("ended"))
    await call(served, "TerminateWorkflow", ref("purged"))
    for number in (2, 3):
        await call(served, "TerminateWorkflow", ref("rounds"))
        again = {**ref("rounds"), "on_closed": "ON_CLOSED_NEW_ROUND", "request_id": f"round {number}"}
        await call(served, "StartWorkflow", again)
    for number in (1, 2):
        await call(served, "StartWorkflow", {**ref(f"file {number}", "waits"), "input": {"json": str(number)}})
        found[f"file {number}"] = (await call(served, "ExportWorkflow", ref(f"file {number}", "waits")))["chunk"]
    return found


async def ask(served: Served, name: str, *parts: dict[str, Any]) -> dict[str, Any]:
    """Call it with these fields together, and always the same request_id."""
    request: Any = {"request_id": "same"}
    for part in parts:
        request |= part
    if name == "ImportWorkflow":
        chunk = request.pop("file")
        request = [{"options": request}, {"chunk": chunk}]
    return await call(served, name, request)


async def test_other_content_is_refused_and_the_same_again_is_not(served: Served, known: dict[str, str]) -> None:
    for name, both, one, other in cases(known):
        await ask(served, name, both, one)
        await ask(served, name, both, one)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ask(served, name, both, other)
        found = refusal_of(caught.value)
        reason = "START_INPUT_MISMATCH" if name == "StartWorkflow" else "REQUEST_ID_REUSED"
        assert (found.code, found.reason) == (grpc.StatusCode.ALREADY_EXISTS, reason), name


@pytest.mark.usefixtures("known")
async def test_why_and_under_which_condition_may_differ(served: Served) -> None:
    request = wire.ReplayWorkflowRequest(reason="one", request_id="same")
    request.workflow.workflow_type, request.workflow.business_key = "note", "ended"
    first = await served.workflows.ReplayWorkflow(request)
    request.reason, request.etag, request.workflow.expected_fence = "another", "etag", 1
    again = await served.workflows.ReplayWorkflow(request)
    assert (first.duplicate, again.duplicate, again.fence) == (False, True, first.fence)

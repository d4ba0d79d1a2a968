"""Every RPC of the descriptors, by every role, without credentials, and in a namespace of others."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass

from perdure.v1 import admin_service_pb2 as admin
from perdure_server.main import Parts
from perdure_server.rpc.doors.access_file import schema
from perdure_server.rpc.doors.permissions import BATCH_ALSO, GRANTED, RULES, Permission, Role, Scope, namespaces_of, roles_with
from perdure_server.store.memory import MemoryStore
from tests.rpc.conftest import Refusal, Served, is_of_the_sender, refusal_of
from tests.rpc.doors import Access, access_file, guarded
from tests.rpc.test_every_rpc import METHODS
from tools import permissions

MINE = "team"
NO_FIELD: dict[str, Any] = {}
FIRST: dict[str, dict[str, Any]] = {
    "Claim": {"hello": {"namespace": MINE}},
    "ImportWorkflow": {"options": {"namespace": MINE}},
}


def minimal(method: str, namespace: str) -> dict[str, Any]:
    """Nothing but the namespace: what the doors look at. All else is missing, so nothing is ever done."""
    rule = RULES[method]
    if method in FIRST:
        (kind,) = FIRST[method]
        return {kind: {"namespace": namespace}}
    if isinstance(rule.namespace, Scope):
        return NO_FIELD
    made: Any = namespace
    for name in reversed(rule.namespace[0].split(".")):
        made = [{**made}] if name == "requests" else made
        made = {name: made}
    built: dict[str, Any] = made
    return built


async def asked(served: Served, method: str, request: dict[str, Any], metadata: Any) -> Refusal | None:
    """How this call is refused; None = it is not."""
    found = METHODS[method]
    kind, answer = GetMessageClass(found.input_type), GetMessageClass(found.output_type)
    path = f"/{found.containing_service.full_name}/{method}"
    untyped: Any = served.channel
    message = ParseDict(request, kind())
    shape = f"{'stream' if found.client_streaming else 'unary'}_{'stream' if found.server_streaming else 'unary'}"
    make = getattr(untyped, shape)(path, kind.SerializeToString, answer.FromString)
    call = make(iter([message]) if found.client_streaming else message, timeout=5, metadata=metadata)
    try:
        if found.server_streaming:
            await call.read()
        else:
            await call
    except grpc.aio.AioRpcError as error:
        return await asked(served, method, request, metadata) if is_of_the_sender(error) else refusal_of(error)
    finally:
        call.cancel()
    return None


def reason(refusal: Refusal | None) -> str:
    return "OK" if refusal is None else refusal.reason


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncIterator[tuple[Served, Access]]:
    callers = {role.value: {role.value: MINE} for role in Role}
    access = access_file(tmp_path, {**callers, "root": {"admin": "*"}, "nobody": {}, "teams": {"reader": "te*"}})
    parts = Parts(store=MemoryStore(lambda: time.time_ns() // 1_000_000), test=True)
    async with guarded(access, parts) as served:
        yield served, access


def test_the_table_names_every_rpc_and_every_permission_has_a_use() -> None:
    assert sorted(RULES) == sorted(METHODS)
    assert {rule.permission for rule in RULES.values()} | set(BATCH_ALSO.values()) == set(Permission)
    assert all(roles_with(permission) for permission in Permission)
    assert set(GRANTED) == set(Role)


@pytest.mark.parametrize("role", [role.value for role in Role])
async def test_a_role_may_what_the_table_says_and_nothing_else(doors: tuple[Served, Access], role: str) -> None:
    served, access = doors
    allowed = {method: RULES[method].permission in GRANTED[Role(role)] for method in METHODS}
    for method, rule in RULES.items():
        if rule.namespace is Scope.EVERYWHERE:
            allowed[method] = False  # it has its role in one namespace
    answers = {method: await asked(served, method, minimal(method, MINE), access.metadata(role)) for method in METHODS}
    refused = {method for method, answer in answers.items() if reason(answer) == "PERMISSION_DENIED"}
    assert refused == {method for method, is_allowed in allowed.items() if not is_allowed}
    assert not [method for method, answer in answers.items() if reason(answer) == "UNAUTHENTICATED"]
    assert {answer.code for answer in answers.values() if reason(answer) == "PERMISSION_DENIED" and answer} <= {
        grpc.StatusCode.PERMISSION_DENIED
    }


@pytest.mark.parametrize("role", [role.value for role in Role])
async def test_a_role_counts_in_its_own_namespaces_only(doors: tuple[Served, Access], role: str) -> None:
    served, access = doors
    anywhere = {method for method, rule in RULES.items() if rule.namespace is Scope.ANYWHERE}
    for namespace in ("other", "", "teams"):
        answers = {
            name: reason(await asked(served, name, minimal(name, namespace), access.metadata(role)))
            for name in METHODS
            if name not in anywhere
        }
        assert set(answers.values()) == {"PERMISSION_DENIED"}, (namespace, answers)


async def test_without_credentials_nothing_is_served_but_health(doors: tuple[Served, Access]) -> None:
    served, access = doors
    wrong = access.tokens["root"][:-1] + ("A" if access.tokens["root"][-1] != "A" else "B")
    cases: list[tuple[tuple[str, str], ...]] = [
        (),
        (("authorization", f"Bearer {wrong}"),),
        (("authorization", access.tokens["root"]),),
        (("authorization", "Bearer x.y.z"),),
        (("authorization", "Bearer "),),
        (*access.metadata("root"), *access.metadata("root")),
    ]
    for metadata in cases:
        answers = {name: await asked(served, name, minimal(name, MINE), metadata) for name in METHODS}
        assert {reason(answer) for answer in answers.values()} == {"UNAUTHENTICATED"}
        assert {answer.code for answer in answers.values() if answer} == {grpc.StatusCode.UNAUTHENTICATED}
    untyped: Any = served.channel
    assert await untyped.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=5)


async def test_a_caller_without_roles_may_nothing(doors: tuple[Served, Access]) -> None:
    served, access = doors
    answers = [reason(await asked(served, name, minimal(name, MINE), access.metadata("nobody"))) for name in METHODS]
    assert set(answers) == {"PERMISSION_DENIED"}


async def test_an_admin_of_all_namespaces_may_everything(doors: tuple[Served, Access]) -> None:
    served, access = doors
    answers = [reason(await asked(served, name, minimal(name, MINE), access.metadata("root"))) for name in METHODS if name != "AdvanceTime"]
    assert not {"PERMISSION_DENIED", "UNAUTHENTICATED"} & set(answers)


async def test_a_beginning_with_a_star_counts_for_all_names_that_begin_so(doors: tuple[Served, Access]) -> None:
    served, access = doors
    for namespace, allowed in {"team": True, "tents": True, "other": False}.items():
        answer = await asked(served, "ListWorkflows", {"namespace": namespace}, access.metadata("teams"))
        assert (reason(answer) != "PERMISSION_DENIED") is allowed


async def test_permission_is_asked_before_existence(doors: tuple[Served, Access]) -> None:
    """Of a workflow that is there and one that is not, a caller without the right hears the same."""
    served, access = doors
    definition = {"workflow_type": "note", "steps": [{"name": "a", "activity": {}}]}
    request = {"namespace": MINE, "definition": definition, "activate": True}
    assert await asked(served, "RegisterDefinition", request, access.metadata("root")) is None
    ref = {"namespace": MINE, "workflow_type": "note", "business_key": "there"}
    assert await asked(served, "StartWorkflow", {"workflow": ref, "request_id": "r"}, access.metadata("client")) is None
    told = [
        await asked(served, "TerminateWorkflow", {"workflow": {**ref, "business_key": key}, "reason": "x"}, access.metadata("client"))
        for key in ("there", "missing")
    ]
    assert told[0] is not None
    assert told[1] is not None
    assert (told[0].reason, told[0].message) == (told[1].reason, told[1].message)
    assert told[0].facts == {"role": "operator, admin", "permission": "operate", "caller": "client", "namespace": MINE}


async def test_a_batch_may_not_do_what_its_caller_may_not_do_one_by_one(doors: tuple[Served, Access]) -> None:
    served, access = doors
    for operation, may in {"pause": True, "delete": False}.items():
        request = {"namespace": MINE, "filter": {}, "operation": {operation: {}}, "reason": "x", "validate_only": True}
        answer = await asked(served, "StartBatch", request, access.metadata("operator"))
        assert (reason(answer) != "PERMISSION_DENIED") is may
    assert set(BATCH_ALSO) >= {"delete", "redact"}


def test_the_namespaces_of_a_request() -> None:
    def of(method: str, request: dict[str, Any]) -> object:
        return namespaces_of(method, ParseDict(request, GetMessageClass(METHODS[method].input_type)()))

    assert of("StartWorkflows", {"requests": [{"workflow": {"namespace": "a"}}, {"workflow": {}}]}) == {"a", "default"}
    assert of("StartWorkflows", {}) == {"default"}
    assert of("ListAuditRecords", {"workflow": {"namespace": "a"}}) == {"a"}
    assert of("ListAuditRecords", {"namespace": "b"}) == {"b"}
    assert of("Signal", {"wake_token": "t"}) is Scope.ANYWHERE
    assert of("Signal", {"workflow": {"namespace": "a"}}) == {"a"}
    assert of("FetchPayload", {"claim_token": "t"}) is Scope.ANYWHERE


async def test_namespaces_that_the_caller_may_not_see_are_not_listed(doors: tuple[Served, Access]) -> None:
    served, access = doors
    for name in ("a", MINE, "z"):
        await asked(served, "PutNamespace", {"namespace": {"namespace": name}}, access.metadata("root"))
    listed = await served.admin.ListNamespaces(admin.ListNamespacesRequest(), metadata=access.metadata("reader"))
    assert [found.namespace for found in listed.namespaces] == [MINE]
    everything = await served.admin.ListNamespaces(admin.ListNamespacesRequest(), metadata=access.metadata("root"))
    assert [found.namespace for found in everything.namespaces] == ["a", "default", MINE, "z"]
    assert reason(await asked(served, "ListNamespaces", {"namespace": "z"}, access.metadata("reader"))) == "PERMISSION_DENIED"


def test_the_documentation_is_generated() -> None:
    """If this fails: `python tools/permissions.py`."""
    assert permissions.PAGE.read_text() == permissions.page()
    assert permissions.SCHEMA.read_bytes() == schema()

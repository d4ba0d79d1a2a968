"""No answer is larger than any client takes, whatever is stored: lists come in pages by bytes, long texts are cut, the rest is refused."""

from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass

from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import definition_pb2, workflow_pb2
from perdure.v1 import worker_service_pb2 as wire
from perdure.v1 import workflow_service_pb2 as workflows
from perdure.v1.claim_pb2 import OfferedDefinition, Pool
from perdure_server.kernel import limits
from perdure_server.rpc import limits as rpc_limits
from tests.rpc.conftest import Served, definition, ref, refused
from tests.rpc.test_every_rpc import METHODS
from tests.rpc.test_services import poll
from tests.rpc.worker import Worker, connected

KIB = 1024
ROWS = 12


async def put(served: Served, name: str, request: dict[str, Any]) -> None:
    method = METHODS[name]
    kind = GetMessageClass(method.input_type)
    untyped: Any = served.channel
    await untyped.unary_unary(f"/{method.containing_service.full_name}/{name}", kind.SerializeToString, bytes)(ParseDict(request, kind()))


async def workers(served: Served) -> None:
    contracts = {f"step_{number}": "c" * 100 for number in range(2)}
    for _ in range(ROWS):
        async with connected(served, pools=[Pool(pool="p", workflow_type="note", step_contracts=contracts)]):
            pass


async def namespaces(served: Served) -> None:
    for number in range(ROWS):
        await put(served, "PutNamespace", {"namespace": {"namespace": f"n{number}", "description": "d" * KIB}})


async def resources(served: Served) -> None:
    for number in range(ROWS):
        await put(served, "PutResource", {"resource": {"resource": f"r{number}", "capacity": 1, "description": "d" * KIB}})


async def records(served: Served) -> None:
    for number in range(ROWS):
        await put(served, "PauseDefinition", {"workflow_type": "note", "reason": f"{number}" + "d" * KIB})


async def batches(served: Served) -> None:
    for number in range(ROWS):
        what = {"filter": {"workflow_types": ["none"]}, "operation": {"cancel": {}}, "reason": "d" * KIB, "request_id": f"{number}"}
        await put(served, "StartBatch", what)


async def schedules(served: Served) -> None:
    for number in range(ROWS):
        start = {"workflow_type": "note", "input": {"json": f'"{"d" * KIB}"'}}
        schedule = {"schedule_id": f"s{number}", "triggers": [{"interval": {"every": "3600s"}}], "start": start, "paused": True}
        await put(served, "PutSchedule", {"schedule": schedule})


LISTS: dict[str, tuple[Callable[[Served], Any], str]] = {
    "ListWorkers": (workers, "workers"),
    "ListNamespaces": (namespaces, "namespaces"),
    "ListResources": (resources, "resources"),
    "ListAuditRecords": (records, "records"),
    "ListBatches": (batches, "batches"),
    "ListSchedules": (schedules, "schedules"),
}


@pytest.mark.parametrize("name", LISTS)
async def test_a_page_ends_before_it_is_too_large(served: Served, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    make, rows = LISTS[name]
    await served.register("a")
    await make(served)
    monkeypatch.setattr(rpc_limits, "RESPONSE", 4 * KIB)
    method = METHODS[name]
    kind, answer = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
    untyped: Any = served.channel
    call = untyped.unary_unary(f"/{method.containing_service.full_name}/{name}", kind.SerializeToString, answer.FromString)
    found: list[bytes] = []
    token, pages = "", 0
    while token or not pages:
        page = await call(kind(page_size=1_000, page_token=token))
        assert page.ByteSize() < 5 * KIB
        found += [row.SerializeToString(deterministic=True) for row in getattr(page, rows)]
        token, pages = page.next_page_token, pages + 1
    assert len(set(found)) == len(found) >= ROWS
    assert pages > 2


async def test_large_definitions_come_in_pages_that_every_client_takes(served: Served) -> None:
    large = definition(*(f"s{number}" for number in range(450)))
    for step in large.steps:
        step.description = "d" * 4_000
    for version in "abc":
        large.version = version
        await served.admin.RegisterDefinition(admin.RegisterDefinitionRequest(definition=large))
    request = admin.RegisterDefinitionRequest(definition=definition("a"), activate=True)
    await served.admin.RegisterDefinition(request)
    sizes: list[int] = []
    page = admin.ListDefinitionsRequest()
    while page.page_token or not sizes:
        found = await served.admin.ListDefinitions(page)
        assert found.ByteSize() <= rpc_limits.RESPONSE_MAX
        sizes.append(len(found.definitions))
        page.page_token = found.next_page_token
    assert (sum(sizes), len(sizes) > 1) == (4, True)


async def test_a_welcome_and_a_poll_that_would_be_too_large_are_refused(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    await served.register("a")
    await served.start()
    many = definition(*(f"s{number}" for number in range(30)), workflow_type="many")
    pools = [Pool(pool="m", workflow_type="many", definition_index=0), Pool(pool="p", workflow_type="note", any_contract=True)]
    offered = [OfferedDefinition(definition=many)]
    monkeypatch.setattr(rpc_limits, "RESPONSE", 4 * KIB)
    monkeypatch.setattr(rpc_limits, "POOL_STATUSES", 1 * KIB)
    stub: Any = served.workers
    worker = Worker(stub.Claim())
    await worker.say(hello=wire.Hello(worker_id="w", pools=pools, definitions=offered))
    told = await refused(worker.hear())
    assert (told.code, list(told.fields)) == (grpc.StatusCode.INVALID_ARGUMENT, ["hello.pools"])
    told = await refused(served.workers.PollClaims(wire.PollClaimsRequest(worker_id="w", pools=pools, definitions=offered)))
    assert (told.code, list(told.fields)) == (grpc.StatusCode.INVALID_ARGUMENT, ["pools"])
    monkeypatch.undo()
    [claim] = (await poll(served)).claims
    assert claim.attempt == 1, "what the refused poll was granted is given back, uncharged"


async def test_messages_of_many_failures_are_cut(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FAILURES_TOLD", 4 * KIB)
    wide = definition(*(f"s{number}" for number in range(8)), "last:" + " ".join(f"s{number}" for number in range(8)))
    for step in wide.steps:
        step.policy.retry.max_attempts = 1
        step.policy.on_exhausted = definition_pb2.StepPolicy.ON_EXHAUSTED_CONTINUE
    await served.admin.RegisterDefinition(admin.RegisterDefinitionRequest(definition=wide, activate=True))
    await served.start()
    for claim in (await poll(served, max_claims=8)).claims:
        failed = wire.CompleteRequest(claim_token=claim.claim_token)
        failed.failed.type, failed.failed.message = "asr.quota", "ä" * KIB
        await served.workers.Complete(failed)
    [last] = (await poll(served)).claims
    assert [len(failure.message.encode()) for failure in last.failed_inputs.values()] == [512] * 8
    view = workflow_pb2.WORKFLOW_VIEW_STEPS
    found = await served.workflows.GetWorkflow(workflows.GetWorkflowRequest(workflow=ref(), view=view))
    assert sum(len(step.failure.message.encode()) for step in found.workflow.steps) == 4 * KIB

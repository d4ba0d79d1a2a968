"""Every RPC of the descriptors is reached by a method of the client, asynchronous and synchronous, on a real channel."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import grpc
import pytest
from google.protobuf.message_factory import GetMessageClass

from perdure import (
    BatchOperation,
    Client,
    Cron,
    Definition,
    Filter,
    NamespaceLimits,
    Rate,
    Resolution,
    ScheduledStart,
    Start,
    StepPolicy,
    WorkflowPolicy,
    WorkflowRef,
)
from perdure.sync import Client as SyncClient
from perdure.v1 import admin_service_pb2, payload_pb2, worker_service_pb2, workflow_service_pb2

SERVICES = [
    module.DESCRIPTOR.services_by_name[name]
    for module, name in (
        (workflow_service_pb2, "WorkflowService"),
        (admin_service_pb2, "AdminService"),
        (worker_service_pb2, "WorkerService"),
    )
]
ELSEWHERE = {
    "Claim": "client.worker; tests/client/test_worker_*.py",
    "Complete": "client.worker, for large results; tests/client/test_worker_large_and_processes.py",
    "Heartbeat": "client.worker, on the stream",
    "RenewClaims": "PolledClaim.renew; tests/client/test_polling.py",
}

NOTE = Definition("note")
SOONER = StepPolicy(priority=7)
EVERY_NOTE = Filter(workflow="note")


@NOTE.step()
def write(ctx: Any, input: str) -> str:
    return input


def ref_payload() -> payload_pb2.Payload:
    return payload_pb2.Payload(ref=payload_pb2.PayloadRef(payload_id="p"))


CALLS: dict[str, Callable[[Any], Any]] = {
    "PollClaims": lambda client: client.poll(NOTE, wait=timedelta(0)),
    "StartWorkflow": lambda client: client.start("note", key="k", retention=timedelta(days=1)),
    "StartWorkflows": lambda client: client.start_many([Start(workflow="note", key="k"), Start(workflow="note", key="l", input=1)]),
    "Signal": lambda client: client.run("note", "k").signal("go", 1),
    "Watch": lambda client: client.run("note", "k").watch(),
    "WatchWorkflows": lambda client: client.watch_many(EVERY_NOTE),
    "GetWorkflow": lambda client: client.get("note", "k"),
    "WaitForResult": lambda client: client.run("note", "k").result(),
    "ListWorkflows": lambda client: client.list("note", where=Filter(paused=True)),
    "CountWorkflows": lambda client: client.count(EVERY_NOTE, group_by="state"),
    "ListRounds": lambda client: client.run("note", "k").rounds(),
    "ListChildren": lambda client: client.run("note", "k").children("fan"),
    "ListAttempts": lambda client: client.run("note", "k").attempts("write"),
    "FetchPayload": lambda client: client.run("note", "k").fetch(ref_payload()),
    "ExplainWorkflow": lambda client: client.run("note", "k").explain(),
    "CancelWorkflow": lambda client: client.run("note", "k").cancel(),
    "TerminateWorkflow": lambda client: client.run("note", "k").terminate(),
    "PauseWorkflow": lambda client: client.run("note", "k").pause(),
    "ResumeWorkflow": lambda client: client.run("note", "k").resume(),
    "ReplayWorkflow": lambda client: client.run("note", "k").replay(reopen="write"),
    "DeleteWorkflow": lambda client: client.run("note", "k").delete(),
    "RegisterDefinition": lambda client: client.definitions.register(NOTE),
    "SetActiveDefinition": lambda client: client.definitions.activate("note", "f"),
    "UpdatePolicy": lambda client: client.definitions.update_policy("note", policy=WorkflowPolicy(), steps={"write": SOONER}),
    "GetDefinition": lambda client: client.definitions.count_open("note"),
    "ListDefinitions": lambda client: client.definitions.list(),
    "DeleteDefinition": lambda client: client.definitions.delete("note", "f"),
    "TestDefinition": lambda client: client.definitions.test(NOTE),
    "PauseDefinition": lambda client: client.definitions.pause("note"),
    "ResumeDefinition": lambda client: client.definitions.resume("note"),
    "MigrateWorkflows": lambda client: client.definitions.migrate("note", "f", "g", where=Filter(keys=["k"])),
    "PutResource": lambda client: client.resources.put("asr", rate=Rate(5, timedelta(seconds=1))),
    "ListResources": lambda client: client.resources.list(),
    "DeleteResource": lambda client: client.resources.delete("asr"),
    "ListQueues": lambda client: client.operations.queues(phases=["NO_WORKER"]),
    "ListWorkers": lambda client: client.operations.workers(),
    "ResolveStep": lambda client: client.run("note", "k").resolve("write", Resolution.retry(), reason="why"),
    "UpdateStepOptions": lambda client: client.run("note", "k").update_step("write", SOONER),
    "ExportWorkflow": lambda client: client.run("note", "k").export(with_payloads=False),
    "ImportWorkflow": lambda client: client.import_workflow(b"x" * 300_000),
    "StartBatch": lambda client: client.batches.start(EVERY_NOTE, BatchOperation.update_step("write", SOONER)),
    "GetBatch": lambda client: client.batches.get("b"),
    "ListBatches": lambda client: client.batches.list(),
    "StopBatch": lambda client: client.batches.stop("b"),
    "PurgeWorkflows": lambda client: client.batches.purge(EVERY_NOTE),
    "RedactPayloads": lambda client: client.batches.redact(WorkflowRef("note", "k"), kinds=["INPUT"]),
    "PutSchedule": lambda client: client.schedules.put("s", Cron("0 3 * * *"), ScheduledStart(workflow="note")),
    "ListSchedules": lambda client: client.schedules.list(),
    "TriggerSchedule": lambda client: client.schedules.trigger("s", overlap="allow"),
    "DeleteSchedule": lambda client: client.schedules.delete("s"),
    "PutNamespace": lambda client: client.namespaces.put("acme", limits=NamespaceLimits(open_workflows=5)),
    "ListNamespaces": lambda client: client.namespaces.list(),
    "ListAuditRecords": lambda client: client.operations.audit(WorkflowRef("note", "k")),
    "GetServerInfo": lambda client: client.server_info(),
}


class Recorder:
    """A server that answers every RPC with an empty message, and notes what was asked."""

    def __init__(self) -> None:
        self.asked: dict[str, list[Any]] = {}
        self.address = ""

    def handlers(self) -> list[Any]:
        made = []
        for service in SERVICES:
            methods = {method.name: self._handler(method) for method in service.methods}
            made.append(grpc.method_handlers_generic_handler(service.full_name, methods))
        return made

    def _handler(self, method: Any) -> Any:
        request, response = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        kinds = {
            (False, False): (grpc.unary_unary_rpc_method_handler, self._one),
            (False, True): (grpc.unary_stream_rpc_method_handler, self._many),
            (True, False): (grpc.stream_unary_rpc_method_handler, self._from_many),
            (True, True): (grpc.stream_stream_rpc_method_handler, self._many),
        }
        make, serve = kinds[method.client_streaming, method.server_streaming]
        return make(serve(method.name, response), request_deserializer=request.FromString, response_serializer=response.SerializeToString)

    def _note(self, name: str, request: Any) -> None:
        self.asked.setdefault(name, []).append(request)

    def _one(self, name: str, response: Any) -> Any:
        async def serve(request: Any, _context: Any) -> Any:
            self._note(name, request)
            return response(done=True, state=5) if name == "WaitForResult" else response()

        return serve

    def _many(self, name: str, response: Any) -> Any:
        async def serve(request: Any, _context: Any) -> AsyncIterator[Any]:
            self._note(name, request)
            answer = response()
            if name == "Watch":
                answer.events.add().end.state = 5
            elif name == "WatchWorkflows":
                answer.events.add().existing_sent.count = 0
            yield answer

        return serve

    def _from_many(self, name: str, response: Any) -> Any:
        async def serve(requests: AsyncIterator[Any], _context: Any) -> Any:
            async for request in requests:
                self._note(name, request)
            return response()

        return serve


@pytest.fixture
async def recorder() -> AsyncIterator[Recorder]:
    made = Recorder()
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(made.handlers())
    made.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    yield made
    await server.stop(None)


async def drive(told: Any) -> None:
    """Whatever a method gives back, to its first answer."""
    if inspect.isawaitable(told):
        await told
        return
    async for _ in told:
        break
    await told.aclose()


def drive_sync(told: Any) -> None:
    """The same without an event loop."""
    if hasattr(told, "__next__"):
        next(told, None)
        told.close()


def test_the_table_names_every_rpc() -> None:
    known = {method.name for service in SERVICES for method in service.methods}
    assert known == CALLS.keys() | ELSEWHERE.keys()
    assert not CALLS.keys() & ELSEWHERE.keys()


@pytest.mark.parametrize("name", CALLS)
async def test_it_is_reached(recorder: Recorder, name: str) -> None:
    async with Client(recorder.address, namespace="acme") as client:
        await drive(CALLS[name](client))
    assert name in recorder.asked
    with SyncClient(recorder.address, namespace="acme") as blocking:
        await asyncio.to_thread(lambda: drive_sync(CALLS[name](blocking)))
    assert len(recorder.asked) == 1
    first, *_, second = recorder.asked[name]
    if first.DESCRIPTOR.fields_by_name.get("namespace") and isinstance(first.namespace, str) and name != "ListNamespaces":
        assert (first.namespace, second.namespace) == ("acme", "acme")


async def test_an_import_is_sent_in_pieces_after_its_options(recorder: Recorder) -> None:
    async with Client(recorder.address) as client:
        await client.import_workflow(b"x" * 300_000, key="copy")
    options, *pieces = recorder.asked["ImportWorkflow"]
    assert options.options.business_key == "copy"
    assert [len(piece.chunk) for piece in pieces] == [262_144, 37_856]


async def test_a_filter_says_all_of_it() -> None:
    message = Filter(workflow=[NOTE, "other"], phases=["WAITING"], parent=WorkflowRef("note", "p"), include_archived=True).to_message()
    assert (list(message.workflow_types), message.parent.business_key, message.include_archived) == (["note", "other"], "p", True)
    with pytest.raises(ValueError, match="NO_SUCH"):
        Filter(phases=["NO_SUCH"]).to_message()  # type: ignore[list-item]  # what a program without types may say

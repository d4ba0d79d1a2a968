"""No token, key or certificate key in any log line, span, error, audit record or repr of a server with doors."""

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import MessageToJson
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from perdure import Client, Tls
from perdure.config import connection_config
from perdure.v1 import admin_service_pb2 as admin
from perdure.v1 import claim_pb2, resource_pb2
from perdure.v1 import worker_service_pb2 as work
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.config import Config
from perdure_server.main import Parts
from perdure_server.rpc.doors.access_file import read_access_file
from perdure_server.rpc.doors.identity import Credential
from perdure_server.rpc.doors.tokens import new_token
from perdure_server.store.memory import MemoryStore
from perdure_server.telemetry.open_telemetry import OpenTelemetry
from tests.rpc.conftest import Served, definition, ref, refused
from tests.rpc.doors import Access, access_file, guarded, secret_of
from tests.rpc.test_jwt import access as jwt_access
from tests.rpc.test_jwt import token as jwt_token


@pytest.fixture
def everything(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """What was said; the log is added at the end."""
    said: list[str] = []
    with caplog.at_level(logging.DEBUG):
        yield said
    said.append(caplog.text)
    said += [str(record.__dict__) for record in caplog.records]


def secrets_of(*tokens: str) -> list[str]:
    """Each token, and its parts that are secret."""
    return [part for token in tokens for part in (token, secret_of(token))]


async def used(served: Served, access: Access, wrong: str) -> list[str]:
    """Good and bad calls of every kind; what they were told."""
    told: list[str] = []
    for metadata in (
        access.metadata("guest"),
        (("authorization", f"Bearer {wrong}"),),
        (("authorization", wrong),),
        (("authorization", f"Basic {wrong}"),),
    ):
        call = served.admin.PutResource(
            admin.PutResourceRequest(resource=resource_pb2.Resource(resource="a", capacity=1)), metadata=metadata
        )
        refusal = await refused(call)
        told += [str(refusal), refusal.status.SerializeToString().decode(errors="replace")]
    await served.admin.PutResource(
        admin.PutResourceRequest(resource=resource_pb2.Resource(resource="a", capacity=1)), metadata=access.metadata("boss")
    )
    claims: Any = served.workers.Claim(None, metadata=access.metadata("boss"))
    pools = [claim_pb2.Pool(pool="p", workflow_type="note", any_contract=True)]
    await claims.write(work.ClaimRequest(hello=work.Hello(worker_id="w", pools=pools)))
    await claims.read()
    access.write({"guest": {"reader": "*"}})
    served.running.server.entrance.look()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        while await claims.read() is not grpc.aio.EOF:  # type: ignore[attr-defined]  # missing in the stubs
            pass
    told.append(str(caught.value))
    return told


async def test_tokens_are_nowhere_but_with_their_callers(tmp_path: Path, everything: list[str], caplog: pytest.LogCaptureFixture) -> None:
    access = access_file(tmp_path, {"guest": {"reader": "*"}, "boss": {"admin": "*"}})
    wrong = new_token()
    async with guarded(access) as served:
        everything += await used(served, access, wrong)
        records = await served.running.engine.audit.find(_all(), 100, None)
        everything += [str(records), repr(served.running.server.entrance.doors), repr(read_access_file(access.path))]
    everything += [repr(Credential(wrong)), repr(Config(access_file=str(access.path)))]
    everything += [repr(connection_config(token=wrong, environment={})), repr(Client(token=wrong)), repr(Tls())]
    everything.append(caplog.text)
    _look(everything, secrets_of(wrong, *access.tokens.values()))


async def worked(served: Served, access: Access) -> list[str]:
    """A workflow from start to end; the tokens of its claim."""
    metadata = access.metadata("boss")
    registered = admin.RegisterDefinitionRequest(definition=definition("a"), activate=True)
    await served.admin.RegisterDefinition(registered, metadata=metadata)
    start = wire.StartWorkflowRequest(workflow=ref())
    start.input.json = "1"
    await served.workflows.StartWorkflow(start, metadata=metadata)
    poll = work.PollClaimsRequest(worker_id="w", pools=[claim_pb2.Pool(pool="p", workflow_type="note", any_contract=True)])
    poll.wait_time.seconds = 10
    claim = (await served.workers.PollClaims(poll, metadata=metadata)).claims[0]
    complete = work.CompleteRequest(claim_token=claim.claim_token)
    complete.completed.SetInParent()
    await served.workers.Complete(complete, metadata=metadata)
    return [claim.claim_token, claim.wake_token]


async def test_spans_hold_no_token(tmp_path: Path, everything: list[str], caplog: pytest.LogCaptureFixture) -> None:
    access, exporter = access_file(tmp_path, {"guest": {"reader": "*"}, "boss": {"admin": "*"}}), InMemorySpanExporter()
    wrong = new_token()
    parts = Parts(store=MemoryStore(lambda: time.time_ns() // 1_000_000), telemetry=OpenTelemetry(exporter, {}))
    async with guarded(access, parts) as served:
        await used(served, access, wrong)
        access.write({"boss": {"admin": "*"}})
        served.running.server.entrance.look()
        of_claim = await worked(served, access)
    spans = [span.to_json() for span in exporter.get_finished_spans()]
    assert any('"note/a"' in span for span in spans)
    everything += [*spans, caplog.text]
    _look(everything, [*secrets_of(wrong, *access.tokens.values()), *of_claim])


async def test_jwts_are_not_told_either(tmp_path: Path, everything: list[str], caplog: pytest.LogCaptureFixture) -> None:
    texts = [jwt_token(), jwt_token(exp=int(time.time()) - 60), jwt_token(kid="other"), jwt_token()[:-8] + "AAAAAAAA"]
    async with guarded(jwt_access(tmp_path)) as served:
        for text in texts:
            metadata = (("authorization", f"Bearer {text}"),)
            try:
                answer = await served.admin.ListAuditRecords(admin.ListAuditRecordsRequest(), metadata=metadata)
                everything.append(MessageToJson(answer))
            except grpc.aio.AioRpcError as error:
                everything.append(str(error))
    everything.append(caplog.text)
    _look(everything, secrets_of(*texts))


def _all() -> Any:
    from perdure_server.ports.audit import AuditQuery  # noqa: PLC0415 -- only here

    return AuditQuery("default", "", "", "", (), None, None)


def _look(said: list[str], secrets: list[str]) -> None:
    assert len("".join(said)) > 500, "nothing was said at all"
    found = [text[:200] for text in said for secret in secrets if secret in text]
    assert not found

"""Every RPC of the API answers: each is called once, on a real server, with a request that it can accept."""

import time
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass

from perdure.testing.v1 import test_service_pb2
from perdure.v1 import admin_service_pb2, worker_service_pb2, workflow_service_pb2
from perdure_server.main import Parts
from perdure_server.store.memory import MemoryStore
from tests.rpc.conftest import Served, serving
from tests.rpc.every_rpc import ANSWERED_OTHERWISE, NOT_YET, NOTE, WAITS, WALK, ref

FILES = (workflow_service_pb2, worker_service_pb2, admin_service_pb2, test_service_pb2)
METHODS: dict[str, MethodDescriptor] = {
    method.name: method for file in FILES for service in file.DESCRIPTOR.services_by_name.values() for method in service.methods
}


@pytest.fixture
async def testing() -> AsyncIterator[Served]:
    async with serving(parts=Parts(store=MemoryStore(lambda: time.time_ns() // 1_000_000), dev=True, test=True)) as found:
        yield found


async def call(served: Served, name: str, request: Any) -> dict[str, Any]:
    """The answer as JSON; of a stream the first message. Raises AioRpcError."""
    method = METHODS[name]
    kind, answer = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
    path = f"/{method.containing_service.full_name}/{name}"
    untyped: Any = served.channel
    if method.client_streaming:
        messages = iter([ParseDict(item, kind()) for item in request])
        if not method.server_streaming:
            made = untyped.stream_unary(path, kind.SerializeToString, answer.FromString)
            return MessageToDict(await made(messages, timeout=10), preserving_proto_field_name=True)
        stream = untyped.stream_stream(path, kind.SerializeToString, answer.FromString)(messages, timeout=10)
    elif not method.server_streaming:
        made = untyped.unary_unary(path, kind.SerializeToString, answer.FromString)
        return MessageToDict(await made(ParseDict(request, kind()), timeout=10), preserving_proto_field_name=True)
    else:
        stream = untyped.unary_stream(path, kind.SerializeToString, answer.FromString)(ParseDict(request, kind()), timeout=10)
    try:
        async for message in stream:
            return MessageToDict(message, preserving_proto_field_name=True)
    finally:
        stream.cancel()
    return {}


def test_the_walk_names_every_rpc_once() -> None:
    assert sorted(name for name, _ in WALK) == sorted(METHODS)
    assert set(METHODS) >= NOT_YET


async def test_every_rpc_answers(testing: Served) -> None:
    answers: dict[str, Any] = {}
    changed = {**NOTE, "version": "2"}
    other = await call(testing, "RegisterDefinition", {"definition": changed})
    answers["other"] = other["definition"]["fingerprint"]
    await call(testing, "RegisterDefinition", {"definition": WAITS, "activate": True})
    for key in ("waiting", "gone"):
        await call(testing, "StartWorkflow", ref(key, "waits"))
    await call(testing, "TerminateWorkflow", ref("gone", "waits"))
    refused: dict[str, str] = {}
    for name, request in WALK:
        try:
            answers[name] = await call(testing, name, request(answers) if callable(request) else request)
        except grpc.aio.AioRpcError as error:
            refused[name] = error.code().name
            if name not in ANSWERED_OTHERWISE and error.code() is not grpc.StatusCode.UNIMPLEMENTED:
                refused[name] += f": {error.details()}"
    unserved = {name for name, told in refused.items() if told == "UNIMPLEMENTED"}
    assert not unserved - NOT_YET, "these were served before, or are new"
    assert not NOT_YET - unserved, "these are served now: take them out of NOT_YET"
    assert {name: told for name, told in refused.items() if name not in unserved} == ANSWERED_OTHERWISE

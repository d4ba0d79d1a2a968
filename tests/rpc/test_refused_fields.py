"""Whatever is wrong in a request: the refusal names a field that exists, and it is the one that is wrong; nothing is a fault of ours."""

import re
from collections.abc import Iterator
from typing import Any

import grpc
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from perdure.v1.worker_service_pb2 import ClaimResponse
from tests.rpc.conftest import Refusal, Served, from_status, is_of_the_sender, refusal_of
from tests.rpc.every_rpc import NOTE, WAITS, WALK, ref
from tests.rpc.test_every_rpc import METHODS, call, testing

__all__ = ["testing"]

LONG = "x" * 70_000
WRONG: dict[int, Any] = {
    FieldDescriptor.TYPE_STRING: LONG,
    FieldDescriptor.TYPE_INT32: -1,
    FieldDescriptor.TYPE_INT64: -1,
    FieldDescriptor.TYPE_DOUBLE: float("nan"),
    FieldDescriptor.TYPE_ENUM: 99,
}
PASSED_BY = {
    "UpdatePolicy": "its update_mask names another field",
    "StartWorkflows": "each start is refused by itself, in a status",
}


def spoilt(message: Any, at: str = "", unset: int = 1) -> Iterator[tuple[str, Any, FieldDescriptor]]:
    """The path of every field that can be wrong, the message that it is in, and the field; of messages that are not set `unset` deep."""
    for field in message.DESCRIPTOR.fields:
        path = f"{at}{field.name}"
        if field.message_type is None:
            if field.type in WRONG:
                yield path, message, field
        elif field.message_type.full_name.startswith("google.") or field.message_type.GetOptions().map_entry:
            continue
        elif field.is_repeated:
            for index, item in enumerate(getattr(message, field.name)):
                yield from spoilt(item, f"{path}[{index}].", unset)
        elif message.HasField(field.name):
            yield from spoilt(getattr(message, field.name), f"{path}.", unset)
        elif unset:
            yield from spoilt(getattr(message, field.name), f"{path}.", unset - 1)


def exists(kind: Any, path: str) -> bool:
    """Whether a message of this kind has the field, or the oneof."""
    for name in re.sub(r"\[[^]]*]", "", path).split("."):
        if kind is None or (name not in kind.fields_by_name and name not in kind.oneofs_by_name):
            return False
        kind = kind.fields_by_name[name].message_type if name in kind.fields_by_name else None
    return True


async def refusal(served: Served, name: str, messages: list[Message]) -> Refusal | None:
    """How the call is refused, if it is."""
    method = METHODS[name]
    path, kind = f"/{method.containing_service.full_name}/{name}", GetMessageClass(method.output_type)
    how = f"{'stream' if method.client_streaming else 'unary'}_{'stream' if method.server_streaming else 'unary'}"
    stub = getattr(served.channel, how)(path, lambda message: message.SerializeToString(), kind.FromString)
    made = stub(iter(messages) if method.client_streaming else messages[0], timeout=10)
    try:
        if not method.server_streaming:
            await made
            return None
        answer = await made.read()
        if isinstance(answer, ClaimResponse) and answer.HasField("refused"):
            return from_status(answer.refused.status)
    except grpc.aio.AioRpcError as error:
        return await refusal(served, name, messages) if is_of_the_sender(error) else refusal_of(error)
    finally:
        made.cancel()
    return None


def complaint(told: Refusal, kind: Any) -> str:
    """What is wrong with the refusal of such a request; "" if nothing."""
    if told.code in {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DEADLINE_EXCEEDED}:
        return f"{told.code.name} {told.message}"
    if strange := [field for field in told.fields if not exists(kind, field)]:
        return f"names {strange}, which the request does not have"
    return ""


async def walked(served: Served) -> list[tuple[str, list[Any]]]:
    """Every RPC with a request that was good once, after all of them were made."""
    answers: dict[str, Any] = {}
    other = await call(served, "RegisterDefinition", {"definition": {**NOTE, "version": "2"}})
    answers["other"] = other["definition"]["fingerprint"]
    await call(served, "RegisterDefinition", {"definition": WAITS, "activate": True})
    for key in ("waiting", "gone"):
        await call(served, "StartWorkflow", ref(key, "waits"))
    await call(served, "TerminateWorkflow", ref("gone", "waits"))
    good: list[tuple[str, list[Any]]] = []
    for name, made in WALK:
        request: Any = made(answers) if callable(made) else made
        if name != "FetchPayload":
            answers[name] = await call(served, name, request)
        if name == "PollClaims":
            request = {**request, "wait_time": "0s"}
        good.append((name, request if isinstance(request, list) else [request]))
    return good


def variants(requests: list[Any], kind: Any) -> Iterator[tuple[str, FieldDescriptor, list[Message]]]:
    """The messages of a call with one field wrong, each field in turn."""
    for place, request in enumerate(requests):
        for path, _, field in list(spoilt(ParseDict(request, kind()))):
            messages: list[Message] = [ParseDict(item, kind()) for item in requests]
            target = next(found for at, found, _ in spoilt(messages[place]) if at == path)
            if field.is_repeated:
                getattr(target, field.name).append(WRONG[field.type])
            else:
                setattr(target, field.name, WRONG[field.type])
            yield path, field, messages


async def test_a_refusal_names_fields_of_its_request(testing: Served) -> None:
    complaints: list[str] = []
    refused = 0
    for name, requests in await walked(testing):
        kind = GetMessageClass(METHODS[name].input_type)
        for path, field, messages in variants(requests, kind):
            told = await refusal(testing, name, messages)
            refused += told is not None
            fault = complaint(told, kind.DESCRIPTOR) if told is not None else ""
            if told is None and field.type == FieldDescriptor.TYPE_ENUM and name not in PASSED_BY:
                fault = "takes a number that no name has"
            if fault:
                complaints.append(f"{name} {path}: {fault}")
    assert complaints == []
    assert refused > 300

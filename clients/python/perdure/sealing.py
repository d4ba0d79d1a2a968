"""Puts every value of a message through the codec: into the message before it leaves, out of it where it arrives.

It walks messages by their descriptors, so a Payload in a new place is reached without a line here. What cannot be decoded stays
encoded, and is an error for who asks for that value, not for the whole answer.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from perdure import limits
from perdure.canonical import canonical
from perdure.codec import FAILURE_PREFIX, UNDECODED, Codec, Kind
from perdure.errors import DefinitionRejected, PayloadRejected, PayloadUndecodable, Violation
from perdure.v1 import definition_pb2, payload_pb2
from perdure.waits import WAIT_RESULT_TYPE, parse_wait_result

M = TypeVar("M", bound=Message)
Visit = Callable[[payload_pb2.Payload, str], None]


_PAYLOAD: Final = payload_pb2.Payload.DESCRIPTOR
_FAILURE: Final = payload_pb2.Failure.DESCRIPTOR
_OF_GOOGLE: Final = "google.protobuf."


def seal(message: Message, codec: Codec) -> None:
    """Encodes every value and failure of a message that is not encoded yet, in place. Inputs get a digest."""
    for found, field in _values(message):
        if isinstance(found, payload_pb2.Failure):
            _seal_failure(found, codec)
        elif isinstance(found, payload_pb2.Payload):
            _seal_payload(found, codec, with_digest=field == "input")


def unseal(message: Message, codec: Codec) -> None:
    """Decodes every value and failure of a message that this codec encoded, in place; what cannot be decoded is left."""
    for found, _ in _values(message):
        if isinstance(found, payload_pb2.Failure):
            _unseal_failure(found, codec)
        elif isinstance(found, payload_pb2.Payload):
            _unseal_payload(found, codec)


def seal_input(payload: payload_pb2.Payload, codec: Codec) -> None:
    """Encodes one payload as the input of a start, with its digest."""
    _seal_payload(payload, codec, with_digest=True)


async def seal_apart(message: Message, codec: Codec | None) -> None:
    """As `seal`; a large message in a thread, so that the loop goes on. Without a codec nothing is done."""
    await _apart(seal, message, codec)


async def unseal_apart(message: Message, codec: Codec | None) -> None:
    """As `unseal`; a large message in a thread, so that the loop goes on. Without a codec nothing is done."""
    await _apart(unseal, message, codec)


def check_definition(definition: definition_pb2.Definition, codec: Codec | None) -> None:
    """Raises DefinitionRejected if the server would have to look into values that the codec makes unreadable."""
    if codec is None:
        return
    faults: list[Violation] = []
    for index, step in enumerate(definition.steps):
        if step.map.items_from:
            text = f"{step.name} takes its items out of {step.map.items_from}, which is encrypted: use a paging step"
            faults.append(Violation(f"definition.steps[{index}].map.items_from", text))
        if step.HasField("child") and not step.child.input_from and step.needs.names:
            text = f"{step.name} makes one input of {', '.join(step.needs.names)}, which is encrypted: name one value with `input`"
            faults.append(Violation(f"definition.steps[{index}].child.input_from", text))
    if faults:
        raise DefinitionRejected("the server cannot look into values of this codec", violations=tuple(faults))


async def _apart(work: Callable[[Message, Codec], None], message: Message, codec: Codec | None) -> None:
    if codec is None:
        return
    if message.ByteSize() > limits.CODEC_THREAD_BYTES:
        await asyncio.to_thread(work, message, codec)
    else:
        work(message, codec)


def _values(message: Message, field: str = "") -> Iterator[tuple[Message, str]]:
    """All payloads and failures in a message, outermost only, each with the name of the field that holds it."""
    kind = message.DESCRIPTOR
    if kind is _PAYLOAD or kind is _FAILURE:
        yield message, field
        return
    if kind.full_name.startswith(_OF_GOOGLE):
        return
    for found, value in message.ListFields():
        if found.type == FieldDescriptor.TYPE_MESSAGE:
            for part in _parts(found, value):
                yield from _values(part, found.name)


def _parts(field: FieldDescriptor, value: object) -> Iterator[Message]:
    held = field.message_type
    if held is not None and held.GetOptions().map_entry:
        yield from (part for part in value.values() if isinstance(part, Message))  # type: ignore[attr-defined]  # a map's container
    elif isinstance(value, Message):
        yield value
    else:
        yield from value  # type: ignore[misc]  # a repeated field's container


def _seal_payload(payload: payload_pb2.Payload, codec: Codec, *, with_digest: bool = False) -> None:
    payload.metadata.pop(UNDECODED, None)
    kind = payload.WhichOneof("data")
    if payload.encoding or kind not in {"json", "binary"}:
        return
    plain = Kind.JSON + payload.json.encode() if kind == "json" else Kind.BINARY + payload.binary
    if with_digest and not payload.digest:
        payload.digest = codec.digest(digested(payload))
    payload.binary = codec.encode(plain, payload.content_type)
    payload.encoding = codec.name


def digested(payload: payload_pb2.Payload) -> bytes:
    """What a keyed digest of a plain value is made of: canonical JSON, or the content type with its length and the bytes."""
    if payload.WhichOneof("data") == "json":
        return Kind.JSON + canonical(payload.json)
    content_type = payload.content_type.encode()
    return Kind.BINARY + len(content_type).to_bytes(4, "big") + content_type + payload.binary


def _unseal_payload(payload: payload_pb2.Payload, codec: Codec) -> None:
    if payload.content_type == WAIT_RESULT_TYPE and not payload.encoding:
        _unseal_wait_result(payload, codec)
    elif (plain := _decoded(payload, codec)) is not None:
        try:
            _put(payload, plain)
        except PayloadUndecodable as error:
            _note(payload, error)


def _put(payload: payload_pb2.Payload, plain: bytes) -> None:
    if plain[:1] == Kind.BINARY:
        payload.binary = plain[1:]
    elif plain[:1] == Kind.JSON:
        try:
            payload.json = plain[1:].decode()
        except UnicodeDecodeError:
            raise PayloadUndecodable("what it decodes to is no UTF-8", "malformed") from None
    else:
        raise PayloadUndecodable("what it decodes to is neither JSON nor binary", "malformed")
    payload.encoding = payload.digest = ""  # whoever changes the value and sends it on must not send an old digest


def _decoded(payload: payload_pb2.Payload, codec: Codec) -> bytes | None:
    if payload.encoding != codec.name or payload.WhichOneof("data") != "binary":
        return None
    try:
        return codec.decode(payload.binary, payload.content_type)
    except PayloadUndecodable as error:
        _note(payload, error)
        return None


def _note(payload: payload_pb2.Payload, error: PayloadUndecodable) -> None:
    payload.metadata[UNDECODED] = f"{error.cause}:{error.message}".encode()


def _unseal_wait_result(payload: payload_pb2.Payload, codec: Codec) -> None:
    """The server made this JSON; the signals' payloads inside are as their senders sealed them."""
    if '"encoding"' not in payload.json:
        return
    try:
        result = parse_wait_result(payload)
    except PayloadRejected:
        return  # the one who asks for it is told
    unseal(result, codec)
    payload.json = json_format.MessageToJson(result)


def _seal_failure(failure: payload_pb2.Failure, codec: Codec) -> None:
    if failure.details.encoding == codec.name:
        return
    if failure.type.startswith(FAILURE_PREFIX):
        if failure.HasField("details"):
            _seal_payload(failure.details, codec)
        return
    inner = payload_pb2.Failure(message=failure.message)
    if failure.HasField("details"):
        inner.details.CopyFrom(failure.details)
    failure.message = ""
    failure.details.Clear()
    failure.details.binary = codec.encode(Kind.FAILURE + inner.SerializeToString(deterministic=True), "")
    failure.details.encoding = codec.name


def _unseal_failure(failure: payload_pb2.Failure, codec: Codec) -> None:
    if not failure.HasField("details"):
        return
    plain = _decoded(failure.details, codec)
    if plain is None:
        return
    if plain[:1] != Kind.FAILURE:
        _unseal_payload(failure.details, codec)
        return
    try:
        inner = payload_pb2.Failure.FromString(plain[1:])
    except DecodeError:
        return
    failure.message = inner.message
    failure.ClearField("details")
    if inner.HasField("details"):
        failure.details.CopyFrom(inner.details)

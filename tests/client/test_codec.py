"""The codec: every value of every message goes through it, and what it cannot decode says why."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from perdure import (
    Client,
    Codec,
    Context,
    Definition,
    DefinitionRejected,
    InvalidRequest,
    PayloadUndecodable,
)
from perdure.aes_gcm import AesGcm, KeyRing
from perdure.config import connection_config
from perdure.outbox import start_document
from perdure.payloads import decode, encode
from perdure.sealing import seal, unseal
from perdure.testing.v1 import test_service_pb2
from perdure.v1 import admin_service_pb2, payload_pb2, worker_service_pb2, workflow_service_pb2

MARK = "secret-of-Müller"
RING = KeyRing.new()


def all_messages() -> Iterator[Descriptor]:
    """Every request and answer of the API."""
    for module in (workflow_service_pb2, worker_service_pb2, admin_service_pb2, test_service_pb2):
        for service in module.DESCRIPTOR.services_by_name.values():
            for method in service.methods:
                yield method.input_type
                yield method.output_type


def fill(message: Message, path: tuple[str, ...] = ()) -> int:
    """Puts the mark into every Payload and Failure that the message can hold; members of oneofs replace each other, so one at a time."""
    kind = message.DESCRIPTOR.full_name
    if isinstance(message, payload_pb2.Payload):
        message.json = json.dumps(MARK, ensure_ascii=False)
        return 1
    if isinstance(message, payload_pb2.Failure):
        message.type, message.message, message.details.json = "t.x", MARK, json.dumps(MARK)
        return 1
    if not kind.startswith("perdure.") or kind in path:
        return 0
    return sum(fill_field(message, field, (*path, kind)) for field in message.DESCRIPTOR.fields)


def fill_field(message: Message, field: Any, path: tuple[str, ...]) -> int:
    if field.type != FieldDescriptor.TYPE_MESSAGE:
        return 0
    is_map = field.message_type.GetOptions().map_entry
    if is_map and field.message_type.fields_by_name["value"].type != FieldDescriptor.TYPE_MESSAGE:
        return 0
    held = getattr(message, field.name)
    if is_map:
        return fill(held["x"], path)
    if field.is_repeated:
        return fill(held.add(), path)
    found = type(held)()
    count = fill(found, path)
    if count:
        held.CopyFrom(found)
    return count


def members(descriptor: Descriptor) -> Iterator[str]:
    """Names of the members of its oneofs."""
    for oneof in descriptor.oneofs:
        yield from (field.name for field in oneof.fields)


def test_every_value_of_every_message_is_sealed_and_comes_back() -> None:
    codec = AesGcm(RING)
    total = 0
    for descriptor in all_messages():
        for only in [None, *members(descriptor)]:
            message: Message = GetMessageClass(descriptor)()
            total += fill(message) if only is None else fill_field(message, descriptor.fields_by_name[only], ())
            before = type(message).FromString(message.SerializeToString())
            seal(message, codec)
            assert MARK.encode() not in message.SerializeToString(), descriptor.full_name
            assert b"secret" not in message.SerializeToString(), descriptor.full_name
            unseal(message, codec)
            assert message == before, descriptor.full_name
    assert total > 150


def test_a_codec_is_told_from_what_is_none() -> None:
    assert isinstance(AesGcm(RING), Codec)
    assert not isinstance(object(), Codec)
    assert repr(RING.keys["k1"]) not in repr(RING) + repr(AesGcm(RING))


def test_nonces_are_new_and_a_sealed_value_is_not_sealed_again() -> None:
    codec = AesGcm(RING)
    first, second = payload_pb2.Payload(json="1"), payload_pb2.Payload(json="1")
    seal(first, codec)
    seal(second, codec)
    assert first.binary != second.binary
    again = payload_pb2.Payload.FromString(first.SerializeToString())
    seal(again, codec)
    assert again == first
    assert not first.digest  # only inputs have one: equal values elsewhere must not look equal


def test_no_value_stays_no_value() -> None:
    clears = payload_pb2.Payload()
    seal(clears, AesGcm(RING))
    assert clears == payload_pb2.Payload()


@pytest.mark.parametrize(
    ("change", "cause", "words"),
    [
        (lambda ring: KeyRing("k2", {"k2": bytes(32)}, ring.digest_key), "key_missing", "key k1 is not in the key ring, which has k2"),
        (lambda ring: KeyRing("k1", {"k1": bytes(32)}, ring.digest_key), "key_wrong", "another key than the one that encrypted"),
    ],
)
def test_a_key_that_is_missing_or_wrong_is_named(change: Any, cause: str, words: str) -> None:
    payload = encode({"name": MARK}) or payload_pb2.Payload()
    seal(payload, AesGcm(RING))
    unseal(payload, AesGcm(change(RING)))
    with pytest.raises(PayloadUndecodable, match=words) as caught:
        decode(payload)
    assert caught.value.cause == cause
    assert "encrypted (aes-gcm, key k1)" in str(caught.value)
    # Sent on as it is, it stays what it was.
    seal(payload, AesGcm(change(RING)))
    unseal(payload, AesGcm(RING))
    assert decode(payload) == {"name": MARK}


def test_an_unknown_encoding_and_a_changed_text_are_told_apart() -> None:
    payload = payload_pb2.Payload(binary=b"x", encoding="rot13")
    unseal(payload, AesGcm(RING))
    with pytest.raises(PayloadUndecodable, match="no codec named 'rot13'"):
        decode(payload)
    sealed = payload_pb2.Payload(json="1")
    seal(sealed, AesGcm(RING))
    sealed.content_type = "text/plain"
    unseal(sealed, AesGcm(RING))
    with pytest.raises(PayloadUndecodable, match="was changed after it was encrypted"):
        decode(sealed)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "a key file is JSON"),
        ("[]", "a key file is {"),
        ('{"active": "k1", "keys": {"k1": "!"}, "digest_key": ""}', "keys.k1 is not base64"),
        ('{"active": "k1", "keys": {"k1": "AAAA"}, "digest_key": "AAAA"}', "key k1 has 3 bytes; AES-256 needs 32"),
        (KeyRing.new().to_json().replace('"active": "k1"', '"active": "k2"'), "'k2' is not among the keys: k1"),
        (KeyRing.new().to_json().replace("digest_key", "digests"), "digest_key is not base64"),
        (KeyRing.new().to_json().replace('"k1": ', '"k 1": '), "letters, digits"),
    ],
)
def test_a_damaged_key_file_says_what_is_wrong_and_shows_no_key(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(text)
    with pytest.raises(InvalidRequest, match=words) as caught:
        connection_config(environment={"PERDURE_CODEC_KEYS": str(path)})
    assert str(path) in str(caught.value)
    for line in text.splitlines():
        value = line.rpartition('": "')[2].strip('",')
        assert len(value) < 40 or value not in str(caught.value)


def test_the_key_file_of_the_environment_is_used(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text(RING.to_json())
    codec = connection_config(environment={"PERDURE_CODEC_KEYS": str(path)}).codec
    assert repr(codec) == "<AesGcm active=k1 keys=k1>"
    assert connection_config(environment={}).codec is None
    with pytest.raises(InvalidRequest, match="cannot be used"):
        connection_config(environment={"PERDURE_CODEC_KEYS": str(tmp_path / "none")})


def test_a_start_in_the_outbox_is_sealed() -> None:
    codec = AesGcm(RING)
    document = start_document("note", key="k", input={"name": MARK}, codec=codec)
    again = start_document("note", key="k", input={"name": MARK}, codec=codec)
    assert MARK not in repr(document)
    assert (document["encoding"], document["digest"]) == ("aes-gcm", again["digest"])
    assert document["input_binary"] != again["input_binary"]


def test_what_the_server_would_have_to_look_into_is_refused_when_it_is_written() -> None:
    item = Definition("item")

    @item.step()
    async def work(ctx: Context[None], input: int) -> int:
        return input

    parent = Definition("parent")
    parent.map("each", item)
    parent.child("all", item, needs=["input"])
    client = Client("nowhere:1", codec=AesGcm(RING))
    with pytest.raises(DefinitionRejected) as caught:
        client.worker(parent, item)
    assert [violation.field for violation in caught.value.violations] == [
        "definition.steps[0].map.items_from",
        "definition.steps[1].child.input_from",
    ]
    assert "use a paging step" in str(caught.value)

"""The vectors that the clients of all languages share, both ways; the algorithm is written down here once more, without our codec."""

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from perdure.aes_gcm import AesGcm, KeyRing
from perdure.canonical import canonical
from perdure.codec import Kind
from perdure.errors import PayloadUndecodable
from perdure.sealing import seal, seal_input, unseal
from perdure.v1 import payload_pb2
from tools import codec_vectors

FILE = Path(__file__).parent.parent / "conformance" / "codec_vectors.json"
VECTORS: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
RING = KeyRing.from_json(json.dumps(VECTORS["key_file"]))


def raw(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def plain_payload(vector: dict[str, Any]) -> payload_pb2.Payload:
    if "binary" in vector:
        return payload_pb2.Payload(binary=raw(vector["binary"]), content_type=vector["content_type"])
    long = vector.get("repeated")
    text = json.dumps(long["text"] * long["times"]) if long else vector["json"]
    return payload_pb2.Payload(json=text, content_type=vector["content_type"])


def by_hand(vector: dict[str, Any], plain: bytes) -> bytes:
    """As the file's `about` tells it."""
    key = raw(VECTORS["key_file"]["keys"][vector["key"]])
    check = hmac.digest(key, b"perdure key check", "sha256")[:4]
    header = bytes([1, len(vector["key"])]) + vector["key"].encode() + check
    associated = b"perdure/aes-gcm" + header + vector.get("content_type", "").encode()
    found: bytes = header + raw(vector["nonce"]) + AESGCM(key).encrypt(raw(vector["nonce"]), plain, associated)
    return found


def test_the_file_is_fresh() -> None:
    assert codec_vectors.made() == FILE.read_text(encoding="utf-8")


@pytest.mark.parametrize("vector", VECTORS["values"], ids=lambda vector: str(vector["name"]))
def test_a_value_is_encoded_and_decoded_as_the_vector_says(vector: dict[str, Any]) -> None:
    payload = plain_payload(vector)
    value = payload.json.encode() if payload.WhichOneof("data") == "json" else payload.binary
    kind = Kind.JSON if payload.WhichOneof("data") == "json" else Kind.BINARY
    encoded = by_hand(vector, kind + value)
    told = raw(vector["encoded"]) if "encoded" in vector else None
    assert told is None or encoded == told
    assert hashlib.sha256(encoded).digest() == (raw(vector["encoded_sha256"]) if told is None else hashlib.sha256(told).digest())
    codec = AesGcm(KeyRing(vector["key"], RING.keys, RING.digest_key))
    assert codec.encode_with(raw(vector["nonce"]), kind + value, vector["content_type"]) == encoded
    sealed = payload_pb2.Payload(binary=encoded, encoding="aes-gcm", content_type=vector["content_type"])
    unseal(sealed, codec)
    assert sealed == payload
    seal_input(sealed, codec)
    assert (sealed.digest, sealed.encoding, sealed.binary == encoded) == (vector["digest"], "aes-gcm", False)
    if "canonical" in vector:
        assert canonical(payload.json).decode() == vector["canonical"]


@pytest.mark.parametrize("vector", VECTORS["failures"])
def test_a_failure_is_encoded_and_decoded_as_the_vector_says(vector: dict[str, Any]) -> None:
    assert by_hand(vector, Kind.FAILURE + raw(vector["serialized"])) == raw(vector["encoded"])
    codec = AesGcm(RING)
    failure = payload_pb2.Failure(type="asr.quota", non_retryable=True)
    failure.details.binary, failure.details.encoding = raw(vector["encoded"]), "aes-gcm"
    unseal(failure, codec)
    assert (failure.message, failure.details.json) == (vector["message"], vector["details"]["json"])
    seal(failure, codec)
    assert (failure.type, failure.message, failure.non_retryable, failure.details.encoding) == ("asr.quota", "", True, "aes-gcm")


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda vector: str(vector["name"]))
def test_what_does_not_decode_says_why(vector: dict[str, Any]) -> None:
    with pytest.raises(PayloadUndecodable) as caught:
        AesGcm(RING).decode(raw(vector["encoded"]), vector["content_type"])
    assert caught.value.cause == vector["cause"]

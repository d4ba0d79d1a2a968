"""Codecs: what makes values unreadable to everything between two programs that hold the keys.

A codec sees bytes. What it is given begins with one byte that says what they are (`Kind`); what it gives back travels as
`Payload.binary`, under its name as `Payload.encoding`. docs/how-to/encrypt-payloads.md tells what is encoded and what is not.
"""

from enum import Enum
from typing import Final, Protocol, runtime_checkable

from perdure.errors import PayloadUndecodable
from perdure.v1 import payload_pb2

AES_GCM: Final = "aes-gcm"
"""The name of perdure.aes_gcm.AesGcm."""
UNDECODED: Final = "perdure-undecoded"
"""Metadata that this library puts beside a value which it could not decode, for who asks for that value; it never travels."""

FAILURE_PREFIX: Final = "perdure.codec."
"""Begins the failure types of attempts whose values could not be decoded; their messages hold nothing of a value and stay readable."""

_HEADER_VERSION: Final = 1


class Kind(bytes, Enum):
    """First byte of what a codec encodes: what the rest is."""

    JSON = b"j"
    """JSON text in UTF-8."""
    BINARY = b"b"
    """The bytes themselves."""
    FAILURE = b"f"
    """A serialized Failure that has only its message and its details."""


@runtime_checkable
class Codec(Protocol):
    """Encodes values before they leave, and decodes them where they are used. All methods may be called from any thread."""

    @property
    def name(self) -> str:
        """Travels as `Payload.encoding`; the same in all languages."""
        raise NotImplementedError

    def encode(self, plain: bytes, content_type: str) -> bytes:
        """The encoded form. `content_type` travels readable beside it and should be bound to it."""
        raise NotImplementedError

    def decode(self, encoded: bytes, content_type: str) -> bytes:
        """What `encode` was given. Raises PayloadUndecodable."""
        raise NotImplementedError

    def digest(self, plain: bytes) -> str:
        """A keyed hash: equal for equal values, tells nothing without the key. At most 128 characters."""
        raise NotImplementedError


def key_id_of(encoded: bytes) -> str:
    """The id of the key that encoded an `aes-gcm` value, without any key; empty if this is none."""
    if len(encoded) < 2 or encoded[0] != _HEADER_VERSION:
        return ""
    found = encoded[2 : 2 + encoded[1]]
    return found.decode("ascii") if len(found) == encoded[1] and found.isascii() else ""


def told(payload: payload_pb2.Payload) -> str:
    """An encoded value in a few words, such as `encrypted (aes-gcm, key k1)`."""
    if payload.encoding != AES_GCM:
        return f"encoded ({payload.encoding})"
    return f"encrypted ({AES_GCM}, key {key_id_of(payload.binary) or 'unknown'})"


def undecodable(payload: payload_pb2.Payload) -> PayloadUndecodable:
    """The error of asking for a value that is still encoded."""
    cause, _, text = payload.metadata.get(UNDECODED, b"").decode(errors="replace").partition(":")
    if not text:
        cause, text = "encoding_unknown", f"this program has no codec named {payload.encoding!r}"
    return PayloadUndecodable(f"the value is {told(payload)}: {text}", cause)


def failure_text(failure: payload_pb2.Failure) -> str:
    """The message of a failure; where it is encoded, what it is encoded with."""
    if not failure.message and failure.details.encoding:
        return told(failure.details)
    return failure.message

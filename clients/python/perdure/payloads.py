"""Values as they travel: typed Python values to payloads and back.

JSON by msgspec: dataclasses, typed dicts, named tuples, enums, dates and so on, decoded by annotation; integers stay exact.
`bytes` travel as they are. None is "no value". NaN and infinite numbers are refused here, where the value is at hand.
"""

import functools
import math
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import msgspec

from perdure.codec import told, undecodable
from perdure.errors import PayloadRejected
from perdure.map_result import MapResult, parse_map_result
from perdure.reasons import ErrorReason
from perdure.v1 import payload_pb2

T = TypeVar("T")

NO_VALUE: typing.Final = payload_pb2.Payload()
"""A payload without data: clears a checkpoint."""


@dataclass(frozen=True, slots=True)
class Payload:
    """A value as it travels; annotate an input with it, or return it, to do without any conversion."""

    json: str | None = None
    """JSON text, as it was written."""
    binary: bytes | None = None
    """Bytes, where `json` is None."""
    content_type: str = ""
    """Media type; empty: JSON for `json`, unknown for `binary`."""
    encoding: str = ""
    """Name of the codec that made `binary`; empty: plain."""
    digest: str = ""
    """Keyed hash of the plain value; what "the same input" means for an encoded value."""
    metadata: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """Free facts for the codec."""

    def to_message(self) -> payload_pb2.Payload:
        """The wire's form."""
        message = payload_pb2.Payload(
            content_type=self.content_type, encoding=self.encoding, digest=self.digest, metadata=dict(self.metadata)
        )
        if self.json is not None:
            message.json = self.json
        elif self.binary is not None:
            message.binary = self.binary
        return message


def encode(value: object) -> payload_pb2.Payload | None:
    """The payload of a value; None for None. Raises PayloadRejected."""
    if value is None:
        return None
    if isinstance(value, bytes | bytearray | memoryview):
        return payload_pb2.Payload(binary=bytes(cast("bytes", value)))
    if isinstance(value, Payload):
        return value.to_message()
    return payload_pb2.Payload(json=to_json(value))


def to_json(value: object) -> str:
    """JSON text of a value. Raises PayloadRejected with the place of what cannot travel."""
    try:
        encoded = msgspec.json.encode(value)
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise _rejected(f"{type(value).__name__} cannot travel as JSON: {error}") from error
    if b"null" in encoded:  # msgspec writes NaN as null
        _refuse_non_finite(value)
    return encoded.decode()


def decode(payload: payload_pb2.Payload | None, as_type: Any = Any) -> Any:
    """The value of a payload (None: no value) as `as_type`.

    Raises:
        PayloadRejected: It is of another type, or is a ref.
        PayloadUndecodable: It is encoded, and could not be decoded; perdure.Payload as its type takes it as it is.
    """
    members = _members(as_type)
    if Payload in members:
        return None if payload is None and type(None) in members else _to_raw(payload or NO_VALUE)
    kind = None if payload is None else payload.WhichOneof("data")
    if payload is None or kind is None:
        return _check_absent(as_type)
    if kind == "ref":
        raise _rejected("the value is stored apart: fetch it first")
    if payload.encoding:
        raise undecodable(payload)
    if kind == "binary":
        return _check_binary(payload.binary, as_type)
    try:
        return parse_map_result(payload.json) if as_type is MapResult else decoder(as_type).decode(payload.json)
    except (ValueError, msgspec.MsgspecError) as error:
        raise _rejected(f"not a {_name(as_type)}: {error}") from error


@functools.lru_cache(maxsize=1024)
def decoder(as_type: Any) -> msgspec.json.Decoder[Any]:
    """The JSON decoder for a type. Raises TypeError for types that no JSON can be decoded to."""
    return msgspec.json.Decoder(as_type)


def inline(payload: payload_pb2.Payload | None) -> object:
    """A value for people and JSON output: decoded JSON, bytes as their size, refs and encoded values as their names."""
    kind = None if payload is None else payload.WhichOneof("data")
    if payload is None or kind is None:
        return None
    if kind == "ref":
        return f"<{payload.ref.size_bytes} bytes, stored apart>"
    if kind == "binary":
        return f"<{told(payload)}>" if payload.encoding else f"<{len(payload.binary)} bytes>"
    return decode(payload)


def size(payload: payload_pb2.Payload | None) -> int:
    """Bytes of the value, about."""
    if payload is None:
        return 0
    return len(payload.binary) if payload.WhichOneof("data") == "binary" else len(payload.json)


def _to_raw(message: payload_pb2.Payload) -> Payload:
    kind = message.WhichOneof("data")
    return Payload(
        message.json if kind == "json" else None,
        message.binary if kind == "binary" else None,
        message.content_type,
        message.encoding,
        message.digest,
        dict(message.metadata),
    )


def _members(as_type: Any) -> tuple[Any, ...]:
    if typing.get_origin(as_type) in {typing.Union, types.UnionType}:
        return typing.get_args(as_type)
    return (as_type,)


def _check_absent(as_type: Any) -> None:
    if not {Any, object, None, type(None)} & set(_members(as_type)):
        raise _rejected(f"there is no value, and {_name(as_type)} does not allow None")


def _check_binary(value: bytes, as_type: Any) -> bytes:
    if not {Any, object, bytes} & set(_members(as_type)):
        raise _rejected(f"not a {_name(as_type)}: the value is binary ({len(value)} bytes)")
    return value


def _refuse_non_finite(value: object) -> None:
    for path in _non_finite(msgspec.to_builtins(value), ""):
        raise _rejected(f"NaN and infinite numbers cannot travel as JSON: at `{path or 'value'}`")


def _non_finite(value: object, path: str) -> Iterator[str]:
    if isinstance(value, float) and not math.isfinite(value):
        yield path
    elif isinstance(value, dict):
        for key, item in cast("dict[object, object]", value).items():
            yield from _non_finite(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple | set | frozenset):
        for index, item in enumerate(cast("Iterable[object]", value)):
            yield from _non_finite(item, f"{path}[{index}]")


def _rejected(text: str) -> PayloadRejected:
    return PayloadRejected(text, reason=ErrorReason.PAYLOAD_INVALID)


def _name(as_type: Any) -> str:
    return getattr(as_type, "__name__", None) or str(as_type)

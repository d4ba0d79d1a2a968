"""As much of BSON and OP_MSG as a probe needs: the drivers belong to the store alone, which starts after this."""

import asyncio
import struct
from typing import Any

from perdure_server.embedded.limits import PROBE_BYTES, PROBE_SECONDS

Value = bool | int | str | dict[str, Any] | list[Any]

_HEADER = struct.Struct("<iiii")
_MESSAGE = 2013
_BODY = struct.pack("<ib", 0, 0)  # no flags; one section, of kind 0
_BODY_START = _HEADER.size + len(_BODY)

_STRING, _DOCUMENT, _ARRAY, _BINARY, _BOOLEAN, _REGEX, _INT64 = 0x02, 0x03, 0x04, 0x05, 0x08, 0x0B, 0x12
_FIXED = {0x01: struct.Struct("<d"), _BOOLEAN: struct.Struct("<?"), 0x10: struct.Struct("<i"), _INT64: struct.Struct("<q")}
# Bytes of the types that no probe reads: undefined, ObjectId, date, null, timestamp, decimal, and the two ends of the key order.
_SKIPPED = {0x06: 0, 0x07: 12, 0x09: 8, 0x0A: 0, 0x11: 8, 0x13: 16, 0x7F: 0, 0xFF: 0}
_CODE_AND_SYMBOL = {0x0D, 0x0E}


class WireError(Exception):
    """The answer is not one that a MongoDB gives."""


def encode(document: dict[str, Any]) -> bytes:
    """BSON of booleans, integers, strings, documents and lists."""
    body = b"".join(_element(name, value) for name, value in document.items())
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def _element(name: str, value: Value) -> bytes:
    key = name.encode() + b"\0"
    match value:
        case bool():
            return bytes([_BOOLEAN]) + key + bytes([value])
        case int():
            return bytes([_INT64]) + key + struct.pack("<q", value)
        case str():
            text = value.encode() + b"\0"
            return bytes([_STRING]) + key + struct.pack("<i", len(text)) + text
        case dict():
            return bytes([_DOCUMENT]) + key + encode(value)
        case list():
            return bytes([_ARRAY]) + key + encode({str(place): item for place, item in enumerate(value)})


def decode(data: bytes) -> dict[str, Any]:
    """What BSON holds; values of types that no probe reads are None. Raises WireError."""
    try:
        return _document(data, 0)[0]
    except (struct.error, ValueError, IndexError) as error:
        raise WireError("not a BSON document") from error


def _document(data: bytes, start: int) -> tuple[dict[str, Any], int]:
    end = start + struct.unpack_from("<i", data, start)[0]
    place = start + 4
    fields: dict[str, Any] = {}
    while data[place] != 0:
        kind = data[place]
        name_end = data.index(b"\0", place + 1)
        name = data[place + 1 : name_end].decode()
        fields[name], place = _value(kind, data, name_end + 1)
    return fields, end


def _value(kind: int, data: bytes, place: int) -> tuple[Any, int]:
    if kind in _FIXED:
        return _FIXED[kind].unpack_from(data, place)[0], place + _FIXED[kind].size
    if kind in _SKIPPED:
        return None, place + _SKIPPED[kind]
    if kind == _REGEX:  # two C strings
        return None, data.index(b"\0", data.index(b"\0", place) + 1) + 1
    if kind in {_DOCUMENT, _ARRAY}:
        fields, end = _document(data, place)
        return fields if kind == _DOCUMENT else list(fields.values()), end
    return _sized(kind, data, place)


def _sized(kind: int, data: bytes, place: int) -> tuple[Any, int]:
    size = struct.unpack_from("<i", data, place)[0]
    if kind == _STRING:
        return data[place + 4 : place + 3 + size].decode(), place + 4 + size
    if kind == _BINARY:
        return None, place + 5 + size
    if kind in _CODE_AND_SYMBOL:
        return None, place + 4 + size
    raise WireError(f"BSON type {kind:#x} is not known here")


async def command(port: int, *commands: dict[str, Any]) -> list[dict[str, Any]]:
    """Sends commands over one new connection to 127.0.0.1 and returns their replies. Raises OSError, TimeoutError or WireError."""
    async with asyncio.timeout(PROBE_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            return [await _exchange(reader, writer, one) for one in commands]
        except asyncio.IncompleteReadError as error:
            raise ConnectionResetError("closed in the middle of an answer") from error
        finally:
            writer.close()


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, one: dict[str, Any]) -> dict[str, Any]:
    body = _BODY + encode(one)
    writer.write(_HEADER.pack(_HEADER.size + len(body), 1, 0, _MESSAGE) + body)
    size, _, _, kind = _HEADER.unpack(await reader.readexactly(_HEADER.size))
    if kind != _MESSAGE or not _BODY_START < size < PROBE_BYTES:
        raise WireError("the answer is not an OP_MSG")
    return decode((await reader.readexactly(size - _HEADER.size))[len(_BODY) :])

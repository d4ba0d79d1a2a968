"""When two inputs are the same: key order, white space and escapes do not matter, numbers count as written, duplicate keys are refused."""

import hashlib
import json
from typing import NoReturn

from perdure_server.kernel import limits
from perdure_server.kernel.rejection import FieldViolation, Reason
from perdure_server.kernel.values import Payload


class _Number(str):
    """A JSON number as it was written."""


def payload_digest(field: str, payload: Payload | None) -> bytes:
    """16 bytes that are equal exactly when two payloads count as the same input. Raises FieldViolation for what is no JSON."""
    digest = hashlib.sha256()
    if payload is None:
        return digest.digest()[:16]
    if payload.digest:
        digest.update(b"digest:" + payload.digest.encode())
    elif payload.json is not None and not payload.encoding:
        digest.update(b"json:" + _canonical(_parse(field, payload.json)).encode("utf-8", "surrogatepass"))
    else:
        content = payload.binary if payload.binary is not None else (payload.json or "").encode("utf-8", "surrogatepass")
        digest.update(b"bytes:" + payload.content_type.encode() + b"\0" + payload.encoding.encode() + b"\0" + content)
    return digest.digest()[:16]


def check_json(field: str, text: str) -> None:
    """Raise FieldViolation unless `text` is strict JSON (no NaN, no duplicate keys, no lone surrogates) of at most limits.JSON_DEPTH levels."""
    _parse(field, text)


def _parse(field: str, text: str) -> object:
    def refuse_constant(name: str) -> NoReturn:
        raise FieldViolation([(field, f"is not JSON: {name} is no JSON number")], Reason.PAYLOAD_INVALID)

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(items)
        if len(found) != len(items):
            raise FieldViolation([(field, "has a duplicate key in a JSON object")], Reason.PAYLOAD_INVALID)
        return found

    _check_depth(field, text)
    try:
        value = json.loads(text, parse_float=_Number, parse_int=_Number, parse_constant=refuse_constant, object_pairs_hook=pairs)
        if "\\u" in text:
            _canonical(value).encode()  # a lone surrogate has no UTF-8 form
        return value
    except FieldViolation:
        raise
    except (ValueError, RecursionError) as error:
        raise FieldViolation([(field, f"is not JSON: {error.args[0] if error.args else 'unreadable'}")], Reason.PAYLOAD_INVALID) from error


def _check_depth(field: str, text: str) -> None:
    # Counts openings before parsing, so that no parser meets a depth that it cannot take (case C83).
    if text.count("[") + text.count("{") <= limits.JSON_DEPTH:
        return
    depth = 0
    inside = False
    skip = False
    for character in text:
        if skip:
            skip = False
        elif inside:
            skip = character == "\\"
            inside = character != '"'
        elif character == '"':
            inside = True
        elif character in "[{":
            depth += 1
            if depth > limits.JSON_DEPTH:
                raise FieldViolation([(field, f"nests deeper than {limits.JSON_DEPTH} levels")], Reason.PAYLOAD_INVALID)
        elif character in "]}":
            depth -= 1


def _canonical(value: object) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{_canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_canonical(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)

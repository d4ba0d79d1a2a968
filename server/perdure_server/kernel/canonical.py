"""When two inputs are the same: key order, white space and escapes do not matter, numbers count as written, duplicate keys are refused."""

import hashlib
import json
import re
from typing import Final, NoReturn

from perdure_server.kernel import limits
from perdure_server.kernel.rejection import FieldViolation, Reason
from perdure_server.kernel.values import Payload

# Brackets that are not inside a string. A string that never ends is matched to the end of the text, so that the search stays linear.
_BRACKETS: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|([\[\]{}])', re.DOTALL)

# A number becomes a string that no JSON string can be, as halves of surrogate pairs are refused: so the C encoder writes the canonical
# form, in which a number is as it was written.
_number: Final = "\ud800".__add__


class _Unacceptable(Exception):
    """Well-formed for Python's decoder, but not for us."""


def _refuse_constant(name: str) -> NoReturn:
    raise _Unacceptable(f"is not JSON: {name} is no JSON number")


def _pairs(items: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(items)
    if len(found) != len(items):
        raise _Unacceptable("has a duplicate key in a JSON object")
    return found


# Made once: making a decoder costs more than decoding what most payloads are.
_decode: Final = json.JSONDecoder(parse_float=_number, parse_int=_number, parse_constant=_refuse_constant, object_pairs_hook=_pairs).decode
_decode_plain: Final = json.JSONDecoder(parse_float=str, parse_int=str).decode
_encode: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


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
        for part in (payload.content_type.encode(), payload.encoding.encode()):
            digest.update(b"bytes:%d:" % len(part) + part)
        digest.update(content)
    return digest.digest()[:16]


def check_json(field: str, text: str) -> None:
    """Raise FieldViolation unless `text` is strict JSON: no NaN, duplicate keys or lone surrogates, at most limits.JSON_DEPTH levels."""
    _parse(field, text)


def _parse(field: str, text: str) -> object:
    if _is_too_deep(text):
        raise _refused(field, f"nests deeper than {limits.JSON_DEPTH} levels")
    try:
        value: object = _decode(text)
        if "\\u" in text:
            _canonical(_decode_plain(text)).encode()  # a lone surrogate has no UTF-8 form
    except _Unacceptable as error:
        raise _refused(field, str(error)) from None
    except UnicodeEncodeError:
        raise _refused(field, "is not JSON: a \\u escape is half of a surrogate pair") from None
    except (ValueError, RecursionError) as error:
        raise _refused(field, f"is not JSON: {error.args[0] if error.args else 'unreadable'}") from None
    return value


def _refused(field: str, what: str) -> FieldViolation:
    return FieldViolation([(field, what)], Reason.PAYLOAD_INVALID)


def _is_too_deep(text: str) -> bool:
    # Counts openings before parsing, so that no parser meets a depth that it cannot take (case C83).
    if text.count("[") + text.count("{") <= limits.JSON_DEPTH:
        return False
    depth = 0
    for bracket in _BRACKETS.findall(text):
        if not bracket:
            continue  # it was a string
        depth += 1 if bracket in "[{" else -1
        if depth > limits.JSON_DEPTH:
            return True
    return False


def _canonical(value: object) -> str:
    return _encode(value)

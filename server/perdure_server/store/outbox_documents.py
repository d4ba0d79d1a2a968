"""The format of an outbox's documents: BSON as any language writes it -> a start command. docs/outbox.md tells it to people."""

import hashlib
import json
import math
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

import bson
from bson import Binary, ObjectId
from bson.binary import UUID_SUBTYPE
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.datetime_ms import DatetimeMS

from perdure_server.kernel import limits
from perdure_server.kernel.outbox import DEFAULT_NAMESPACE, Fault, OutboxStart, faults_of
from perdure_server.kernel.start import OnClosed, OnOpen
from perdure_server.kernel.values import Payload
from perdure_server.ports.outbox import OutboxEntry

FORMAT: Final = 1
NOTE: Final = "perdure"
"""The one field that is ours: what became of the document."""

_OPTIONS: Final = CodecOptions[dict[str, Any]](datetime_conversion=DatetimeConversion.DATETIME_MS)
_LENIENT: Final = CodecOptions[dict[str, Any]](datetime_conversion=DatetimeConversion.DATETIME_MS, unicode_decode_error_handler="replace")

FIELDS: Final[Mapping[str, str]] = {
    "_id": "any",
    "format": "int",
    "namespace": "string",
    "workflow_type": "string",
    "business_key": "string",
    "input": "any",
    "input_json": "string",
    "input_binary": "binary",
    "content_type": "string",
    "encoding": "string",
    "digest": "string",
    "labels": "strings",
    "priority": "int",
    "queue": "string",
    "fairness_key": "string",
    "fairness_weight": "number",
    "start_at": "date",
    "workflow_timeout_ms": "int",
    "retention_ms": "int",
    "on_open": "string",
    "on_closed": "string",
    "definition_fingerprint": "string",
    "extra": "any",
    NOTE: "any",
}
"""Every field of a document, with the kind of its value. `extra` is the writer's own; others are refused, since they are misspelt."""


def read_entry(raw: bytes) -> OutboxEntry:
    """The entry in a document. Never fails: what is wrong with it is in its faults."""
    document, faults = _decoded(raw)
    identity = document.get("_id")
    handle = bson.encode({"_id": identity})
    note = document.get(NOTE)
    tries = note.get("tries", 0) if isinstance(note, dict) else 0
    start = None
    if not faults:
        start = _start(document, faults)
    if start is not None and not faults:
        faults += faults_of(start)
    return OutboxEntry(handle, request_id_of(identity), None if faults else start, tuple(faults), tries if isinstance(tries, int) else 0)


def request_id_of(identity: object) -> str:
    """The `_id` as text: hex of an ObjectId, a UUID as usual, a number in digits, a text as it is; a digest where that does not serve."""
    text = ""
    if isinstance(identity, ObjectId):
        text = str(identity)
    elif isinstance(identity, Binary) and identity.subtype == UUID_SUBTYPE:
        text = str(uuid.UUID(bytes=bytes(identity)))
    elif isinstance(identity, str) or (isinstance(identity, int) and not isinstance(identity, bool)):
        text = str(identity)
    if 0 < len(text.encode("utf-8", "surrogatepass")) <= limits.ID_LENGTH:
        return text
    return f"sha256-{hashlib.sha256(bson.encode({'_id': identity})).hexdigest()}"


def _decoded(raw: bytes) -> tuple[dict[str, Any], list[Fault]]:
    try:
        return bson.decode(raw, _OPTIONS), []
    except (bson.errors.BSONError, ValueError) as error:
        return decode_anyhow(raw), [("", f"is no valid BSON: {error}")]


def decode_anyhow(raw: bytes) -> dict[str, Any]:
    """The document, with marks in the place of bytes that are no UTF-8; dates are whole milliseconds."""
    document: dict[str, Any] = bson.decode(raw, _LENIENT)
    return document


def _start(document: dict[str, Any], faults: list[Fault]) -> OutboxStart | None:
    for name, value in document.items():
        kind = FIELDS.get(name)
        if kind is None:
            faults.append((name[: limits.NAME_LENGTH], "is no field of this format"))
        elif not _KINDS[kind](value):
            faults.append((name, f"must be of the type {kind}"))
    faults += [(name, "is required") for name in ("workflow_type", "business_key") if name not in document]
    if document.get("format", FORMAT) != FORMAT:
        faults.append(("format", f"must be {FORMAT}: this server knows no other"))
    if faults:
        return None
    number = {name: int(document[name]) if name in document else None for name in ("priority", "workflow_timeout_ms", "retention_ms")}
    return OutboxStart(
        workflow_type=document["workflow_type"],
        business_key=document["business_key"],
        namespace=document.get("namespace") or DEFAULT_NAMESPACE,
        input=_input(document, faults),
        labels=document.get("labels", {}),
        priority=number["priority"],
        queue=document.get("queue", ""),
        fairness_key=document.get("fairness_key", ""),
        fairness_weight=float(document.get("fairness_weight", 1.0)),
        start_at=int(document["start_at"]) if "start_at" in document else None,
        workflow_timeout=number["workflow_timeout_ms"],
        retention=number["retention_ms"],
        on_open=_policy(document, "on_open", OnOpen, OnOpen.USE_EXISTING, faults),
        on_closed=_policy(document, "on_closed", OnClosed, OnClosed.USE_EXISTING, faults),
        definition_fingerprint=document.get("definition_fingerprint", ""),
    )


def _policy(document: dict[str, Any], field: str, kind: Any, default: Any, faults: list[Fault]) -> Any:
    name = document.get(field, default.name)
    if name not in kind.__members__:
        faults.append((field, "must be one of " + ", ".join(kind.__members__)))
        return default
    return kind[name]


def _input(document: dict[str, Any], faults: list[Fault]) -> Payload | None:
    given = [name for name in ("input", "input_json", "input_binary") if name in document]
    if len(given) > 1:
        faults.append((given[1], f"cannot stand beside {given[0]}"))
    if len(given) != 1:
        return None
    name = given[0]
    attributes = {key: document.get(key, "") for key in ("content_type", "encoding", "digest")}
    if name == "input_binary":
        return Payload(binary=bytes(document[name]), **attributes)
    if name == "input_json":
        return Payload(json=document[name], **attributes)
    _check(document[name], "input", faults)
    if faults:
        return None
    return Payload(json=json.dumps(document[name], ensure_ascii=False, allow_nan=False, separators=(",", ":")), **attributes)


def _check(value: object, path: str, faults: list[Fault]) -> None:
    """Note each value that JSON does not have."""
    if isinstance(value, dict):
        for name, inner in value.items():
            _check(inner, f"{path}.{name}", faults)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _check(inner, f"{path}.{index}", faults)
    elif not (value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))):
        kind = "a Date" if isinstance(value, DatetimeMS) else f"a {type(value).__name__}"
        faults.append((path[: limits.ID_LENGTH], f"is {kind}, which JSON does not have: write it as a text, or give input_json"))


def _is_whole(value: object) -> bool:
    # mongosh writes plain numbers as doubles.
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())


_KINDS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "any": lambda _: True,
    "int": _is_whole,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "binary": lambda value: isinstance(value, bytes),
    "date": lambda value: isinstance(value, DatetimeMS),
    "strings": lambda value: isinstance(value, dict) and all(isinstance(inner, str) for inner in value.values()),
}

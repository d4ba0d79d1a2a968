"""BSON <-> kernel: the only mapping between stored documents and the values of the kernel.

A stored instance is readable in mongosh: field names are those of the Struct, enums are names, JSON payloads are strings, fields that
have their default are absent. Five things differ, each for a reason:

- `key` is laid out as `namespace`, `workflow_type`, `business_key`, since an index begins with the first two;
- `labels` is an array of "key=value" strings, since one multikey index then serves every label;
- `state` of an archived round is "ARCHIVED_" and its state, "INERT_" as long as it is not activated, and "REMOVED_" of a tombstone, so that
  the index which begins with namespace, type and state answers lists and counts of current rounds by itself;
- `events` is one packed Binary: it is rewritten by nearly every change and asked for by no query;
- ended steps of a workflow of more than `PLAIN_STEPS` steps are packed in chunks (`packed_steps`), as a thousand sub-documents make every
  write of the store slow. BLOCKED steps are in neither.

`write_id` and `quarantined` belong to the store and are no part of the instance. The order of `steps` is not kept.
"""

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, Final

import bson
import msgspec
from msgspec import NODEFAULT, msgpack
from msgspec.structs import astuple, fields

from perdure_server.kernel.workflow import Duty, DutyKind, Event, Workflow, WorkflowKey, WorkflowState, round_id
from perdure_server.ports.store import WorkflowQuery
from perdure_server.store.driver import encoded
from perdure_server.store.step_documents import (
    AS_IS,
    encode_failure,
    encode_inbox,
    encode_payload,
    encode_steps,
    plain,
    read_failure,
    read_inbox,
    read_payload,
    read_steps,
)
from perdure_server.store.step_layout import Update, change_steps, chunk_count, lay_out_again, pack_all, unpack

Document = dict[str, Any]

WRITE_ID: Final = "write_id"
QUARANTINED: Final = "quarantined"
FORMAT: Final = 1  # of the documents below; raised when an older server could not read them
_ARCHIVED, _INERT, _REMOVED = "ARCHIVED_", "INERT_", "REMOVED_"

_packed_events: Final = msgpack.Decoder(tuple[Event, ...])


def encode(workflow: Workflow) -> Document:
    """The whole document of a new instance, `_id` first."""
    document: Document = {"_id": workflow.workflow_id}
    for field, value in zip(_FIELDS, astuple(workflow), strict=True):
        if not field.is_default(value):
            field.write(document, value)
    document["state"] = _state_of(workflow)
    if chunk_count(workflow):
        pack_all(workflow, document)
    return document


def size_of(workflow: Workflow) -> int:
    """Bytes of the document."""
    return len(encoded(encode(workflow)).raw)


def encode_change(old: Workflow, new: Workflow) -> Update:
    """What turns the document of `old` into that of `new`. Fields are compared by identity, steps one by one."""
    update = Update({}, {})
    for field, before, after in zip(_FIELDS, astuple(old), astuple(new), strict=True):
        if before is after:
            continue
        if field.name == "steps":
            change_steps(old, new, update)
        elif not field.is_default(after):
            field.write(update.set, after)
        elif not field.is_default(before):
            update.unset[field.name] = ""
    if (state := _state_of(new)) != _state_of(old):
        update.set["state"] = state
    if chunk_count(old) != chunk_count(new):
        lay_out_again(new, update)
    return update


def decode(document: Document) -> Workflow:
    """The instance in a stored document. Takes the document over: it is changed in the course.

    Raises ValueError (as msgspec.ValidationError is), KeyError or TypeError when it does not decode, or when its `_id` is not its key's.
    """
    workflow_id = document.pop("_id")
    key = WorkflowKey(document.pop("namespace"), document.pop("workflow_type"), document.pop("business_key"))
    expected = round_id(key.workflow_id, document["round"]) if document.get("archived") else key.workflow_id
    if expected != workflow_id:
        raise ValueError("the identity in the document is not that of its _id")
    document["key"] = {"namespace": key.namespace, "workflow_type": key.workflow_type, "business_key": key.business_key}
    packed = document.pop("packed_steps", None)
    for name, convert in _FROM_STORED.items():
        if name in document:
            document[name] = convert(document[name])
    document.setdefault("steps", {})
    events = document.pop("events", None)
    workflow = msgspec.convert(document, Workflow, builtin_types=AS_IS)
    if events is not None:
        workflow = msgspec.structs.replace(workflow, events=_packed_events.decode(events))
    if packed is None:
        return workflow
    return msgspec.structs.replace(workflow, steps={**unpack(packed), **workflow.steps})


def from_bson(raw: bytes) -> Document:
    """The document in these bytes, as the driver decodes it. Raises bson.errors.BSONError."""
    document: Document = bson.decode(raw)
    return document


def label(key: str, value: str) -> str:
    """One label as it is stored and asked for; `=` and `%` in the key are escaped so that the first `=` divides."""
    if "=" in key or "%" in key:
        key = key.replace("%", "%25").replace("=", "%3D")
    return f"{key}={value}"


def state_names(query: WorkflowQuery) -> list[str]:
    """The stored states that a query asks for."""
    asked = [state.name for state in query.states or WorkflowState]
    archived = [_ARCHIVED + name for name in asked] if query.include_archived else []
    return [*asked, *archived, *(_INERT + name for name in asked if query.include_inert)]


def _state_of(workflow: Workflow) -> str:
    name = workflow.state.name
    if workflow.tombstone is not None:
        return _REMOVED + name
    if workflow.archived:
        return (_INERT if workflow.inert else _ARCHIVED) + name
    return name


def _read_state(stored: str) -> WorkflowState:
    for prefix in (_ARCHIVED, _INERT, _REMOVED):
        if stored.startswith(prefix):
            return WorkflowState[stored[len(prefix) :]]
    return WorkflowState[stored]


def _name(value: IntEnum) -> str:
    return value.name


def _encode_labels(labels: dict[str, str]) -> list[str]:
    return [label(key, value) for key, value in labels.items()]


def _read_labels(labels: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in labels:
        key, _, value = text.partition("=")
        found[key.replace("%3D", "=").replace("%25", "%") if "%" in key else key] = value
    return found


def _encode_duties(duties: tuple[Duty, ...]) -> list[Document]:
    return [plain(duty) | {"kind": duty.kind.name} for duty in duties]


def _read_duties(duties: list[Document]) -> list[Document]:
    return [duty | {"kind": DutyKind[duty["kind"]]} for duty in duties]


_FROM_STORED: Final[Mapping[str, Callable[[Any], Any]]] = {
    "state": _read_state,
    "steps": read_steps,
    "input": read_payload,
    "output": read_payload,
    "failure": read_failure,
    "inbox": read_inbox,
    "labels": _read_labels,
    "duties": _read_duties,
}


# ------------------------------------------------------------------------------------------------------ the fields, one by one

_TO_STORED: Final[Mapping[str, Callable[[Any], Any]]] = {
    "state": _name,
    "steps": encode_steps,
    "trace": plain,
    "input": encode_payload,
    "output": encode_payload,
    "failure": encode_failure,
    "inbox": encode_inbox,
    "events": msgpack.encode,
    "labels": _encode_labels,
    "paused": plain,
    "parent": plain,
    "step_options": plain,
    "past_requests": plain,
    "tombstone": plain,
    "duties": _encode_duties,
}


_NUMBERS: Final = frozenset({int, float})


class _Field:
    """How one field of Workflow is stored, and which value means absent."""

    __slots__ = ("convert", "default", "empty", "name")

    def __init__(self, name: str, default: object) -> None:
        self.name = name
        self.default = default
        # Tuples and dicts with an empty default are tested by their truth, which costs less than a comparison.
        self.empty = default is not NODEFAULT and default is not None and not isinstance(default, int) and not default
        self.convert = _TO_STORED.get(name)

    def is_default(self, value: object) -> bool:
        if self.empty:
            return not value
        return value is self.default or (type(value) in _NUMBERS and value == self.default)

    def write(self, document: Document, value: Any) -> None:
        if self.name == "key":
            document.update(namespace=value.namespace, workflow_type=value.workflow_type, business_key=value.business_key)
        else:
            document[self.name] = value if self.convert is None else self.convert(value)


def _default_of(field: msgspec.structs.FieldInfo) -> object:
    return field.default if field.default_factory is NODEFAULT else field.default_factory()


_FIELDS: Final = tuple(_Field(field.name, _default_of(field)) for field in fields(Workflow))

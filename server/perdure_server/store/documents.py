"""BSON <-> kernel: the only mapping between stored documents and the values of the kernel.

A stored instance is readable in mongosh: field names are those of the Struct, enums are names, JSON payloads are strings, fields that
have their default are absent. Four things differ, each for a reason:

- `key` is laid out as `namespace`, `workflow_type`, `business_key`, since an index begins with the first two;
- `labels` is an array of "key=value" strings, since one multikey index then serves every label;
- `events` is one packed Binary: it is rewritten by nearly every change and asked for by no query;
- ended steps of a workflow of more than `PLAIN_STEPS` steps are packed in chunks (`packed_steps`), as a thousand sub-documents make every
  write of the store slow. BLOCKED steps are in neither.

`write_id` and `quarantined` belong to the store and are no part of the instance. The order of `steps` is not kept.
"""

from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import lru_cache
from typing import Any, Final
from zlib import crc32

import msgspec
from msgspec import NODEFAULT, Struct, msgpack, to_builtins
from msgspec.structs import astuple, fields

from perdure_server.kernel import limits
from perdure_server.kernel.values import Failure, LossCause, Payload
from perdure_server.kernel.workflow import STEP_ENDS, Event, Signal, Step, StepState, Workflow, WorkflowKey, WorkflowState

Document = dict[str, Any]

WRITE_ID: Final = "write_id"
QUARANTINED: Final = "quarantined"
FORMAT: Final = 1  # of the documents below; raised when an older server could not read them

STEPS_PER_CHUNK: Final = limits.PLAIN_STEPS

_AS_IS: Final = (bytes,)
_packed_events: Final = msgpack.Decoder(tuple[Event, ...])
_packed_steps: Final = msgpack.Decoder(dict[str, Step])


class Update(Struct):
    """What one conditional write changes: the operands of `$set` and `$unset`, by dotted path."""

    set: Document
    unset: Document

    def operators(self) -> Document:
        """The update document; an empty operator is refused by servers before MongoDB 5, so it is left out."""
        found: Document = {}
        if self.set:
            found["$set"] = self.set
        if self.unset:
            found["$unset"] = self.unset
        return found


def encode(workflow: Workflow) -> Document:
    """The whole document of a new instance, `_id` first."""
    document: Document = {"_id": workflow.workflow_id}
    for field, value in zip(_FIELDS, astuple(workflow), strict=True):
        if not field.is_default(value):
            field.write(document, value)
    if _chunks(workflow):
        _pack_all(workflow, document)
    return document


def encode_change(old: Workflow, new: Workflow) -> Update:
    """What turns the document of `old` into that of `new`. Fields are compared by identity, steps one by one."""
    update = Update({}, {})
    for field, before, after in zip(_FIELDS, astuple(old), astuple(new), strict=True):
        if before is after:
            continue
        if field.name == "steps":
            _change_steps(old, new, update)
        elif not field.is_default(after):
            field.write(update.set, after)
        elif not field.is_default(before):
            update.unset[field.name] = ""
    if _chunks(old) != _chunks(new):
        _lay_out_again(new, update)
    return update


def decode(document: Document) -> Workflow:
    """The instance in a stored document. Takes the document over: it is changed in the course.

    Raises ValueError (as msgspec.ValidationError is), KeyError or TypeError when it does not decode, or when its `_id` is not its key's.
    """
    workflow_id = document.pop("_id")
    key = WorkflowKey(document.pop("namespace"), document.pop("workflow_type"), document.pop("business_key"))
    if key.workflow_id != workflow_id:
        raise ValueError("the identity in the document is not that of its _id")
    document["key"] = {"namespace": key.namespace, "workflow_type": key.workflow_type, "business_key": key.business_key}
    packed = document.pop("packed_steps", None)
    for name, convert in _FROM_STORED.items():
        if name in document:
            document[name] = convert(document[name])
    document.setdefault("steps", {})
    events = document.pop("events", None)
    workflow = msgspec.convert(document, Workflow, builtin_types=_AS_IS)
    if events is not None:
        workflow = msgspec.structs.replace(workflow, events=_packed_events.decode(events))
    if packed is None:
        return workflow
    steps = dict(workflow.steps)
    for chunk in packed.values():
        steps.update(_packed_steps.decode(chunk))
    return msgspec.structs.replace(workflow, steps=steps)


def label(key: str, value: str) -> str:
    """One label as it is stored and asked for; `=` and `%` in the key are escaped so that the first `=` divides."""
    if "=" in key or "%" in key:
        key = key.replace("%", "%25").replace("=", "%3D")
    return f"{key}={value}"


# ----------------------------------------------------------------------------------------------------------- values -> BSON


def _name(value: IntEnum) -> str:
    return value.name


def _plain(value: object) -> Any:
    return to_builtins(value, builtin_types=_AS_IS)


def _payload_fields(document: Document) -> None:
    # Keys of metadata are the caller's: as field names they could hold dots, dollars and zero bytes.
    metadata = document.get("metadata")
    if metadata:
        document["metadata"] = [[key, value] for key, value in metadata.items()]


def _encode_payload(payload: Payload) -> Document:
    document: Document = _plain(payload)
    _payload_fields(document)
    return document


def _failure_fields(document: Document) -> None:
    if "details" in document:
        _payload_fields(document["details"])


def _encode_failure(failure: Failure) -> Document:
    document: Document = _plain(failure)
    _failure_fields(document)
    return document


def encode_step(step: Step) -> Document:
    """A step as a sub-document."""
    document: Document = _plain(step)
    document["state"] = step.state.name
    for name in ("output", "checkpoint"):
        if name in document:
            _payload_fields(document[name])
    if "failure" in document:
        _failure_fields(document["failure"])
    for error in document.get("errors", ()):
        _failure_fields(error["failure"])
    for wake in document.get("wakes", ()):
        if "payload" in wake:
            _payload_fields(wake["payload"])
    for settled in document.get("settled", ()):
        if "cause" in settled:
            settled["cause"] = LossCause(settled["cause"]).name
    return document


def _encode_steps(steps: dict[str, Step]) -> Document:
    return {name: encode_step(step) for name, step in steps.items()}


def _encode_inbox(inbox: tuple[Signal, ...]) -> list[Document]:
    documents: list[Document] = _plain(inbox)
    for document in documents:
        if "payload" in document:
            _payload_fields(document["payload"])
    return documents


def _encode_labels(labels: dict[str, str]) -> list[str]:
    return [label(key, value) for key, value in labels.items()]


# ----------------------------------------------------------------------------------------------------------- BSON -> values


def _read_payload(document: Document) -> Document:
    metadata = document.get("metadata")
    if metadata:
        document["metadata"] = dict(metadata)
    return document


def _read_failure(document: Document) -> Document:
    if "details" in document:
        _read_payload(document["details"])
    return document


def _read_steps(documents: Document) -> Document:
    for document in documents.values():
        _read_step(document)
    return documents


def _read_step(document: Document) -> None:
    document["state"] = StepState[document["state"]]
    for name in ("output", "checkpoint"):
        if name in document:
            _read_payload(document[name])
    if "failure" in document:
        _read_failure(document["failure"])
    for error in document.get("errors", ()):
        _read_failure(error["failure"])
    for wake in document.get("wakes", ()):
        if "payload" in wake:
            _read_payload(wake["payload"])
    for settled in document.get("settled", ()):
        if "cause" in settled:
            settled["cause"] = LossCause[settled["cause"]]


def _read_inbox(documents: list[Document]) -> list[Document]:
    for document in documents:
        if "payload" in document:
            _read_payload(document["payload"])
    return documents


def _read_labels(labels: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in labels:
        key, _, value = text.partition("=")
        found[key.replace("%3D", "=").replace("%25", "%") if "%" in key else key] = value
    return found


_FROM_STORED: Final[Mapping[str, Callable[[Any], Any]]] = {
    "state": WorkflowState.__getitem__,
    "steps": _read_steps,
    "input": _read_payload,
    "output": _read_payload,
    "failure": _read_failure,
    "inbox": _read_inbox,
    "labels": _read_labels,
}


# ------------------------------------------------------------------------------------------------------ the fields, one by one

_TO_STORED: Final[Mapping[str, Callable[[Any], Any]]] = {
    "state": _name,
    "steps": _encode_steps,
    "trace": _plain,
    "input": _encode_payload,
    "output": _encode_payload,
    "failure": _encode_failure,
    "inbox": _encode_inbox,
    "events": msgpack.encode,
    "labels": _encode_labels,
}


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
        return value is self.default or (type(value) is int and value == self.default)

    def write(self, document: Document, value: Any) -> None:
        if self.name == "key":
            document.update(namespace=value.namespace, workflow_type=value.workflow_type, business_key=value.business_key)
        else:
            document[self.name] = value if self.convert is None else self.convert(value)


def _default_of(field: msgspec.structs.FieldInfo) -> object:
    return field.default if field.default_factory is NODEFAULT else field.default_factory()


_FIELDS: Final = tuple(_Field(field.name, _default_of(field)) for field in fields(Workflow))


# ---------------------------------------------------------------------------------------------------------------- steps


def _chunks(workflow: Workflow) -> int:
    """How many chunks the ended steps are spread over; 0 = every step is plain."""
    return -(-workflow.step_count // STEPS_PER_CHUNK) if workflow.step_count > limits.PLAIN_STEPS else 0


@lru_cache(maxsize=65_536)
def _chunk_of(name: str, chunks: int) -> str:
    return str(crc32(name.encode()) % chunks)


def _change_steps(old: Workflow, new: Workflow, update: Update) -> None:
    chunks = _chunks(new)
    stale: set[str] = set()
    for name, step in new.steps.items():
        before = old.steps.get(name)
        if before is step:
            continue
        was_packed = bool(chunks) and before is not None and before.state in STEP_ENDS
        is_packed = bool(chunks) and step.state in STEP_ENDS
        if was_packed or is_packed:
            stale.add(_chunk_of(name, chunks))
        if not is_packed:
            update.set[f"steps.{name}"] = encode_step(step)
        elif before is not None and not was_packed:
            update.unset[f"steps.{name}"] = ""
    for name in old.steps.keys() - new.steps.keys():
        if chunks and old.steps[name].state in STEP_ENDS:
            stale.add(_chunk_of(name, chunks))
        else:
            update.unset[f"steps.{name}"] = ""
    if stale:
        _write_chunks(new, stale, update)


def _write_chunks(new: Workflow, stale: set[str], update: Update) -> None:
    members = _packed(new, stale)
    for chunk in stale:
        if chunk in members:
            update.set[f"packed_steps.{chunk}"] = msgpack.encode(members[chunk])
        else:
            update.unset[f"packed_steps.{chunk}"] = ""


def _packed(workflow: Workflow, wanted: set[str] | None) -> dict[str, dict[str, Step]]:
    chunks = _chunks(workflow)
    members: dict[str, dict[str, Step]] = {}
    for name, step in workflow.steps.items():
        if step.state in STEP_ENDS:
            chunk = _chunk_of(name, chunks)
            if wanted is None or chunk in wanted:
                members.setdefault(chunk, {})[name] = step
    return members


def _pack_all(workflow: Workflow, document: Document) -> None:
    document["steps"] = {name: encode_step(step) for name, step in workflow.steps.items() if step.state not in STEP_ENDS}
    packed = {chunk: msgpack.encode(members) for chunk, members in _packed(workflow, None).items()}
    if packed:
        document["packed_steps"] = packed


def _lay_out_again(new: Workflow, update: Update) -> None:
    """The number of steps crossed a bound of the layout: all steps are written anew."""
    for operand in (update.set, update.unset):
        for path in [path for path in operand if path.startswith(("steps.", "packed_steps."))]:
            del operand[path]
    if _chunks(new):
        _pack_all(new, update.set)
    else:
        update.set["steps"] = _encode_steps(new.steps)
    if "packed_steps" not in update.set:
        update.unset["packed_steps"] = ""

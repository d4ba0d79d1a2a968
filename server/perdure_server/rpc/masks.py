"""Update masks: what is stored, as the wire shows it, with the named fields of the request put in."""

from collections.abc import Collection
from typing import TypeVar

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message

from perdure_server.rpc.errors import CallRefused

M = TypeVar("M", bound=Message)


def merged(stored: M, given: M, mask: FieldMask, fixed: Collection[str]) -> M:
    """`given`, if the mask is empty; else `stored` with the masked fields of `given`, where what is unset there is cleared.

    A path may go into messages (`start.priority`). Raises CallRefused UPDATE_MASK_INVALID; `fixed` fields may not be named.
    """
    if not mask.paths:
        return given
    made = type(stored)()
    made.CopyFrom(stored)
    for path in mask.paths:
        names = path.split(".")
        if names[0] in fixed:
            raise _refusal(path, "may not be changed")
        _copy(made, given, names, path)
    return made


def _copy(target: Message, source: Message, names: list[str], path: str) -> None:
    name, *rest = names
    field = target.DESCRIPTOR.fields_by_name.get(name)
    if field is None or (rest and (field.message_type is None or field.is_repeated)):
        raise _refusal(path, "names no field")
    if rest:
        if not source.HasField(name) and not target.HasField(name):
            return
        _copy(getattr(target, name), getattr(source, name), rest, path)
        return
    target.ClearField(name)
    only = type(source)()
    only.CopyFrom(source)
    for other, _ in source.ListFields():
        if other.name != name:
            only.ClearField(other.name)
    target.MergeFrom(only)


def _refusal(path: str, text: str) -> CallRefused:
    return CallRefused("UPDATE_MASK_INVALID", f"update_mask: {path!r} {text}.", path=path)

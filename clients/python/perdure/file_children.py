"""Map and child steps in definition files.

notify:
map: {workflow: notice, items: subscribers, join: all}   # or any, best_effort, or a number: that many must complete
max_in_flight: 100
parent_close: cancel           # or terminate, abandon
crawl:
pages: {workflow: page, join: best_effort}               # its worker brings the items, page by page
archive:
child: {workflow: archive, input: notify}                # without `input` it gets an object of all that the step needs
"""

from collections.abc import Mapping
from typing import Any, Final

from perdure.file_reader import FieldReader
from perdure.v1 import definition_pb2
from perdure.view import enum_name

KINDS: Final = ("map", "pages", "child")
POLICY: Final = ("max_in_flight", "parent_close")
KEYS: Final = frozenset({*KINDS, *POLICY})
JOINS: Final = ("all", "any", "best_effort")
CLOSES: Final = ("cancel", "terminate", "abandon")


def read_children(reader: FieldReader, path: str, fields: Mapping[str, Any], step: definition_pb2.StepDefinition) -> None:
    """Fills in what a map, paging or child step says of its children."""
    kinds = [kind for kind in KINDS if kind in fields]
    if len(kinds) > 1:
        reader.fault(path, f"is one of: {', '.join(f'`{kind}`' for kind in kinds)}")
        return
    if kinds:
        _KIND[kinds[0]](reader, f"{path}.{kinds[0]}", fields[kinds[0]], step)
    for key in POLICY:
        if key in fields and not kinds:
            reader.fault(f"{path}.{key}", "belongs to a step with `map`, `pages` or `child`")
    most = reader.integer(f"{path}.max_in_flight", fields.get("max_in_flight"))
    if most is not None:
        step.policy.max_in_flight = most
    close = reader.text(f"{path}.parent_close", fields.get("parent_close"))
    if close and close not in CLOSES:
        reader.fault(f"{path}.parent_close", f"is one of {', '.join(CLOSES)}")
    elif close:
        step.policy.parent_close = definition_pb2.StepPolicy.ParentClosePolicy.Value(f"PARENT_CLOSE_POLICY_{close.upper()}")


def dump_children(step: definition_pb2.StepDefinition) -> dict[str, Any]:
    """The same as fields of a file; {} for other kinds."""
    kind = step.WhichOneof("kind")
    found: dict[str, Any] = {}
    if kind == "child":
        found["child"] = {"workflow": step.child.child_workflow_type} | ({"input": step.child.input_from} if step.child.input_from else {})
    elif kind == "map":
        source = {} if step.map.HasField("paged") else {"items": step.map.items_from}
        fields = {"workflow": step.map.child_workflow_type, **source, "join": _join(step.map)}
        found["pages" if step.map.HasField("paged") else "map"] = fields
    if step.policy.HasField("max_in_flight") and kind == "map":
        found["max_in_flight"] = step.policy.max_in_flight
    close = enum_name(definition_pb2.StepPolicy.ParentClosePolicy, step.policy.parent_close, "PARENT_CLOSE_POLICY_")
    return found | ({"parent_close": close.lower()} if close and kind in {"map", "child"} else {})


def _map(reader: FieldReader, path: str, value: object, step: definition_pb2.StepDefinition) -> None:
    fields = reader.mapping(path, value, frozenset({"workflow", "items", "join"}))
    step.map.items_from = reader.text(f"{path}.items", fields.get("items")) or "input"
    _common(reader, path, fields, step.map)


def _pages(reader: FieldReader, path: str, value: object, step: definition_pb2.StepDefinition) -> None:
    fields = reader.mapping(path, value, frozenset({"workflow", "join"}))
    step.map.paged.SetInParent()
    _common(reader, path, fields, step.map)


def _child(reader: FieldReader, path: str, value: object, step: definition_pb2.StepDefinition) -> None:
    fields = reader.mapping(path, value, frozenset({"workflow", "input"}))
    step.child.child_workflow_type = reader.text(f"{path}.workflow", fields.get("workflow"))
    step.child.input_from = reader.text(f"{path}.input", fields.get("input"))


_KIND: Final = {"map": _map, "pages": _pages, "child": _child}


def _common(reader: FieldReader, path: str, fields: Mapping[str, Any], target: definition_pb2.MapStep) -> None:
    target.child_workflow_type = reader.text(f"{path}.workflow", fields.get("workflow"))
    join = fields.get("join", "all")
    if isinstance(join, int) and not isinstance(join, bool):
        target.join, target.required_count = definition_pb2.MapStep.JOIN_N_OF_M, join
    elif join in JOINS:
        target.join = definition_pb2.MapStep.Join.Value(f"JOIN_{str(join).upper()}")
    else:
        reader.fault(f"{path}.join", f"is one of {', '.join(JOINS)}, or how many must complete")


def _join(message: definition_pb2.MapStep) -> str | int:
    if message.join == definition_pb2.MapStep.JOIN_N_OF_M:
        return message.required_count
    return enum_name(definition_pb2.MapStep.Join, message.join, "JOIN_").lower() or "all"

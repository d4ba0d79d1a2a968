"""Reading one YAML document field by field, gathering every fault with its place instead of stopping at the first."""

from collections.abc import Hashable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

import yaml
from google.protobuf.duration_pb2 import Duration

from perdure.durations import parse_duration
from perdure.errors import Violation


class StrictLoader(yaml.SafeLoader):
    """YAML without silent surprises: a key that is given twice is a fault, as the second would win unseen."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """The mapping. Raises ConstructorError for a repeated key."""
        seen: set[Any] = set()
        untyped: Any = self  # its library is not
        for key_node, _ in node.value:
            key = untyped.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} is given twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


class FieldReader:
    """Takes values out of a document by kind; a wrong one becomes a fault and a harmless value."""

    def __init__(self) -> None:
        self.faults: list[Violation] = []

    def fault(self, path: str, text: str) -> None:
        """Notes what is wrong, and where."""
        self.faults.append(Violation(path, text))

    def mapping(self, path: str, value: object, known: frozenset[str] | None = None) -> Mapping[str, Any]:
        """A mapping with text keys, all of them known."""
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.fault(path, f"must be a mapping, not {_kind(value)}")
            return {}
        found = cast("dict[object, Any]", value)
        for key in found:
            if not isinstance(key, str):
                self.fault(path, f"the key {key!r} must be text: quote it")
            elif known is not None and key not in known:
                self.fault(f"{path}.{key}" if path else key, f"is not known; known are {', '.join(sorted(known))}")
        return {key: item for key, item in found.items() if isinstance(key, str)}

    def items(self, path: str, value: object) -> list[Any]:
        """A list; one value alone is a list of one."""
        if value is None:
            return []
        return [*cast("Iterable[Any]", value)] if isinstance(value, list) else [value]

    def text(self, path: str, value: object) -> str:
        """Text; numbers and the like must be quoted, as YAML has changed them already."""
        if value is None:
            return ""
        if not isinstance(value, str):
            self.fault(path, f"must be text, not {_kind(value)}: quote it")
            return ""
        return value

    def names(self, path: str, value: object) -> list[str]:
        """A list of names."""
        return [self.text(f"{path}[{index}]", item) for index, item in enumerate(self.items(path, value))]

    def integer(self, path: str, value: object) -> int | None:
        """A whole number; None if it is absent or wrong."""
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            self.fault(path, f"must be a whole number, not {_kind(value)}")
            return None
        return value

    def number(self, path: str, value: object) -> float | None:
        """A number; None if it is absent or wrong."""
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            self.fault(path, f"must be a number, not {_kind(value)}")
            return None
        return value

    def flag(self, path: str, value: object) -> bool:
        """True or false; notes a fault for anything else."""
        if not isinstance(value, bool):
            self.fault(path, f"is {_kind(value)}, not true or false")
            return False
        return value

    def duration(self, path: str, value: object) -> Duration | None:
        """A duration; None if it is absent or wrong."""
        if value is None:
            return None
        if not isinstance(value, str):
            self.fault(path, f"must be a duration with a unit, such as 30s or 3d, not {_kind(value)}")
            return None
        found = Duration()
        try:
            found.FromTimedelta(parse_duration(value))
        except ValueError as error:
            self.fault(path, str(error))
            return None
        return found

    def time(self, path: str, value: object) -> datetime | None:
        """A time with its zone; None if it is absent or wrong."""
        if isinstance(value, str):
            try:
                value = datetime.fromisoformat(value)
            except ValueError:
                self.fault(path, f"must be a time such as 2030-01-01T00:00:00Z, not {value!r}")
                return None
        if value is None:
            return None
        if not isinstance(value, datetime) or value.tzinfo is None:
            self.fault(path, "must be a time with its zone, such as 2030-01-01T00:00:00Z")
            return None
        return value.astimezone(UTC)


def _kind(value: object) -> str:
    names: dict[type, str] = {dict: "a mapping", list: "a list", bool: f"the truth value {value}", type(None): "nothing"}
    return names.get(type(value)) or f"{value!r}"

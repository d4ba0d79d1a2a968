"""What a map step gives to those that come after it: how its children ended."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from perdure.failure import Failure


@dataclass(frozen=True, slots=True)
class MapError:
    """A child that failed."""

    index: int
    """Which item, from 0."""
    workflow_type: str
    business_key: str
    type: str
    message: str

    @property
    def failure(self) -> Failure:
        """Why it failed."""
        return Failure(self.type, self.message)


@dataclass(frozen=True, slots=True)
class MapResult:
    """The output of a map step; `client.run(...).children(step)` gives the children themselves."""

    total: int
    completed: int
    failed: int
    cancelled: int
    open: int
    """Started and not ended when the step was done."""
    errors: tuple[MapError, ...]
    """The first 20 children that failed, by index."""


def parse_map_result(text: str) -> MapResult:
    """The result in its canonical JSON. Raises ValueError if it is none."""
    whole = json.loads(text)
    if not isinstance(whole, dict) or "progress" not in whole:
        raise ValueError("not the result of a map step")
    found = cast("dict[str, Any]", whole)
    counts: Mapping[str, Any] = found["progress"]
    total, completed, failed, cancelled, still_open = (
        int(counts.get(f"{name}Count", 0)) for name in ("total", "completed", "failed", "cancelled", "open")
    )
    return MapResult(total, completed, failed, cancelled, still_open, tuple(_error(error) for error in found.get("errors", ())))


def _error(found: Mapping[str, Any]) -> MapError:
    ref, failure = found.get("workflow", {}), found.get("failure", {})
    return MapError(
        int(found.get("index", 0)),
        ref.get("workflowType", ""),
        ref.get("businessKey", ""),
        failure.get("type", ""),
        failure.get("message", ""),
    )

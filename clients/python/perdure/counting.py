"""How many workflows there are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from perdure.v1 import workflow_service_pb2

GroupBy: TypeAlias = Literal["state", "workflow_type", "phase"]


@dataclass(frozen=True, slots=True)
class Count:
    """How many workflows match."""

    count: int
    is_estimate: bool
    """Such as "at least"."""
    groups: Mapping[str, int]
    """Parts of it, by state, type or phase, if asked for."""


def group_value(group_by: GroupBy | None) -> Any:
    """The wire's number; None: one number only."""
    kinds = workflow_service_pb2.CountWorkflowsRequest.GroupBy
    return kinds.Value(f"GROUP_BY_{group_by.upper()}") if group_by is not None else kinds.GROUP_BY_UNSPECIFIED


def count_of(message: workflow_service_pb2.CountWorkflowsResponse) -> Count:
    """The value of a message."""
    return Count(message.count, message.estimate, {group.group: group.count for group in message.groups})

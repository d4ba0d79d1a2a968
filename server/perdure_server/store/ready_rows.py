"""What the sweep asks of workflows with READY steps: what orders them in a queue, and nothing else of the document."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from perdure_server.kernel import limits
from perdure_server.kernel.definition import StepOptions
from perdure_server.ports.store import ReadyStep

Document = dict[str, Any]

_FIELDS: Final = (
    "ready",
    "update_time",
    "namespace",
    "workflow_type",
    "fingerprint",
    "priority",
    "fairness_key",
    "fairness_weight",
    "step_options",
    "paused.since",
)


def ready_fields(queues: Sequence[str]) -> Document:
    """The projection for these queues; their steps are never packed, as only ended ones are."""
    times = {f"steps.{queue.rpartition('/')[2]}.since": 1 for queue in queues}
    return dict.fromkeys(_FIELDS, 1) | times


def ready_row(document: Document) -> ReadyStep:
    """The row in a projected, or whole, document."""
    queues = tuple(document["ready"])
    steps = document.get("steps", {})
    names = {queue.rpartition("/")[2] for queue in queues}
    return ReadyStep(
        workflow_id=document["_id"],
        queues=queues,
        since=document["update_time"],
        namespace=document["namespace"],
        workflow_type=document["workflow_type"],
        fingerprint=document["fingerprint"],
        priority=document.get("priority", limits.PRIORITY),
        fairness_key=document.get("fairness_key", ""),
        fairness_weight=document.get("fairness_weight", 1.0),
        step_options=msgspec.convert(document.get("step_options", {}), dict[str, StepOptions]),
        ready_times={name: steps[name]["since"] for name in names if name in steps and "since" in steps[name]},
        paused=document["paused"]["since"] if "paused" in document else None,
    )

"""Outlines: instances with their steps and without what steps hold, for the steps and phases of lists.

Which fields are left out is told by name, since projections have no wild cards for steps. What a store had to send all the same (packed
steps) is taken off afterwards.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from perdure_server.kernel.values import Failure
from perdure_server.kernel.workflow import Step, Workflow
from perdure_server.store import limits
from perdure_server.store.rows import NOT_IN_ROWS

_OF_STEPS: Final = frozenset({"steps", "packed_steps"})
_HEAVY: Final = ("output", "checkpoint", "errors", "settled", "failure.details", "children.page", "children.page_cursor")


def left_out(steps: Sequence[str]) -> tuple[str, ...]:
    """The paths that an outline does without. Of plans with very many steps only the unfinished ones lie plain; those come whole."""
    own = tuple(path for path in NOT_IN_ROWS if path not in _OF_STEPS)
    if len(steps) > limits.OUTLINED_STEPS:
        return own
    return own + tuple(f"steps.{name}.{field}" for name in steps for field in _HEAVY)


def outline(workflow: Workflow) -> Workflow:
    """The instance without any payload in its steps."""
    return replace(workflow, steps={name: _bare(step) for name, step in workflow.steps.items()})


def _bare(step: Step) -> Step:
    wakes = tuple(replace(wake, payload=None) for wake in step.wakes) if step.wakes else ()
    children = None if step.children is None else replace(step.children, page=None, page_cursor=None)
    bare = replace(step, output=None, checkpoint=None, errors=(), settled=(), wakes=wakes, failure=_bare_failure(step.failure))
    return replace(bare, children=children) if children is not None else bare


def _bare_failure(failure: Failure | None) -> Failure | None:
    return None if failure is None else replace(failure, details=None)

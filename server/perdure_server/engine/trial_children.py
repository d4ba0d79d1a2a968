"""Children in a trial: none is a workflow of its own, each ends as a script says.

A script that names a map or child step without pages is about its children: its `attempt` is the child's number, from 1. Those without a
script, and those of pages, complete at once.
"""

from collections.abc import Callable

from perdure_server.engine.scripts import NeverSettled, Playbook
from perdure_server.kernel.child_state import ChildEnd
from perdure_server.kernel.children import count_ends, count_source, is_counting
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.outcomes import Completed, Failed
from perdure_server.kernel.progress import expand, join
from perdure_server.kernel.workflow import STEP_ENDS, Step, Workflow, WorkflowState

Act = Callable[[Draft], object]


class TrialChildren:
    """What is to be done about the children of a trial's steps."""

    def __init__(self, definition: Definition, playbook: Playbook, business_key: str) -> None:
        self._definition = definition
        self._playbook = playbook
        self._business_key = business_key
        self._begun: set[tuple[str, int, int]] = set()

    def next_act(self, workflow: Workflow) -> Act | None:
        """What a server would do now for some step's children, but for their ends: count them."""
        for name, step in workflow.steps.items():
            children, plan = step.children, self._definition.by_name[name].child
            if children is None or plan is None or children.over or step.state in STEP_ENDS:
                continue
            if not children.known and not plan.paged:
                return _expanding(name)
        return None

    def begin(self, workflow: Workflow) -> list[tuple[int, Act]]:
        """Ends of the children that are open and not begun yet, each with how long (ms) they take."""
        found: list[tuple[int, Act]] = []
        for name, step in workflow.steps.items():
            if step.children is not None and step.state not in STEP_ENDS:
                found += self._begin(name, step)
        return found

    def _begin(self, name: str, step: Step) -> list[tuple[int, Act]]:
        assert step.children is not None, "asked of steps with children only"
        ends: dict[int, list[ChildEnd]] = {}
        for index in step.children.open:
            if (name, step.generation, index) not in self._begun:
                self._begun.add((name, step.generation, index))
                self._begin_one(name, index, ends)
        return [(duration, _ending(name, step.generation, several)) for duration, several in ends.items()]

    def _begin_one(self, name: str, index: int, ends: dict[int, list[ChildEnd]]) -> None:
        plan = self._definition.by_name[name].child
        is_paged = plan is not None and plan.paged
        script = None if is_paged else self._playbook.take(name, index + 1, self._business_key)
        outcome = script.outcome if script is not None else Completed()
        if isinstance(outcome, NeverSettled):
            return
        end = ChildEnd(index, WorkflowState.COMPLETED, output=outcome.output if isinstance(outcome, Completed) else None)
        if isinstance(outcome, Failed):
            end = ChildEnd(index, WorkflowState.FAILED, outcome.failure)
        ends.setdefault(script.duration if script is not None else 0, []).append(end)


def _expanding(name: str) -> Act:
    return lambda draft: expand(draft, name, count_source(draft, name))


def _ending(name: str, generation: int, ends: list[ChildEnd]) -> Act:
    def act(draft: Draft) -> None:
        if is_counting(draft, name, generation):
            counted = count_ends(draft, name, ends)
            if counted:
                join(draft, name, counted)

    return act

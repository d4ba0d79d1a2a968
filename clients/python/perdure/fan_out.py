"""Steps that run other workflows: one per item of a list or of pages, or just one."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, Literal, ParamSpec, TypeAlias, TypeVar

from perdure.context import Context
from perdure.map_result import MapResult
from perdure.plan import Plan, first_line
from perdure.signature import INPUT, needs_of
from perdure.steps import BaseStep, Earlier, Step, StepDecorator, StepName, StepPolicy, step_names
from perdure.v1 import definition_pb2

P = ParamSpec("P")
R = TypeVar("R")

Join: TypeAlias = Literal["all", "any", "best_effort"] | int
"""When a map step is done: all children completed, one did, all ended however, or this many completed."""
ParentClose: TypeAlias = Literal["cancel", "terminate", "abandon"]
"""What the end of the step does to children that are open."""


@dataclass(frozen=True, slots=True)
class Page:
    """What the activity of a paging step returns: inputs of the next children, and where the page after it begins."""

    children: Sequence[object]
    """At most 1,000, in order."""
    cursor: object = None
    """The next attempt finds it in `ctx.cursor`; None: this was the last page.

    A page without children that has the cursor of the one before rests the step, 1 s doubling to 1 min, and the 20th in a row fails it with
    MAP_SOURCE_INVALID. A source that has nothing yet waits instead: it returns a Wait."""


@dataclass(frozen=True, slots=True)
class Children:
    """Which children a step has, and how it goes with them."""

    workflow_type: str
    join: Join = "all"
    max_in_flight: int | None = None
    parent_close: ParentClose | None = None

    def fill(self, message: definition_pb2.StepDefinition) -> None:
        """The wire's form of a map step, but for its source."""
        message.map.child_workflow_type = self.workflow_type
        if isinstance(self.join, int):
            message.map.join, message.map.required_count = definition_pb2.MapStep.JOIN_N_OF_M, self.join
        else:
            message.map.join = definition_pb2.MapStep.Join.Value(f"JOIN_{self.join.upper()}")
        self.fill_policy(message.policy)

    def fill_policy(self, message: definition_pb2.StepPolicy) -> None:
        """What of it may change under running workflows."""
        if self.max_in_flight is not None:
            message.max_in_flight = self.max_in_flight
        if self.parent_close is not None:
            kinds = definition_pb2.StepPolicy.ParentClosePolicy
            message.parent_close = kinds.Value(f"PARENT_CLOSE_POLICY_{self.parent_close.upper()}")


class MapStep(BaseStep):
    """A step that runs a workflow per item; a dependant gets its MapResult."""

    def __init__(self, base: BaseStep, items: str, children: Children, policy: StepPolicy) -> None:
        super().__init__(base.name, after=base.after, needs=base.needs, version=base.version, description=base.description)
        self.items = items
        """What it needs that is the list."""
        self.children = children
        """What it runs."""
        self.policy = policy
        """Its limits and times."""

    @property
    def output_type(self) -> Any:
        """How its children ended."""
        return MapResult

    def to_message(self) -> definition_pb2.StepDefinition:
        """The wire's form."""
        message = super().to_message()
        message.policy.CopyFrom(self.policy.to_message())
        message.map.items_from = self.items
        self.children.fill(message)
        return message


class ChildStep(BaseStep):
    """A step that runs one workflow; a dependant gets that one's output."""

    def __init__(self, base: BaseStep, source: str, children: Children, policy: StepPolicy) -> None:
        super().__init__(base.name, after=base.after, needs=base.needs, version=base.version, description=base.description)
        self.source = source
        """What it needs that is the workflow's input; empty: an object of all that it needs."""
        self.children = children
        """What it runs."""
        self.policy = policy
        """Its limits and times."""

    def to_message(self) -> definition_pb2.StepDefinition:
        """The wire's form."""
        message = super().to_message()
        message.policy.CopyFrom(self.policy.to_message())
        message.child.child_workflow_type = self.children.workflow_type
        message.child.input_from = self.source
        self.children.fill_policy(message.policy)
        return message


class PagingStep(Step[P, R]):
    """A map step whose items its own activity brings, page by page."""

    def __init__(self, function: Callable[Concatenate[Context[Any], P], R], base: BaseStep, policy: StepPolicy, children: Children) -> None:
        super().__init__(function, base, policy)
        self.children = children
        """What it runs."""

    def to_message(self) -> definition_pb2.StepDefinition:
        """The wire's form."""
        message = super().to_message()
        message.map.paged.SetInParent()
        self.children.fill(message)
        return message


class FanOut(Plan):
    """The part of a definition that runs other workflows."""

    def map(
        self,
        name: str,
        workflow: Plan | str,
        *,
        items: StepName = INPUT,
        after: Earlier | Iterable[Earlier] = (),
        join: Join = "all",
        max_in_flight: int | None = None,
        parent_close: ParentClose | None = None,
        policy: StepPolicy | None = None,
        version: str = "",
        description: str = "",
    ) -> MapStep:
        """A step that runs `workflow` once per item of a JSON list, and joins these children. A later step gets a MapResult.

        Args:
            name: The step's name.
            workflow: What is run, a definition or the name of its type; it gets the item as its input.
            items: What is the list: a step declared above, or `input`.
            after: Steps that must have completed before.
            join: When the step is done: "all" completed, "any" did, "best_effort": all ended, or how many must have completed.
            max_in_flight: How many are open at once; None: 100.
            parent_close: What the step's end does to open ones; None: they are cancelled.
            policy: Limits and times; its `retry` starts all children anew, and is once if it is None.
            version: Part of the step contract.
            description: For people.

        Raises:
            DefinitionRejected: The name is not possible, or `items` names no step declared above.
        """
        (source,) = step_names(items)
        children = Children(_type_of(workflow), join, max_in_flight, parent_close)
        step = MapStep(self._base(name, after, (source,), (version, description)), source, children, policy or StepPolicy())
        self._steps[name] = step
        return step

    def child(
        self,
        name: str,
        workflow: Plan | str,
        *,
        input: StepName | None = None,
        needs: StepName | Iterable[StepName] = (),
        after: Earlier | Iterable[Earlier] = (),
        parent_close: ParentClose | None = None,
        policy: StepPolicy | None = None,
        version: str = "",
        description: str = "",
    ) -> ChildStep:
        """A step that runs one other workflow and takes its output.

        Args:
            name: The step's name.
            workflow: What is run, a definition or the name of its type.
            input: What it gets: a step declared above, or `input`; None: an object of all that is in `needs`.
            needs: Steps declared above, and `input`.
            after: Steps that must have completed before.
            parent_close: What the step's end does to it while it is open; None: it is cancelled.
            policy: Limits and times.
            version: Part of the step contract.
            description: For people.

        Raises:
            DefinitionRejected: A name is not possible.
        """
        source = "" if input is None else step_names(input)[0]
        names: list[str] = [*step_names(needs), *([source] if source else [])]
        needed = tuple(dict.fromkeys(names))
        children = Children(_type_of(workflow), parent_close=parent_close)
        step = ChildStep(self._base(name, after, needed, (version, description)), source, children, policy or StepPolicy())
        self._steps[name] = step
        return step

    def pages(
        self,
        workflow: Plan | str,
        *,
        join: Join = "all",
        max_in_flight: int | None = None,
        parent_close: ParentClose | None = None,
        name: str = "",
        after: Earlier | Iterable[Earlier] = (),
        policy: StepPolicy | None = None,
        version: str = "",
        description: str = "",
    ) -> StepDecorator:
        """A map step over a source of any length: the decorated function returns a Page, and is asked again with its cursor.

        Arguments are those of `map`; `policy.retry` is about one page.

        Raises:
            DefinitionRejected: The name or a parameter is not possible.
        """
        children = Children(_type_of(workflow), join, max_in_flight, parent_close)

        def decorate(function: Callable[Concatenate[Context[Any], P], R], /) -> Step[P, R]:
            known = name or function.__name__
            base = self._base(known, after, needs_of(function, known), (version, description or first_line(function)))
            step: PagingStep[P, R] = PagingStep(function, base, policy or StepPolicy(), children)
            self._steps[known] = step
            return step

        return decorate


def _type_of(workflow: Plan | str) -> str:
    return workflow if isinstance(workflow, str) else workflow.workflow_type

"""The plan that a definition holds: its steps by name, hooks, compensations and branches, and how they go on the wire."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from perdure.branches import Branch
from perdure.context import Context
from perdure.signature import INPUT, fault, needs_of
from perdure.steps import AnyStep, BaseStep, Earlier, HookName, Step, StepPolicy, WaitStep, activities_of, branches_of, step_names
from perdure.v1 import definition_pb2
from perdure.waits import Woken
from perdure.workflow_policy import WorkflowPolicy

P = ParamSpec("P")
R = TypeVar("R")

STEP_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")


class Plan:
    """A type of workflow, without the decorators that fill it."""

    def __init__(
        self,
        workflow_type: str,
        *,
        version: str = "",
        output: str = "",
        policy: WorkflowPolicy | None = None,
        description: str = "",
    ) -> None:
        self.workflow_type = workflow_type
        """Name of the type."""
        self.version = version
        """The author's version: raise it when the meaning of an output, checkpoint or input changes."""
        self.output = output
        """The step whose output is the workflow's; empty: the only one that no other comes after."""
        self.policy = policy or WorkflowPolicy()
        """Limits and times of the whole workflow."""
        self.description = description
        """For people."""
        self._steps: dict[str, AnyStep] = {}
        self._hooks: dict[HookName, tuple[str, bool]] = {}
        self._compensations: dict[str, str] = {}
        self._branches: list[tuple[Branch, str]] = []

    def __repr__(self) -> str:
        return f"<Definition {self.workflow_type} {self.version}: {', '.join(self._steps)}>"

    @property
    def steps(self) -> Mapping[str, AnyStep]:
        """All steps by name, in the order in which they were declared."""
        return self._steps

    def output_type(self) -> Any:
        """The annotated type of the workflow's output; Any where another program or a wait makes it."""
        last = self._steps.get(self.output or self._final_step())
        if isinstance(last, Step):
            return last.types.output
        if isinstance(last, WaitStep):
            return Woken[Any]
        return last.output_type if last is not None else Any

    def to_message(self) -> definition_pb2.Definition:
        """The wire's form. Raises DefinitionRejected if an annotation cannot be resolved or decoded."""
        for step in activities_of(self._steps.values()):
            self._check_waits(step)
        message = definition_pb2.Definition(
            workflow_type=self.workflow_type,
            version=self.version,
            steps=[self._step_message(step) for step in self._steps.values()],
            output_step=self.output,
            policy=self.policy.to_message(),
            description=self.description,
        )
        for kind, (name, required) in self._hooks.items():
            hook = getattr(message.hooks, kind)
            hook.step = name
            if not required:
                hook.required = False
        return message

    def _step_message(self, step: AnyStep) -> definition_pb2.StepDefinition:
        message = step.to_message()
        message.compensate_with = self._compensations.get(step.name, "")
        ways: dict[str, list[str]] = {}
        for branch, name in self._branches:
            if branch.step == step.name:
                ways.setdefault(branch.name, []).append(name)
        for way, names in ways.items():
            message.branches.add(name=way, steps=names)
        return message

    def _final_step(self) -> str:
        """The only step that no other comes after; as the server sees it."""
        around = {*self._compensations.values(), *(name for name, _ in self._hooks.values())}
        before = {earlier for step in self._steps.values() for earlier in (*step.needs, *step.after)}
        last = [name for name in self._steps if name not in around and name not in before]
        return last[0] if len(last) == 1 else ""

    def _around(
        self, function: Callable[Concatenate[Context[Any], P], R], name: str, policy: StepPolicy | None, about: tuple[str, str]
    ) -> Step[P, R]:
        """A hook's or compensation's step."""
        known = name or function.__name__
        needs = needs_of(function, known)
        if set(needs) - {INPUT}:
            raise fault(known, "it runs outside of the steps' order: its only input can be `input`; `ctx.hook` tells the rest")
        version, description = about
        return Step(function, self._base(known, (), needs, (version, description or first_line(function))), policy or StepPolicy())

    def _base(self, name: str, after: Earlier | Iterable[Earlier], needs: tuple[str, ...], about: tuple[str, str]) -> BaseStep:
        if not STEP_NAME.fullmatch(name) or name == INPUT:
            raise fault(name, f"a step's name must match {STEP_NAME.pattern} and not be `input`, so that every language can name it")
        if name in self._steps:
            raise fault(name, f"{self.workflow_type} has a step of this name already")
        names = step_names(after)
        for needed in needs:
            if needed != INPUT and needed not in self._steps:
                raise fault(name, f"{needed!r} is neither `input` nor a step declared above it ({', '.join(self._steps) or 'none yet'})")
        for earlier in names:
            if earlier not in self._steps:
                raise fault(name, f"after={earlier!r} names no step declared above it ({', '.join(self._steps) or 'none yet'})")
        self._branches.extend((branch, name) for branch in branches_of(after))
        return BaseStep(name, after=names, needs=needs, version=about[0], description=about[1])

    def _check_waits(self, step: Step[..., Any]) -> None:
        for name, parameter in step.types.parameters.items():
            other = self._steps.get(name)
            if isinstance(other, WaitStep) and not parameter.is_woken and parameter.as_type is not Any:
                raise fault(step.name, f"parameter {name!r} is the output of a wait: annotate it as Woken[...]")


def first_line(function: Callable[..., object]) -> str:
    """First line of a function's documentation; empty: it has none."""
    return (inspect.getdoc(function) or "").partition("\n")[0]

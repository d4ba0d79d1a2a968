"""Definitions: a named type of workflow, written as decorated functions."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar, overload

from perdure.context import Context
from perdure.retry import Retry
from perdure.signature import INPUT, fault, needs_of
from perdure.steps import AnyStep, BaseStep, OnExhausted, RemoteStep, Step, StepName, StepPolicy, WaitStep, step_names
from perdure.v1 import definition_pb2
from perdure.waits import Condition, Wait, Woken

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

STEP_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")


class StepDecorator(Protocol):
    """Makes a step of a function whose first parameter is the context."""

    def __call__(self, function: Callable[Concatenate[Context[Any], P], R], /) -> Step[P, R]:
        """The step; still callable as the function was."""


@dataclass(frozen=True, slots=True)
class WorkflowPolicy:
    """Limits and times of a whole workflow; they may change under running ones. What is None is the server's default."""

    workflow_timeout: timedelta | None = None
    """From the start of the round until it must have ended."""
    cancel_grace: timedelta | None = None
    """How long running steps may go on after a cancel or a failure. None: 30 s."""
    max_lost_claims: int | None = None
    """How many claims of one step may be lost with their worker. None: 5."""
    retention: timedelta | None = None
    """How long an ended workflow is kept. None: the namespace's."""

    def to_message(self) -> definition_pb2.WorkflowPolicy:
        """The wire's form."""
        message = definition_pb2.WorkflowPolicy(max_lost_claims=self.max_lost_claims)
        for name in ("workflow_timeout", "cancel_grace", "retention"):
            duration = getattr(self, name)
            if duration is not None:
                getattr(message, name).FromTimedelta(duration)
        return message


class Definition:
    """A type of workflow. Decorate functions with `step`, and give it to a worker and to `client.start`.

    Parameters of a step's function that are named `input` or after an earlier step are what the step needs.
    The output of the last step is the workflow's, unless `output` names another.
    """

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
        """The step whose output is the workflow's; empty: the last one."""
        self.policy = policy or WorkflowPolicy()
        """Limits and times of the whole workflow."""
        self.description = description
        """For people."""
        self._steps: dict[str, AnyStep] = {}

    def __repr__(self) -> str:
        return f"<Definition {self.workflow_type} {self.version}: {', '.join(self._steps)}>"

    @property
    def steps(self) -> Mapping[str, AnyStep]:
        """All steps by name, in the order in which they were declared."""
        return self._steps

    def step(
        self,
        *,
        name: str = "",
        after: StepName | Iterable[StepName] = (),
        version: str = "",
        retry: Retry | None = None,
        attempt_timeout: timedelta | None = None,
        silence_timeout: timedelta | None = None,
        step_timeout: timedelta | None = None,
        queue_timeout: timedelta | None = None,
        queue: str = "",
        priority: int | None = None,
        on_exhausted: OnExhausted | None = None,
        permits: Mapping[str, int] | None = None,
        process: bool = False,
        description: str = "",
    ) -> StepDecorator:
        """A step that the decorated function runs. `async def` runs on the worker's event loop, `def` in a thread.

        Args:
            name: The step's name; empty: the function's.
            after: Steps that must have completed before, without their outputs being needed.
            version: Part of the step contract; raise it when this step's code means something else.
            retry: What follows a failed attempt; None: 3 attempts, 1 s, doubling to 1 min.
            attempt_timeout: From claim to result; None: 10 min.
            silence_timeout: Longest time without checkpoint, frame or `ctx.alive()`; None: any. At least three renewals.
            step_timeout: All attempts and back-offs together; None: none.
            queue_timeout: Longest time ready without a worker; None: none.
            queue: Which queue its claims come from; empty: `default`.
            priority: 0 to 9, higher sooner; None: the workflow's.
            on_exhausted: What follows the last failed attempt; None: the workflow fails.
            permits: Units of shared resources that it holds while it runs.
            process: Run a plain `def` in a spawned process instead of a thread, for work that holds the interpreter.
            description: For people; empty: the function's first line of documentation.

        Raises:
            DefinitionRejected: The name or a parameter is not possible.
        """
        policy = StepPolicy(
            retry, attempt_timeout, silence_timeout, step_timeout, queue_timeout, queue, priority, on_exhausted, permits or {}
        )

        def decorate(function: Callable[Concatenate[Context[Any], P], R], /) -> Step[P, R]:
            known = name or function.__name__
            if process and inspect.iscoroutinefunction(function):
                raise fault(known, "`process=True` is for a plain `def`; an `async def` runs on the event loop")
            about = description or (inspect.getdoc(function) or "").partition("\n")[0]
            step = Step(function, self._base(known, after, needs_of(function, known), (version, about)), policy, process=process)
            self._steps[step.name] = step
            return step

        return decorate

    def remote_step(
        self,
        name: str,
        *,
        needs: StepName | Iterable[StepName] = (),
        after: StepName | Iterable[StepName] = (),
        version: str = "",
        policy: StepPolicy | None = None,
        description: str = "",
    ) -> RemoteStep:
        """A step that another program's worker runs, in any language. `needs` names steps, and `input`.

        Raises:
            DefinitionRejected: A name is not possible.
        """
        step = RemoteStep(self._base(name, after, step_names(needs), (version, description)), policy or StepPolicy())
        self._steps[name] = step
        return step

    @overload
    def wait(
        self,
        name: str,
        *conditions: Condition,
        payload: type[T],
        after: StepName | Iterable[StepName] = ...,
        signal: str = ...,
        count: int = ...,
        timeout: timedelta | None = ...,
        at: datetime | None = ...,
        description: str = ...,
    ) -> WaitStep[T]: ...
    @overload
    def wait(
        self,
        name: str,
        *conditions: Condition,
        after: StepName | Iterable[StepName] = ...,
        signal: str = ...,
        count: int = ...,
        timeout: timedelta | None = ...,
        at: datetime | None = ...,
        description: str = ...,
    ) -> WaitStep[Any]: ...
    def wait(
        self,
        name: str,
        *conditions: Condition,
        payload: type[Any] | None = None,
        after: StepName | Iterable[StepName] = (),
        signal: str = "",
        count: int = 1,
        timeout: timedelta | None = None,
        at: datetime | None = None,
        description: str = "",
    ) -> WaitStep[Any]:
        """A durable wait that needs no worker, from the moment the steps in `after` have completed.

        Args:
            name: The step's name; a later step gets a Woken by a parameter of this name.
            conditions: Further conditions.
            payload: Type of what the signals carry.
            after: Steps that must have completed before.
            signal: Name of the signal to wait for.
            count: How many of them.
            timeout: How long at most; then the condition `after` has won.
            at: Until when at most; then the condition `at_time` has won.
            description: For people.

        Raises:
            DefinitionRejected: The name is not possible.
            ValueError: There is nothing to wait for.
        """
        wait = Wait.any(*conditions, signal=signal, count=count, after=timeout, at=at)
        step: WaitStep[Any] = WaitStep(self._base(name, after, (), ("", description)), wait, payload)
        self._steps[name] = step
        return step

    def output_type(self) -> Any:
        """The annotated type of the workflow's output; Any where another program or a wait makes it."""
        last = self._steps.get(self.output) if self.output else next(reversed(self._steps.values()), None)
        if isinstance(last, Step):
            return last.types.output
        return Woken[Any] if isinstance(last, WaitStep) else Any

    def to_message(self) -> definition_pb2.Definition:
        """The wire's form. Raises DefinitionRejected if an annotation cannot be resolved or decoded."""
        for step in self._steps.values():
            if isinstance(step, Step):
                self._check_waits(step)
        return definition_pb2.Definition(
            workflow_type=self.workflow_type,
            version=self.version,
            steps=[step.to_message() for step in self._steps.values()],
            output_step=self.output,
            policy=self.policy.to_message(),
            description=self.description,
        )

    def _base(self, name: str, after: StepName | Iterable[StepName], needs: tuple[str, ...], about: tuple[str, str]) -> BaseStep:
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
        return BaseStep(name, after=names, needs=needs, version=about[0], description=about[1])

    def _check_waits(self, step: Step[..., Any]) -> None:
        for name, parameter in step.types.parameters.items():
            other = self._steps.get(name)
            if isinstance(other, WaitStep) and not parameter.is_woken and parameter.as_type is not Any:
                raise fault(step.name, f"parameter {name!r} is the output of a wait: annotate it as Woken[...]")

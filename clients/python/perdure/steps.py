"""Steps of a definition, as Python sees them."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property, update_wrapper
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, cast

from perdure.branches import Branch
from perdure.context import Context
from perdure.retry import Retry
from perdure.signature import ActivityTypes, types_of
from perdure.v1 import definition_pb2
from perdure.waits import Wait

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

OnExhausted: TypeAlias = Literal["fail_workflow", "hold", "skip_dependants", "continue"]
"""What a step without attempts left does to its workflow."""
HookName: TypeAlias = Literal["on_success", "failure_finalizer", "cancel_finalizer", "prepare_replay"]
"""When a hook runs: after the last step, before FAILED or CANCELLED is stored, or first of all in a replay."""


@dataclass(frozen=True, slots=True)
class StepPolicy:
    """Limits, times and costs of a step; they may change under running workflows. What is None is the server's default."""

    retry: Retry | None = None
    attempt_timeout: timedelta | None = None
    silence_timeout: timedelta | None = None
    step_timeout: timedelta | None = None
    queue_timeout: timedelta | None = None
    queue: str = ""
    priority: int | None = None
    on_exhausted: OnExhausted | None = None
    permits: Mapping[str, int] = field(default_factory=dict[str, int])

    def to_message(self) -> definition_pb2.StepPolicy:
        """The wire's form."""
        message = definition_pb2.StepPolicy(queue=self.queue, priority=self.priority)
        if self.retry is not None:
            message.retry.CopyFrom(self.retry.to_message())
        for name in ("attempt_timeout", "silence_timeout", "step_timeout", "queue_timeout"):
            duration = getattr(self, name)
            if duration is not None:
                getattr(message, name).FromTimedelta(duration)
        if self.on_exhausted is not None:
            message.on_exhausted = definition_pb2.StepPolicy.OnExhausted.Value(f"ON_EXHAUSTED_{self.on_exhausted.upper()}")
        for resource, units in self.permits.items():
            message.permits.add(resource=resource, units=units)
        return message


class BaseStep:
    """What all steps have."""

    def __init__(self, name: str, *, after: tuple[str, ...], needs: tuple[str, ...], version: str, description: str) -> None:
        self.name = name
        """Its name in the definition."""
        self.after = after
        """Steps that must have completed before, without their outputs being needed."""
        self.needs = needs
        """What travels to it: step names, and `input`."""
        self.version = version
        """The author's version of its code contract."""
        self.description = description
        """For people."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def output_type(self) -> Any:
        """What its output is decoded as where it is the workflow's, if its kind says so."""
        return Any

    def branch(self, name: str) -> Branch:
        """A way to go on that this step may choose, for `after` of the steps that are on it."""
        return Branch(self.name, name)

    def to_message(self) -> definition_pb2.StepDefinition:
        """The wire's form."""
        depends_on = list(dict.fromkeys([*(need for need in self.needs if need != "input"), *self.after]))
        return definition_pb2.StepDefinition(
            name=self.name,
            depends_on=depends_on,
            needs=definition_pb2.Needs(names=list(self.needs)),
            version=self.version,
            description=self.description,
        )


class Step(BaseStep, Generic[P, R]):
    """A step whose activity is a function of this program; calling it calls the function, which is how to test it."""

    def __init__(
        self,
        function: Callable[Concatenate[Context[Any], P], R],
        base: BaseStep,
        policy: StepPolicy,
        *,
        process: bool = False,
    ) -> None:
        super().__init__(base.name, after=base.after, needs=base.needs, version=base.version, description=base.description)
        self.function = function
        """The activity."""
        self.policy = policy
        """Its limits and times."""
        self.process = process
        """Whether it runs in a process of its own."""
        self.is_async = inspect.iscoroutinefunction(function)
        """Whether it runs on the worker's event loop."""
        update_wrapper(self, function)

    def __call__(self, ctx: Context[Any], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the activity, as a test does; the worker does not come by here."""
        return self.function(ctx, *args, **kwargs)

    @cached_property
    def types(self) -> ActivityTypes:
        """Types of inputs, checkpoint and output. Raises DefinitionRejected if the annotations cannot be resolved."""
        return types_of(self.function, self.name)

    def to_message(self) -> definition_pb2.StepDefinition:
        """The wire's form."""
        message = super().to_message()
        message.activity.SetInParent()
        message.policy.CopyFrom(self.policy.to_message())
        return message


class StepDecorator(Protocol):
    """Makes a step of a function whose first parameter is the context."""

    def __call__(self, function: Callable[Concatenate[Context[Any], P], R], /) -> Step[P, R]:
        """The step; still callable as the function was."""
        raise NotImplementedError


class RemoteStep(BaseStep):
    """A step whose activity runs in other programs; here it only has its place in the definition."""

    def __init__(self, base: BaseStep, policy: StepPolicy) -> None:
        super().__init__(base.name, after=base.after, needs=base.needs, version=base.version, description=base.description)
        self.policy = policy
        """Its limits and times."""

    def to_message(self) -> definition_pb2.StepDefinition:
        """The wire's form."""
        message = super().to_message()
        message.activity.SetInParent()
        message.policy.CopyFrom(self.policy.to_message())
        return message


class WaitStep(BaseStep, Generic[T]):
    """A durable wait that needs no worker; a dependant gets its Woken[T]."""

    def __init__(self, base: BaseStep, wait: Wait, payload: type[T] | None) -> None:
        super().__init__(base.name, after=base.after, needs=base.needs, version=base.version, description=base.description)
        self.wait = wait
        """What it waits for, from the moment it becomes ready."""
        self.payload = payload
        """Type of what the signals carry; None: any."""

    def to_message(self) -> definition_pb2.StepDefinition:
        """The wire's form."""
        message = super().to_message()
        message.wait.wait.CopyFrom(self.wait.to_message())
        return message


AnyStep: TypeAlias = BaseStep
StepName: TypeAlias = BaseStep | str
Earlier: TypeAlias = StepName | Branch
"""What `after` takes: a step, its name, or one of its branches."""


def activities_of(steps: Iterable[BaseStep]) -> Iterator[Step[..., Any]]:
    """Those of them whose activity is a function of this program."""
    return (cast("Step[..., Any]", step) for step in steps if isinstance(step, Step))


def step_names(steps: Earlier | Iterable[Earlier]) -> tuple[str, ...]:
    """Names of one step or several, given as objects, names or branches."""
    given = [steps] if isinstance(steps, str | BaseStep | Branch) else steps
    return tuple(dict.fromkeys(_name_of(step) for step in given))


def branches_of(steps: Earlier | Iterable[Earlier]) -> tuple[Branch, ...]:
    """The branches among them."""
    given = [steps] if isinstance(steps, str | BaseStep | Branch) else steps
    return tuple(step for step in given if isinstance(step, Branch))


def _name_of(step: Earlier) -> str:
    if isinstance(step, str):
        return step
    return step.step if isinstance(step, Branch) else step.name

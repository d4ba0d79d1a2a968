"""Definitions: a named type of workflow, written as decorated functions."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from perdure.context import Context
from perdure.fan_out import FanOut
from perdure.plan import first_line
from perdure.retry import Retry
from perdure.signature import fault, needs_of
from perdure.steps import (
    Earlier,
    HookName,
    OnExhausted,
    RemoteStep,
    Step,
    StepDecorator,
    StepName,
    StepPolicy,
    WaitStep,
    step_names,
)
from perdure.waits import Condition, Wait

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Definition(FanOut):
    """A type of workflow. Decorate functions with `step`, and give it to a worker and to `client.start`.

    Parameters of a step's function that are named `input` or after an earlier step are what the step needs.
    The output of the step that no other comes after is the workflow's, unless `output` names another.
    """

    def step(
        self,
        *,
        name: str = "",
        after: Earlier | Iterable[Earlier] = (),
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
            after: Steps that must have completed before, without their outputs being needed; `decide.branch("yes")` puts the step
                on a branch, so that it runs only if `decide` chooses that.
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
            about = description or first_line(function)
            step = Step(function, self._base(known, after, needs_of(function, known), (version, about)), policy, process=process)
            self._steps[step.name] = step
            return step

        return decorate

    def hook(
        self,
        kind: HookName,
        *,
        required: bool = True,
        name: str = "",
        policy: StepPolicy | None = None,
        version: str = "",
        description: str = "",
    ) -> StepDecorator:
        """A step that runs at a turn of the workflow; `ctx.hook` tells why. It needs nothing but, perhaps, `input`.

        Args:
            kind: `on_success` runs after the last step and before COMPLETED is stored, `failure_finalizer` before FAILED is, and
                `cancel_finalizer` before CANCELLED is; `prepare_replay` runs first when an ended workflow is replayed.
            required: It is tried until it succeeds, however long; False: by its policy, then it is passed.
            name: The step's name; empty: the function's.
            policy: Limits, times and costs; None: the server's defaults.
            version: Part of the step contract.
            description: For people; empty: the function's first line of documentation.

        Raises:
            DefinitionRejected: The name or a parameter is not possible, or there is such a hook already.
        """

        def decorate(function: Callable[Concatenate[Context[Any], P], R], /) -> Step[P, R]:
            step = self._around(function, name, policy, (version, description))
            if kind in self._hooks:
                raise fault(step.name, f"{self.workflow_type} has a {kind} already: {self._hooks[kind][0]}")
            self._hooks[kind] = (step.name, required)
            self._steps[step.name] = step
            return step

        return decorate

    def compensation(
        self,
        of: StepName,
        *,
        name: str = "",
        policy: StepPolicy | None = None,
        version: str = "",
        description: str = "",
    ) -> StepDecorator:
        """A step that undoes `of` when the workflow fails, tried until it succeeds; other arguments are those of `hook`.

        `ctx.hook` tells what `of` gave, or that nobody knows whether it took effect.

        Raises:
            DefinitionRejected: The name or a parameter is not possible, or `of` has a compensation already.
        """

        def decorate(function: Callable[Concatenate[Context[Any], P], R], /) -> Step[P, R]:
            step = self._around(function, name, policy, (version, description))
            (undone,) = step_names(of)
            if not isinstance(self._steps.get(undone), Step | RemoteStep) or undone in self._compensations:
                raise fault(step.name, f"compensation of {undone!r}, which is no activity declared above it, or has a compensation already")
            self._compensations[undone] = step.name
            self._steps[step.name] = step
            return step

        return decorate

    def remote_step(
        self,
        name: str,
        *,
        needs: StepName | Iterable[StepName] = (),
        after: Earlier | Iterable[Earlier] = (),
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
        after: Earlier | Iterable[Earlier] = ...,
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
        after: Earlier | Iterable[Earlier] = ...,
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
        after: Earlier | Iterable[Earlier] = (),
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

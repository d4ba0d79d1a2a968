"""What an activity's signature says: which inputs it needs, and the types of inputs, checkpoint and output."""

import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from perdure import payloads
from perdure.branches import Chosen
from perdure.context import Context
from perdure.errors import DefinitionRejected
from perdure.failure import Failure
from perdure.reasons import ErrorReason
from perdure.waits import Wait, Woken

INPUT: Final = "input"
"""The parameter, and the need, that is the workflow's own input."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One input of an activity."""

    name: str
    """`input`, or the step whose output it is."""
    as_type: Any
    """The annotated type, without Failure; for a wait's output, that of the signals' content."""
    is_woken: bool = False
    """Annotated as Woken: the output of a wait step."""
    takes_failure: bool = False
    """Annotated with Failure: gets it if the dependency failed under on_exhausted CONTINUE."""


@dataclass(frozen=True, slots=True)
class ActivityTypes:
    """The resolved annotations of an activity."""

    parameters: Mapping[str, Parameter]
    checkpoint: Any
    output: Any


def needs_of(function: Callable[..., object], name: str) -> tuple[str, ...]:
    """Names of the inputs: all parameters after the context that have no default. Raises DefinitionRejected."""
    parameters = list(inspect.signature(function).parameters.values())
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_ONLY)
    if not parameters or parameters[0].kind not in plain:
        raise fault(name, "its first parameter must be the context: `ctx: Context[...]`")
    inputs = parameters[1:]
    for parameter in inputs:
        if parameter.kind not in plain[:2]:
            raise fault(name, f"parameter {parameter}: inputs come by name, so *args, **kwargs and positional-only ones cannot get any")
    return tuple(parameter.name for parameter in inputs if parameter.default is inspect.Parameter.empty)


def types_of(function: Callable[..., object], name: str) -> ActivityTypes:
    """Resolves the annotations; done late, when all names of the module exist. Raises DefinitionRejected."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise fault(name, f"its annotations cannot be resolved: {error}") from error
    context, *inputs = inspect.signature(function).parameters
    parameters = {parameter: _parameter(name, parameter, hints.get(parameter, Any)) for parameter in inputs}
    arguments = typing.get_args(hints.get(context, Context[Any]))
    checkpoint = arguments[0] if arguments else Any
    _check(name, "the checkpoint", checkpoint)
    return ActivityTypes(parameters, checkpoint, _output(hints.get("return", Any)))


def fault(step: str, text: str) -> DefinitionRejected:
    """The error for a definition that its own code contradicts."""
    return DefinitionRejected(f"step {step!r}: {text}", reason=ErrorReason.DEFINITION_INVALID)


def _parameter(step: str, name: str, annotation: Any) -> Parameter:
    members = _members(annotation)
    takes_failure = Failure in members
    kept = [member for member in members if member is not Failure]
    as_type = functools.reduce(lambda left, right: left | right, kept) if kept else Any
    if as_type is Woken or typing.get_origin(as_type) is Woken:
        carried = typing.get_args(as_type)
        as_type = carried[0] if carried else Any
        _check(step, f"parameter {name!r}", as_type)
        return Parameter(name, as_type, is_woken=True, takes_failure=takes_failure)
    _check(step, f"parameter {name!r}", as_type)
    return Parameter(name, as_type, takes_failure=takes_failure)


def _output(annotation: Any) -> Any:
    kept = [_chosen(member) for member in _members(annotation) if member is not Wait and not _is_page(member)]
    return functools.reduce(lambda left, right: left | right, kept) if kept else Any


def _is_page(annotation: Any) -> bool:
    # By name: the module of Page stands above this one.
    return getattr(annotation, "__module__", "") == "perdure.fan_out" and getattr(annotation, "__name__", "") == "Page"


def _chosen(annotation: Any) -> Any:
    """What a Chosen carries; anything else is what it is."""
    if annotation is Chosen or typing.get_origin(annotation) is Chosen:
        return next(iter(typing.get_args(annotation)), Any)
    return annotation


def _members(annotation: Any) -> tuple[Any, ...]:
    if typing.get_origin(annotation) in {typing.Union, types.UnionType}:
        return typing.get_args(annotation)
    return (annotation,)


def _check(step: str, what: str, as_type: Any) -> None:
    if as_type is None or payloads.Payload in _members(as_type):
        return
    try:
        payloads.decoder(as_type)
    except TypeError as error:
        raise fault(step, f"{what}: no JSON can be decoded to {as_type}: {error}") from error

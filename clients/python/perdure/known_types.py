"""What a program knows of a workflow's values by its definition, so that a wrong value is refused here, before it is sent.

Otherwise it would be stored, and fail in the worker. Who has only the name of a type knows nothing, and every value passes.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from perdure import payloads
from perdure.errors import DefinitionRejected, InvalidRequest, PayloadRejected, Violation
from perdure.plan import Plan
from perdure.reasons import ErrorReason
from perdure.signature import INPUT, ActivityTypes
from perdure.steps import Step, WaitStep, activities_of
from perdure.v1 import payload_pb2


class KnownTypes:
    """The types that the annotations of a definition's steps name. They decide as they do in the worker."""

    def __init__(self, workflow: Plan | str = "") -> None:
        self._plan = None if isinstance(workflow, str) else workflow

    def output(self) -> Any:
        """The type of the workflow's output. Raises DefinitionRejected if its annotation cannot be resolved."""
        return Any if self._plan is None else self._plan.output_type()

    def check_input(self, payload: payload_pb2.Payload | None, field: str = "input") -> None:
        """Raises InvalidRequest, naming `field`, if a step that takes the input cannot take this one; None: no value."""
        faults = [
            Violation(field, f"step {step.name} cannot take it: {fault}")
            for step, types in self._activities()
            if INPUT in step.needs and (fault := _fault(payload, types.parameters[INPUT].as_type))
        ]
        _refuse("the input is of another type than the definition says", faults)

    def check_signal(self, name: str, payload: payload_pb2.Payload | None, field: str = "payload") -> None:
        """Raises InvalidRequest, naming `field`, if no wait step for signals of this name can take what this one carries.

        What is not annotated takes anything, and so do signals that only an activity waits for.
        """
        if payload is None or self._plan is None:
            return
        waits: list[WaitStep[Any]] = [step for step in self._plan.steps.values() if isinstance(step, WaitStep)]
        found = [list(self._faults_of(wait, payload)) for wait in waits if _waits_for(wait, name)]
        if found and all(found):
            _refuse(f"the signal {name} carries another type than the definition says", [Violation(field, fault) for fault in found[0]])

    def _activities(self) -> Iterator[tuple[Step[..., Any], ActivityTypes]]:
        for step in activities_of(self._plan.steps.values() if self._plan is not None else ()):
            try:
                yield step, step.types
            except DefinitionRejected:
                continue  # not resolvable in this program: the worker will tell

    def _faults_of(self, wait: "WaitStep[Any]", payload: payload_pb2.Payload) -> Iterator[str]:
        fault = _fault(payload, Any if wait.payload is None else wait.payload)
        if fault:
            yield f"wait {wait.name}: {fault}"
            return
        for step, types in self._activities():
            parameter = types.parameters.get(wait.name)
            if parameter is not None and parameter.is_woken and (fault := _fault(payload, parameter.as_type)):
                yield f"step {step.name} cannot take it: {fault}"


def _waits_for(step: "WaitStep[Any]", name: str) -> bool:
    return any(condition.signal == name for condition in step.wait.conditions)


def _fault(payload: payload_pb2.Payload | None, as_type: Any) -> str:
    """Why this is no value of the type; empty: it is one, or nobody can see."""
    if payload is not None and payload.encoding:
        return ""
    try:
        payloads.decode(payload, as_type)
    except PayloadRejected as error:
        return error.message
    return ""


def _refuse(text: str, faults: Iterable[Violation]) -> None:
    found = tuple(dict.fromkeys(faults))
    if found:
        raise InvalidRequest(text, reason=ErrorReason.PAYLOAD_INVALID, violations=found)

"""Redaction: payloads are overwritten for good, the instance keeps its shape. Which place holds which kind of payload is one table."""

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import fields, replace

from perdure_server.kernel.child_state import ChildError
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.people import is_repeat, remember
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import Failure, Payload
from perdure_server.kernel.workflow import Event, Step, StepState, Workflow


class PayloadKind(IntEnum):
    """What a payload is for; numbered as on the wire. Frames are not in the instance."""

    INPUT = 1
    OUTPUT = 2
    CHECKPOINT = 3
    SIGNAL = 4
    FAILURE = 5
    FRAME = 6


REDACTED: Final = Payload(json="null", content_type="application/vnd.perdure.redacted+json")

OF_WORKFLOW: Final[Mapping[str, PayloadKind]] = {
    "input": PayloadKind.INPUT,
    "output": PayloadKind.OUTPUT,
    "failure": PayloadKind.FAILURE,
    "inbox": PayloadKind.SIGNAL,
    "events": PayloadKind.FAILURE,
}
OF_STEP: Final[Mapping[str, PayloadKind]] = {
    "output": PayloadKind.OUTPUT,
    "checkpoint": PayloadKind.CHECKPOINT,
    "wakes": PayloadKind.SIGNAL,
    "failure": PayloadKind.FAILURE,
    "errors": PayloadKind.FAILURE,
}
OF_CHILDREN: Final[Mapping[str, PayloadKind]] = {
    "errors": PayloadKind.FAILURE,
    "page": PayloadKind.INPUT,
    "page_cursor": PayloadKind.CHECKPOINT,
}


class _Eraser:
    # Counts what it overwrites.
    def __init__(self) -> None:
        self.count = 0

    def blank(self, value: Any) -> Any:
        """The value without contents; the same object if it has none."""
        match value:
            case Payload():
                blanked: Any = REDACTED
            case Failure():
                blanked = replace(value, message="", details=None if value.details is None else REDACTED)
            case ChildError():
                blanked = replace(value, message="")
            case Event():
                blanked = replace(value, failure_message="")
            case tuple():
                found = tuple([self.blank(each) for each in value])
                return value if all(new is old for new, old in zip(found, value, strict=True)) else found
            case Struct():
                return self.struct(value, {field.name: True for field in fields(value)})
            case _:
                return value
        return self._replaced(value, blanked)

    def struct(self, value: Any, chosen: Mapping[str, object]) -> Any:
        """A struct with the chosen fields blanked."""
        changes: dict[str, Any] = {}
        for name in chosen:
            before = getattr(value, name)
            after = self.blank(before)
            if after is not before:
                changes[name] = after
        return replace(value, **changes) if changes else value

    def _replaced(self, before: Any, after: Any) -> Any:
        if before == after:
            return before
        self.count += 1
        return after


def redact(draft: Draft, kinds: frozenset[PayloadKind], steps: tuple[str, ...], request_id: str, content: str = "") -> int:
    """Overwrite the payloads of these kinds, of these steps (none = of all, and of the workflow itself); returns how many.

    0 also for a repeat. Raises Rejection STEP_NOT_FOUND, and WORKFLOW_NOT_CLOSED if an open workflow still needs one of them.
    """
    if is_repeat(draft.workflow, "redact", request_id, content):
        return 0
    unknown = [name for name in steps if name not in draft.definition.by_name]
    if unknown:
        raise Rejection(Reason.STEP_NOT_FOUND, "The definition has no such step.", step=unknown[0])
    eraser = _Eraser()
    for name, step in list(draft.workflow.steps.items()):
        if steps and name not in steps:
            continue
        before = eraser.count
        after = eraser.struct(step, _chosen(OF_STEP, kinds))
        if step.children is not None:
            after = replace(after, children=eraser.struct(step.children, _chosen(OF_CHILDREN, kinds)))
        if eraser.count > before:
            _require_spare(draft.workflow, kinds, step.state)
            draft.amend(name, **{field: getattr(after, field) for field in (*OF_STEP, "children")})
    if not steps:
        _redact_workflow(draft, kinds, eraser)
    if eraser.count:
        remember(draft, "redact", request_id, content)
    return eraser.count


def erased(workflow: Workflow) -> Workflow:
    """The instance as it would be if everything in it were overwritten: equal for two that differ in contents only."""
    eraser = _Eraser()
    steps: dict[str, Step] = {}
    for name, step in workflow.steps.items():
        children = None if step.children is None else eraser.struct(step.children, OF_CHILDREN)
        steps[name] = replace(eraser.struct(step, OF_STEP), children=children)
    blank: Workflow = eraser.struct(workflow, OF_WORKFLOW)
    return replace(blank, steps=steps)


def refs_in(workflow: Workflow) -> set[str]:
    """The ids of all payloads outside the document that the instance refers to."""
    return {payload.ref.payload_id for payload in payloads_in(workflow) if payload.ref is not None}


def outside_bytes(workflow: Workflow) -> int:
    """Bytes of all payloads outside the document that the instance refers to, each once."""
    found = {payload.ref.payload_id: payload.ref.size for payload in payloads_in(workflow) if payload.ref is not None}
    return sum(found.values())


def payloads_in(value: object) -> Iterator[Payload]:
    """Every payload anywhere in a value."""
    if isinstance(value, Payload):
        yield value
    elif isinstance(value, Struct):
        for field in fields(value):
            yield from payloads_in(getattr(value, field.name))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from payloads_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from payloads_in(each)


def _redact_workflow(draft: Draft, kinds: frozenset[PayloadKind], eraser: _Eraser) -> None:
    before = eraser.count
    after = eraser.struct(draft.workflow, _chosen(OF_WORKFLOW, kinds))
    if eraser.count > before:
        _require_spare(draft.workflow, kinds, None)
        draft.set(**{field: getattr(after, field) for field in OF_WORKFLOW if getattr(after, field) is not getattr(draft.workflow, field)})


def _chosen(table: Mapping[str, PayloadKind], kinds: frozenset[PayloadKind]) -> dict[str, object]:
    return {field: kind for field, kind in table.items() if kind in kinds}


def _require_spare(workflow: Workflow, kinds: frozenset[PayloadKind], state: StepState | None) -> None:
    # What went wrong before a step completed is history; all else may still be read by a step, a hook or a compensation.
    history = state is StepState.COMPLETED and kinds <= {PayloadKind.FAILURE, PayloadKind.FRAME}
    if not workflow.is_ended and not history:
        text = "The workflow is open and still needs what would be overwritten."
        raise Rejection(Reason.WORKFLOW_NOT_CLOSED, text, state=workflow.state.name)


def kinds_of(numbers: Sequence[int]) -> frozenset[PayloadKind]:
    """The kinds; none = all."""
    return frozenset(PayloadKind(number) for number in numbers) or frozenset(PayloadKind)

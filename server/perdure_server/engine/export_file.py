"""The file of an exported workflow: JSON lines. The first says format and version; the last has a digest of all before it.

Nothing in it gives a right: claim tokens and the secret of wake tokens are left out.
"""

import hashlib
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from perdure_server.kernel.definition import Definition
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import Failure, Payload
from perdure_server.kernel.workflow import Signal, Step, Workflow

FORMAT: Final = "perdure-export"
VERSION: Final = 1
OMITTED: Final = "application/vnd.perdure.omitted+json"
SIZE: Final = "perdure-size"


class Head(Struct, frozen=True):
    """The first line. `rounds`: archived rounds are in it, too, for reading; they are not imported."""

    format: str
    version: int
    namespace: str
    workflow_type: str
    business_key: str
    round: int
    export_time: int
    payloads: bool
    rounds: int = 0


class DefinitionLine(Struct, frozen=True, tag="definition"):
    """A definition that one of the rounds runs by."""

    value: Definition


class WorkflowLine(Struct, frozen=True, tag="workflow"):
    """The current round."""

    value: Workflow


class RoundLine(Struct, frozen=True, tag="round"):
    """An archived round."""

    value: Workflow


class PayloadLine(Struct, frozen=True, tag="payload"):
    """A payload that is kept outside of the document of a run."""

    run_id: str
    payload_id: str
    value: Payload


class EndLine(Struct, frozen=True, tag="end"):
    """The last line: SHA-256, in hex, of all bytes before it."""

    sha256: str


Line = DefinitionLine | WorkflowLine | RoundLine | PayloadLine | EndLine


class Content(Struct, frozen=True):
    """What a file holds."""

    head: Head
    workflow: Workflow
    definitions: tuple[Definition, ...]
    payloads: tuple[PayloadLine, ...]


class Writer:
    """Makes lines, and the last one out of those before it."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def line(self, value: Struct) -> bytes:
        """One line."""
        found = msgspec.json.encode(value) + b"\n"
        self._digest.update(found)
        return found

    def end(self) -> bytes:
        """The last line."""
        return msgspec.json.encode(EndLine(self._digest.hexdigest())) + b"\n"


def read(data: bytes) -> Content:
    """What is in a file. Raises Rejection EXPORT_INVALID."""
    lines = data.splitlines(keepends=True)
    try:
        if not lines:
            raise invalid("it is empty")
        head = msgspec.json.decode(lines[0], type=Head)
        if head.format != FORMAT or head.version != VERSION:
            raise invalid(f"its format is {head.format} {head.version}, and this server reads {FORMAT} {VERSION}")
        found = [msgspec.json.decode(line, type=Line) for line in lines[1:]]
    except msgspec.DecodeError as error:
        raise invalid(f"a line does not decode: {error}") from error
    end = found.pop() if found else None
    if not isinstance(end, EndLine) or end.sha256 != hashlib.sha256(b"".join(lines[:-1])).hexdigest():
        raise invalid("it is cut short or was changed: its last line does not fit the rest")
    workflows = [line.value for line in found if isinstance(line, WorkflowLine)]
    if len(workflows) != 1:
        raise invalid("it does not hold exactly one workflow")
    definitions = tuple(line.value for line in found if isinstance(line, DefinitionLine))
    payloads = tuple(line for line in found if isinstance(line, PayloadLine))
    return Content(head, workflows[0], definitions, payloads)


def without_rights(workflow: Workflow) -> Workflow:
    """The instance without tokens and secrets."""
    return replace(workflow, wake_secret="", steps={name: _tokenless(step) for name, step in workflow.steps.items()})


def without_payloads(workflow: Workflow) -> Workflow:
    """The instance with sizes and digests in place of its payloads."""
    return replace(
        workflow,
        input=_omitted(workflow.input),
        output=_omitted(workflow.output),
        failure=_failure(workflow.failure),
        inbox=tuple(_signal(signal) for signal in workflow.inbox),
        steps={name: _step(step) for name, step in workflow.steps.items()},
    )


def _tokenless(step: Step) -> Step:
    claim = None if step.claim is None else replace(step.claim, nonce="")
    return replace(step, claim=claim, settled=tuple(replace(settled, nonce="") for settled in step.settled))


def _omitted(payload: Payload | None) -> Payload | None:
    if payload is None:
        return None
    size = payload.ref.size if payload.ref is not None else payload.inline_size
    return Payload(json="null", content_type=OMITTED, digest=payload.digest, metadata={SIZE: str(size).encode()})


def _failure(failure: Failure | None) -> Failure | None:
    return None if failure is None else replace(failure, details=_omitted(failure.details))


def _signal(signal: Signal) -> Signal:
    return replace(signal, payload=_omitted(signal.payload))


def _step(step: Step) -> Step:
    children = step.children
    if children is not None:
        children = replace(children, page=_omitted(children.page), page_cursor=_omitted(children.page_cursor))
    return replace(
        step,
        output=_omitted(step.output),
        checkpoint=_omitted(step.checkpoint),
        failure=_failure(step.failure),
        errors=tuple(replace(error, failure=replace(error.failure, details=_omitted(error.failure.details))) for error in step.errors),
        wakes=tuple(replace(wake, payload=_omitted(wake.payload)) for wake in step.wakes),
        children=children,
    )


def invalid(detail: str) -> Rejection:
    """Why a file cannot be imported."""
    return Rejection(Reason.EXPORT_INVALID, f"This is no workflow that can be imported: {detail}.", detail=detail)

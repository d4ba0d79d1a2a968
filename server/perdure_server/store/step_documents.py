"""Steps, payloads and failures as sub-documents: the inner half of the mapping of `documents.py`.

msgspec turns a value into plain dicts and back; what it does not know is corrected in place: enums become names, and the metadata of
payloads becomes pairs, since its keys are a caller's and as field names they could hold dots, dollars and zero bytes.
"""

from typing import Any, Final

from msgspec import to_builtins

from perdure_server.kernel.values import Failure, LossCause, Payload
from perdure_server.kernel.workflow import Signal, Step, StepState

Document = dict[str, Any]

AS_IS: Final = (bytes,)
_OF_CHILDREN: Final = frozenset({"page", "page_cursor"})  # payloads in what a step stores of its children


def plain(value: object) -> Any:
    """The value as dicts, lists and scalars; bytes stay bytes."""
    return to_builtins(value, builtin_types=AS_IS)


def _payload_fields(document: Document) -> None:
    metadata = document.get("metadata")
    if metadata:
        document["metadata"] = [[key, value] for key, value in metadata.items()]


def encode_payload(payload: Payload) -> Document:
    """A payload as a sub-document."""
    document: Document = plain(payload)
    _payload_fields(document)
    return document


def _failure_fields(document: Document) -> None:
    if "details" in document:
        _payload_fields(document["details"])


def encode_failure(failure: Failure) -> Document:
    """A failure as a sub-document."""
    document: Document = plain(failure)
    _failure_fields(document)
    return document


def encode_step(step: Step) -> Document:
    """A step as a sub-document."""
    document: Document = plain(step)
    document["state"] = step.state.name
    for name in ("output", "checkpoint"):
        if name in document:
            _payload_fields(document[name])
    if "children" in document:
        for name in _OF_CHILDREN & document["children"].keys():
            _payload_fields(document["children"][name])
    if "failure" in document:
        _failure_fields(document["failure"])
    for error in document.get("errors", ()):
        _failure_fields(error["failure"])
    for wake in document.get("wakes", ()):
        if "payload" in wake:
            _payload_fields(wake["payload"])
    for settled in document.get("settled", ()):
        if "cause" in settled:
            settled["cause"] = LossCause(settled["cause"]).name
    return document


def encode_steps(steps: dict[str, Step]) -> Document:
    """All steps of an instance, plain."""
    return {name: encode_step(step) for name, step in steps.items()}


def encode_inbox(inbox: tuple[Signal, ...]) -> list[Document]:
    """Waiting signals, in order."""
    documents: list[Document] = plain(inbox)
    for document in documents:
        if "payload" in document:
            _payload_fields(document["payload"])
    return documents


def read_payload(document: Document) -> Document:
    """What msgspec makes a Payload of. Changes the document."""
    metadata = document.get("metadata")
    if metadata:
        document["metadata"] = dict(metadata)
    return document


def read_failure(document: Document) -> Document:
    """What msgspec makes a Failure of. Changes the document."""
    if "details" in document:
        read_payload(document["details"])
    return document


def read_steps(documents: Document) -> Document:
    """What msgspec makes steps by name of. Changes the documents."""
    for document in documents.values():
        _read_step(document)
    return documents


def _read_step(document: Document) -> None:
    document["state"] = StepState[document["state"]]
    for name in ("output", "checkpoint"):
        if name in document:
            read_payload(document[name])
    if "children" in document:
        for name in _OF_CHILDREN & document["children"].keys():
            read_payload(document["children"][name])
    if "failure" in document:
        read_failure(document["failure"])
    for error in document.get("errors", ()):
        read_failure(error["failure"])
    for wake in document.get("wakes", ()):
        if "payload" in wake:
            read_payload(wake["payload"])
    for settled in document.get("settled", ()):
        if "cause" in settled:
            settled["cause"] = LossCause[settled["cause"]]


def read_inbox(documents: list[Document]) -> list[Document]:
    """What msgspec makes signals of. Changes the documents."""
    for document in documents:
        if "payload" in document:
            read_payload(document["payload"])
    return documents

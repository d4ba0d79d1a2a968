"""What calls answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from perdure.v1 import definition_pb2
from perdure.view import WorkflowState, time_of


@dataclass(frozen=True, slots=True)
class Signalled:
    """A signal is stored."""

    duplicate: bool
    """It was stored before."""
    consumed: bool
    """It ended a wait in the same write; otherwise it is in the inbox."""
    signal_id: str
    """What makes it count once."""


@dataclass(frozen=True, slots=True)
class Started:
    """What a start answered."""

    created: bool
    """Whether this call began the round; False for every repeat."""
    run_id: str
    fence: int
    state: WorkflowState
    definition_fingerprint: str


@dataclass(frozen=True, slots=True)
class RegisteredDefinition:
    """A definition as the server keeps it."""

    workflow_type: str
    version: str
    fingerprint: str
    """Over structure and step contracts; only the server computes it."""
    step_contracts: Mapping[str, str]
    active: bool
    """Whether new starts of the type use it."""
    policy_revision: int
    register_time: datetime | None
    created: bool = False
    """Whether this call registered it."""
    warnings: tuple[str, ...] = ()
    """What is allowed but probably not meant."""
    message: definition_pb2.RegisteredDefinition = field(default_factory=definition_pb2.RegisteredDefinition, repr=False)
    """All that the server told."""


def registered(
    message: definition_pb2.RegisteredDefinition, *, created: bool = False, warnings: tuple[str, ...] = ()
) -> RegisteredDefinition:
    """From the wire's form."""
    return RegisteredDefinition(
        message.definition.workflow_type,
        message.definition.version,
        message.fingerprint,
        dict(message.step_contracts),
        message.active,
        message.policy_revision,
        time_of(message.register_time),
        created,
        warnings,
        message,
    )


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay does again."""

    reopened: tuple[str, ...]
    """Steps that are done again."""
    in_doubt: tuple[str, ...]
    """Completed steps that stay so, though their compensation was begun and did not complete: name them in `reopen` to do them again."""

"""What a map or child step stores of its children, and what a child stores of its parent.

A step never holds more than `open` (at most limits.MAX_IN_FLIGHT_MAX indexes), a few counts, the first limits.CHILD_ERRORS errors and one
page: its size does not grow with the number of its children. Which children there are, follows from their indexes.
"""

import hashlib
from enum import IntEnum

import msgspec
from msgspec import Struct

from perdure_server.kernel import limits
from perdure_server.kernel.values import Failure, Payload


class ParentClose(IntEnum):
    """What a step's end does to those of its children that are open."""

    CANCEL = 1
    TERMINATE = 2
    ABANDON = 3


class Parent(Struct, frozen=True, omit_defaults=True):
    """The step that started a workflow: in the same namespace, of this very run and generation. `index` counts its items from 0."""

    workflow_type: str
    business_key: str
    round: int
    run_id: str
    step: str
    generation: int
    index: int
    single: bool = False  # of a child step: its output is the step's
    depth: int = 1  # how many parents are above it


class ChildError(Struct, frozen=True):
    """A child that failed."""

    index: int
    type: str
    message: str


class ChildEnd(Struct, frozen=True, omit_defaults=True):
    """How a child ended. `output` only of a child step's, in the parent's run."""

    index: int
    state: int  # a WorkflowState
    failure: Failure | None = None
    output: Payload | None = None


class Children(Struct, frozen=True, omit_defaults=True):
    """Where the children of a step stand. A child is open from the write that intends it until its end is counted, once."""

    audit: int  # when `open` is compared with the children themselves, in ms
    total: int = 0  # known so far
    known: bool = False  # `total` is final
    cursor: int = 0  # index of the next child to open
    made: int = 0  # the open ones below it are known to have been created
    open: tuple[int, ...] = ()  # rising
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    errors: tuple[ChildError, ...] = ()  # of those that failed, the lowest indexes
    tries: int = 1  # how often the step has started its children, in this life of it
    page: Payload | None = None  # the children from `page_start` to `total`, packed
    page_start: int = 0
    page_cursor: Payload | None = None
    told: int = 0  # when watchers were told of progress, in ms
    over: bool = False  # the join cannot be met: nothing more is opened or counted

    @property
    def unmade(self) -> bool:
        """Whether an open one may not have been created yet."""
        return bool(self.open) and self.open[-1] >= self.made

    @property
    def ended(self) -> int:
        """How many ends were counted."""
        return self.completed + self.failed + self.cancelled

    @property
    def inline_size(self) -> int:
        """Bytes of payloads in it."""
        return sum(payload.inline_size for payload in (self.page, self.page_cursor) if payload is not None)


class Closing(Struct, frozen=True, omit_defaults=True):
    """What a duty to close children is about; it outlives the step's generation, and even the round."""

    step: str
    generation: int
    run_id: str
    workflow_type: str
    policy: ParentClose
    open: tuple[int, ...]

    def subject(self) -> str:
        """The same as a duty's text."""
        return msgspec.json.encode(self).decode()


_closing = msgspec.json.Decoder(Closing)


def closing(subject: str) -> Closing:
    """What the subject of a duty says. Raises msgspec.DecodeError (a ValueError) if it is none."""
    return _closing.decode(subject)


def child_key(parent: Parent) -> str:
    """The business key of a child: deterministic, so that its start is idempotent, and never the same for another run or generation."""
    rest = f"/{parent.step}/{parent.round}-{parent.run_id}.{parent.generation}.{parent.index}"
    if len(parent.business_key.encode()) + len(rest) <= limits.KEY_LENGTH:
        return parent.business_key + rest
    return hashlib.sha256(parent.business_key.encode()).hexdigest()[:32] + rest

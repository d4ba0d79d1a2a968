"""Batches: one deed on many workflows, done in the background; what is stored of them is enough for any server to go on."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Protocol

from msgspec import Struct


class BatchState(IntEnum):
    """Where a batch stands; numbered as on the wire."""

    RUNNING = 1
    COMPLETED = 2
    STOPPED = 3
    FAILED = 4


class BatchRefusal(Struct, frozen=True):
    """A workflow to which it could not be done: the reason's name, and the words."""

    workflow_type: str
    business_key: str
    round: int
    reason: str
    message: str


class Batch(Struct, frozen=True, omit_defaults=True):
    """One batch. Times in ms.

    `plan` is what the engine does and to which workflows, `told` the same as people are shown it, without payloads; both are opaque here.
    `content` is a digest of all that `request_id` asked for.
    `place` is the last workflow taken in hand (start time and `_id` in hex, "" = none yet); `in_hand` those (in hex) of which nobody has
    stored yet what came of them. `owner` works on it until `owned_until`; every change raises `revision`.
    """

    namespace: str
    batch_id: str
    state: BatchState
    start_time: int
    verb: str
    plan: bytes = b""
    told: bytes = b""
    reason: str = ""
    actor: str = ""
    request_id: str = ""
    content: str = ""
    stop_request_id: str = ""
    end_time: int | None = None
    matched: int = 0
    matched_estimate: bool = False
    succeeded: int = 0
    failed: int = 0
    refusals: tuple[BatchRefusal, ...] = ()
    max_per_second: float = 0.0
    place: tuple[int, str] = (0, "")
    in_hand: tuple[str, ...] = ()
    owner: str = ""
    owned_until: int = 0
    revision: int = 1


class BatchKey(Struct, frozen=True):
    """The last batch of a page: the next begins after it."""

    start_time: int
    batch_id: str


class Batches(Protocol):
    """Small documents, one per batch. Every method may raise StoreUnavailable."""

    async def add(self, batch: Batch) -> bool:
        """Insert it; False = its namespace and id are there already."""

    async def get(self, namespace: str, batch_id: str) -> Batch | None:
        """As stored, linearizable."""

    async def change(self, batch: Batch) -> bool:
        """Store it over the revision before its own; False = that is not what is stored."""

    async def running(self, limit: int) -> Sequence[Batch]:
        """RUNNING ones of all namespaces, oldest first."""

    async def list(self, namespace: str, states: Sequence[BatchState], limit: int, after: BatchKey | None) -> Sequence[Batch]:
        """Batches in these states (none = any) by (start_time, batch_id), both falling, that come after `after`."""

    async def forget(self, until: int, limit: int) -> int:
        """Remove at most `limit` that ended at <= `until`; returns how many."""

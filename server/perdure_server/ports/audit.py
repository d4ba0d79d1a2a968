"""The audit trail: who did what, kept for a bounded time in a place of its own."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct


class AuditRecord(Struct, frozen=True, omit_defaults=True):
    """One deed of a person or an administrator. `time` in ms. Never holds a payload or a secret.

    `workflow_type` and `business_key` name the workflow it was done to ("" = none); `target` any other thing, such as a batch's id.
    `refusal` is the reason's name when it was refused, `refusal_text` what the caller was told.
    """

    record_id: str
    namespace: str
    time: int
    method: str
    actor: str = ""
    peer: str = ""
    workflow_type: str = ""
    business_key: str = ""
    round: int = 0
    target: str = ""
    reason: str = ""
    request_id: str = ""
    refusal: str = ""
    refusal_text: str = ""
    facts: Mapping[str, str] = {}


class AuditQuery(Struct, frozen=True, omit_defaults=True):
    """Which records; empty means any. Times in ms, `from_time` inclusive, `to_time` exclusive."""

    namespace: str
    workflow_type: str = ""
    business_key: str = ""
    actor: str = ""
    methods: tuple[str, ...] = ()
    from_time: int | None = None
    to_time: int | None = None


class AuditKey(Struct, frozen=True):
    """The last record of a page: the next begins after it."""

    time: int
    record_id: str


class AuditTrail(Protocol):
    """Records, newest first. Every method may raise StoreUnavailable."""

    async def add(self, record: AuditRecord) -> None:
        """Store it; one with this id that is there already stays as it is."""

    async def find(self, query: AuditQuery, limit: int, after: AuditKey | None) -> Sequence[AuditRecord]:
        """At most `limit` records by (time, record_id), both falling, that come after `after`."""

    async def forget(self, until: int, limit: int) -> int:
        """Remove at most `limit` records of a time <= `until`, oldest first; returns how many."""

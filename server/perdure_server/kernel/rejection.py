"""Typed refusals. The reason names are those of the wire's ErrorReason; a test compares the two lists."""

from collections.abc import Mapping
from enum import Enum, auto


class Reason(Enum):
    """A stable reason; its meaning never changes, its text may."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[str]) -> str:
        return name

    START_INPUT_MISMATCH = auto()
    WORKFLOW_ALREADY_EXISTS = auto()
    WORKFLOW_NOT_FOUND = auto()
    REQUEST_ID_REUSED = auto()
    BATCH_NOT_FOUND = auto()
    BATCH_CLOSED = auto()
    EXPORT_INVALID = auto()
    DEFINITION_NOT_FOUND = auto()
    DEFINITION_INVALID = auto()
    DEFINITION_CYCLE = auto()
    DEFINITION_MISMATCH = auto()
    DEFINITION_IN_USE = auto()
    CLAIM_LOST = auto()
    CLAIM_ALREADY_SETTLED = auto()
    WORKFLOW_CLOSED = auto()
    WORKFLOW_NOT_CLOSED = auto()
    WORKFLOW_FAILING = auto()
    SIGNAL_INBOX_FULL = auto()
    WAKE_TOKEN_INVALID = auto()
    FENCED = auto()
    REVISION_CONFLICT = auto()
    BRANCH_INVALID = auto()
    WORKFLOW_STATE_INVALID = auto()
    MIGRATION_LOSES_STATE = auto()
    STEP_NOT_FOUND = auto()
    STEP_STATE_INVALID = auto()
    SCHEDULE_NOT_FOUND = auto()
    SCHEDULE_INVALID = auto()
    RESOURCE_NOT_FOUND = auto()
    RESOURCE_IN_USE = auto()
    INVALID_ARGUMENT = auto()
    PAYLOAD_TOO_LARGE = auto()
    PAYLOAD_INVALID = auto()
    PAYLOAD_NOT_FOUND = auto()
    PAGE_TOKEN_INVALID = auto()
    RESUME_TOKEN_INVALID = auto()
    SESSION_LOST = auto()
    SESSION_SUPERSEDED = auto()
    OUTCOME_NOT_ALLOWED = auto()
    ROUND_ARCHIVED = auto()
    OVERLOADED = auto()
    QUOTA_EXCEEDED = auto()
    WATCHER_TOO_SLOW = auto()
    STORE_UNAVAILABLE = auto()
    DRAINING = auto()
    NOT_READY = auto()
    NOT_IMPLEMENTED = auto()
    DOCUMENT_QUARANTINED = auto()
    INTERNAL = auto()


class Rejection(Exception):
    """A command that the rules refuse. Nothing changed. `facts` become the metadata of the wire's ErrorInfo."""

    def __init__(self, reason: Reason, message: str, **facts: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.facts: Mapping[str, str] = facts
        self.retry_after = 0  # ms after which a repeat may succeed; 0 = as usual for the reason


class FieldViolation(Exception):
    """Bad input: every violation at once, each a (field path, what is wrong and the limit)."""

    def __init__(self, violations: list[tuple[str, str]], reason: Reason = Reason.INVALID_ARGUMENT) -> None:
        super().__init__("; ".join(f"{field}: {text}" for field, text in violations))
        self.violations = violations
        self.reason = reason

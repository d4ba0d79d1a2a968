"""Everything that can go wrong with a call, as one tree; each branch is something that a caller would `except`.

    PerdureError
    ├── InvalidRequest         a value or field is wrong; `violations` names each
    │   ├── PayloadRejected    a value is not JSON, has NaN, is too deep or too large
    │   │   └── PayloadUndecodable  a value is encoded, and this program cannot decode it; `cause` says why
    │   └── DefinitionRejected a definition has faults, or asks for what the server cannot do yet
    ├── AlreadyExists          the business key, request_id or signal_id was used for something else
    ├── NotFound               no such workflow, definition, step, payload, ...
    ├── ClaimLost              the claim is not yours any more: drop the work; `cause` says why
    ├── NotAllowed             not in this state (ended, failing, not ended, full, mismatch, ...)
    ├── Conflict               a fence or etag is not current: read again
    ├── Overloaded             too much at once; `retry_after` says when
    ├── Unavailable            the server cannot be reached or is stopping; was retried until the call's timeout
    ├── CallTimeout            no answer in time; the effect is unknown, the same request may be repeated
    ├── AccessDenied           no or wrong credentials, or a role is missing
    ├── NotImplementedYet      the server has no rules for this call
    ├── ServerFault            a bug or damaged data; `metadata["incident_id"]` is in the server's log
    └── WorkflowNotCompleted   the workflow ended, but not well
        ├── WorkflowFailed     `failure` says why, `step` where
        ├── WorkflowCancelled
        └── WorkflowTerminated

`error.reason` is an ErrorReason (or a plain string that this version does not know): branch on it, never on the text.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from perdure.failure import Failure


@dataclass(frozen=True, slots=True)
class Violation:
    """One field that is wrong."""

    field: str
    """Path of the field, such as `definition.steps[1].needs`."""
    description: str
    """What is wrong with it."""


class PerdureError(Exception):
    """A call failed."""

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        code: str = "",
        metadata: Mapping[str, str] | None = None,
        violations: tuple[Violation, ...] = (),
        retry_after: timedelta | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        """For people; never to be parsed."""
        self.reason = reason
        """Why: an ErrorReason, or the name of a newer one."""
        self.code = code
        """The canonical gRPC code, such as `NOT_FOUND`; empty if no server was asked."""
        self.metadata: Mapping[str, str] = metadata or {}
        """Facts that go with the reason, as named beside each ErrorReason."""
        self.violations = violations
        """Every wrong field, where the code is INVALID_ARGUMENT."""
        self.retry_after = retry_after
        """How long the server asks to wait before another try; None: nothing was said."""

    def __str__(self) -> str:
        faults = "".join(f"\n  {violation.field}: {violation.description}" for violation in self.violations)
        return f"{self.message} [{self.reason or self.code}]{faults}" if self.reason or self.code else f"{self.message}{faults}"


class InvalidRequest(PerdureError):
    """A value or field is wrong; `violations` names each."""


class PayloadRejected(InvalidRequest):
    """A value cannot travel: not JSON, NaN or infinite, too deep, or too large."""


class PayloadUndecodable(PayloadRejected):
    """A value is encoded, and this program cannot decode it."""

    def __init__(self, message: str, cause: str) -> None:
        super().__init__(message)
        self.cause = cause
        """key_missing, key_wrong, tampered, malformed, or encoding_unknown."""

    def __reduce__(self) -> tuple[object, ...]:
        return PayloadUndecodable, (self.message, self.cause)


class DefinitionRejected(InvalidRequest):
    """A definition has faults, or asks for something that the server cannot do yet."""


class AlreadyExists(PerdureError):
    """The business key, request_id or signal_id was used before for something else."""


class NotFound(PerdureError):
    """There is no such workflow, round, definition, step, payload or namespace."""


class ClaimLost(PerdureError):
    """The claim is not this worker's any more: stop, and drop the result."""

    @property
    def cause(self) -> str:
        """EXPIRED, TIMED_OUT, CANCELLED, SUPERSEDED, CLOSED or UNKNOWN."""
        return self.metadata.get("cause", "UNKNOWN")


class NotAllowed(PerdureError):
    """The workflow, step, session or definition is in no state that allows it."""


class Conflict(PerdureError):
    """A fence or etag is not current: read again, then decide."""


class Overloaded(PerdureError):
    """Too much at once, or a quota is used up; try later."""


class Unavailable(PerdureError):
    """The server cannot be reached, is stopping, or has no store; retried until the call's timeout."""


class CallTimeout(PerdureError, TimeoutError):
    """No answer within the timeout; the effect is unknown, the same request may be repeated."""


class AccessDenied(PerdureError):
    """No or wrong credentials, or the caller's roles do not allow it."""


class NotImplementedYet(PerdureError):
    """The server has no rules for this call."""


class ServerFault(PerdureError):
    """A bug of the server's, or damaged data; the incident id is in its log."""


class WorkflowNotCompleted(PerdureError):
    """The workflow has ended, but not COMPLETED; the reason is its end state."""


class WorkflowFailed(WorkflowNotCompleted):
    """The workflow FAILED."""

    def __init__(self, message: str, failure: Failure, step: str) -> None:
        super().__init__(message, reason="FAILED")
        self.failure = failure
        """Why, in the author's words."""
        self.step = step
        """The step that failed it; empty after a workflow timeout."""


class WorkflowCancelled(WorkflowNotCompleted):
    """The workflow was CANCELLED; the message holds the words of whoever asked for it."""


class WorkflowTerminated(WorkflowNotCompleted):
    """The workflow was TERMINATED by a person."""

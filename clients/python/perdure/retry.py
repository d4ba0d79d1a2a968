"""Retry policy of a step."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from perdure.failure import failure_type
from perdure.v1 import definition_pb2


@dataclass(frozen=True, slots=True)
class Retry:
    """When and how often an attempt is made again. What is None is the server's default."""

    max_attempts: int | None = None
    """The first included, at least 1. None: 3."""
    unlimited: bool = False
    """Until it succeeds or fails with something non-retryable; not together with max_attempts."""
    initial_interval: timedelta | None = None
    """Before the second attempt. None: 1 s."""
    backoff_coefficient: float | None = None
    """Growth of the interval per attempt, at least 1. None: 2."""
    max_interval: timedelta | None = None
    """Longest interval. None: 1 min."""
    jitter: float | None = None
    """Share of the interval that is random, 0 to 1. None: 0.2."""
    non_retryable: Sequence[str | type[BaseException]] = ()
    """Failure types, or exception classes, that end the attempts at once; compared exactly, subclasses are not included."""

    def __post_init__(self) -> None:
        if self.unlimited and self.max_attempts is not None:
            raise ValueError("Retry: give max_attempts or unlimited, not both")
        if self.max_attempts is not None and self.max_attempts < 1:
            raise ValueError("Retry: max_attempts must be at least 1 (the first attempt counts); use unlimited=True for no limit")

    def to_message(self) -> definition_pb2.RetryPolicy:
        """The wire's form."""
        policy = definition_pb2.RetryPolicy(
            backoff_coefficient=self.backoff_coefficient,
            jitter=self.jitter,
            non_retryable_types=[item if isinstance(item, str) else failure_type(item) for item in self.non_retryable],
        )
        if self.unlimited:
            policy.unlimited = True
        elif self.max_attempts is not None:
            policy.max_attempts = self.max_attempts
        if self.initial_interval is not None:
            policy.initial_interval.FromTimedelta(self.initial_interval)
        if self.max_interval is not None:
            policy.max_interval.FromTimedelta(self.max_interval)
        return policy

"""A context for testing one activity by itself: no server, no worker, just the function.

ctx = fake_context(checkpoint="task-7", business_key="note-42")
assert await transcribe(ctx, Audio("s3://a.mp3")) == "text"
assert ctx.recorded.checkpoints == ["task-8"]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from perdure import payloads
from perdure.context import ClaimFacts, Context, FrameKind
from perdure.v1 import payload_pb2, wait_pb2

C = TypeVar("C")


@dataclass
class Recorded:
    """What the activity did; and `cancel_reason`, which a test may set to ask it to stop."""

    checkpoints: list[Any] = field(default_factory=list[Any])
    """What was saved, oldest first."""
    frames: list[Any] = field(default_factory=list[Any])
    """Texts, progress and log lines that were sent, oldest first."""
    signs_of_life: int = 0
    """How often `ctx.alive()` was called."""
    cancel_reason: str = ""
    """Set it to ask the activity to stop."""
    save_error: Exception | None = None
    """Set it to have the next `ctx.save` raise, such as ClaimLost."""


class FakeContext(Context[C], Generic[C]):
    """A context that records instead of sending."""

    def __init__(self, facts: ClaimFacts, recorded: Recorded, *, checkpoint: C | None, wakes: Sequence[wait_pb2.Wake]) -> None:
        super().__init__(facts, _RecordingLink(recorded), checkpoint=checkpoint, wakes=wakes)
        self.recorded = recorded
        """What the activity did."""


def fake_context(
    *,
    checkpoint: Any = None,
    wakes: Sequence[wait_pb2.Wake] = (),
    business_key: str = "key-1",
    step: str = "step",
    attempt: int = 1,
    fence: int = 1,
    idempotency_key: str = "idempotency-key-1",
    wake_token: str = "wake-token-1",  # noqa: S107 -- a made-up token, no secret
    labels: Mapping[str, str] | None = None,
) -> FakeContext[Any]:
    """A context for one activity; `ctx.recorded` tells what it did."""
    facts = ClaimFacts("default", "test", business_key, 1, step, 1, attempt, fence, idempotency_key, wake_token, labels=labels or {})
    return FakeContext(facts, Recorded(), checkpoint=checkpoint, wakes=wakes)


class _RecordingLink:
    """Goes nowhere."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded

    async def save(self, payload: payload_pb2.Payload) -> None:
        self.save_blocking(payload)

    def save_blocking(self, payload: payload_pb2.Payload) -> None:
        error, self._recorded.save_error = self._recorded.save_error, None
        if error is not None:
            raise error
        self._recorded.checkpoints.append(payloads.decode(payload))

    def frame(self, kind: FrameKind, payload: payload_pb2.Payload) -> None:
        del kind
        self._recorded.frames.append(payloads.decode(payload))

    def alive(self) -> None:
        self._recorded.signs_of_life += 1

    def cancel_reason(self) -> str:
        return self._recorded.cancel_reason

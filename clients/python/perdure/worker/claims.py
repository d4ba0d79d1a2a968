"""The claims that this worker holds, by token, and the slots of its pools. Lives on the session's thread."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from enum import Enum

from perdure.errors import PerdureError
from perdure.v1 import claim_pb2, payload_pb2, worker_service_pb2
from perdure.worker.plan import PoolPlan

Reply = Callable[[PerdureError | None], None]


class Phase(Enum):
    """How far a held claim is."""

    HELD_BACK = 1
    """Received, but not begun: waits for an answered renew, or for a slot."""
    RUNNING = 2
    """Its activity runs."""
    SETTLING = 3
    """Its result is on the way, or being sent again."""


class Save:
    """One checkpoint on its way."""

    __slots__ = ("checkpoint", "checkpoint_no", "reply")

    def __init__(self, checkpoint: payload_pb2.Payload, checkpoint_no: int, reply: Reply) -> None:
        self.checkpoint = checkpoint
        self.checkpoint_no = checkpoint_no
        self.reply = reply


class Held:
    """One claim that this worker holds. Keyed by token: a step that was lost and granted again is another claim (case C33)."""

    __slots__ = (
        "acknowledged",
        "alive_at",
        "cancel_reason",
        "checkpoint_no",
        "claim",
        "connection_no",
        "frames",
        "frames_open",
        "has_slot",
        "is_lost",
        "last_frame_seq",
        "must_be_renewed",
        "named_in",
        "phase",
        "pool",
        "received_at",
        "refusals",
        "result",
        "saves",
        "token",
    )

    def __init__(self, claim: claim_pb2.Claim, pool: "Pool", connection_no: int) -> None:
        self.claim = claim
        self.token = claim.claim_token
        self.pool = pool
        self.connection_no = connection_no
        self.phase = Phase.HELD_BACK
        self.acknowledged = False
        self.must_be_renewed = claim.begin_after_renewed
        self.named_in = 0
        self.has_slot = False
        self.received_at = time.monotonic()
        self.alive_at = self.received_at
        self.cancel_reason = ""
        self.is_lost = False
        self.result: worker_service_pb2.Result | None = None
        self.refusals = 0
        self.checkpoint_no = claim.checkpoint_no
        self.saves: deque[Save] = deque()
        self.frames: deque[claim_pb2.FrameUpload] = deque()
        self.frames_open = 0
        self.last_frame_seq = 0

    def __str__(self) -> str:
        claim = self.claim
        return f"{claim.step} of {claim.workflow.workflow_type}/{claim.workflow.business_key}, attempt {claim.attempt}"


class Pool:
    """Slots of one pool, and what the server was told of them."""

    def __init__(self, plan: PoolPlan) -> None:
        self.plan = plan
        self.name = plan.name
        self.running = 0
        """Slots in use."""
        self.offered = 0
        """Credit that the server has and has not spent; all of it ends with the stream."""
        self.waiting: deque[Held] = deque()
        """Claims that came without a free slot, as can happen after errors."""
        self.contracts: Mapping[str, str] = {}
        """Step to step contract, as the server accepted or computed it."""

    @property
    def has_room(self) -> bool:
        """Whether another activity may begin."""
        return self.running < self.plan.slots

    @property
    def missing_credit(self) -> int:
        """How many slots are free and not offered."""
        return max(0, self.plan.slots - self.running - len(self.waiting) - self.offered)


class ClaimTable:
    """All held claims."""

    def __init__(self) -> None:
        self._by_token: dict[str, Held] = {}

    def __len__(self) -> int:
        return len(self._by_token)

    def __iter__(self) -> Iterator[Held]:
        return iter(list(self._by_token.values()))

    def __contains__(self, token: str) -> bool:
        return token in self._by_token

    def get(self, token: str) -> Held | None:
        """The claim, if it is held."""
        return self._by_token.get(token)

    def add(self, held: Held) -> None:
        """Holds a claim."""
        self._by_token[held.token] = held

    def remove(self, held: Held) -> None:
        """Forgets a claim."""
        self._by_token.pop(held.token, None)

    def current(self) -> list[Held]:
        """Claims that are still this worker's, as far as it knows."""
        return [held for held in self._by_token.values() if not held.is_lost]


def cause_name(cause: int) -> str:
    """EXPIRED, TIMED_OUT, CANCELLED, SUPERSEDED, CLOSED or UNKNOWN."""
    found = worker_service_pb2.ClaimLossCause.DESCRIPTOR.values_by_number.get(cause)
    name = found.name.removeprefix("CLAIM_LOSS_CAUSE_") if found is not None else "UNKNOWN"
    return "UNKNOWN" if name == "UNSPECIFIED" else name

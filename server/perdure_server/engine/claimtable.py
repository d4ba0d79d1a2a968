"""The claims that workers connected to this server hold, as far as this process knows: hints for telling, never for deciding."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perdure_server.engine.desk import Pool
from perdure_server.engine.values import GrantedClaim
from perdure_server.kernel.tokens import decode_claim_token

if TYPE_CHECKING:
    from perdure_server.engine.streams import WorkerStream


class LocalClaim:
    """One claim of one stream. Times in store ms."""

    __slots__ = (
        "acknowledged",
        "alive_at",
        "cancelled",
        "claim_no",
        "granted",
        "held",
        "missed",
        "must_hold",
        "nonce",
        "pool",
        "run_id",
        "settling",
        "silence_timeout",
        "step",
        "stream",
        "token",
        "workflow_id",
    )

    def __init__(self, stream: "WorkerStream", pool: Pool, claim: GrantedClaim, now: int) -> None:
        address = decode_claim_token(claim.token)
        self.stream = stream
        self.pool = pool
        self.token = claim.token
        self.workflow_id = address.workflow_id
        self.run_id = address.run_id
        self.step = address.step
        self.nonce = address.nonce
        self.claim_no = claim.claim_no
        self.granted = now
        self.alive_at = now
        self.must_hold = claim.begin_after_renewed
        self.silence_timeout = claim.plan.silence_timeout
        self.acknowledged = False
        self.held = False
        self.cancelled = False
        self.settling = False  # its result is being applied: no renewal is expected to name it
        self.missed = 0


class ClaimTable:
    """By nonce, by workflow and by stream."""

    def __init__(self) -> None:
        self._by_nonce: dict[str, LocalClaim] = {}
        self._by_workflow: dict[bytes, set[str]] = {}

    def add(self, claim: LocalClaim) -> None:
        """Note a claim; the same again replaces it."""
        self._by_nonce[claim.nonce] = claim
        self._by_workflow.setdefault(claim.workflow_id, set()).add(claim.nonce)

    def get(self, nonce: str) -> LocalClaim | None:
        """The claim, if a stream of this server holds it."""
        return self._by_nonce.get(nonce)

    def remove(self, nonce: str) -> LocalClaim | None:
        """Forget it."""
        claim = self._by_nonce.pop(nonce, None)
        if claim is not None:
            nonces = self._by_workflow[claim.workflow_id]
            nonces.discard(nonce)
            if not nonces:
                del self._by_workflow[claim.workflow_id]
        return claim

    def of_workflow(self, workflow_id: bytes) -> list[LocalClaim]:
        """The claims of one workflow."""
        return [self._by_nonce[nonce] for nonce in self._by_workflow.get(workflow_id, ())]

    def of_stream(self, stream: "WorkerStream") -> list[LocalClaim]:
        """The claims of one stream."""
        return [claim for claim in self._by_nonce.values() if claim.stream is stream]

    def workflows(self) -> list[bytes]:
        """The workflows with claims here."""
        return list(self._by_workflow)

    def __iter__(self) -> Iterator[LocalClaim]:
        return iter(list(self._by_nonce.values()))

    def __len__(self) -> int:
        return len(self._by_nonce)

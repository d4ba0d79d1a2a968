"""The claims that workers connected to this server hold, as far as this process knows: hints for telling, never for deciding."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perdure_server.engine.addresses import address_of
from perdure_server.engine.desk import Pool
from perdure_server.engine.values import GrantedClaim

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
        "offered",
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
        address = address_of(claim.token)
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
        self.must_hold = claim.begin_after_renewed  # its activity waits for a stored renewal
        self.silence_timeout = claim.plan.silence_timeout
        self.acknowledged = pool.acknowledged
        self.held = False  # its acknowledgement is stored
        self.cancelled = False
        self.settling = 0  # results of it that are being applied: meanwhile no renewal is expected to name it
        self.offered = False  # its slot is credited to the pool again
        self.missed = 0

    def begin_settling(self, want_next: bool) -> None:
        """A result came. Its slot is offered to what this very result unlocks, before anybody else is told of it; once per claim.

        It stays offered whatever the answer, as the activity is over: a result that comes again offers nothing more.
        """
        self.settling += 1
        self.acknowledged = True
        if want_next and not self.offered and not self.pool.closed:
            self.offered = True
            self.pool.free()

    def end_settling(self) -> None:
        """The result is answered."""
        self.settling -= 1


class ClaimTable:
    """By nonce, by workflow and by stream."""

    def __init__(self) -> None:
        self._by_nonce: dict[str, LocalClaim] = {}
        self._by_workflow: dict[bytes, dict[str, None]] = {}  # dicts, for their order
        self._by_stream: dict[WorkerStream, dict[str, None]] = {}

    def add(self, claim: LocalClaim) -> None:
        """Note a claim; the same again replaces it."""
        self.remove(claim.nonce)
        self._by_nonce[claim.nonce] = claim
        self._by_workflow.setdefault(claim.workflow_id, {})[claim.nonce] = None
        self._by_stream.setdefault(claim.stream, {})[claim.nonce] = None

    def get(self, nonce: str) -> LocalClaim | None:
        """The claim, if a stream of this server holds it."""
        return self._by_nonce.get(nonce)

    def remove(self, nonce: str) -> LocalClaim | None:
        """Forget it."""
        claim = self._by_nonce.pop(nonce, None)
        if claim is not None:
            nonces = self._by_workflow[claim.workflow_id]
            nonces.pop(nonce, None)
            if not nonces:
                del self._by_workflow[claim.workflow_id]
            nonces = self._by_stream[claim.stream]
            nonces.pop(nonce, None)
            if not nonces:
                del self._by_stream[claim.stream]
        return claim

    def of_workflow(self, workflow_id: bytes) -> list[LocalClaim]:
        """The claims of one workflow."""
        return [self._by_nonce[nonce] for nonce in self._by_workflow.get(workflow_id, ())]

    def of_stream(self, stream: "WorkerStream") -> list[LocalClaim]:
        """The claims of one stream."""
        return [self._by_nonce[nonce] for nonce in self._by_stream.get(stream, ())]

    def workflows(self) -> list[bytes]:
        """The workflows with claims here."""
        return list(self._by_workflow)

    def __iter__(self) -> Iterator[LocalClaim]:
        return iter(list(self._by_nonce.values()))

    def __len__(self) -> int:
        return len(self._by_nonce)

"""What a worker's stream asks of the engine."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Protocol

from perdure_server.engine.claimtable import ClaimTable, LocalClaim
from perdure_server.engine.desk import Desk, Pool
from perdure_server.engine.subscriptions import Subscriptions
from perdure_server.engine.tasks import Supervisor
from perdure_server.engine.values import HeartbeatIn, HeartbeatOut, ResultIn, SettledOut
from perdure_server.ports.clock import Clock
from perdure_server.ports.store import Sessions

if TYPE_CHECKING:
    from perdure_server.engine.streams import WorkerStream


class StreamServices(Protocol):
    """The engine, as streams know it."""

    clock: Clock
    desk: Desk
    claims: ClaimTable
    sessions: Sessions
    supervisor: Supervisor
    subscriptions: Subscriptions

    def settle(self, result: ResultIn, prefer: Pool | None, stream: "WorkerStream | None") -> "Awaitable[SettledOut]":
        """Apply one result; never raises, the error is in the answer."""

    def conclude(self, claim: LocalClaim, answer: SettledOut) -> None:
        """The result of a claim is answered."""

    async def heartbeat(self, heartbeat: HeartbeatIn) -> HeartbeatOut:
        """Apply one heartbeat. Raises Rejection, StoreUnavailable."""

    def verdict(self, kind: str, claim: LocalClaim) -> None:
        """Store what was found out about a claim."""

    async def inspect(self, token: str) -> bool:
        """Raise Rejection CLAIM_LOST unless the token is current; True = asked to cancel."""

"""A scripted worker over the engine's WorkerStream: it takes, acknowledges, renews and settles, as an SDK does."""

import asyncio
import itertools
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from perdure_server.engine.service import Engine
from perdure_server.engine.streams import WorkerStream
from perdure_server.engine.values import (
    CancelOut,
    ClaimsOut,
    GoAwayOut,
    GrantedClaim,
    HeartbeatIn,
    HeartbeatOut,
    HeldIn,
    Hello,
    LostOut,
    PoolsOut,
    RenewedOut,
    ResultIn,
    SettledOut,
    StreamOut,
    Welcome,
)
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Completed, Failed, Outcome
from perdure_server.kernel.rejection import Rejection
from perdure_server.kernel.values import Failure, Payload
from perdure_server.ports.coordination import Frame
from perdure_server.ports.store import Subscription

if TYPE_CHECKING:
    from tests.engine.harness import World

Script = Callable[[GrantedClaim], Outcome | None]
"""What the activity does: an outcome at once, or None to go on holding the claim."""


def completing(claim: GrantedClaim) -> Outcome | None:
    """Completes everything with the step's name and the attempt."""
    return Completed(Payload(json=f'"{claim.plan.name} {claim.attempt}"'))


def holding(claim: GrantedClaim) -> Outcome | None:
    """Never ends by itself."""
    return None


def failing(claim: GrantedClaim) -> Outcome | None:
    """Fails every time."""
    return Failed(Failure("test.broken", "as told"))


class Worker:
    """`slots` are credited on connecting and again with every settled result, unless `want_next` offers them with the result.

    `renews`: whether it renews by itself, at the interval of welcome and at once for new claims. `reads`: whether it reads its stream.
    """

    def __init__(
        self,
        world: "World",
        engine: Engine,
        name: str,
        script: Script | None,
        *,
        slots: int = 10,
        want_next: bool = True,
        renews: bool = True,
        reads: bool = True,
        pools: tuple[Subscription, ...] | None = None,
        **hello: Any,
    ) -> None:
        self.world = world
        self.engine = engine
        self.name = name
        self.script = script or holding
        self.slots = slots
        self.want_next = want_next
        self.renews = renews
        self.reads = reads
        self.pools = pools or (Subscription("pool", "default", "note", {}, slots),)
        self.hello: dict[str, Any] = hello
        self.got: list[GrantedClaim] = []  # every claim that came, in order
        self.held: dict[str, GrantedClaim] = {}  # by token: not settled, not lost
        self.told: list[StreamOut] = []
        self.sent: dict[int, tuple[GrantedClaim, Outcome]] = {}
        self.settled: dict[int, SettledOut] = {}
        self.heartbeats: dict[int, HeartbeatOut] = {}
        self.renewed: list[RenewedOut] = []
        self.cancels: list[CancelOut] = []
        self.lost: list[LostOut] = []
        self.status: list[PoolsOut] = []
        self.gone: GoAwayOut | None = None
        self.most_held = 0
        self.ended = False
        self.silent_for: dict[str, int] = {}
        self._ids = itertools.count(1)
        self._pending: dict[int, str] = {}
        self._offered: set[str] = set()  # tokens whose slots were offered with results, on this stream
        self._tasks: list[asyncio.Task[None]] = []
        self.welcome: Welcome
        self.stream: WorkerStream

    # ------------------------------------------------------------------------------------------------------- connection

    async def connect(self, engine: Engine | None = None, **hello: Any) -> Welcome:
        """Say hello; on a reconnect it names its session and what it holds, unless told otherwise."""
        self.engine = engine or self.engine
        said = Hello("default", self.name, "tests", self.pools, **(self.hello | hello))
        self.welcome, self.stream = await self.engine.connect(said)
        self.ended = False
        self._pending.clear()
        self._offered.clear()
        for token, _ in self.welcome.lost:
            self.held.pop(token, None)
        for pool in self.pools:
            free = min(self.slots, pool.slots) - sum(claim.pool == pool.pool for claim in self.held.values())
            if free > 0:
                self.stream.credit(pool.pool, free)
        if self.reads:
            self._tasks.append(self.world.loop.create_task(self._read(self.stream)))
        if self.renews:
            self._tasks.append(self.world.loop.create_task(self._renew_always(self.stream, self.welcome.renew_interval)))
        return self.welcome

    async def reconnect(self, engine: Engine | None = None, held: list[str] | None = None, close: bool = True) -> Welcome:
        """The connection broke: go on with the session, on this or another server."""
        if close:
            await self.drop()
        else:
            self.stop()
        tokens = tuple(self.held) if held is None else tuple(held)
        for token in [token for token in self.held if token not in tokens]:
            del self.held[token]
        return await self.connect(
            engine, session_id=self.welcome.session_id, session_secret=self.welcome.session_secret, held_tokens=tokens
        )

    async def drop(self) -> None:
        """The server sees the stream end."""
        self.stop()
        await self.stream.close()

    def stop(self) -> None:
        """The worker stops to read and to renew; the server sees nothing of it."""
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()

    # ------------------------------------------------------------------------------------------------------- what it says

    def credit(self, count: int, pool: str = "pool") -> None:
        self.stream.credit(pool, count)

    def renew(self, *names: str) -> None:
        """Renew, naming all that is held, or only the claims of these steps."""
        tokens = [token for token, claim in self.held.items() if not names or claim.plan.name in names]
        self.stream.renew(next(self._ids), [HeldIn(token, self.silent_for.get(token)) for token in tokens])

    def renew_none(self) -> None:
        """Renew with an empty list."""
        self.stream.renew(next(self._ids), [])

    def send(self, claim: GrantedClaim, outcome: Outcome, want_next: bool | None = None, last_frame_seq: int | None = None) -> int:
        """Send a result; returns its id."""
        number = next(self._ids)
        self._pending[number] = claim.token
        self.sent[number] = (claim, outcome)
        wants = self.want_next if want_next is None else want_next
        if wants:
            self._offered.add(claim.token)
        self.stream.results([ResultIn(claim.token, outcome, wants, last_frame_seq, number)])
        return number

    async def settle(self, claim: GrantedClaim, outcome: Outcome | None = None, **options: Any) -> SettledOut:
        """Send a result and wait for everything that follows without time passing."""
        number = self.send(claim, outcome or completing(claim) or Completed(), **options)
        await self.world.settle()
        return self.settled[number]

    def is_sent(self, claim: GrantedClaim) -> bool:
        """Whether a result of it is on its way."""
        return claim.token in self._pending.values()

    def beat(self, claim: GrantedClaim, *texts: str, first: int = 1, **fields: Any) -> int:
        """Send a heartbeat with frames numbered from `first`; returns its id."""
        number = next(self._ids)
        frames = tuple(Frame("", 0, first + offset, 1, 0, Payload(json=f'"{text}"')) for offset, text in enumerate(texts))
        self.stream.heartbeats([HeartbeatIn(claim.token, frames=frames, heartbeat_id=number, **fields)])
        return number

    def claim(self, step: str, business_key: str | None = None) -> GrantedClaim:
        """The held claim of a step."""
        return next(c for c in self.held.values() if c.plan.name == step and business_key in (None, c.key.business_key))

    # ------------------------------------------------------------------------------------------------------ what it hears

    async def _read(self, stream: WorkerStream) -> None:
        while items := await stream.receive():
            fresh: list[GrantedClaim] = []
            for item in items:
                self.told.append(item)
                fresh += self._hear(item)
            if fresh and self.renews:
                self.renew()
            for claim in fresh:
                if (outcome := self.script(claim)) is not None:
                    self.send(claim, outcome)
        self.ended = True

    def _hear(self, item: StreamOut) -> list[GrantedClaim]:
        match item:
            case ClaimsOut(claims):
                return [self._take(claim) for claim in claims]
            case SettledOut():
                return self._hear_settled(item)
            case LostOut(token):
                self.lost.append(item)
                self._free(token)
            case CancelOut():
                self.cancels.append(item)
            case RenewedOut():
                self.renewed.append(item)
            case HeartbeatOut():
                self.heartbeats[item.heartbeat_id] = item
            case PoolsOut():
                self.status.append(item)
            case GoAwayOut():
                self.gone = item
        return []

    def _take(self, claim: GrantedClaim) -> GrantedClaim:
        self.got.append(claim)
        self.held[claim.token] = claim
        self.most_held = max(self.most_held, len(self.held))
        return claim

    def _hear_settled(self, item: SettledOut) -> list[GrantedClaim]:
        self.settled[item.result_id] = item
        token = self._pending.pop(item.result_id, "")
        if item.error is None:
            claim = self.held.pop(token, None)
            if claim is not None and not self.want_next and not self.stream.closed and self.slots:
                self.stream.credit(claim.pool, 1)
        elif isinstance(item.error, Rejection):
            self.held.pop(token, None)  # dropped; `want_next` has offered its slot
        return [self._take(claim) for claim in item.next_claims]

    def _free(self, token: str) -> None:
        claim = self.held.pop(token, None)
        if claim is not None and token not in self._offered and not self.stream.closed and self.gone is None:
            with suppress(Exception):
                self.stream.credit(claim.pool, 1)

    async def _renew_always(self, stream: WorkerStream, interval: int) -> None:
        while True:
            await self.engine.clock.sleep(interval)
            if not stream.closed:
                self.renew()


__all__ = ["Script", "Worker", "completing", "failing", "holding", "limits"]

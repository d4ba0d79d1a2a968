"""Workers as our SDKs are, and worse: they die, lose their stream, answer twice and too late."""

import asyncio
import itertools
import random
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from perdure_server.engine.commands import outcome_digest
from perdure_server.engine.streams import WorkerStream
from perdure_server.engine.values import (
    CancelOut,
    ClaimsOut,
    GoAwayOut,
    GrantedClaim,
    HeartbeatIn,
    HeldIn,
    Hello,
    LostOut,
    RenewedOut,
    ResultIn,
    SettledOut,
    Welcome,
)
from perdure_server.kernel.outcomes import Outcome
from perdure_server.kernel.rejection import FieldViolation, Rejection
from perdure_server.ports.coordination import Frame
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.ports.store import Subscription
from tests.engine.virtual_loop import pause
from tests.kernel.harness import payload
from tests.simulation.fleet import Gone, Server
from tests.simulation.plans import CHILD

if TYPE_CHECKING:
    from tests.simulation.world import Simulation


POOLS = ("note", CHILD)


class Work:
    """One claim in a worker's hands."""

    def __init__(self, claim: GrantedClaim, connection: int) -> None:
        self.claim = claim
        self.renewed = asyncio.Event()  # a renewal that names it was answered
        self.stop = asyncio.Event()  # cancelled or lost
        self.cancelled = False
        self.lost = False
        self.slot = connection  # the connection of which it fills a slot
        self.outcome: Outcome | None = None  # reported, perhaps not answered yet
        self.unary = False  # it is reported beside the stream


class Worker:
    """One worker process over the stream, with `slots` in each of its pools, for one namespace."""

    def __init__(self, simulation: "Simulation", name: str, slots: int, namespace: str = "default") -> None:
        self.name = name
        self.slots = slots
        self.namespace = namespace
        self.works: dict[str, Work] = {}  # by token
        self.server: Server | None = None
        self.stream: WorkerStream | None = None
        self.welcome: Welcome | None = None
        self.dead = False
        self._simulation = simulation
        self._source = random.Random(f"{simulation.seed} {name}")
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._cut = asyncio.Event()
        self._ids = itertools.count(1)
        self._connection = 0
        self._results: dict[int, Work] = {}
        self._renewals: dict[int, list[Work]] = {}
        self._want_next = self._source.random() < 0.7
        self._spawn(self._live())

    # ------------------------------------------------------------------------------------------------------------ its life

    def die(self) -> None:
        """The process is gone; the servers see no end of its stream, or only its end."""
        self.dead = True
        sees_it = self._source.random() < 0.5
        if sees_it and self.stream is not None and self.server is not None and not self.server.crashed:
            self._simulation.spawn(self._close(self.server, self.stream))
        for task in self._tasks:
            task.cancel()

    def cut(self, *, seen: bool = True) -> None:
        """The connection breaks."""
        if seen and self.stream is not None and self.server is not None and not self.server.crashed:
            self._simulation.spawn(self._close(self.server, self.stream))
        self._cut.set()

    @property
    def idle(self) -> bool:
        """Whether it holds nothing."""
        return not self.works

    @property
    def free(self) -> int:
        """The slots that its server may fill."""
        return sum(pool.credit for pool in self.stream.pools.values()) if self.stream is not None else 0

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._simulation.spawn(work)
        self._tasks[task] = None
        task.add_done_callback(lambda done: self._tasks.pop(done, None))

    async def _close(self, server: Server, stream: WorkerStream) -> None:
        with suppress(Gone):
            await server.call(stream.close())

    async def _live(self) -> None:
        while True:
            server = self._simulation.fleet.pick(self._source)
            if server is None:
                await pause(0.3)
                continue
            try:
                await server.call(self._connect(server))
            except (Gone, StoreUnavailable, Rejection):
                await pause(self._source.choice((0.05, 0.5)))
                continue
            await self._serve(server)
            await pause(self._source.choice((0.0, 0.1, 1.0)))

    async def _connect(self, server: Server) -> None:
        pools = tuple(Subscription(name, "default", name, {}, self.slots) for name in POOLS)
        hello = Hello(self.namespace, self.name, "simulation", pools)
        if self.welcome is not None:
            hello = replace(hello, held_tokens=tuple(self.works), session_id=self.welcome.session_id)
            hello = replace(hello, session_secret=self.welcome.session_secret)
        welcome, stream = await server.engine.connect(hello)
        self.server, self.stream, self.welcome = server, stream, welcome
        lost = {token for token, _ in welcome.lost}
        for token in [token for token in self.works if not welcome.resumed or token in lost]:
            work = self._lose(token)
            if work.outcome is not None:
                self._spawn(self._answer_unary(work))  # it may have been taken
        for token in welcome.cancel_tokens:
            self._cancel(token)

    async def _serve(self, server: Server) -> None:
        if server.crashed:
            return  # at the very moment of its answer; nobody would cut what begins now
        stream, welcome = self.stream, self.welcome
        assert stream is not None
        assert welcome is not None
        self._cut = cut = asyncio.Event()
        self._connection += 1
        server.on_crash.append(cut.set)
        for pool in POOLS:
            busy = sum(work.claim.pool == pool for work in self.works.values())
            if self.slots > busy:
                stream.credit(pool, self.slots - busy)
        for work in self.works.values():
            work.slot = self._connection
            if work.outcome is not None and not work.unary:
                self._send(work)
        helpers = [self._simulation.spawn(self._read(stream)), self._simulation.spawn(self._renew_always(stream, welcome.renew_interval))]
        for task in helpers:
            self._tasks[task] = None
        await cut.wait()
        for task in helpers:
            task.cancel()
            self._tasks.pop(task, None)
        self._results.clear()
        self._renewals.clear()

    # ----------------------------------------------------------------------------------------------------------- the stream

    async def _read(self, stream: WorkerStream) -> None:
        while items := await stream.receive():
            for item in items:
                self._hear(item, stream)
        self._cut.set()

    def _hear(self, item: object, stream: WorkerStream) -> None:
        match item:
            case ClaimsOut(claims):
                self._begin(claims)
            case SettledOut():
                self._settled(item, stream)
            case LostOut(token):
                if token in self.works:
                    work = self._lose(token)
                    if work.outcome is None:
                        self._free(work, stream)
            case CancelOut(token):
                self._cancel(token)
            case RenewedOut(renew_id, _, error):
                for work in self._renewals.pop(renew_id, []):
                    if error is None:
                        work.renewed.set()
            case GoAwayOut():
                self.cut()
            case _:
                pass

    def _begin(self, claims: tuple[GrantedClaim, ...]) -> None:
        for claim in claims:
            if claim.token not in self.works:
                self._simulation.promises.delivered(claim, self.name, self.namespace)
                self.works[claim.token] = work = Work(claim, self._connection)
                self._spawn(self._run(work))
        if claims:
            self._renew()

    def _lose(self, token: str) -> Work:
        work = self.works.pop(token)
        work.lost = True
        work.stop.set()
        return work

    def _free(self, work: Work, stream: WorkerStream | None) -> None:
        """Its slot may be filled again, if the server does not know that yet."""
        if work.slot == self._connection and stream is not None and not stream.closed:
            stream.credit(work.claim.pool, 1)
        work.slot = 0

    def _cancel(self, token: str) -> None:
        work = self.works.get(token)
        if work is not None:
            work.cancelled = True
            work.stop.set()

    async def _renew_always(self, stream: WorkerStream, interval: int) -> None:
        while True:
            await pause(interval / 1_000)
            self._renew()

    def _renew(self) -> None:
        if self.stream is None or self.stream.closed:
            return
        works = list(self.works.values())
        renew_id = next(self._ids)
        self._renewals[renew_id] = works
        self.stream.renew(renew_id, [HeldIn(work.claim.token, 0) for work in works])

    # ------------------------------------------------------------------------------------------------------------- the work

    async def _run(self, work: Work) -> None:
        claim, script = work.claim, self._simulation.script
        if claim.begin_after_renewed:
            await work.renewed.wait()
        self._simulation.promises.begun(claim)
        effort = script.effort(claim, self._source)
        if effort.beats:
            self._beat(work, effort.beats)
        if effort.duration:
            with suppress(TimeoutError):
                async with asyncio.timeout(effort.duration):
                    await work.stop.wait()
        if work.lost and not effort.stubborn:
            return
        work.outcome = script.outcome(claim, self._source, cancelled=work.cancelled)
        if work.lost or self._source.random() < 0.15:
            await self._answer_unary(work)
        elif self.stream is not None and not self._cut.is_set():
            self._send(work)  # otherwise with the next connection

    def _beat(self, work: Work, beats: int) -> None:
        if self.stream is None or self.stream.closed:
            return
        frames = tuple(Frame("", 0, number, 1, 0, payload(f"{work.claim.claim_no}.{number}")) for number in range(1, beats + 1))
        beat = HeartbeatIn(work.claim.token, True, payload(beats), 0, frames, heartbeat_id=next(self._ids))
        self.stream.heartbeats([beat])

    def _send(self, work: Work) -> None:
        assert self.stream is not None
        assert work.outcome is not None
        number = next(self._ids)
        self._results[number] = work
        result = ResultIn(work.claim.token, work.outcome, self._want_next, None, number)
        self.stream.results([result] * (1 if self._source.random() < 0.95 else 2))

    def _settled(self, item: SettledOut, stream: WorkerStream) -> None:
        work = self._results.get(item.result_id)
        if work is not None:
            if isinstance(item.error, StoreUnavailable):
                self._spawn(self._again(work))
            else:
                self._results.pop(item.result_id)
                self._conclude(work, item)
                self._free(work, None if self._want_next else stream)
        self._begin(item.next_claims)

    async def _again(self, work: Work) -> None:
        await pause(0.2)
        if work.claim.token in self.works and self.stream is not None and not self.stream.closed:
            self._send(work)

    def _conclude(self, work: Work, item: SettledOut) -> None:
        assert work.outcome is not None
        self.works.pop(work.claim.token, None)
        self._simulation.promises.answered(work.claim, outcome_digest(work.outcome), item)

    async def _answer_unary(self, work: Work) -> None:
        """Complete over any server until one answers, and perhaps once more."""
        assert work.outcome is not None
        work.unary = True
        repeats = 1 if self._source.random() < 0.7 else 2
        while repeats:
            item = SettledOut(0)
            try:
                server = self._simulation.fleet.any(self._source)
                item = await server.call(server.engine.complete(ResultIn(work.claim.token, work.outcome)))
            except (Gone, StoreUnavailable):
                await pause(0.3)
                continue
            except (Rejection, FieldViolation) as error:
                item = SettledOut(0, error=error)
            self._simulation.promises.answered(work.claim, outcome_digest(work.outcome), item)
            self._begin(item.next_claims)
            repeats -= 1
        self.works.pop(work.claim.token, None)
        self._free(work, self.stream)

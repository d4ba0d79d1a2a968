"""A worker inside a test server whose activities do what scripts say. It claims, renews and settles as any worker does."""

import asyncio
import heapq
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perdure_server.engine.addresses import address_of
from perdure_server.engine.clock import happened
from perdure_server.engine.scripts import NeverSettled, Playbook, Script, WorkerVanishes
from perdure_server.engine.streams import WorkerStream
from perdure_server.engine.subscriptions import SCRIPTS_POOL
from perdure_server.engine.values import (
    CancelOut,
    ClaimsOut,
    GoAwayOut,
    GrantedClaim,
    HeldIn,
    Hello,
    LostOut,
    ResultIn,
    SettledOut,
    StreamOut,
)
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Cancelled, Failed, Outcome
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.kernel.values import Failure
from perdure_server.ports.errors import StoreError
from perdure_server.ports.store import Subscription

if TYPE_CHECKING:
    from perdure_server.engine.service import Engine

SCRIPT_INVALID = "SCRIPT_INVALID"
_SLOTS = 1_000
_COME_ROUND = 5 * limits.SECOND
_RETRY = 100

Act = Outcome | WorkerVanishes


class ScriptedWorker:
    """Serves all steps of one type from one queue, by one playbook that other queues share."""

    def __init__(self, engine: "Engine", key: tuple[str, str, str], book: Playbook) -> None:
        self._engine = engine
        self._clock = engine.clock
        self._namespace, self._workflow_type, self._queue = key
        self._book = book
        self._held: dict[str, GrantedClaim] = {}  # by token; a result that is under way takes it out
        self._told: dict[str, int | None] = {}  # by token of those held: when the script acts; None = when something is told of it
        self._ignoring: set[str] = set()  # tokens whose script says that nothing comes of them
        self._agenda: list[tuple[int, int, str, Act]] = []
        self._sent: dict[int, tuple[GrantedClaim, Outcome]] = {}
        self._numbers = itertools.count(1)
        self._news = asyncio.Event()
        self._stream: WorkerStream | None = None
        self._renew_interval = engine.settings.renew_interval

    async def open(self) -> None:
        """Connect, and go on until the engine closes. Raises StoreUnavailable."""
        await self._connect()
        name = f"scripts of {self._namespace}/{self._workflow_type} in {self._queue}"
        self._engine.supervisor.loop(self._hear_step, name)
        self._engine.supervisor.loop(self._play_step, f"{name}, agenda")
        self._engine.supervisor.loop(self._renew_step, f"{name}, lease")

    def look_again(self) -> None:
        """More is told: perhaps of attempts that wait for it."""
        for token in [token for token, due in self._told.items() if due is None and token not in self._ignoring]:
            self._follow(self._held[token])

    def holds(self, nonce: str) -> bool:
        """Whether this claim is in hand here, and only time or another script moves it."""
        now = self._clock.now()
        return any(due is None or due > now for token, due in self._told.items() if address_of(token).nonce == nonce)

    def next_due(self) -> int | None:
        """When the next script acts."""
        return min((due for due in self._told.values() if due is not None), default=None)

    def play(self) -> int:
        """Do what scripts say of now; returns how many acted."""
        played = 0
        while self._agenda and self._agenda[0][0] <= self._clock.now():
            _, _, token, act = heapq.heappop(self._agenda)
            if token in self._told:
                self._act(self._held[token], act)
                played += 1
        return played

    async def _connect(self) -> None:
        pool = Subscription(SCRIPTS_POOL, self._queue, self._workflow_type, {}, _SLOTS)
        welcome, self._stream = await self._engine.connect(Hello(self._namespace, "scripts", "perdure-server", (pool,)))
        self._renew_interval = welcome.renew_interval
        self._held.clear()
        self._told.clear()
        self._stream.credit(SCRIPTS_POOL, _SLOTS)

    async def _hear_step(self) -> None:
        stream = self._stream
        if stream is None:
            await self._connect()
            return
        try:
            async with asyncio.timeout(_COME_ROUND / limits.SECOND):
                items = await stream.receive()
        except TimeoutError:
            return
        for item in items:
            self._hear(stream, item)

    async def _play_step(self) -> None:
        self.play()
        self._news.clear()
        due = self._agenda[0][0] - self._clock.now() if self._agenda else _COME_ROUND
        await happened(self._news, max(1, min(due, _COME_ROUND)))

    async def _renew_step(self) -> None:
        await self._clock.sleep(min(self._renew_interval, _COME_ROUND))
        self._renew()

    def _hear(self, stream: WorkerStream, item: StreamOut) -> None:
        match item:
            case ClaimsOut(claims):
                self._take(claims)
            case SettledOut():
                self._settled(item)
                self._take(item.next_claims)
            case LostOut(token):
                if token not in {claim.token for claim, _ in self._sent.values()}:
                    stream.credit(SCRIPTS_POOL, 1)
                self._drop(token)
            case CancelOut(token):
                if token in self._told and token not in self._ignoring:
                    self._act(self._held[token], Cancelled())
            case GoAwayOut(_, reason) if reason is not Reason.DRAINING:
                self._stream = None  # the session is over; the next step opens another
            case _:
                pass

    def _take(self, claims: tuple[GrantedClaim, ...]) -> None:
        for claim in claims:
            self._held[claim.token] = claim
            self._told[claim.token] = None
        if claims:
            self._renew()
        for claim in claims:
            self._follow(claim)
            if claim.cancel_requested and claim.token in self._told and claim.token not in self._ignoring:
                self._act(claim, Cancelled())

    def _follow(self, claim: GrantedClaim) -> None:
        script = self._book.take(claim.plan.name, claim.attempt, claim.key.business_key)
        if script is None:
            return
        if isinstance(script.outcome, NeverSettled):
            self._ignoring.add(claim.token)
        elif script.duration:
            due = self._clock.now() + script.duration
            self._put(due, claim, script.outcome)
        else:
            self._act(claim, script.outcome)

    def _put(self, due: int, claim: GrantedClaim, act: Act) -> None:
        self._told[claim.token] = due
        heapq.heappush(self._agenda, (due, next(self._numbers), claim.token, act))
        self._news.set()

    def _act(self, claim: GrantedClaim, act: Act) -> None:
        self._drop(claim.token)
        stream = self._stream
        if stream is None:
            return
        if isinstance(act, WorkerVanishes):
            self._renew()  # two renewals that do not name it: so is a lost one told from a late one
            self._renew()
            return
        number = next(self._numbers)
        self._sent[number] = claim, act
        stream.results([ResultIn(claim.token, act, want_next=True, result_id=number)])

    def _settled(self, answer: SettledOut) -> None:
        claim, outcome = self._sent.pop(answer.result_id)
        if isinstance(answer.error, StoreError):
            self._held[claim.token] = claim
            self._put(self._clock.now() + _RETRY, claim, outcome)
        elif isinstance(answer.error, FieldViolation):
            self._refuse(claim, "; ".join(f"{field} {text}" for field, text in answer.error.violations))
        elif isinstance(answer.error, Rejection) and answer.error.reason is Reason.OUTCOME_NOT_ALLOWED:
            self._refuse(claim, str(answer.error))

    def _refuse(self, claim: GrantedClaim, text: str) -> None:
        self._act(claim, Failed(Failure(SCRIPT_INVALID, text[: limits.FAILURE_MESSAGE // 4], non_retryable=True)))

    def _drop(self, token: str) -> None:
        self._held.pop(token, None)
        self._told.pop(token, None)
        self._ignoring.discard(token)

    def _renew(self) -> None:
        if self._stream is not None:
            self._stream.renew(next(self._numbers), [HeldIn(token, 0) for token in self._held])


class ScriptedWorkers:
    """The scripts of every type that has some, and the workers that follow them."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._books: dict[tuple[str, str], Playbook] = {}
        self._workers: dict[tuple[str, str, str], ScriptedWorker] = {}

    async def script(self, namespace: str, workflow_type: str, scripts: Sequence[Script], replace: bool) -> int:
        """Tell more of a type, preferred to what was told before, or instead of it; from now on no other worker gets its steps.

        Returns how many scripts it has. Raises StoreUnavailable.
        """
        engine, kind = self._engine, (namespace, workflow_type)
        known = self._books.setdefault(kind, Playbook())
        known.put_before(scripts, replace)
        if kind not in engine.subscriptions.scripted:
            engine.subscriptions.scripted.add(kind)
            await engine.workers.refresh()
        versions = await engine.catalog.versions(namespace, workflow_type)
        for queue in {"default", *(step.queue for version in versions for step in version.steps)}:
            if (*kind, queue) not in self._workers:
                worker = ScriptedWorker(engine, (*kind, queue), known)
                await worker.open()
                self._workers[(*kind, queue)] = worker
        for worker_key, worker in self._workers.items():
            if worker_key[:2] == kind:
                worker.look_again()
        return len(known)

    def holds(self, nonce: str) -> bool:
        """Whether a script has this claim, and nothing moves it but time or another script."""
        return any(worker.holds(nonce) for worker in self._workers.values())

    def next_due(self) -> int | None:
        """When the next script acts."""
        return min((due for worker in self._workers.values() if (due := worker.next_due()) is not None), default=None)

    def play(self) -> int:
        """Do what scripts say of now; returns how many acted."""
        return sum(worker.play() for worker in self._workers.values())

"""A worker on the generated code alone, as one writes it in a language without a library: what a Claim stream needs, and nothing more.

Its `Notes` tell all that it was given and answered, so that a test can compare them with what the store holds.
"""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from typing import Protocol, TypeAlias

import grpc
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from perdure.v1 import claim_pb2, worker_service_pb2
from tests.e2e.channels import Perdure, connected, seconds

Request = worker_service_pb2.ClaimRequest
Result = worker_service_pb2.Result
Activity: TypeAlias = Callable[[claim_pb2.Claim], Awaitable[Result]]
Stream: TypeAlias = "grpc.aio.StreamStreamCall[Request, worker_service_pb2.ClaimResponse]"

ANSWER_WITHIN = 5.0
CAPABILITIES = ("cancel", "lost", "go_away", "heartbeats")
# What a result may be told that says: try again. Anything else is the end of it.
TRY_AGAIN = frozenset({"STORE_UNAVAILABLE", "DRAINING"})


class Notes(Protocol):
    """Whoever wants to know."""

    def begun(self, claim: claim_pb2.Claim) -> None:
        """The activity of this claim begins."""

    def sent(self, claim: claim_pb2.Claim, result: Result) -> None:
        """Its result is about to be sent for the first time."""

    def answered(self, claim: claim_pb2.Claim, reason: str, *, duplicate: bool) -> None:
        """Its result was answered; an empty reason is OK."""


class StreamEndedError(Exception):
    """The stream is over, or the server does not answer on it; open another one."""


class StreamWorker:
    """Serves one workflow type until `stop` is set, then finishes what it holds. `addresses` are tried in turn."""

    def __init__(self, addresses: Sequence[str], workflow_type: str, activity: Activity, notes: Notes, *, slots: int = 16) -> None:
        self.stop = asyncio.Event()
        self.welcomes: list[worker_service_pb2.Welcome] = []
        self.held: dict[str, claim_pb2.Claim] = {}
        self._addresses: Iterator[str] = itertools.cycle(addresses)
        self._workflow_type = workflow_type
        self._activity = activity
        self._notes = notes
        self._slots = slots
        self._offered = 0
        self._results: dict[int, Result] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._ids = itertools.count(1)
        self._outbox: asyncio.Queue[Request] = asyncio.Queue()
        self._renewed = asyncio.Event()

    async def run(self) -> None:
        """Until `stop` is set and all that was taken is answered."""
        async with asyncio.TaskGroup() as self._activities:
            while not self._is_done:
                async with connected(next(self._addresses), self._workflow_type) as perdure:
                    await self._converse(perdure)
                await self._pause(random.uniform(0.05, 0.3))

    @property
    def _is_done(self) -> bool:
        return self.stop.is_set() and not self.held

    async def _pause(self, duration: float) -> None:
        # Not wait_for, here and below: in Python 3.11 it may swallow a cancellation that comes together with what it waits for.
        with suppress(TimeoutError):
            async with asyncio.timeout(duration):
                await self.stop.wait()

    async def _converse(self, perdure: Perdure) -> None:
        stream = perdure.workers.Claim()  # type: ignore[call-arg]  # without an iterator the call is written to by hand
        try:
            await stream.write(Request(hello=self._hello(perdure.pool())))
            async with asyncio.timeout(ANSWER_WITHIN):
                answer = await stream.read()
            if not isinstance(answer, worker_service_pb2.ClaimResponse):
                raise StreamEndedError
            self._welcome(answer.welcome)
            async with asyncio.TaskGroup() as group:
                for loop in (self._write(stream), self._renew(answer.welcome.renew_interval.ToTimedelta().total_seconds()), self._drain()):
                    group.create_task(loop)
                await self._read(stream)
        except* (grpc.aio.AioRpcError, StreamEndedError, TimeoutError, asyncio.InvalidStateError):
            pass  # (the last: written to after its end) the next stream goes on where this one ended
        finally:
            stream.cancel()

    def _hello(self, pool: claim_pb2.Pool) -> worker_service_pb2.Hello:
        pool.slots = self._slots
        hello = worker_service_pb2.Hello(worker_id="stream-worker", capabilities=CAPABILITIES, pools=[pool], held_claim_tokens=self.held)
        if self.welcomes:
            hello.session_id, hello.session_secret = self.welcomes[-1].session_id, self.welcomes[-1].session_secret
        return hello

    def _welcome(self, welcome: worker_service_pb2.Welcome) -> None:
        self.welcomes.append(welcome)
        for lost in welcome.lost:
            self._lose(lost.claim_token)
        self._outbox = asyncio.Queue()
        self._offered = 0
        if self._results:
            self._outbox.put_nowait(Request(results=worker_service_pb2.Results(results=self._results.values())))
        self._offer()

    def _offer(self) -> None:
        """Credit for the slots that neither a claim nor earlier credit has taken."""
        count = self._slots - len(self.held) - self._offered
        if count > 0 and not self.stop.is_set():
            self._offered += count
            self._outbox.put_nowait(Request(credit=worker_service_pb2.Credit(pool="p", count=count)))

    async def _write(self, stream: Stream) -> None:
        while True:
            await stream.write(await self._outbox.get())

    async def _drain(self) -> None:
        await self.stop.wait()
        self._outbox.put_nowait(Request(drain=worker_service_pb2.Drain(grace=seconds(10))))

    async def _renew(self, interval: float) -> None:
        while True:
            held = [claim_pb2.HeldClaim(claim_token=token) for token in self.held]
            self._renewed.clear()
            self._outbox.put_nowait(Request(renew=worker_service_pb2.Renew(renew_id=next(self._ids), held=held)))
            # A stream that does not answer is dead, whatever TCP believes (case C57).
            async with asyncio.timeout(ANSWER_WITHIN):
                await self._renewed.wait()
            await lapse(interval)

    async def _read(self, stream: Stream) -> None:
        while not self._is_done:
            answer = await stream.read()
            if not isinstance(answer, worker_service_pb2.ClaimResponse):
                break
            match answer.WhichOneof("message"):
                case "claims":
                    self._take(answer.claims.claims)
                case "settled":
                    for settled in answer.settled.settled:
                        self._settled(settled)
                case "renewed":
                    self._renewed.set()
                    if answer.renewed.HasField("status") and reason_of(answer.renewed.status) not in TRY_AGAIN:
                        break
                case "lost":
                    for lost in answer.lost.claims:
                        self._lose(lost.claim_token)
                case "go_away":
                    break
                case _:
                    pass  # nothing that changes what this worker does
            self._offer()
        raise StreamEndedError

    def _take(self, claims: Sequence[claim_pb2.Claim]) -> None:
        self._offered -= len(claims)
        for claim in claims:
            if claim.claim_token not in self.held:
                self.held[claim.claim_token] = claim
                self._running[claim.claim_token] = self._activities.create_task(self._perform(claim))
        if claims:  # named at once, as the protocol asks
            held = [claim_pb2.HeldClaim(claim_token=token) for token in self.held]
            self._outbox.put_nowait(Request(renew=worker_service_pb2.Renew(renew_id=next(self._ids), held=held)))

    async def _perform(self, claim: claim_pb2.Claim) -> None:
        self._notes.begun(claim)
        result = await self._activity(claim)
        result.claim_token = claim.claim_token
        result.result_id = next(self._ids)
        self._notes.sent(claim, result)
        self._results[result.result_id] = result
        self._outbox.put_nowait(Request(results=worker_service_pb2.Results(results=[result])))

    def _settled(self, settled: worker_service_pb2.Settled) -> None:
        result = self._results.get(settled.result_id)
        reason = reason_of(settled.status) if settled.HasField("status") else ""
        if result is not None and reason in TRY_AGAIN:
            asyncio.get_running_loop().call_later(0.5, self._send_again, result)
        elif result is not None:
            del self._results[settled.result_id]
            self._running.pop(result.claim_token, None)
            claim = self.held.pop(result.claim_token, None)
            if claim is not None:
                self._notes.answered(claim, reason, duplicate=settled.duplicate)
        self._take(settled.next_claims)

    def _send_again(self, result: Result) -> None:
        if result.result_id in self._results:
            self._outbox.put_nowait(Request(results=worker_service_pb2.Results(results=[result])))

    def _lose(self, token: str) -> None:
        # A result that is on its way is still answered; its activity is over.
        if any(result.claim_token == token for result in self._results.values()):
            return
        self.held.pop(token, None)
        running = self._running.pop(token, None)
        if running is not None:
            running.cancel()


async def lapse(duration: float) -> None:
    """Let time pass, in seconds: a worker's rhythm, never a test's way to wait."""
    with suppress(TimeoutError):
        async with asyncio.timeout(duration):
            await asyncio.Event().wait()


def reason_of(status: Status) -> str:
    """The reason in its ErrorInfo; "UNKNOWN" without one."""
    info = ErrorInfo()
    for detail in status.details:
        if detail.Is(ErrorInfo.DESCRIPTOR):
            detail.Unpack(info)
    return info.reason or "UNKNOWN"

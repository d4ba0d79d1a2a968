"""A server that speaks the real protocol over real gRPC and does just what a test says; on a thread and loop of its own,
so that it goes on while a test's own loop is blocked."""

import asyncio
import concurrent.futures
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

import grpc
from google.rpc import status_pb2
from grpc import aio

from perdure.v1 import claim_pb2, payload_pb2, worker_service_pb2, workflow_service_pb2
from tests.client.messages import claims as granted

T = TypeVar("T")
WITHIN = 25.0


@dataclass
class Script:
    """How the server behaves where a test says nothing else."""

    lease: float = 30.0
    renew_interval: float = 10.0
    answers_renews: bool = True
    settles: bool = True
    answers_heartbeats: bool = True
    stores_large_checkpoints: bool = True
    welcomes: bool = True
    resumes: bool = True
    definition_status: status_pb2.Status | None = None
    contract_of: Callable[[str], str] = field(default=lambda step: f"contract of {step}")


class Stream:
    """One Claim stream, seen from the server. What tests await runs on the server's loop."""

    def __init__(self, server: "ScriptedServer", number: int) -> None:
        self._server = server
        self.number = number
        self.hello = worker_service_pb2.Hello()
        self.messages: list[worker_service_pb2.ClaimRequest] = []
        self.renews: list[worker_service_pb2.Renew] = []
        self.results: list[worker_service_pb2.Result] = []
        self.heartbeats: list[worker_service_pb2.StreamHeartbeat] = []
        self.drained = False
        self.ended = False
        self.half_closed = False
        self.credit: Counter[str] = Counter()
        self.pool_of_token: dict[str, str] = {}
        self.out: asyncio.Queue[worker_service_pb2.ClaimResponse | None] = asyncio.Queue()

    async def until(self, predicate: Callable[["Stream"], T | None], what: str = "") -> T:
        """The predicate's value, once it is true; from the test's loop."""
        return await asyncio.wrap_future(self._server.submit(self._wait(predicate, what)))

    def until_blocking(self, predicate: Callable[["Stream"], T | None]) -> T:
        """The same, blocking the caller and its loop."""
        return self._server.submit(self._wait(predicate, "")).result(WITHIN)

    async def result(self, token: str) -> worker_service_pb2.Result:
        """The first result for this token on this stream."""
        return await self.until(
            lambda stream: next((item for item in stream.results if item.claim_token == token), None), f"result of {token}"
        )

    def say(self, message: worker_service_pb2.ClaimResponse) -> None:
        """Sends a message; from any thread."""
        self._server.loop.call_soon_threadsafe(self.out.put_nowait, message)

    def end(self) -> None:
        """Ends the stream well; from any thread."""
        self._server.loop.call_soon_threadsafe(self.out.put_nowait, None)

    def make_claim(self, step: str, **fields: Any) -> claim_pb2.Claim:
        """A claim of this step, for the pool of hello that serves it."""
        number = next(self._server.numbers)
        pool = next(pool for pool in self.hello.pools if step in pool.steps)
        inputs = {name: payload_pb2.Payload(json=text) for name, text in fields.pop("inputs", {}).items()}
        claim = claim_pb2.Claim(
            claim_token=fields.pop("token", f"token-{number}"),
            step=step,
            attempt=1,
            claim_no=1,
            fence=7,
            idempotency_key=f"idempotency-{step}",
            wake_token=f"wake-{number}",
            pool=pool.pool,
            step_contract=fields.pop("step_contract", self._server.script.contract_of(step)),
            definition_fingerprint="fingerprint",
            inputs=inputs,
            **fields,
        )
        claim.workflow.workflow_type = pool.workflow_type
        claim.workflow.business_key = f"key-{number}"
        claim.workflow.namespace = "default"
        claim.lease_remaining.FromMilliseconds(int(self._server.script.lease * 1000))
        self.pool_of_token[claim.claim_token] = pool.pool
        return claim

    async def grant(self, step: str, **fields: Any) -> str:
        """Grants a claim, once there is credit for it; its token."""
        return (await self.grant_all([(step, fields)]))[0]

    async def grant_all(self, steps: list[tuple[str, dict[str, Any]]]) -> list[str]:
        """Grants several claims in one message; their tokens."""
        claims = [self.make_claim(step, **fields) for step, fields in steps]
        for claim in claims:
            await self.until(lambda stream, pool=claim.pool: stream.spend(pool), f"credit for {claim.pool}")  # type: ignore[misc]  # bound in this very round
        self.say(granted(*claims))
        return [claim.claim_token for claim in claims]

    def spend(self, pool: str) -> bool:
        """Takes one credit, if there is any."""
        if self.credit[pool] < 1:
            return False
        self.credit[pool] -= 1
        return True

    async def _wait(self, predicate: Callable[["Stream"], T | None], what: str) -> T:
        found: list[T] = []

        def is_there() -> bool:
            found[:] = [value for value in [predicate(self)] if value]
            return bool(found)

        try:
            async with asyncio.timeout(WITHIN), self._server.changed:
                await self._server.changed.wait_for(is_there)
                return found[0]
        except TimeoutError:
            kinds = [message.WhichOneof("message") for message in self.messages]
            raise AssertionError(f"stream {self.number} never got {what or 'what was awaited'}; it got {kinds}") from None


class ScriptedServer:
    """Streams as they come, and what was called."""

    def __init__(self, script: Script | None = None) -> None:
        self.script = script or Script()
        self.streams: list[Stream] = []
        self.dials = 0
        self.completes: list[worker_service_pb2.CompleteRequest] = []
        self.unary_heartbeats: list[worker_service_pb2.HeartbeatRequest] = []
        self.payloads: dict[str, payload_pb2.Payload] = {}
        self.numbers = itertools.count(1)
        self.port = 0
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def submit(self, work: Coroutine[Any, Any, T]) -> "concurrent.futures.Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    async def stream(self, number: int = 1) -> Stream:
        """The stream of the n-th hello."""

        async def wait() -> Stream:
            async with asyncio.timeout(WITHIN), self.changed:
                await self.changed.wait_for(lambda: len(self.streams) >= number)
                return self.streams[number - 1]

        return await asyncio.wrap_future(self.submit(wait()))

    def start(self, port: int = 0) -> None:
        running = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main(port, running)), daemon=True)
        self._thread.start()
        assert running.wait(WITHIN)

    def stop(self) -> None:
        if self._thread is not None:
            self.loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(WITHIN)
            self._thread = None

    async def _main(self, port: int, running: threading.Event) -> None:
        self.loop = asyncio.get_running_loop()
        self.changed = asyncio.Condition()
        self._stop = asyncio.Event()
        server = aio.server()
        server.add_generic_rpc_handlers((self._handlers("WorkerService"), self._handlers("WorkflowService")))
        self.port = server.add_insecure_port(f"127.0.0.1:{port}")
        await server.start()
        running.set()
        await self._stop.wait()
        await server.stop(0)

    # ---- the services

    def _handlers(self, service: str) -> Any:
        requests: dict[str, tuple[Any, Any]] = {
            "Complete": (self.complete, worker_service_pb2.CompleteRequest),
            "Heartbeat": (self.heartbeat, worker_service_pb2.HeartbeatRequest),
            "FetchPayload": (self.fetch, workflow_service_pb2.FetchPayloadRequest),
        }
        methods: dict[str, Any] = {
            name: grpc.unary_unary_rpc_method_handler(behaviour, request.FromString, lambda answer: answer.SerializeToString())
            for name, (behaviour, request) in requests.items()
        }
        methods["Claim"] = grpc.stream_stream_rpc_method_handler(
            self.claim, worker_service_pb2.ClaimRequest.FromString, lambda answer: answer.SerializeToString()
        )
        return grpc.method_handlers_generic_handler(f"perdure.v1.{service}", methods)

    async def claim(self, _: object, context: Any) -> None:
        self.dials += 1
        stream = Stream(self, len(self.streams) + 1)
        first = await context.read()
        stream.hello = first.hello
        self.streams.append(stream)
        await self._notify()
        try:
            async with asyncio.TaskGroup() as group:
                reader = group.create_task(self._read(stream, context))
                if self.script.welcomes:
                    await self._write(stream, context)
                    reader.cancel()
        finally:
            stream.ended = True
            await self._notify()

    async def _write(self, stream: Stream, context: Any) -> None:
        await context.write(worker_service_pb2.ClaimResponse(welcome=self._welcome(stream)))
        while (message := await stream.out.get()) is not None:
            await context.write(message)

    async def _read(self, stream: Stream, context: Any) -> None:
        while (message := await context.read()) is not aio.EOF:  # type: ignore[attr-defined]  # missing in the stubs of grpc
            stream.messages.append(message)
            self._take(stream, message)
            await self._notify()
        stream.half_closed = True
        stream.out.put_nowait(None)

    def _take(self, stream: Stream, message: worker_service_pb2.ClaimRequest) -> None:
        kind = message.WhichOneof("message")
        if kind == "credit":
            stream.credit[message.credit.pool] = stream.credit.get(message.credit.pool, 0) + message.credit.count
        elif kind == "renew":
            stream.renews.append(message.renew)
            if self.script.answers_renews:
                stream.out.put_nowait(worker_service_pb2.ClaimResponse(renewed=worker_service_pb2.Renewed(renew_id=message.renew.renew_id)))
        elif kind == "drain":
            stream.drained = True
            stream.credit.clear()
        elif kind == "results":
            self._take_results(stream, message.results)
        elif kind == "heartbeats":
            stream.heartbeats.extend(message.heartbeats.heartbeats)
            if self.script.answers_heartbeats:
                answers = [worker_service_pb2.HeartbeatAnswer(heartbeat_id=item.heartbeat_id) for item in message.heartbeats.heartbeats]
                answered = worker_service_pb2.HeartbeatsAnswered(answers=answers)
                stream.out.put_nowait(worker_service_pb2.ClaimResponse(heartbeats_answered=answered))

    def _take_results(self, stream: Stream, results: worker_service_pb2.Results) -> None:
        stream.results.extend(results.results)
        for result in results.results:
            if result.want_next:
                pool = stream.pool_of_token[result.claim_token]  # a claim of this very stream, else the credit is nobody's
                stream.credit[pool] = stream.credit.get(pool, 0) + 1
        if self.script.settles:
            settled = [worker_service_pb2.Settled(result_id=result.result_id) for result in results.results]
            stream.out.put_nowait(worker_service_pb2.ClaimResponse(settled=worker_service_pb2.SettledResults(settled=settled)))

    async def complete(self, request: worker_service_pb2.CompleteRequest, _: object) -> worker_service_pb2.CompleteResponse:
        self.completes.append(request)
        await self._notify()
        return worker_service_pb2.CompleteResponse()

    async def heartbeat(self, request: worker_service_pb2.HeartbeatRequest, context: Any) -> worker_service_pb2.HeartbeatResponse:
        self.unary_heartbeats.append(request)
        await self._notify()
        if not self.script.stores_large_checkpoints:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the store does not answer")
        return worker_service_pb2.HeartbeatResponse()

    async def fetch(self, request: workflow_service_pb2.FetchPayloadRequest, _: object) -> workflow_service_pb2.FetchPayloadResponse:
        return workflow_service_pb2.FetchPayloadResponse(payload=self.payloads[request.payload_id])

    def _welcome(self, stream: Stream) -> worker_service_pb2.Welcome:
        hello, script = stream.hello, self.script
        welcome = worker_service_pb2.Welcome(
            session_id=hello.session_id if hello.session_id and script.resumes else f"session-{stream.number}",
            session_secret="secret",
            resumed=bool(hello.session_id) and script.resumes,
            connection_no=stream.number,
        )
        welcome.lease_duration.FromMilliseconds(int(script.lease * 1000))
        welcome.renew_interval.FromMilliseconds(int(script.renew_interval * 1000))
        for pool in hello.pools:
            added = welcome.pools.add(pool=pool.pool, accepted_fingerprints=["fingerprint"])
            for step in pool.steps:
                added.steps.add(step=step, step_contract=script.contract_of(step), accepted_fingerprints=["fingerprint"])
        for index, _ in enumerate(hello.definitions):
            offered = welcome.definitions.add(definition_index=index, fingerprint="fingerprint", active=True)
            if script.definition_status is not None:
                offered.status.CopyFrom(script.definition_status)
        return welcome

    async def _notify(self) -> None:
        async with self.changed:
            self.changed.notify_all()

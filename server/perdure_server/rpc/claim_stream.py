"""One call of Claim: a reader and a writer around the engine's WorkerStream.

It ends politely, with OK, when the worker has closed its side and is answered, when the grace of a go_away is over, or when the engine
has closed the stream; and with an error when the worker breaks the protocol before its hello, or does not read.
"""

import asyncio

from msgspec.structs import replace

from perdure.v1.worker_service_pb2 import ClaimRequest, ClaimResponse, Hello
from perdure_server.engine.service import Engine
from perdure_server.engine.streams import WorkerStream
from perdure_server.engine.values import GoAwayOut, HeartbeatIn, HeartbeatOut, RenewedOut, ResultIn, SettledOut, StreamOut
from perdure_server.kernel.limits import SECOND
from perdure_server.kernel.rejection import FieldViolation, Reason, Rejection
from perdure_server.rpc import limits, offers
from perdure_server.rpc.decode import values, workers
from perdure_server.rpc.doors.identity import require
from perdure_server.rpc.doors.permissions import Permission
from perdure_server.rpc.encode import stream as outgoing
from perdure_server.rpc.encode import workers as encode
from perdure_server.rpc.errors import CallRefused, protocol_violation, to_status
from perdure_server.rpc.leaving import Leaving
from perdure_server.rpc.transport import EOF, Context
from perdure_server.rpc.unread import write

_UNREAD = "The worker does not read its stream."


class ClaimStream:
    """The conversation with one connected worker."""

    def __init__(self, engine: Engine, leaving: Leaving, context: Context, server_version: str) -> None:
        self._engine = engine
        self._leaving = leaving
        self._context = context
        self._server_version = server_version
        self._capabilities: frozenset[str] = frozenset()
        self._writing = asyncio.Lock()  # the reader refuses, the writer tells: grpc.aio takes one write at a time
        self._limit = asyncio.timeout(None)  # when the conversation is over, whatever is being waited for
        self._unanswered = 0
        self._closing = False
        self._old = False
        self._write_begun = 0.0  # 0 = no write is under way
        self._stalled = False
        self._stall_timer: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Until the end of the call. Raises what the guard maps."""
        first = await self._context.read()
        if first is EOF:
            return
        if first.WhichOneof("message") != "hello":
            raise protocol_violation("The first message of a Claim stream must be hello.")
        welcome, stream = await self._connect(first.hello)
        try:
            await write(self._context, welcome, "OVERLOADED", _UNREAD, scope="stream")
            await self._converse(stream)
        finally:
            await stream.close(goodbye=self._closing)

    async def _connect(self, hello: Hello) -> tuple[ClaimResponse, WorkerStream]:
        self._capabilities = frozenset(hello.capabilities)
        require(Permission.WORK, {hello.namespace or values.DEFAULT_NAMESPACE}, "Claim")
        checked = await offers.check(self._engine, hello.definitions, hello.namespace or values.DEFAULT_NAMESPACE)
        decoded = workers.hello(hello, checked)
        answer = ClaimResponse()
        await offers.register(self._engine, hello.definitions, checked, answer.welcome)
        welcome, stream = await self._engine.connect(replace(decoded, peer=self._context.peer()))
        encode.welcome(answer.welcome, welcome)
        answer.welcome.server_version = self._server_version
        answer.welcome.server_id = self._engine.settings.server_id
        answer.welcome.max_message_bytes = limits.REQUEST
        if (size := answer.ByteSize()) > limits.RESPONSE:
            await stream.close()
            text = (
                f"take a welcome of {size} bytes, more than {limits.RESPONSE}: open several streams, each with fewer pools and definitions"
            )
            raise FieldViolation([("hello.pools", text)])
        return answer, stream

    async def _converse(self, stream: WorkerStream) -> None:
        timer = asyncio.get_running_loop().call_later(self._leaving.age() / SECOND, self._grow_old, stream)
        self._look_for_stall()
        try:
            async with self._limit, asyncio.TaskGroup() as tasks:
                tasks.create_task(self._tell(stream))
                tasks.create_task(self._listen(stream))
        except TimeoutError:
            if self._stalled:
                raise Rejection(Reason.OVERLOADED, _UNREAD, scope="stream") from None
            if not self._limit.expired():
                raise
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None  # one of the two failed, the other was cancelled for it
        finally:
            timer.cancel()
            if self._stall_timer is not None:
                self._stall_timer.cancel()

    async def _listen(self, stream: WorkerStream) -> None:
        number = 1
        while (message := await self._context.read()) is not EOF:
            number += 1
            try:
                self._take(message, stream)
            except (FieldViolation, Rejection, CallRefused) as error:
                refusal = ClaimResponse()
                refusal.refused.status.CopyFrom(to_status(error))
                refusal.refused.message_no = number
                await self._write(refusal)
        self._closing = True
        stream.drain()
        self._finish_in(limits.FINISH_AFTER_HALF_CLOSE if self._unanswered else 0)

    def _take(self, message: ClaimRequest, stream: WorkerStream) -> None:
        match message.WhichOneof("message"):
            case "results":
                self._take_results(message, stream)
            case "renew":
                held = workers.held(message.renew.held, "renew.held")
                self._unanswered += 1
                stream.renew(message.renew.renew_id, held)
            case "credit":
                stream.credit(message.credit.pool, message.credit.count)
            case "heartbeats":
                self._take_heartbeats(message, stream)
            case "drain":
                stream.leave()
            case "hello":
                raise protocol_violation("hello was said before; a stream has one.")
            case None:
                raise CallRefused("UNKNOWN_MESSAGE", "This server does not know this kind of message.")

    def _take_results(self, message: ClaimRequest, stream: WorkerStream) -> None:
        decoded: list[ResultIn] = []
        for result in message.results.results:
            self._unanswered += 1
            try:
                decoded.append(workers.result(result, result.result_id))
            except FieldViolation as error:
                stream.tell(SettledOut(result.result_id, error=error))
        stream.results(decoded)

    def _take_heartbeats(self, message: ClaimRequest, stream: WorkerStream) -> None:
        decoded: list[HeartbeatIn] = []
        for heartbeat in message.heartbeats.heartbeats:
            self._unanswered += 1
            try:
                decoded.append(workers.heartbeat(heartbeat, heartbeat.heartbeat_id))
            except FieldViolation as error:
                stream.tell(HeartbeatOut(heartbeat.heartbeat_id, heartbeat.claim_token, error=error))
        stream.heartbeats(decoded)

    async def _tell(self, stream: WorkerStream) -> None:
        while items := await stream.receive():
            self._count_answers(items)
            for message in outgoing.messages(items, self._capabilities):
                if self._old and message.HasField("go_away") and not self._engine.draining:
                    message.go_away.ClearField("reason")  # the stream's age is no reason of anybody's
                await self._write(message)
            for item in items:
                if isinstance(item, GoAwayOut):
                    self._finish_in(item.grace)
            if self._closing and self._unanswered <= 0:
                self._finish_in(0)
        self._finish_in(0)

    def _count_answers(self, items: list[StreamOut]) -> None:
        self._unanswered -= sum(1 for item in items if isinstance(item, SettledOut | RenewedOut | HeartbeatOut))

    def _grow_old(self, stream: WorkerStream) -> None:
        self._old = True
        stream.go_away(limits.GO_AWAY_GRACE, Reason.DRAINING)

    def _finish_in(self, duration: int) -> None:
        at = asyncio.get_running_loop().time() + duration / SECOND
        planned = self._limit.when()
        if planned is None or at < planned:
            self._limit.reschedule(at)

    async def _write(self, message: ClaimResponse) -> None:
        async with self._writing:
            self._write_begun = asyncio.get_running_loop().time()
            await self._context.write(message)
            self._write_begun = 0.0

    def _look_for_stall(self) -> None:
        # One look now and then instead of a timeout around every write, which would cost a tenth of it.
        loop = asyncio.get_running_loop()
        if self._write_begun and loop.time() - self._write_begun >= limits.WRITE_STALL / SECOND:
            self._stalled = True
            self._finish_in(0)
        else:
            self._stall_timer = loop.call_later(limits.WRITE_STALL / SECOND / 2, self._look_for_stall)

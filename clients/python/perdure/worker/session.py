"""The worker's session: keeps one stream open and renewed, and hands what the server says to the ledger.

Runs on a thread of its own with an event loop of its own, so that a blocked loop or a long computation in an activity never
costs a renewal. (A C extension that holds the interpreter lock stops this thread too: give such work `process=True`.)
"""

import asyncio
import concurrent.futures
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import grpc

from perdure import limits
from perdure.calls import Calls
from perdure.config import ConnectionConfig
from perdure.contact import handshake_explained, jittered
from perdure.errors import AccessDenied, InvalidRequest, NotAllowed, PerdureError, Unavailable
from perdure.reasons import ErrorReason
from perdure.statuses import error_of_status
from perdure.v1 import errors_pb2, worker_service_pb2
from perdure.worker.claims import Held, Save, cause_name
from perdure.worker.connection import Connection
from perdure.worker.large import LargeCalls
from perdure.worker.ledger import Ledger, Runner
from perdure.worker.mailbox import Mailbox
from perdure.worker.plan import WorkerPlan

_log = logging.getLogger("perdure.worker")


class Session:
    """Made on the runner's loop; everything but `start`, `mailbox` and the futures belongs to its own thread."""

    def __init__(self, plan: WorkerPlan, config: ConnectionConfig, credentials: grpc.ChannelCredentials | None) -> None:
        self._plan = plan
        self._config = config
        self._credentials = credentials
        self._session_id = ""
        self._session_secret = ""
        self._lease = 0.0
        self._lease_timer: asyncio.TimerHandle | None = None
        self._current: Connection | None = None
        self._finishing = False
        self._say_again_at = 0.0
        self.connected: concurrent.futures.Future[None] = concurrent.futures.Future()
        """Done at the first welcome, or with the error that makes it impossible."""
        self.last_error: PerdureError | None = None
        self.ended: concurrent.futures.Future[None] = concurrent.futures.Future()
        """Done when the thread is over, or with the error that ended it."""
        self._takers: Mapping[str, Callable[[Connection, Any], None]] = {
            "claims": self._claims,
            "settled": self._settled,
            "renewed": self._renewed,
            "heartbeats_answered": self._heartbeats,
            "cancel": self._cancel,
            "lost": self._lost,
            "go_away": self._go_away,
            "pools_changed": self._pools_changed,
            "refused": self._refused,
        }

    def start(self, runner: Runner, to_runner: Mailbox) -> None:
        """Starts the thread; returns when its loop runs."""
        running = threading.Event()

        def run() -> None:
            with asyncio.Runner(loop_factory=_loop_factory()) as loop:
                loop.run(self._main(runner, to_runner, running))

        thread = threading.Thread(target=run, name="perdure-session", daemon=True)
        thread.start()
        running.wait()

    def drain(self, grace: float) -> None:
        """No more claims; from any thread."""
        self.mailbox.put(lambda: self.ledger.drain(grace))

    def finish(self, within: float) -> None:
        """Ends when the last result is answered, after `within` seconds at most; from any thread. Renewals go on until then."""
        self.mailbox.put(self._finish, within)

    # ---- what the ledger asks for

    def wake(self) -> None:
        """There is something to say to the server, or nothing is left to be said."""
        if self._finishing and len(self.ledger.claims) == 0:
            self._finished.set()
        if self._current is not None:
            self._current.wake()

    def later(self, delay: float, call: Callable[[], None]) -> None:
        """Runs `call` after `delay` seconds."""
        self._loop.call_later(delay, call)

    def send_large_result(self, held: Held) -> None:
        """Settles a claim by a unary call."""
        self._large.result(held)

    def send_large_checkpoint(self, held: Held, save: Save) -> None:
        """Stores a checkpoint by a unary call."""
        self._large.checkpoint(held, save)

    # ---- what the stream says

    def received(self, connection: Connection, message: worker_service_pb2.ClaimResponse) -> None:
        """One message of one stream, in order."""
        kind = message.WhichOneof("message")
        take = self._takers.get(kind) if kind is not None else None
        if take is not None and kind is not None:  # else of a newer server: by the protocol, ignored
            take(connection, getattr(message, kind))

    def _claims(self, connection: Connection, message: worker_service_pb2.Claims) -> None:
        # The server has refused what came on a stream after a newer hello was said.
        if not connection.is_stale:
            self.ledger.take(message.claims, connection.connection_no)

    def _settled(self, connection: Connection, message: worker_service_pb2.SettledResults) -> None:
        for settled in message.settled:
            if connection.is_stale:
                settled.ClearField("next_claims")
            self.ledger.settled(settled, connection.connection_no)

    def _heartbeats(self, _: Connection, message: worker_service_pb2.HeartbeatsAnswered) -> None:
        for answer in message.answers:
            self.ledger.heartbeat_answered(answer)

    def _cancel(self, _: Connection, message: worker_service_pb2.CancelClaims) -> None:
        for cancel in message.claims:
            self.ledger.cancel(cancel.claim_token, cancel.reason)

    def _lost(self, _: Connection, message: worker_service_pb2.LostClaims) -> None:
        for lost in message.claims:
            self.ledger.lose(lost.claim_token, cause_name(lost.cause))

    def _pools_changed(self, _: Connection, message: worker_service_pb2.PoolsChanged) -> None:
        self.ledger.accept(message.pools)

    def _refused(self, _: Connection, message: worker_service_pb2.Refused) -> None:
        _log.error("the server refused message %d of the stream: %s", message.message_no, error_of_status(message.status))

    def _renewed(self, connection: Connection, renewed: worker_service_pb2.Renewed) -> None:
        sent = connection.renewed(renewed.renew_id)
        error = error_of_status(renewed.status) if renewed.HasField("status") else None
        if error is None:
            if renewed.HasField("lease_duration"):
                self._lease = renewed.lease_duration.ToTimedelta().total_seconds()
            if sent is not None and connection is self._current:
                self._extend_lease(sent)
                self.ledger.renewed(renewed.renew_id)
        elif error.reason == ErrorReason.SESSION_LOST:
            self._session_is_lost()
            connection.leaving.set()
        else:
            _log.warning("the lease was not renewed: %s", error)
            self.later(jittered(min(1.0, connection.renew_interval)), self._renew_now)

    def _renew_now(self) -> None:
        self.ledger.outgoing.renew_wanted = True
        self.wake()

    def _extend_lease(self, since: float) -> None:
        self.ledger.is_lease_over = False
        if self._lease_timer is not None:
            self._lease_timer.cancel()
        self._lease_timer = self._loop.call_later(max(0.0, since + self._lease - time.monotonic()), self.ledger.lease_is_over)

    def _go_away(self, connection: Connection, message: worker_service_pb2.GoAway) -> None:
        reason = errors_pb2.ErrorReason.Name(message.reason).removeprefix("ERROR_REASON_") if message.reason else "age"
        if connection is not self._current:
            return
        _log.info("the server asks to leave this stream (%s)", reason)
        if reason == ErrorReason.SESSION_LOST:
            self._session_is_lost()
        connection.leaving.set()

    def _session_is_lost(self) -> None:
        if self._session_id:
            _log.warning("the session is lost: its claims are given up, a new one is opened")
        self._session_id = self._session_secret = ""
        self.ledger.lose_all("EXPIRED")

    # ---- the thread

    async def _main(self, runner: Runner, to_runner: Mailbox, running: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._finished = asyncio.Event()
        self.mailbox = Mailbox(self._loop, self.wake)
        self.ledger = Ledger(self._plan.pools, self, runner, to_runner, self._config.codec)
        self._large = LargeCalls(Calls(self._config, limits.CALL_TIMEOUT, limits.CALL_TIMEOUT, self._credentials), self.ledger)
        running.set()
        try:
            await self._keep_connected()
        except BaseException as error:
            self._fail(error)
            if not isinstance(error, PerdureError):
                raise
        finally:
            await self._large.close()
            self.ledger.fail_saves(Unavailable("the worker has stopped"))
            if not self.ended.done():
                self.ended.set_result(None)

    async def _keep_connected(self) -> None:
        stream: asyncio.Task[None] | None = None
        interval = limits.RECONNECT_INITIAL_INTERVAL
        finished = asyncio.create_task(self._finished.wait())
        try:
            while not self._finished.is_set():
                connection = await self._try_open(finished)
                if connection is None:
                    await asyncio.wait([finished], timeout=jittered(interval))
                    interval = min(limits.RECONNECT_MAX_INTERVAL, interval * 2)
                    continue
                await _end(stream)
                began = time.monotonic()
                stream = asyncio.create_task(self._serve(connection))
                leaving = asyncio.create_task(connection.leaving.wait())
                await asyncio.wait([stream, leaving, finished], return_when=asyncio.FIRST_COMPLETED)
                leaving.cancel()
                if time.monotonic() - began > limits.RECONNECT_MAX_INTERVAL:
                    interval = limits.RECONNECT_INITIAL_INTERVAL
                # Jitter, so that the workers of a fleet do not come back in step.
                await asyncio.wait([finished], timeout=jittered(interval))
            await self._say_goodbye(stream)
        finally:
            finished.cancel()
            await _end(stream)

    async def _try_open(self, finished: "asyncio.Task[bool]") -> Connection | None:
        opening = asyncio.create_task(self._open())
        try:
            await asyncio.wait([opening, finished], return_when=asyncio.FIRST_COMPLETED)
            if not opening.done():
                return None
            return opening.result()
        except PerdureError as error:
            self._note_failure(error)
            return None
        finally:
            opening.cancel()

    async def _open(self) -> Connection:
        connection = Connection(self._config, self._credentials, self.ledger.outgoing)
        hello = self._plan.hello()
        hello.session_id, hello.session_secret = self._session_id, self._session_secret
        hello.held_claim_tokens.extend(held.token for held in self.ledger.claims.current())
        if self._current is not None:
            self._current.is_stale = True
        try:
            welcome = await connection.open(hello)
            self._check_definitions(welcome)
        except BaseException:
            await connection.close()
            raise
        self._welcomed(connection, welcome)
        return connection

    def _check_definitions(self, welcome: worker_service_pb2.Welcome) -> None:
        for status in welcome.definitions:
            error = error_of_status(status.status) if status.HasField("status") else None
            if isinstance(error, InvalidRequest) and not self.connected.done():
                raise error
            if error is not None:
                name = self._plan.definitions[status.definition_index].workflow_type
                _log.warning("the definition %s was not registered: %s", name, error)

    def _welcomed(self, connection: Connection, welcome: worker_service_pb2.Welcome) -> None:
        resumed = welcome.resumed or not self._session_id
        self._session_id, self._session_secret = welcome.session_id, welcome.session_secret
        self._lease = welcome.lease_duration.ToTimedelta().total_seconds()
        self._current = connection
        self._say_again_at = 0.0
        self.ledger.outgoing.begin_stream()
        self.ledger.accept(welcome.pools)
        if not resumed:
            _log.warning("the session was not resumed: what ran under the old one is given up")
            self.ledger.lose_all("EXPIRED")
        for lost in welcome.lost:
            self.ledger.lose(lost.claim_token, cause_name(lost.cause))
        for token in welcome.cancel_claim_tokens:
            self.ledger.cancel(token, "")
        self._extend_lease(connection.hello_sent)
        _log.info("connected to %s as session %s, lease %.0f s", self._config.address, welcome.session_id, self._lease)
        if not self.connected.done():
            self.connected.set_result(None)

    async def _serve(self, connection: Connection) -> None:
        try:
            await connection.run(self)
        except PerdureError as error:
            if not self._finished.is_set():
                _log.warning("the stream to %s ended: %s", self._config.address, error)
        except Exception:  # noqa: BLE001 -- whatever it is, the work goes on over a new stream
            _log.exception("a bug of the worker's cut the stream; a new one is opened")

    def _note_failure(self, error: PerdureError) -> None:
        self.last_error = error
        handshake_explained(error, self._config, reached=self.connected.done())
        if isinstance(error, AccessDenied | InvalidRequest) and not self.connected.done():
            raise error  # no later try can help a worker that has never been let in
        if isinstance(error, NotAllowed) and error.reason == ErrorReason.SESSION_LOST:
            self._session_is_lost()
        if time.monotonic() >= self._say_again_at:
            self._say_again_at = time.monotonic() + limits.FAILURE_LOG_INTERVAL
            _log.warning("cannot open a stream to %s; trying on: %s", self._config.address, error)

    def _fail(self, error: BaseException) -> None:
        for future in (self.connected, self.ended):
            if not future.done():
                future.set_exception(error)

    def _finish(self, within: float) -> None:
        if not self._finishing:
            self._finishing = True
            self._loop.call_later(within, self._finished.set)
        self.wake()

    async def _say_goodbye(self, stream: asyncio.Task[None] | None) -> None:
        left = [held.claim.step for held in self.ledger.claims.current()]
        if left:
            _log.error("stopped with %d results unanswered (%s); the server will hand their steps out again", len(left), ", ".join(left))
        if self._current is None or stream is None or stream.done():
            return
        await self._current.finish()
        await asyncio.wait([stream], timeout=limits.GOODBYE_TIMEOUT)


async def _end(task: asyncio.Task[None] | None) -> None:
    if task is not None and not task.done():
        task.cancel()
        await asyncio.wait([task])


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The loop of uvloop where that is installed: its wake-ups from other threads do not give the interpreter's lock away."""
    try:
        import uvloop  # noqa: PLC0415 -- not there on every platform, and nothing depends on it
    except ImportError:
        return None
    return uvloop.new_event_loop

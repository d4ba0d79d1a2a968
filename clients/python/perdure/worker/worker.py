"""The worker as users see it: an `async with` block in which activities run."""

import asyncio
import logging
import signal
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from perdure import limits
from perdure.calls import Calls
from perdure.definition import Definition
from perdure.errors import Unavailable
from perdure.sealing import check_definition
from perdure.worker.mailbox import Mailbox
from perdure.worker.plan import WorkerOptions, plan_worker
from perdure.worker.runner import ActivityRunner
from perdure.worker.session import Session

_log = logging.getLogger("perdure.worker")


class Worker:
    """Runs activities while its `async with` block is open; made by `client.worker`.

    At the end of the block no new claims are taken; running activities may go on for the grace, then those that still run
    are cancelled and their claims given back with their checkpoints, uncharged. SIGTERM leaves the block, a second one ends the grace.
    """

    def __init__(self, calls: Calls, definitions: Sequence[Definition], options: WorkerOptions) -> None:
        self._calls = calls
        self._options = options
        self._plan = plan_worker(definitions, calls.config.namespace, options)
        for definition in self._plan.definitions:
            check_definition(definition, calls.config.codec)
        self._session: Session | None = None
        self._runner: ActivityRunner | None = None
        self._hurry = asyncio.Event()
        self._owner: asyncio.Task[object] | None = None
        self._stopping = False
        self._interrupted = False
        self._signals: list[signal.Signals] = []

    @property
    def worker_id(self) -> str:
        """The worker's name, for people."""
        return self._plan.worker_id

    @property
    def running(self) -> int:
        """How many activities run now."""
        return len(self._runner) if self._runner is not None else 0

    async def __aenter__(self) -> Self:
        """Connects; returns once the server has let the worker in.

        Raises:
            Unavailable: No server within 10 s.
            DefinitionRejected: A definition has faults.
            AccessDenied: The credentials do not allow it.
        """
        if self._session is not None:
            raise RuntimeError("a worker can be opened once; make another by client.worker")
        session = self._session = Session(self._plan, self._calls.config, self._calls.credentials)
        self._runner = ActivityRunner(self._plan, self._calls, session)
        session.start(self._runner, Mailbox(asyncio.get_running_loop()))
        try:
            await self._wait_connected(session)
        except BaseException:
            session.finish(0)
            raise
        self._calls.note_reached()
        self._owner = asyncio.current_task()
        session.ended.add_done_callback(self._session_ended)
        self._set_signals()
        if self._interrupted and self._owner is not None:
            # Stopped while it connected: the block is left at its first await.
            self._owner.cancel("the worker stops")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool | None:
        """Stops in order; the block's own SIGTERM ends here, other exceptions go on."""
        del kind, trace
        try:
            await self._stop()
        finally:
            self._reset_signals()
        task = asyncio.current_task()
        if self._interrupted and isinstance(error, asyncio.CancelledError) and task is not None:
            # As in asyncio.timeout: the cancellation was ours, nobody outside has to know.
            return task.uncancel() == 0
        return False

    async def run(self) -> None:
        """Works until SIGTERM or SIGINT, or until the task is cancelled, then stops in order.

        Raises:
            Unavailable: No server within 10 s.
            PerdureError: The session has ended for good.
        """
        async with self:
            await asyncio.get_running_loop().create_future()

    def stop(self) -> None:
        """Leaves the `async with` block, or `run`, as SIGTERM does; the second time without the grace. On the worker's loop."""
        if self._stopping or self._interrupted:
            self._hurry.set()
            return
        self._interrupted = True
        if self._owner is not None:
            self._owner.cancel("the worker stops")

    async def _wait_connected(self, session: Session) -> None:
        try:
            async with asyncio.timeout(limits.CONNECT_TIMEOUT):
                await asyncio.wrap_future(session.connected)
        except TimeoutError:
            raise self._calls.explained(session.last_error or Unavailable("no answer")) from None

    async def _stop(self) -> None:
        session, runner = self._session, self._runner
        if session is None or runner is None:
            return
        self._stopping = True
        grace = self._options.grace.total_seconds()
        session.drain(grace)
        try:
            if not await self._idle_within(runner, grace):
                _log.info("the grace is over: %d activities are stopped, their claims given back", len(runner))
                runner.release_all()
                await self._wind_down(runner)
        except asyncio.CancelledError:
            runner.release_all()
            raise
        finally:
            session.finish(limits.SETTLE_TIMEOUT)
            await asyncio.shield(asyncio.wrap_future(session.ended))
            runner.close()

    async def _idle_within(self, runner: ActivityRunner, seconds: float) -> bool:
        idle = asyncio.ensure_future(runner.wait_idle())
        hurry = asyncio.ensure_future(self._hurry.wait())
        try:
            await asyncio.wait([idle, hurry], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return idle.done()
        finally:
            idle.cancel()
            hurry.cancel()

    @staticmethod
    async def _wind_down(runner: ActivityRunner) -> None:
        for step in (runner.abandon_all, runner.give_up):
            idle = asyncio.ensure_future(runner.wait_idle())
            # Not asyncio.timeout: in a task that is being cancelled, early 3.11 releases of Python raise CancelledError at its end.
            await asyncio.wait([idle], timeout=limits.UNWIND_TIMEOUT)
            if idle.done():
                return
            idle.cancel()
            step()

    def _session_ended(self, ended: object) -> None:
        del ended
        if self._stopping or self._session is None:
            return
        _log.critical("the worker's session has ended by itself; the worker stops")
        loop = self._owner.get_loop() if self._owner is not None else None
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self.stop)

    def _set_signals(self) -> None:
        # Only where nobody else handles it, and only the main thread may.
        is_main = threading.current_thread() is threading.main_thread()
        if not self._options.handle_signals or not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
            return
        try:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.stop)
        except NotImplementedError:
            return  # no such thing on this platform's loop
        self._signals.append(signal.SIGTERM)

    def _reset_signals(self) -> None:
        for number in self._signals:
            asyncio.get_running_loop().remove_signal_handler(number)
        self._signals = []

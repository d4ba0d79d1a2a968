"""The worker for programs without an event loop: the same one, on a thread with a loop of its own."""

import asyncio
import contextlib
import logging
import signal
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from types import FrameType, TracebackType
from typing import Any, Self

from perdure.calls import Calls as AsyncCalls
from perdure.definition import Definition
from perdure.sealing import check_definition
from perdure.sync.calls import Calls
from perdure.worker import worker as asynchronous
from perdure.worker.plan import WorkerOptions, plan_worker

_log = logging.getLogger("perdure.worker")


class Worker:
    """Runs activities while its `with` block is open; made by `client.worker`.

    Plain `def` activities run in threads, `async def` ones on the worker's own loop. At the end of the block no new claims are taken;
    running activities may go on for the grace, then their claims are given back with their checkpoints, uncharged.
    """

    def __init__(self, calls: Calls, definitions: Sequence[Definition], options: WorkerOptions) -> None:
        plan = plan_worker(definitions, calls.config.namespace, options)  # faults are told here, not on the thread
        for definition in plan.definitions:
            check_definition(definition, calls.config.codec)
        self._calls = calls
        self._definitions = definitions
        self._options = replace(options, handle_signals=False, worker_id=plan.worker_id)
        self._ready: Future[asyncio.AbstractEventLoop] = Future()
        self._over: Future[None] = Future()
        self._thread: threading.Thread | None = None
        self._worker: asynchronous.Worker | None = None

    @property
    def worker_id(self) -> str:
        """The worker's name, for people."""
        return self._options.worker_id

    @property
    def running(self) -> int:
        """How many activities run now."""
        return self._worker.running if self._worker is not None else 0

    def __enter__(self) -> Self:
        """Connects; returns once the server has let the worker in.

        Raises:
            Unavailable: No server within 10 s.
            DefinitionRejected: A definition has faults.
            AccessDenied: The credentials do not allow it.
        """
        if self._thread is not None:
            raise RuntimeError("a worker can be opened once; make another by client.worker")
        self._thread = threading.Thread(target=self._main, name="perdure-sync-worker", daemon=True)
        self._thread.start()
        self._ready.result()
        self._calls.note_reached()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stops in order."""
        self.stop()
        self._join()

    def run(self) -> None:
        """Works until SIGTERM, SIGINT or `stop`, then stops in order. The second signal ends the grace.

        Raises:
            Unavailable: No server within 10 s.
            PerdureError: The session has ended for good.
        """
        with self._signals(), self:
            self._over.result()

    def stop(self) -> None:
        """Leaves `run`; the second time without the grace. From any thread."""
        if self._ready.done() and self._ready.exception() is None and self._worker is not None:
            with contextlib.suppress(RuntimeError):  # the loop is over already
                self._ready.result().call_soon_threadsafe(self._worker.stop)

    def _main(self) -> None:
        try:
            asyncio.run(self._work())
        except BaseException as error:  # noqa: BLE001 -- whoever waits for the thread gets it
            for future in (self._ready, self._over):
                if not future.done():
                    future.set_exception(error)
        else:
            self._over.set_result(None)

    async def _work(self) -> None:
        calls = AsyncCalls(self._calls.config, self._calls.timeout, self._calls.connect_timeout, self._calls.credentials)
        try:
            self._worker = asynchronous.Worker(calls, self._definitions, self._options)
            async with self._worker:
                self._ready.set_result(asyncio.get_running_loop())
                await asyncio.get_running_loop().create_future()
        finally:
            await calls.close()

    def _join(self) -> None:
        # In slices: a join without end would keep signal handlers from running.
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(0.2)
        if self._over.done() and self._over.exception() is not None:
            _log.error("the worker's session ended by itself", exc_info=self._over.exception())

    @contextlib.contextmanager
    def _signals(self) -> Generator[None, None, None]:
        def handle(number: int, frame: FrameType | None) -> None:
            del number, frame
            self.stop()

        before: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                before[number] = signal.signal(number, handle)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

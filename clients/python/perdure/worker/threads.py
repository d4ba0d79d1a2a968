"""Threads for plain `def` activities: daemon ones, so that an activity that never ends cannot keep the process from ending."""

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any


class Job:
    """One call for a thread, and the future that its loop waits on."""

    __slots__ = ("call", "future", "loop")

    def __init__(self, call: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> None:
        self.call = call
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()

    def run(self) -> None:
        """Runs the call; from the thread."""
        try:
            value = self.call()
        except BaseException as error:  # noqa: BLE001 -- it is the activity's outcome, whatever it is
            self._tell(_fail, error)
        else:
            self._tell(_succeed, value)

    def _tell(self, end: Callable[["asyncio.Future[Any]", Any], None], outcome: object) -> None:
        try:
            self.loop.call_soon_threadsafe(end, self.future, outcome)
        except RuntimeError:
            return  # the loop is closed: the worker has gone on without this activity


class Threads:
    """As many threads as activities run at once; the pools' slots bound them."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._idle = 0
        self._count = 0
        self._lock = threading.Lock()

    def submit(self, call: Callable[[], Any]) -> "asyncio.Future[Any]":
        """Runs the call on an idle thread, or a new one. The future belongs to the running loop."""
        job = Job(call, asyncio.get_running_loop())
        with self._lock:
            if self._idle > 0:
                self._idle -= 1
            else:
                self._count += 1
                threading.Thread(target=self._work, name=f"perdure-activity-{self._count}", daemon=True).start()
        self._jobs.put(job)
        return job.future

    def close(self) -> None:
        """Ends the threads as they become idle."""
        for _ in range(self._count):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()
            del job  # the arguments of an activity must not live until the next one comes
            with self._lock:
                self._idle += 1


def _succeed(future: "asyncio.Future[Any]", value: object) -> None:
    if not future.done():
        future.set_result(value)


def _fail(future: "asyncio.Future[Any]", error: BaseException) -> None:
    if future.done():
        return
    if isinstance(error, asyncio.CancelledError):
        future.cancel(*error.args[:1])
    elif isinstance(error, StopIteration):
        future.set_exception(RuntimeError("the activity raised StopIteration"))
    else:
        future.set_exception(error)

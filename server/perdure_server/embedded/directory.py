"""The data directory: where things lie, who owns it, and what the last owner chose."""

import asyncio
import contextlib
import fcntl
import json
import os
import secrets
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from perdure_server.embedded import limits
from perdure_server.embedded.values import DataDirectoryInUseError, EmbeddedError, Service


class DataDirectory:
    """An owned data directory. Made by `owned`."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path.absolute()  # what is started in it looks for it from folders of its own
        self.lock = lock
        """Descriptor of the lock. Children inherit it, so the directory stays locked until the last of them is gone."""

    def of(self, name: str) -> Path:
        """A directory inside it, created if missing."""
        inside = self.path / name
        inside.mkdir(mode=0o700, exist_ok=True)
        return inside

    def recall(self, service: Service) -> tuple[str | None, int]:
        """Kind and port of the last run; None and 0 if there was none."""
        told = self._chosen().get(service, {})
        return told.get("kind"), int(told.get("port", 0))

    def remember(self, service: Service, kind: str, port: int) -> None:
        """Keeps them for the next run."""
        chosen = {**self._chosen(), service: {"kind": kind, "port": port}}
        fresh = self.path / "services.json.new"
        fresh.write_text(json.dumps(chosen, indent=1) + "\n")
        fresh.replace(self.path / "services.json")

    def _chosen(self) -> dict[str, Any]:
        file = self.path / "services.json"
        try:
            told = json.loads(file.read_text()) if file.exists() else {}
        except ValueError as error:
            raise EmbeddedError(f"{file} is damaged; delete it (it holds only program kinds and ports)") from error
        return told if isinstance(told, dict) else {}


@contextlib.asynccontextmanager
async def owned(path: Path) -> AsyncIterator[DataDirectory]:
    """Makes the directory if need be, and owns it until the end of the block.

    A living owner is refused at once; the children of a dead one are waited for. Raises DataDirectoryInUseError.
    """
    lock = _open_lock(path)
    try:
        await _take(path, lock)
        yield DataDirectory(path, lock)
    finally:
        os.close(lock)


def _open_lock(path: Path) -> int:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)


async def _take(path: Path, lock: int) -> None:
    deadline = time.monotonic() + limits.OWNER_WAIT_SECONDS
    while not _locked(lock):
        owner = _owner(lock)
        if owner and _is_alive(owner):
            raise DataDirectoryInUseError(path, owner)
        if time.monotonic() > deadline:
            raise DataDirectoryInUseError(path, owner, left=True)
        await _moment()
    os.truncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _owner(lock: int) -> int:
    text = os.pread(lock, 32, 0).decode()
    return int(text) if text.isdigit() else 0


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


async def _moment() -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), limits.PROBE_PAUSE_SECONDS)


def free_port(preferred: int = 0) -> int:
    """A port on 127.0.0.1 on which nobody listens: the preferred one if possible. Somebody may still take it before it is used."""
    if preferred and is_free(preferred):
        return preferred
    for _ in range(limits.PORT_TRIES):
        port = limits.PORT_LOWEST + secrets.randbelow(limits.PORT_HIGHEST - limits.PORT_LOWEST + 1)
        if is_free(port):
            return port
    raise EmbeddedError(f"no free port between {limits.PORT_LOWEST} and {limits.PORT_HIGHEST} on 127.0.0.1")


def is_free(port: int) -> bool:
    """Whether nobody listens there; connections of a former owner that are still closing do not count."""
    with socket.socket() as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

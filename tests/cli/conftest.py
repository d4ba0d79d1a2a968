"""The command line against a whole server: on a thread, as a process with pipes, and in a real pseudo-terminal."""

import asyncio
import os
import pty
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from perdure import Client
from perdure.cli.commands import cli
from perdure_server.config import Config
from perdure_server.main import Parts, serve
from perdure_server.store.memory import MemoryStore
from tests.processes import environment

WITHIN = 30.0


@dataclass(frozen=True)
class Finished:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Awaitable[Finished]]


@pytest.fixture
async def address() -> AsyncIterator[str]:
    """Address of a server on the in-memory store."""
    store = MemoryStore(lambda: time.time_ns() // 1_000_000)
    async with serve(Config(port=0, drain_grace_ms=500), Parts(store=store)) as running:
        yield f"127.0.0.1:{running.port}"


@pytest.fixture
async def client(address: str) -> AsyncIterator[Client]:
    async with Client(address) as found:
        yield found


@pytest.fixture
def perdure(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs `perdure ARGUMENTS` on a thread of this process, as a new process costs seconds on a busy machine."""
    monkeypatch.chdir(tmp_path)

    async def run(*arguments: str, stdin: str = "", settings: dict[str, str] | None = None) -> Finished:
        variables = {"PERDURE_ADDRESS": address, **(settings or {})}
        async with asyncio.timeout(WITHIN):
            result = await asyncio.to_thread(CliRunner().invoke, cli, arguments, input=stdin, env=variables)
        return Finished(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def perdure_process(address: str, tmp_path: Path) -> Command:
    """Runs `perdure ARGUMENTS` as a process of its own, with pipes."""

    async def run(*arguments: str, stdin: str = "", settings: dict[str, str] | None = None) -> Finished:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "perdure",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=_environment(address, settings),
            cwd=tmp_path,
        )
        async with asyncio.timeout(WITHIN):
            out, err = await process.communicate(stdin.encode())
        return Finished(process.returncode or 0, out.decode(), err.decode())

    return run


class Terminal:
    """A command in a pseudo-terminal; `screen` is all that it has written."""

    def __init__(self, process: asyncio.subprocess.Process, master: int) -> None:
        self.process = process
        self.screen = ""
        self._master = master
        self._news = asyncio.Event()
        asyncio.get_running_loop().add_reader(master, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the far side is closed
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._master)
        self.screen += data.decode(errors="replace")
        self._news.set()

    async def until(self, text: str) -> None:
        """Until the text is on the screen."""
        try:
            async with asyncio.timeout(WITHIN):
                while text not in self.screen:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"never saw {text!r} in {self.screen!r}") from None

    async def exit_code(self) -> int:
        """How it ended."""
        async with asyncio.timeout(WITHIN):
            return await self.process.wait()

    def type(self, text: str) -> None:
        """Types at the keyboard."""
        os.write(self._master, text.encode())

    def close(self) -> None:
        """Ends what still runs."""
        asyncio.get_running_loop().remove_reader(self._master)
        os.close(self._master)
        if self.process.returncode is None:
            self.process.kill()


@pytest.fixture
async def terminal(address: str, tmp_path: Path) -> AsyncIterator[Callable[..., Awaitable[Terminal]]]:
    """Runs `perdure ARGUMENTS` in a pseudo-terminal of its own session, so that Ctrl-C is a real one."""
    opened: list[Terminal] = []

    async def run(*arguments: str, settings: dict[str, str] | None = None) -> Terminal:
        master, slave = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from perdure.cli import main; main()",
            *arguments,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=_environment(address, {"TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40", **(settings or {})}),
            cwd=tmp_path,
            start_new_session=True,
        )
        os.close(slave)
        opened.append(Terminal(process, master))
        return opened[-1]

    yield run
    for found in opened:
        found.close()
        await found.process.wait()


def _environment(address: str, changes: dict[str, str] | None) -> dict[str, str]:
    return environment(PERDURE_ADDRESS=address, PYTHONUNBUFFERED="1") | (changes or {})

"""A sample's own process."""

import asyncio
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.processes import environment

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 60.0
CHUNK_BYTES = 65_536


class Program:
    """`python -m MODULE ARGUMENTS`; what it prints is in `output`. It begins when something is first awaited of it."""

    def __init__(self, arguments: Sequence[str], settings: Mapping[str, str], directory: Path) -> None:
        self.output = ""
        self._command = [*_death_with_parent(), sys.executable, "-m", *arguments]
        self._environment = environment(PYTHONPATH=str(ROOT), PYTHONUNBUFFERED="1", GRPC_VERBOSITY="ERROR", **settings)
        self._directory = directory
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._news = asyncio.Event()

    async def begin(self) -> None:
        """Starts it, if it is not started."""
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                cwd=self._directory,
                env=self._environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            self._reader = asyncio.get_running_loop().create_task(self._read(self._process))

    async def says(self, text: str) -> str:
        """The first line with this text, as far as it is there; waits for it. Fails with all that it said, if it ends without."""
        await self.begin()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while text not in self.output:
                    assert self._reader is not None
                    assert not self._reader.done(), self.output
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            pytest.fail(f"it does not say {text!r}, but {self.output!r}")
        return next((line for line in self.output.splitlines() if text in line), text)

    async def ends(self) -> list[str]:
        """The lines that it printed, when it has ended with 0."""
        await self.begin()
        assert self._process is not None
        assert self._reader is not None
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._reader
            assert await self._process.wait() == 0, self.output
        return self.output.splitlines()

    def send(self, number: signal.Signals) -> None:
        """One signal; it must run."""
        assert self._process is not None
        self._process.send_signal(number)

    async def kill(self) -> None:
        """SIGKILL, as kill -9; returns when it is gone."""
        if self._process is None or self._reader is None:
            return
        if self._process.returncode is None:
            self._process.kill()
        # Not to the end of its output: a program that it started may hold the pipe, and `wait` waits for that.
        self._reader.cancel()
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()
        await self._process.wait()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        try:
            while chunk := await process.stdout.read(CHUNK_BYTES):
                self.output += chunk.decode()
                self._news.set()
        finally:
            self._news.set()


def _death_with_parent() -> list[str]:
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []

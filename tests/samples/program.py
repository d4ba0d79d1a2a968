"""A sample's own process."""

import asyncio
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.processes import environment

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 30.0


class Program:
    """`python -m MODULE ARGUMENTS`; what it prints is in `lines`. It begins when something is first awaited of it."""

    def __init__(self, arguments: Sequence[str], settings: Mapping[str, str], directory: Path) -> None:
        self.lines: list[str] = []
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
        """The first line with this text; waits for it. Fails with all that it said, if it ends without."""
        await self.begin()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (found := [line for line in self.lines if text in line]):
                assert self._reader is not None
                assert not self._reader.done(), self.lines
                self._news.clear()
                await self._news.wait()
        return found[0]

    async def ends(self) -> list[str]:
        """What it printed, when it has ended with 0."""
        await self.begin()
        assert self._process is not None
        assert self._reader is not None
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._reader
            assert await self._process.wait() == 0, self.lines
        return self.lines

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
        await self._process.wait()
        # Not to the end of its output: a program that it started may hold the pipe.
        self._reader.cancel()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        try:
            async for line in process.stdout:
                self.lines.append(line.decode().rstrip("\n"))
                self._news.set()
        finally:
            self._news.set()


def _death_with_parent() -> list[str]:
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []

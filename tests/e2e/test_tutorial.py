"""docs/tutorial.md, block by block, as it stands: comments before its blocks say what a person would do or see.

file: NAME                      the block is that file
background: NAME, ready at: X   another terminal; goes on when X was printed
when: FILE has N lines          the person waits for that
prints: X                       the block's commands print it
"""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import Eventually
from tests.docs.code_blocks import ROOT
from tests.processes import environment, free_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?:<!-- ([^\n]*) -->\n)?```(\w+)\n(.*?)```", PAGE, flags=re.DOTALL)
PATIENCE = 120.0


class Terminals:
    """A folder, and what runs in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: list[asyncio.subprocess.Process] = []
        port = free_port()
        self._port = f" --port {port}"
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}"
        self._environment = environment(HOME=str(folder), PERDURE_ADDRESS=f"127.0.0.1:{port}", PYTHONUNBUFFERED="1") | {"PATH": programs}

    async def open(self, commands: str, *, log: Path) -> asyncio.subprocess.Process:
        """Runs commands with a shell, in a process group of their own."""
        # On a port of its own: others may use that of `perdure dev`.
        text = commands.replace("perdure dev", f"perdure dev{self._port}")
        with log.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                "bash", "-euc", text, cwd=self.folder, env=self._environment, stdout=output, stderr=output, start_new_session=True
            )
        self.running.append(process)
        return process

    async def close(self) -> None:
        """Ends what still runs, in order if it can."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in self.running:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
            with suppress(TimeoutError):
                async with asyncio.timeout(10):
                    await asyncio.gather(*(process.wait() for process in self.running))


@pytest.fixture
async def terminals(tmp_path: Path) -> AsyncIterator[Terminals]:
    made = Terminals(tmp_path)
    yield made
    await made.close()


def lines(path: Path) -> int:
    return len(path.read_text(errors="replace").splitlines()) if path.exists() else 0


async def perform(terminals: Terminals, eventually: Eventually, block: tuple[str, str, str], log: Path) -> None:
    """One block, as its comment says."""
    note, kind, text = block
    if name := re.fullmatch(r"file: (\S+)", note):
        assert kind == "python"
        (terminals.folder / name[1]).write_text(text)
        return
    assert kind == "console", f"nobody knows what to do with {note!r}"
    if background := re.fullmatch(r"background: \w+(?:, ready at: (.*))?", note):
        await terminals.open(text, log=log)
        ready = background[1] or ""
        await eventually(lambda: ready in log.read_text(errors="replace"), within=PATIENCE, what=f"{ready} of {text}")
        return
    if awaited := re.fullmatch(r"when: (\S+) has (\d+) lines", note):
        path, count = terminals.folder / awaited[1], int(awaited[2])
        await eventually(lambda: lines(path) >= count, within=PATIENCE, what=note)
    process = await terminals.open(text, log=log)
    async with asyncio.timeout(PATIENCE):
        code = await process.wait()
    said = await asyncio.to_thread(log.read_text)
    assert code == 0, f"{text}{said}"
    if printed := re.fullmatch(r"prints: (.*)", note):
        assert printed[1] in said


async def test_the_tutorial_is_true(terminals: Terminals, eventually: Eventually) -> None:
    done = [block for block in BLOCKS if not block[0].startswith("not run")]
    for number, block in enumerate(done):
        await perform(terminals, eventually, block, terminals.folder / f"block-{number}.log")
    assert len(done) > 8
    chapters = [line.split() for line in (terminals.folder / "chapters.log").read_text().splitlines()]
    assert sorted({int(words[1]) for words in chapters}) == list(range(1, 101))
    assert len(chapters) <= 102, "a chapter that was saved was done again"
    assert len({words[-1] for words in chapters}) == 2

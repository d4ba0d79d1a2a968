"""The processes of the demo: real children, killed and restarted."""

import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.documents import kills
from examples.documents.corpus import Document
from examples.documents.journal import Execution, Journal, Reader
from examples.documents.kills import MissedError, Wave
from examples.documents.perdure_way.keeping import lines_to_try
from examples.documents.processes import Process, ProcessError
from tests.conftest import Eventually

START_SECONDS = 20.0
SAYS_AND_STAYS = [sys.executable, "-c", "import os, time\nprint('up', os.getpid(), flush=True)\ntime.sleep(60)"]


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    process = Process("child", SAYS_AND_STAYS, tmp_path)
    yield process
    process.kill()


async def test_what_a_process_has_printed_is_of_its_present_life(process: Process, eventually: Eventually) -> None:
    first = process.start()
    await eventually(lambda: process.has_printed(f"up {first}"), within=START_SECONDS)
    process.kill()
    assert not process.is_running
    process.check()
    second = process.start()
    await eventually(lambda: process.has_printed(f"up {second}"), within=START_SECONDS)
    assert not process.has_printed(f"up {first}")
    assert process.pids == [first, second]


async def test_a_process_that_ended_by_itself_is_an_error_with_what_it_said(tmp_path: Path, eventually: Eventually) -> None:
    process = Process("child", [sys.executable, "-c", "print('farewell')"], tmp_path)
    process.start()
    await eventually(lambda: not process.is_running, within=START_SECONDS)
    with pytest.raises(ProcessError, match=r"child ended by itself(.|\n)*farewell"):
        process.check()


def test_a_kill_strikes_in_the_middle_of_the_step(process: Process, tmp_path: Path) -> None:
    journal, log = Journal(tmp_path / "log"), Reader(tmp_path / "log")
    wave = Wave([Document(3, "name", "", "text", 10)])
    pid = process.start()
    with journal.step(Execution(3, "clean")):
        kills.wait_begun(log, wave)
        hit = kills.strike(log, wave, "clean", [process])
        assert not process.is_running
        assert str(hit) == f"kill -9 child {pid} in the middle of clean(doc 3), attempt 1, on {os.getpid()}"
    kills.check_hit(log, hit.begun, hit.time)
    with pytest.raises(MissedError):
        kills.check_hit(log, hit.begun)
    journal.close()


def test_the_lines_to_try_are_lines_of_a_shell() -> None:
    lines = lines_to_try("127.0.0.1:7", [Document(1, "small", "", "text", 1), Document(2, "large", "", "text", 9)], "/a 'b'/model")
    words = [shlex.split(line) for line in lines]
    assert words[0] == ["export", "PERDURE_ADDRESS=127.0.0.1:7"]
    assert ["show", "document", "doc-02"] in [line[1:] for line in words]
    (start,) = (line for line in words if "--input" in line)
    job = json.loads(start[start.index("--input") + 1])
    assert (job["model"], job["document"]["number"]) == ("/a 'b'/model", 3)
    assert Path(job["document"]["path"]).is_file()

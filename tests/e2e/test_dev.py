"""`perdure dev`, as a newcomer uses it: one command, data that stays, nothing left behind; and the program on the README's first page."""

import asyncio
import signal
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.conftest import Eventually
from tests.e2e.channels import COMPLETED, connected
from tests.e2e.servers import DevProcess
from tests.processes import environment, is_alive, missing_server, redis_binary, store_available

pytestmark = pytest.mark.slow

NOTE = Path(__file__).parents[2] / "examples" / "note" / "note.py"

if not (store_available() and redis_binary()):
    missing_server("the embedded servers are not installed")


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[DevProcess]:
    """A running `perdure dev` with an empty data directory."""
    made = DevProcess(tmp_path)
    made.start()
    yield made
    made.kill()


def none_runs(pids: list[int]) -> bool:
    """Whether all of them are gone."""
    return not any(is_alive(pid) for pid in pids)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_data_is_kept_over_restarts_and_children_end_with_it(dev: DevProcess, eventually: Eventually) -> None:
    async with connected(dev.address) as perdure:
        await perdure.register("a", "b: a")
        await perdure.start()
        await perdure.complete(await perdure.taken("a"), '"kept"')
    for number in (signal.SIGTERM, signal.SIGKILL):
        children = dev.children
        assert len(children) == 2
        assert all(is_alive(pid) for pid in children)
        dev.send(number)
        await eventually(lambda: not dev.running)
        await eventually(partial(none_runs, children))
        dev.kill()  # it is gone; this forgets it
        dev.start()
        async with connected(dev.address) as perdure:
            steps = await perdure.steps()
            assert steps["a"].output.json == '"kept"'
    async with connected(dev.address) as perdure:
        await perdure.complete(await perdure.taken("b"), '"done"')
        assert (await perdure.ended()).state == COMPLETED


async def test_the_note_runs_and_prints_what_it_watches_and_its_result(dev: DevProcess) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(NOTE), env=environment(PERDURE_ADDRESS=dev.address), stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(30):
        told, _ = await process.communicate()
    lines = told.decode().splitlines()
    assert process.returncode == 0
    assert lines[0].startswith("note/note-42 is RUNNING")
    assert lines[-2:] == ["COMPLETED", "None"], "the last event, and what publish returns"
    frames = [line.partition("] ")[2] for line in lines if line.startswith("compose [1.")]
    assert "".join(frames) == "A Durable Note Survives The Pod That Began It "
    order = ["transcribe COMPLETED", "compose COMPLETED", "choice WAITING for choose", "choice COMPLETED", "publish COMPLETED"]
    assert [line for line in lines if line in order] == order

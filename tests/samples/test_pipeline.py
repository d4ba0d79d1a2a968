"""examples/pipeline: programs as steps; a kill -9 of everything but the program that runs costs nothing."""

import asyncio
import gzip
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from examples.pipeline.detached import run_detached
from examples.pipeline.programs import run
from perdure import Client, Context, Failure
from perdure.testing import ActivityEnvironment
from tests.conftest import Eventually
from tests.processes import environment, is_alive
from tests.samples.conftest import RunSample

MODULE = "examples.pipeline"
SOON = timedelta(seconds=20)
SHORT = timedelta(milliseconds=300)


async def shell(ctx: Context[Any], script: str, limit: timedelta = SOON) -> None:
    await run(ctx, ["sh", "-c", script], limit=limit)


def held_sort(directory: Path) -> Path:
    """A `sort` that notes that it runs, and waits for the file `go`, before it becomes the real one."""
    program = directory / "bin" / "sort"
    program.parent.mkdir()
    hold = f"echo $$ >>{directory}/sorts\nwhile [ ! -e {directory}/go ]; do sleep 0.05; done\n"
    program.write_text(f'#!/bin/sh\n{hold}exec {shutil.which("sort")} "$@"\n')
    program.chmod(0o700)
    return program.parent


async def test_lines_are_frames() -> None:
    env = ActivityEnvironment()
    await env.run(shell, "echo one; echo two >&2; head -c 70000 /dev/zero | tr '\\0' x; echo; echo three")
    assert sorted(env.frames) == ["one", "three", "two", "x" * 8_000]


async def test_an_end_other_than_zero_has_a_type() -> None:
    with pytest.raises(Failure) as caught:
        await ActivityEnvironment().run(shell, "echo 'no such column' >&2; exit 3")
    assert (caught.value.type, caught.value.details) == ("program.exit", {"code": 3, "last_lines": ["no such column"]})
    with pytest.raises(Failure) as caught:
        await ActivityEnvironment().run(shell, "kill -SEGV $$")
    assert (caught.value.type, caught.value.message) == ("program.signal", "sh was ended by SIGSEGV")
    with pytest.raises(Failure) as caught:
        await run(ActivityEnvironment().context, ["no-such-program"], limit=SOON)
    assert (caught.value.type, caught.value.non_retryable) == ("program.missing", True)


@pytest.mark.parametrize("ending", ["limit", "cancel"])
async def test_the_whole_group_ends(ending: str, tmp_path: Path, eventually: Eventually, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("examples.pipeline.programs.TERM_GRACE_SECONDS", 0.2)
    env = ActivityEnvironment()
    pids = tmp_path / "pids"
    # A child that does not care about SIGTERM.
    script = f"trap '' TERM; sleep 60 & trap - TERM; echo $! >{pids}.part; echo $$ >>{pids}.part; mv {pids}.part {pids}; wait"
    running = asyncio.get_running_loop().create_task(env.run(shell, script, SOON if ending == "cancel" else SHORT))
    await eventually(pids.exists, what="the program runs")
    if ending == "cancel":
        env.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    else:
        with pytest.raises(Failure, match=r"program\.time_limit"):
            await running
    known = [int(pid) for pid in pids.read_text().split()]
    assert len(known) == 2
    await eventually(lambda: not any(map(is_alive, known)))


async def test_a_detached_program_goes_on_without_its_worker_and_ends_with_its_work(tmp_path: Path, eventually: Eventually) -> None:
    env = ActivityEnvironment()
    command = [
        "sh",
        "-c",
        f"echo $$ >>{tmp_path}/begun; echo hello >&2; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; echo out; exit 7",
    ]

    async def attempt(env: ActivityEnvironment) -> Path:
        return await asyncio.to_thread(run_detached, env.context, command, directory=tmp_path / "d", limit=SOON)

    first = asyncio.get_running_loop().create_task(attempt(env))
    await eventually(lambda: env.frames == ["hello"])
    env.cancel("DRAINING")
    with pytest.raises(asyncio.CancelledError):
        await first
    second_env = ActivityEnvironment(checkpoint=env.checkpoint, attempt=2)
    second = asyncio.get_running_loop().create_task(attempt(second_env))
    await eventually(lambda: second_env.frames == ["hello"], what="an attempt that takes over tells all again")
    (tmp_path / "go").touch()
    with pytest.raises(Failure) as caught:
        await second
    assert caught.value.details == {"code": 7, "last_lines": ["hello"]}
    assert len((tmp_path / "begun").read_text().split()) == 1
    # After a failure it is begun anew; and a cancel of the work ends it.
    (tmp_path / "go").unlink()
    third_env = ActivityEnvironment(checkpoint=env.checkpoint, attempt=3)
    third = asyncio.get_running_loop().create_task(attempt(third_env))
    await eventually(lambda: third_env.frames == ["hello"])
    third_env.cancel("WORKFLOW_CANCELLED")
    with pytest.raises(asyncio.CancelledError):
        await third
    pids = [int(pid) for pid in (tmp_path / "begun").read_text().split()]
    assert len(pids) == 2
    await eventually(lambda: not any(map(is_alive, pids)))


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_kill_9_in_the_middle_costs_neither_the_program_that_runs_nor_the_steps_before(
    sample: RunSample, tmp_path: Path, eventually: Eventually
) -> None:
    path = f"{held_sort(tmp_path)}:{environment()['PATH']}"
    command = (MODULE, "k1", "--directory", tmp_path / "out", "--files", 12, "--pause", 0.25)

    first = sample(*command, PATH=path)
    await first.says("collect [1.3]")
    await first.kill()

    second = sample(*command, PATH=path)
    assert await second.says("goes on")
    await eventually((tmp_path / "sorts").exists, within=20, what="the second step runs")
    await second.kill()
    (tmp_path / "go").touch()

    third = sample(*command, PATH=path)
    lines = await third.ends()
    (collected,) = (tmp_path / "out").glob("collect-*")
    told = (collected / "log").read_text().split()
    assert len(told) == len(set(told)) == 12, "the program ran once, over the kill"
    assert len((tmp_path / "sorts").read_text().split()) == 2, "the step that was cut short, and no other, was done again"
    words = gzip.decompress((tmp_path / "out" / "words.txt.gz").read_bytes()).split()
    assert words == sorted(set((collected / "out").read_bytes().split()))
    assert lines[-1].startswith(f"{len(words)} words in ")


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_a_cancel_ends_the_program(sample: RunSample, client: Client, tmp_path: Path, eventually: Eventually) -> None:
    program = sample(MODULE, "k2", "--directory", tmp_path / "out", "--files", 100, "--pause", 1)
    await program.says("collect [1.1]")
    (group,) = (tmp_path / "out").glob("collect-*/group")
    await client.run("pipeline", "k2").cancel("the test wants it")
    await program.says("CANCELLED")
    await eventually(lambda: not is_alive(int(group.read_text())))

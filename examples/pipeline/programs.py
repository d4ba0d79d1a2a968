"""A program as a step: its lines are log frames, its end is the step's end, and nothing that it began outlives the step.

For programs of seconds. One of hours should outlive its worker: detached.py.
"""

import asyncio
import os
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from perdure import Context, Failure

LAST_LINES = 5  # of what it said, that go into the failure
LINE_CHARACTERS = 8_000  # what is shown of a line; a frame has at most 64 KiB
BUFFER_BYTES = 2**20
TERM_GRACE_SECONDS = 3.0


async def run(
    ctx: Context[Any],
    command: Sequence[str],
    *,
    limit: timedelta,
    stdin: Path | None = None,
    stdout: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run a program; returns when it has ended with 0. Without `stdout` its output is told like its errors, line by line.

    Raises:
        Failure: program.missing (not retried), program.exit, program.signal or program.time_limit.
    """
    starting = asyncio.create_task(_start(command, stdin, stdout, environment or {}))
    try:
        process = await asyncio.shield(starting)
    except asyncio.CancelledError:  # in the middle of the start it may run already, and have children
        await _end_group(await starting)
        raise
    last: deque[str] = deque(maxlen=LAST_LINES)
    try:
        async with asyncio.timeout(limit.total_seconds()), asyncio.TaskGroup() as readers:
            for stream in filter(None, (process.stdout, process.stderr)):
                readers.create_task(_tell(ctx, stream, last))
            await process.wait()
    except TimeoutError:
        raise Failure("program.time_limit", f"{command[0]} was stopped after {limit}", details=list(last)) from None
    finally:  # after a cancel, a lost claim or a time limit it still runs
        await _end_group(process)
    if process.returncode:
        raise failure(command[0], process.returncode, last)


async def _start(
    command: Sequence[str], stdin: Path | None, stdout: Path | None, environment: Mapping[str, str]
) -> asyncio.subprocess.Process:
    with ExitStack() as files:
        source = files.enter_context(stdin.open("rb")) if stdin else asyncio.subprocess.DEVNULL
        target = files.enter_context(stdout.open("wb")) if stdout else asyncio.subprocess.PIPE
        try:
            return await asyncio.create_subprocess_exec(
                *command,
                stdin=source,
                stdout=target,
                stderr=asyncio.subprocess.PIPE,
                env={**os.environ, **environment},
                limit=BUFFER_BYTES,
                start_new_session=True,  # a process group of its own: a signal reaches all that it starts
            )
        except FileNotFoundError:
            raise Failure("program.missing", f"no {command[0]} on this machine", non_retryable=True) from None


def failure(program: str, code: int, last_lines: Sequence[str]) -> Failure:
    """What a program's end other than 0 is called; `code` is an exit code, or minus a signal."""
    details = {"code": code, "last_lines": list(last_lines)}
    if code < 0:
        return Failure("program.signal", f"{program} was ended by {signal.Signals(-code).name}", details=details)
    return Failure("program.exit", f"{program} exited with {code}", details=details)


async def _tell(ctx: Context[Any], stream: asyncio.StreamReader, last: deque[str]) -> None:
    while True:
        try:
            line = await stream.readline()
        except ValueError:  # over BUFFER_BYTES: what was read of it is gone, its rest comes as a line
            continue
        if not line:
            return
        text = line.decode(errors="replace").rstrip()[:LINE_CHARACTERS]
        last.append(text)
        ctx.log(text)


async def _end_group(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        # Not asyncio.timeout: in a task that is being cancelled, early 3.11 releases of Python raise CancelledError at its end.
        await asyncio.wait([asyncio.create_task(process.wait())], timeout=TERM_GRACE_SECONDS)
    with suppress(ProcessLookupError):  # what it started and left behind, too
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()

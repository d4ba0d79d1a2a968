"""A long program that outlives its worker: whichever attempt comes next finds it by the checkpoint and goes on with it.

The worker may be killed -9 or deployed anew at minute nine of ten; the program does not notice. Its folder holds all there is to
know: `out`, `log`, `status` when it has ended, and `lock`, which it holds open as long as any part of it lives.
"""

import fcntl
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from examples.pipeline.programs import LAST_LINES, failure
from perdure import Context, Failure

POLL_SECONDS = 0.1
# In the background a shell stays to note how the program ended, whoever is there to see it. A rename is all or nothing, a write is not.
KEEP = 'echo $$ >group; { "$@" >out 2>log; echo $? >status.part; mv status.part status; } &'
SIGNALLED = 128  # the shell adds it to the number of the signal that ended a program
STAYS = frozenset({"DRAINING", "CLAIM_LOST", "TIMED_OUT"})  # reasons to stop that are about this worker or attempt, not about the work


@dataclass(frozen=True)
class Begun:
    """The checkpoint: where the program runs, and since when. For people, and for the time limit."""

    host: str
    directory: str
    time: datetime


def run_detached(ctx: Context[Begun], command: Sequence[str], *, directory: Path, limit: timedelta) -> Path:
    """Start the program, or go on with the one that an earlier attempt started; gives the file with its output. For a plain `def`.

    Raises:
        Failure: program.exit, program.signal, program.time_limit, or program.vanished: the machine has restarted, say.
    """
    directory.mkdir(parents=True, exist_ok=True)
    begun = ctx.checkpoint
    with _lock(directory) as lock:
        if lock is not None and not (directory / "status").exists():
            # Before the start: an attempt that finds a checkpoint and nothing that runs begins anew, too.
            begun = ctx.save_blocking(Begun(socket.gethostname(), str(directory), datetime.now(UTC)))
            _start(directory, command, lock)
    if begun is None:
        raise Failure("program.busy", f"{directory} is in use by a program that this workflow did not begin")
    try:
        code = _follow(ctx, directory, begun.time + limit)
    except BaseException:
        if ctx.cancel_reason not in STAYS:
            _end(directory)
        raise
    if code:
        (directory / "status").unlink(missing_ok=True)  # the next attempt begins anew
        last_lines = (directory / "log").read_text(errors="replace").splitlines()[-LAST_LINES:]
        raise failure(command[0], SIGNALLED - code if code > SIGNALLED else code, last_lines)
    return directory / "out"


def _start(directory: Path, command: Sequence[str], lock: int) -> None:
    for name in ("group", "log"):
        (directory / name).unlink(missing_ok=True)
    (directory / "log").touch()
    subprocess.run(
        ["/bin/sh", "-c", KEEP, "sh", *command],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[lock],  # inherited by the program and all that it starts: free again when the last of them is gone
        start_new_session=True,  # a process group of its own, that one signal reaches
        check=True,
    )


def _follow(ctx: Context[Begun], directory: Path, deadline: datetime) -> int:
    """Tell what it says, until it has ended; an attempt that takes over tells it from the beginning."""
    with (directory / "log").open(errors="replace") as log:
        rest = ""
        while True:
            ended = (directory / "status").exists()  # asked first: then what is read below is all of it
            *lines, rest = (rest + log.read()).split("\n")
            for line in lines:
                ctx.log(line)
            if ended:
                return int((directory / "status").read_text())
            if _has_vanished(directory):
                raise Failure("program.vanished", "it runs no more, and nobody saw it end")
            if datetime.now(UTC) > deadline:
                raise Failure("program.time_limit", f"it was stopped at {deadline:%H:%M:%S}")
            ctx.raise_if_cancelled()
            time.sleep(POLL_SECONDS)


def _has_vanished(directory: Path) -> bool:
    with _lock(directory) as lock:
        return lock is not None and not (directory / "status").exists()


def _end(directory: Path) -> None:
    with _lock(directory) as lock, suppress(FileNotFoundError, ProcessLookupError):
        if lock is None:  # it lives, so the number of its group is still its own
            os.killpg(int((directory / "group").read_text()), signal.SIGKILL)


@contextmanager
def _lock(directory: Path) -> Iterator[int | None]:
    """The lock of the folder; None: the program has it. Nobody waits for it."""
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield descriptor if _is_ours(descriptor) else None
    finally:
        os.close(descriptor)


def _is_ours(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

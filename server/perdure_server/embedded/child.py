"""Runs as `python child.py PARENT LIFELINE SLACK -- PROGRAM ARGUMENT...`: becomes PROGRAM, which ends with PARENT even if that is killed.

It stays the same process, so the pid that the parent knows is the program's. Only the standard library: it runs isolated
and without site-packages, in about 20 ms.

- Linux: the kernel sends SIGKILL when the *thread* that forked us ends. So children are started from the thread of the
  event loop, which must live as long as they shall: the main thread.
- Elsewhere (and if the kernel refuses): LIFELINE is the reading end of a pipe whose only writer is the parent. A second
  process waits for its end of file and kills the program. It knows by a pipe of its own that the program is gone, so it
  can never kill a stranger that got the same pid.

SLACK (ms; 0: the system's own) is how much later than asked the kernel may wake PROGRAM's sleeping threads (`combine_timers`).
"""

import ctypes
import os
import select
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_TIMERSLACK = 29
_NANOSECONDS = 1_000_000  # in a millisecond
_CANNOT_EXECUTE = 127


def bind_to_parent(parent: int, lifeline: int, platform: str = sys.platform) -> None:
    """Makes this process, also after exec, end with `parent`."""
    if platform == "linux" and _ask_kernel():
        if os.getppid() != parent:  # it died before we asked
            sys.exit(_CANNOT_EXECUTE)
        os.close(lifeline)
    else:
        _start_watchdog(lifeline)


def combine_timers(slack: int, platform: str = sys.platform) -> None:
    """Lets the kernel end each sleep of this thread, and of what it starts from now on, up to `slack` ms late; 0: as usual. Linux only."""
    if platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(slack * _NANOSECONDS), 0, 0, 0)  # a refusal costs wake-ups only


def _ask_kernel() -> bool:
    return bool(ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) == 0)


def _start_watchdog(lifeline: int) -> None:
    program = os.getpid()
    gone, held_by_program = os.pipe()
    if os.fork() == 0:
        os.setsid()
        os.close(held_by_program)
        _watch(program, lifeline, gone)
        os._exit(0)
    os.close(gone)
    os.close(lifeline)
    os.set_inheritable(held_by_program, True)  # closed by the kernel when the program ends


def _watch(program: int, lifeline: int, gone: int) -> None:
    ended, _, _ = select.select([lifeline, gone], [], [])
    if gone not in ended:
        os.kill(program, signal.SIGKILL)


def main(arguments: list[str]) -> None:
    """Does not return."""
    parent, lifeline, slack, separator, *program = arguments
    assert separator == "--"
    bind_to_parent(int(parent), int(lifeline))
    combine_timers(int(slack))
    try:
        os.execv(program[0], program)  # noqa: S606 -- the command line is our own, and a shell would be another process
    except OSError as error:
        sys.stderr.write(f"cannot run {program[0]}: {error}\n")
        sys.exit(_CANNOT_EXECUTE)


if __name__ == "__main__":
    main(sys.argv[1:])

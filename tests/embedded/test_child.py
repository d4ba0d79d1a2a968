"""What child.py arranges before it becomes the program."""

import os
import subprocess
import sys

import pytest

from perdure_server.embedded import child

SHOW = """
import ctypes, threading
show = lambda: print(ctypes.CDLL(None).prctl(30, 0, 0, 0, 0))  # PR_GET_TIMERSLACK
show()
threading.Thread(target=show).start()
"""
USUAL = 50_000  # ns


def slack_of_threads(slack: int) -> list[int]:
    reading, writing = os.pipe()  # a lifeline
    try:
        command = [sys.executable, "-I", "-S", child.__file__, str(os.getpid()), str(reading), str(slack), "--", sys.executable, "-c", SHOW]
        told = subprocess.run(command, check=True, capture_output=True, pass_fds=(reading,)).stdout
    finally:
        os.close(reading)
        os.close(writing)
    return [int(line) for line in told.split()]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is asked of the kernel")
def test_the_programs_threads_sleep_as_late_as_asked_for() -> None:
    assert slack_of_threads(25) == [25_000_000, 25_000_000]
    assert slack_of_threads(0) == [USUAL, USUAL]

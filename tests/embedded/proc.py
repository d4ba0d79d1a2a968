"""What /proc says about processes."""

import contextlib
from pathlib import Path

from tests.processes import is_alive


def running_with(text: str) -> set[int]:
    """Processes in whose command line `text` stands."""
    pids = [int(directory.name) for directory in Path("/proc").iterdir() if directory.name.isdigit()]
    return {pid for pid in pids if text in _command_line(pid) and is_alive(pid)}


def _command_line(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    return ""

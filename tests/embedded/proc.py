"""What /proc says about processes."""

import contextlib
from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether it exists and is no zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(")")[2].split()[0] not in {"Z", "X"}


def running_with(text: str) -> set[int]:
    """Processes in whose command line `text` stands."""
    pids = [int(directory.name) for directory in Path("/proc").iterdir() if directory.name.isdigit()]
    return {pid for pid in pids if text in _command_line(pid) and is_running(pid)}


def _command_line(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    return ""

"""One CPU for each server process.

One thread of it works at a time, and hands over to the others some twenty times per workflow. On one CPU that wakes no other one, and the
caches are warm: docs/performance.md has what it saves. It is for machines whose CPUs nobody else fills, as the kernel cannot move the
process out of the way then.
"""

import os
import re
import sys
from collections.abc import Collection
from typing import Final

AUTO: Final = "auto"


def affinity(text: str) -> str:
    """A setting: empty, `auto`, or numbers of CPUs by commas. Raises ValueError."""
    if text not in {"", AUTO} and not re.fullmatch(r"[0-9]{1,4}(,[0-9]{1,4})*", text):
        raise ValueError("must be auto, or numbers of CPUs by commas, such as 2,3")
    return text


def usable() -> Collection[int]:
    """The CPUs that this process may use; empty where that cannot be chosen."""
    return os.sched_getaffinity(0) if sys.platform == "linux" else ()


def fault(wanted: str, available: Collection[int]) -> str:
    """Why this setting cannot be followed here; empty: it can."""
    if not wanted:
        return ""
    if not available:
        return "can be chosen on Linux only"
    missing = [number for number in _numbers(wanted, available) if number not in available]
    return f"this process may use the CPUs {_told(available)}, not {_told(missing)}" if missing else ""


def cpu_of(wanted: str, index: int, available: Collection[int]) -> int | None:
    """The CPU of the server process `index`, from 0; None: any."""
    numbers = _numbers(wanted, available)
    return numbers[index % len(numbers)] if numbers else None


def keep_to(cpu: int | None) -> None:
    """Keep this thread, and those that it begins from now on, to one CPU. Before anything that begins threads. None: leave it."""
    if cpu is not None and sys.platform == "linux":
        os.sched_setaffinity(0, {cpu})


def _numbers(wanted: str, available: Collection[int]) -> list[int]:
    if wanted == AUTO:
        return sorted(available, reverse=True)  # the first one often serves the machine's interrupts
    return [int(number) for number in wanted.split(",") if number]


def _told(numbers: Collection[int]) -> str:
    return ", ".join(str(number) for number in sorted(numbers))

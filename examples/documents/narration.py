"""What the demo says while it runs: one line per event, with the time, and a heading per chapter."""

import sys
import time
from collections.abc import Mapping
from datetime import datetime

from examples.documents.config import RESTART_SECONDS


class Narrator:
    """Prints at once, so that a pipe shows the story as it happens."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the narrator was made."""
        return time.monotonic() - self._started

    def chapter(self, title: str) -> None:
        """Heading of a part of the story."""
        print(f"\n== {title} ".ljust(100, "="), flush=True)

    def event(self, text: str) -> None:
        """Something that happened just now."""
        now = datetime.now().astimezone()
        print(f"{now:%H:%M:%S}.{now.microsecond // 1000:03d}  {text}", flush=True)

    def line(self, text: str = "") -> None:
        """Something that is so, without a time."""
        print(text, flush=True)

    def invite(self, pids: Mapping[str, int]) -> None:
        """Gives the killing to the reader."""
        self.line(f"Kill what you like, as often as you like; what dies is started again {RESTART_SECONDS:.0f} s later:")
        for name, pid in pids.items():
            self.line(f"    kill -9 {pid:<8} # {name}")

    def fault(self, text: str) -> None:
        """A number that is wrong, or a kill that missed; also on stderr, for whoever only keeps that."""
        print(f"WRONG: {text}", file=sys.stderr, flush=True)

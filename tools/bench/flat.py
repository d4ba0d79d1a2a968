"""Whether Perdure stays flat as the work grows, and its limits; prints figures, asserts nothing. See docs/performance.md.

`python -m tools.bench.flat [SCENE...]`; without a name all scenes, in the order of --help, the long ones last. What a scene has measured is
printed and written to --lines at once, so a run may be stopped at any time. A scene that takes too long is ended, and the next one begins.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Final

from tools.bench.processes import BenchFailed
from tools.bench.scenes import SCENES, Figures, Scene

_START_SECONDS: Final = 60  # what a scene may take beside its own time: processes that start on a busy machine


class Results:
    """What was measured so far; every line goes out at once."""

    def __init__(self, lines: Path | None, is_small: bool) -> None:
        self._lines = lines
        self._is_small = is_small
        self.measured: list[dict[str, Any]] = []
        self.failed = False

    def add(self, name: str, size: str, figures: Figures) -> None:
        """Print, judge and write one measurement."""
        limits = [limit.says(figures[limit.figure]) for limit in SCENES[name].limits if limit.figure in figures]
        print(f"{name}, {size}: " + ", ".join(f"{key} {value:,.6g}" for key, value in figures.items()), flush=True)
        for line in limits:
            print(f"    {line}", flush=True)
        self._keep({"scene": name, "size": size, "figures": figures, "limits": limits})

    def fail(self, name: str, error: Exception) -> None:
        """A scene did not come to its end."""
        self.failed = True
        print(f"{name}: FAILED: {error}", flush=True)
        self._keep({"scene": name, "failed": str(error)})

    def _keep(self, what: dict[str, Any]) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        entry = {**what, "at": now, "small": self._is_small, "load": os.getloadavg()[0]}
        self.measured.append(entry)
        if self._lines is not None:
            with self._lines.open("a") as file:
                file.write(json.dumps(entry) + "\n")

    def as_markdown(self) -> str:
        """A table of all."""
        rows = ["| scene | size | figures | limits |", "| --- | --- | --- | --- |"]
        for entry in self.measured:
            title = f"**{entry['scene']}**: {SCENES[entry['scene']].title}"
            if "failed" in entry:
                rows.append(f"| {title} | | failed: {str(entry['failed']).splitlines()[0]} | |")
                continue
            figures = "; ".join(f"{key.replace('_', ' ')} {value:,.4g}" for key, value in entry["figures"].items())
            rows.append(f"| {title} | {entry['size']} | {figures} | {'; '.join(entry['limits'])} |")
        return "\n".join(rows) + "\n"


@contextmanager
def _within(seconds: int) -> Iterator[None]:
    """Raise BenchFailed in the middle of what takes longer."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise BenchFailed(f"it took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _play(name: str, scene: Scene, results: Results, is_small: bool) -> None:
    print(f"{name}: {scene.title}", flush=True)
    began = time.monotonic()
    try:
        with _within(scene.seconds + _START_SECONDS):
            scene.run(lambda size, figures: results.add(name, size, figures), scene.small if is_small else scene.full)
    except (BenchFailed, OSError) as error:
        results.fail(name, error)
    print(f"    {time.monotonic() - began:.0f} s", flush=True)


def main() -> int:
    """Returns the exit code: 1 if a scene failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.flat", description=__doc__)
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=f"default: all of {', '.join(SCENES)}")
    parser.add_argument("--small", action="store_true", help="small sizes: whether everything runs, in five minutes")
    parser.add_argument("--lines", type=Path, help="append each measurement there, a line of JSON")
    parser.add_argument("--markdown", type=Path, help="write a table of all there, after each scene")
    given = parser.parse_args()
    if unknown := set(given.scenes) - set(SCENES):
        parser.error(f"no scene {', '.join(sorted(unknown))}; there are {', '.join(SCENES)}")
    results = Results(given.lines, given.small)
    for name in given.scenes or SCENES:
        _play(name, SCENES[name], results, given.small)
        if given.markdown:
            given.markdown.write_text(results.as_markdown())
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())

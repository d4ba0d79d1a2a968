"""Breaks the server on purpose, one line at a time, and fails unless the tests notice.

tests/sabotage.toml lists the faults: where, what to write instead, why it matters, and the tests that must catch it. Each is applied in a
scratch copy of the tree, and only its tests are run there. A survivor is a missing test. A patch that no longer applies, or a selection
that does not pass on the clean copy, fails as well.
"""

import argparse
import itertools
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).parent.parent
LIST: Final = "tests/sabotage.toml"
NOT_COPIED: Final = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "build", "*.egg-info")
PYTEST: Final = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header", "--tb=line")
TESTS_FAILED: Final = 1  # pytest's exit codes: 0 all passed, 1 some failed, all else is no verdict


class Fault(NamedTuple):
    """One line that is wrong, and who must see it."""

    name: str
    file: str
    old: str
    new: str
    why: str
    tests: tuple[str, ...]


class Verdict(NamedTuple):
    """What became of one fault; `problem` is empty if it was caught."""

    fault: Fault
    problem: str
    seconds: float
    output: str


class Copy:
    """A scratch copy of the tree. What is imported there is the copy, not the installation of the environment."""

    def __init__(self, place: Path) -> None:
        self.place = place
        # A compiled file is known by its source's whole seconds and size, so every change gets a time of its own.
        self._times = itertools.count(int(time.time()) + 10, 10)
        for name in ("server", "clients", "tests", "proto", "tools", "docs", "examples", "deploy"):
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, place / name, ignore=NOT_COPIED)
        for path in (path for path in ROOT.iterdir() if path.is_file() and not path.name.startswith(".")):
            shutil.copy(path, place / path.name)
        python_path = os.pathsep.join(str(place / part) for part in ("server", "clients/python", "."))
        # Compiled files are most of a short run's time, and nothing else sees those of the copy.
        self._python = ("env", "-u", "PYTHONDONTWRITEBYTECODE", f"PYTHONPATH={python_path}", "PYTHONHASHSEED=0", sys.executable)

    @contextmanager
    def broken(self, fault: Fault) -> Iterator[None]:
        """With this fault in it."""
        path = self.place / fault.file
        clean = path.read_text()
        self._write(path, clean.replace(fault.old, fault.new))
        try:
            yield
        finally:
            self._write(path, clean)

    def run(self, tests: Sequence[str], limit: int) -> tuple[int, str]:
        """Run tests in the copy: pytest's exit code, and the end of what it says."""
        try:
            done = subprocess.run(
                [*self._python, *PYTEST, *tests],
                cwd=self.place,
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return -1, f"no end within {limit} s"
        return done.returncode, (done.stdout + done.stderr)[-1_500:]

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text)
        moment = next(self._times)
        os.utime(path, (moment, moment))


def read(path: Path) -> list[Fault]:
    """The list. Raises ValueError for an entry that cannot be applied."""
    faults = [_fault(entry) for entry in tomllib.loads(path.read_text())["fault"]]
    names = [fault.name for fault in faults]
    if len(set(names)) != len(names):
        raise ValueError("two faults have one name")
    return faults


def _fault(entry: dict[str, Any]) -> Fault:
    fault = Fault(entry["name"], entry["file"], entry["old"], entry["new"], entry["why"], tuple(entry["tests"]))
    found = (ROOT / fault.file).read_text().count(fault.old)
    if found != 1:
        raise ValueError(f"{fault.name}: its old text is {found} times in {fault.file}, not once")
    try:
        compile((ROOT / fault.file).read_text().replace(fault.old, fault.new), fault.file, "exec")
    except SyntaxError as error:
        raise ValueError(f"{fault.name}: {fault.file} is no Python with it: {error}") from error
    return fault


def judge(copy: Copy, fault: Fault, limit: int) -> Verdict:
    """Apply one fault and run its tests."""
    began = time.monotonic()
    with copy.broken(fault):
        code, output = copy.run(fault.tests, limit)
    problem = ""
    if code == 0:
        problem = "survived: a test is missing"
    elif code != TESTS_FAILED:
        problem = f"no verdict (exit code {code})"
    return Verdict(fault, problem, time.monotonic() - began, output)


def attack(faults: Sequence[Fault], jobs: int, limit: int) -> int:
    """Run all; returns the exit code."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="perdure-sabotage-") as scratch:
        copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for number in range(jobs):
            place = Path(scratch) / str(number)
            place.mkdir()
            copies.put(Copy(place))

        @contextmanager
        def free_copy() -> Iterator[Copy]:
            copy = copies.get()
            try:
                yield copy
            finally:
                copies.put(copy)

        def clean(selections: Sequence[str]) -> bool:
            with free_copy() as copy:
                return _clean(copy, selections, limit)

        def one(fault: Fault) -> Verdict:
            with free_copy() as copy:
                return judge(copy, fault, limit)

        selections = sorted({test for fault in faults for test in fault.tests})
        with ThreadPoolExecutor(jobs) as pool:
            sound = [pool.submit(clean, part) for number in range(jobs) if (part := selections[number::jobs])]
            failed = sum(_told(verdict) for verdict in pool.map(one, faults))
    print(f"{len(faults) - failed} caught, {failed} not in {time.monotonic() - began:.0f}s")
    return 0 if not failed and all(part.result() for part in sound) else 1


def _told(verdict: Verdict) -> bool:
    print(f"{verdict.seconds:5.1f} s  {verdict.fault.name}: {verdict.problem or 'caught'}", flush=True)
    if verdict.problem:
        print(f"  {verdict.fault.why}\n{verdict.output}", flush=True)
    return bool(verdict.problem)


def _clean(copy: Copy, selections: Sequence[str], limit: int) -> bool:
    began = time.monotonic()
    code, output = copy.run(selections, 4 * limit)
    verdict = "passes" if code == 0 else "FAILS"
    print(f"{time.monotonic() - began:5.1f} s  the clean copy {verdict} {len(selections)} selections", flush=True)
    if code:
        print(output)
    return code == 0


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--limit", type=int, default=120, help="seconds for one selection")
    parser.add_argument("--only", default="", help="faults whose name contains this")
    parser.add_argument("--part", default="0/1", metavar="K/N", help="every N-th fault, from the K-th on, which counts from 0")
    parser.add_argument("--check", action="store_true", help="only whether every fault still applies; runs no test")
    arguments = parser.parse_args()
    try:
        part, parts = map(int, arguments.part.split("/"))
        faults = [fault for fault in read(ROOT / LIST) if arguments.only in fault.name][part % parts :: parts]
    except (OSError, ValueError, KeyError) as error:
        print(f"{LIST}: {error}")
        return 1
    if arguments.check:
        return 0
    return attack(faults, arguments.jobs, arguments.limit)


if __name__ == "__main__":
    sys.exit(main())

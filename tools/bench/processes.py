"""The processes of one system under load: started together, measured, and ended together. Linux only: it reads /proc."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, Self

ROOT: Final = Path(__file__).parents[2]
TICKS: Final = os.sysconf("SC_CLK_TCK")
START_SECONDS: Final = 60.0


class BenchFailed(RuntimeError):
    """A system did not start, ended, or answered with an error; the message holds the end of its log."""


def free_port() -> int:
    """A TCP port on 127.0.0.1 that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until something listens there. Raises BenchFailed."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise BenchFailed(f"nothing listens on {port}:\n{log.read_text(errors='replace')[-2_000:]}")


class Processes:
    """The processes of one system by name; each has a log in `directory`. Ends them all at the end of `with`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._ports: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._running.values()):
            _signal(process, signal.SIGTERM)
        until = time.monotonic() + 5
        for process in self._running.values():
            try:
                process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                _signal(process, signal.SIGKILL)
                process.wait()
            _signal(process, signal.SIGKILL)  # whatever it left behind
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()

    def start(
        self, name: str, command: Sequence[str | Path], *, port: int = 0, environment: Mapping[str, str] | None = None, piped: bool = False
    ) -> subprocess.Popen[bytes]:
        """Start one; returns when `port` (0 = none) is listened on. `piped`: its standard input and output are ours."""
        log = self.directory / f"{name}.log"
        pipe = subprocess.PIPE if piped else None
        dies_with_us = [setpriv, "--pdeathsig", "KILL", "--"] if (setpriv := shutil.which("setpriv")) else []
        with log.open("ab") as output:
            process = subprocess.Popen(
                [*dies_with_us, *map(str, command)],
                cwd=self.directory,
                env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
                stdin=pipe or subprocess.DEVNULL,
                stdout=pipe or output,
                stderr=output,
                start_new_session=True,
            )
        self._running[name] = process
        self._ports[name] = port
        if port:
            wait_for_port(port, process, log)
        return process

    def port(self, name: str) -> int:
        """Where it listens."""
        return self._ports[name]

    def cpu_seconds(self) -> dict[str, float]:
        """User and system time so far, by name, with all descendants."""
        parents = _parents()
        return {name: sum(_cpu(pid) for pid in _tree(process.pid, parents)) for name, process in self._running.items()}

    def memory_mib(self) -> dict[str, float]:
        """Proportional set size by name, with all descendants: a page that several share is counted once."""
        parents = _parents()
        return {name: sum(_pss(pid) for pid in _tree(process.pid, parents)) for name, process in self._running.items()}

    def peak_memory_mib(self) -> dict[str, float]:
        """The largest resident size that each had, with all descendants; shared pages count for every process."""
        parents = _parents()
        return {name: sum(_peak(pid) for pid in _tree(process.pid, parents)) for name, process in self._running.items()}


class Driver:
    """The program that makes the load; one command at a time."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input: IO[bytes] = process.stdin
        self._output: IO[bytes] = process.stdout
        self._log = log
        self._read()

    def do(self, what: str, **arguments: float) -> dict[str, float]:
        """One command of tools/bench/load/driving.py. Raises BenchFailed."""
        self._input.write(json.dumps({"do": what, **arguments}).encode() + b"\n")
        self._input.flush()
        return self._read()

    def _read(self) -> dict[str, float]:
        line = self._output.readline()
        if not line:
            raise BenchFailed(f"the load program ended:\n{self._log.read_text(errors='replace')[-2_000:]}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise BenchFailed(f"{answer['error']}\n{self._log.read_text(errors='replace')[-2_000:]}")
        return answer


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return


def _parents() -> dict[int, int]:
    return {pid: int(fields[1]) for pid, fields in _all_stat()}


def _all_stat() -> Iterator[tuple[int, list[str]]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            yield int(entry.name), fields


def _stat(pid: int) -> list[str]:
    """The fields behind the name: state, parent, ...; empty if it has gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _tree(root: int, parents: Mapping[int, int]) -> list[int]:
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def _cpu(pid: int) -> float:
    # utime, stime, and those of children that have ended and were waited for.
    fields = _stat(pid)
    return sum(int(field) for field in fields[11:15]) / TICKS if fields else 0.0


def _pss(pid: int) -> float:
    return _kib(Path(f"/proc/{pid}/smaps_rollup"), "Pss:") / 1_024


def _peak(pid: int) -> float:
    return _kib(Path(f"/proc/{pid}/status"), "VmHWM:") / 1_024


def _kib(file: Path, name: str) -> int:
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)

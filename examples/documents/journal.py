"""The activity log: what the activities did, written by themselves, the only source of the numbers in the report.

One JSON object per line, appended with one write and forced to disk before the activity goes on, by any number of
processes. A line that `kill -9` cut is not a record: what was not written in full did not happen as far as the log knows.
"""

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

Event = Literal["begin", "end", "failed"]


class JournalError(Exception):
    """The log has a line in its middle that is not a record; then no number can be counted from it."""


@dataclass(frozen=True)
class Execution:
    """One execution of a step: which document (0 is the whole corpus), which step, and what the caller knows of its count.

    `attempt` and `claim_no` are 1 and up; the old way has no claims and writes 0. `key` is the idempotency key, empty if none.
    """

    document: int
    step: str
    attempt: int = 1
    claim_no: int = 0
    key: str = ""


@dataclass(frozen=True)
class Record:
    """One line. `time` is Unix time in seconds; `outcome` says how it ended ("" at a begin); `seconds` is wall time of the work."""

    time: float
    pid: int
    event: Event
    document: int
    step: str
    attempt: int
    claim_no: int
    key: str
    outcome: str
    seconds: float

    @property
    def execution(self) -> tuple[int, int, str, int, int]:
        """What begin and end of one execution have in common."""
        return (self.pid, self.document, self.step, self.attempt, self.claim_no)


class Journal:
    """An activity log open for appending; threads and processes may share the file."""

    def __init__(self, path: Path, pace_seconds: float = 0.0) -> None:
        self.path = path
        self._pace_seconds = pace_seconds
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def close(self) -> None:
        os.close(self._file)

    @contextlib.contextmanager
    def step(self, execution: Execution) -> Iterator[None]:
        """Writes begin, runs the body, writes end, or failed with the error's type.

        With a pace the body waits that long first, so that a person has time to aim; it is not work and the demo says so.
        """
        self._append(execution, "begin", "", 0.0)
        if self._pace_seconds:
            threading.Event().wait(self._pace_seconds)
        started = time.monotonic()
        try:
            yield
        except BaseException as error:
            self._append(execution, "failed", type(error).__name__, time.monotonic() - started)
            raise
        self._append(execution, "end", "ok", time.monotonic() - started)

    def _append(self, execution: Execution, event: Event, outcome: str, seconds: float) -> None:
        record = {"time": round(time.time(), 6), "pid": os.getpid(), "event": event, "outcome": outcome, "seconds": round(seconds, 6)}
        line = json.dumps(record | asdict(execution), separators=(",", ":")) + "\n"
        os.write(self._file, line.encode())
        os.fsync(self._file)


class Reader:
    """Follows a log from its start: each call of `news` returns the records since the call before."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._open: dict[tuple[int, int, str, int, int], Record] = {}
        self.records: list[Record] = []
        self.abandoned = threading.Event()
        """Set when nobody needs what a thread waits for in this log any more."""
        self.ended: set[tuple[int, str]] = set()
        """Documents and steps that have come to an end at least once."""

    def news(self) -> list[Record]:
        """Records that are new; a line without its end is left for the next call.

        Raises:
            JournalError: a whole line is not a record.
        """
        if not self._path.exists() or self._path.stat().st_size == self._offset:
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        new = [_record(line) for line in whole.splitlines()]
        self.records += new
        for record in new:
            if record.event == "begin":
                self._open[record.execution] = record
            else:
                self._open.pop(record.execution, None)
            if record.event == "end":
                self.ended.add((record.document, record.step))
        return new

    def open_executions(self) -> list[Record]:
        """Begins that have no end yet, oldest first."""
        self.news()
        return list(self._open.values())


def _record(line: bytes) -> Record:
    try:
        return Record(**json.loads(line))
    except (ValueError, TypeError) as error:
        raise JournalError(f"not a record of the activity log: {line!r}") from error

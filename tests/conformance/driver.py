"""One driver process: requests go in, answers and events come out."""

import contextlib
import json
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.processes import environment

ROOT = Path(__file__).parent.parent.parent
ANSWER_SECONDS = 40.0
END_SECONDS = 5.0
PROTOCOL = 1

Line = dict[str, Any]


class DriverGone(Exception):
    """The driver's process has ended, or writes what the protocol does not know."""


def program(language: str) -> Path:
    """What starts the driver of a language."""
    return ROOT / "clients" / language / "conformance" / "run"


def languages() -> list[str]:
    """Every language that has a driver, by name."""
    return sorted(path.parent.parent.name for path in ROOT.glob("clients/*/conformance/run"))


def missing(language: str, variables: Mapping[str, str]) -> str:
    """What the driver lacks to be started; empty: nothing."""
    if not program(language).exists():
        return f"there is no {program(language).relative_to(ROOT)}"
    asked = subprocess.run(
        [program(language), "--ready"], cwd=ROOT, env=environment(**variables), capture_output=True, text=True, check=False, timeout=30
    )
    return "" if asked.returncode == 0 else (asked.stdout + asked.stderr).strip() or f"{program(language)} --ready says {asked.returncode}"


@dataclass
class Told:
    """One event, and whether a case has seen it."""

    line: Line
    seen: bool = field(default=False)


class Driver:
    """Starts the process; usable from one thread at a time."""

    def __init__(self, language: str, variables: Mapping[str, str]) -> None:
        self.language = language
        self.events: deque[Told] = deque(maxlen=10_000)
        self.transcript: deque[str] = deque(maxlen=400)
        self._changed = threading.Condition()
        self._answers: dict[int, Future[Line]] = {}
        self._count = 0
        self._gone = ""
        command = [str(program(language))]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=ROOT, env=environment(**variables), stdin=pipe, stdout=pipe, stderr=pipe)
        self._stderr: deque[str] = deque(maxlen=60)
        self._threads = [threading.Thread(target=read, daemon=True) for read in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()
        hello = self.answer(self.ask({"do": "hello", "protocol": PROTOCOL}))
        if hello.get("ok", {}).get("language") != language or hello["ok"].get("protocol") != PROTOCOL:
            raise DriverGone(f"hello was answered by {hello}")

    @property
    def is_gone(self) -> bool:
        """Whether it cannot be used any more."""
        return bool(self._gone) or self._process.poll() is not None

    def ask(self, fields: Line) -> Future[Line]:
        """Sends a request; the future gets its answer."""
        self._count += 1
        line = {"id": self._count} | fields
        answer: Future[Line] = Future()
        with self._changed:
            if self._gone:
                raise DriverGone(self.explained())
            self._answers[self._count] = answer
        text = json.dumps(line, ensure_ascii=False)
        self.transcript.append(f"> {text[:2000]}")
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text.encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise DriverGone(self.explained()) from None
        return answer

    def answer(self, asked: Future[Line], within: float = ANSWER_SECONDS) -> Line:
        """The answer, without its id. Raises DriverGone, TimeoutError."""
        return asked.result(within)

    def event(self, is_wanted: Callable[[Line], bool], within: float) -> Line | None:
        """The first unseen event that is wanted, which has now been seen; None if it does not come in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._gone or self._find(is_wanted) is not None, within) or self._gone:
                if self._gone:
                    raise DriverGone(self.explained())
                return None
            found = self._find(is_wanted)
            assert found is not None
            found.seen = True
            return found.line

    def unseen(self, is_wanted: Callable[[Line], bool]) -> Line | None:
        """An unseen event that has come already."""
        with self._changed:
            found = self._find(is_wanted)
            return None if found is None else found.line

    def forget(self) -> None:
        """A case ends: its events do not matter to the next one."""
        with self._changed:
            self.events.clear()
        self.transcript.clear()

    def explained(self) -> str:
        """What is known of its end."""
        return "\n".join([f"the {self.language} driver: {self._gone or 'its process is gone'}", *self._stderr])

    def end(self) -> None:
        """Closes its input; kills it if it does not end."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self._process.stdin.close()
            self._process.wait(END_SECONDS)
        self.kill()

    def kill(self) -> None:
        """SIGKILL, as `kill -9`."""
        self._process.kill()
        self._process.wait(END_SECONDS)
        for thread in self._threads:
            thread.join(END_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()

    def _find(self, is_wanted: Callable[[Line], bool]) -> Told | None:
        return next((told for told in self.events if not told.seen and is_wanted(told.line)), None)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for encoded in self._process.stdout:
            try:
                self._take(json.loads(encoded))
            except (ValueError, KeyError, AttributeError) as error:
                self._end(f"it wrote {encoded[:200]!r}: {error!r}")
                return
        self._end("it has ended")

    def _take(self, line: Line) -> None:
        self.transcript.append(f"< {json.dumps(line, ensure_ascii=False)[:2000]}")
        if "event" in line:
            with self._changed:
                self.events.append(Told(line))
                self._changed.notify_all()
            return
        with self._changed:
            answer = self._answers.pop(line.pop("id"))
        if line.keys() not in ({"ok"}, {"error"}):
            raise ValueError("an answer has `ok` or `error`")
        answer.set_result(line)

    def _end(self, why: str) -> None:
        with self._changed:
            self._gone = why
            left, self._answers = list(self._answers.values()), {}
            self._changed.notify_all()
        for answer in left:
            answer.set_exception(DriverGone(self.explained()))

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._stderr.append(line.decode(errors="replace").rstrip("\n"))

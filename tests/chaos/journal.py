"""What happened, as those say to whom it happened: one line of JSON per fact, appended by every process of a scene to one file.

A line is written by one `write` on a file opened to append, so lines of several processes never mix, and a killed process loses none
that it had written.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from perdure.v1 import claim_pb2, worker_service_pb2

KINDS: Final = ("begun", "sent", "answered", "started", "signalled", "watched")


@dataclass(frozen=True)
class Fact:
    """One thing that happened. `what` is one of KINDS; fields that say nothing are empty."""

    what: str
    key: str
    step: str = ""
    claim_no: int = 0
    attempt: int = 0
    run_id: str = ""
    fence: int = 0
    reason: str = ""  # of a refusal; "" = OK
    outcome: str = ""
    output: str = ""
    inputs: tuple[tuple[str, str], ...] = ()
    duplicate: bool = False
    signal_id: str = ""
    worker: str = ""
    pid: int = 0
    at: int = 0  # ms, this machine's clock; for people, nothing is decided by it


class Journal:
    """Appends facts."""

    def __init__(self, path: Path, worker: str = "") -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._worker = worker

    def write(self, what: str, key: str, **facts: object) -> None:
        """Append one fact."""
        known = {"worker": self._worker, "pid": os.getpid(), "at": time.time_ns() // 1_000_000}
        line = json.dumps({"what": what, "key": key, **known, **facts}) + "\n"
        written = os.write(self._file, line.encode())
        assert written == len(line.encode())

    def begun(self, claim: claim_pb2.Claim) -> None:
        """An activity begins."""
        inputs = sorted((name, value.json) for name, value in claim.inputs.items())
        self.write("begun", claim.workflow.business_key, **_of(claim), inputs=inputs)

    def sent(self, claim: claim_pb2.Claim, result: worker_service_pb2.Result) -> None:
        """Its result is about to be sent."""
        outcome = result.WhichOneof("outcome") or ""
        self.write("sent", claim.workflow.business_key, **_of(claim), outcome=outcome, output=result.completed.output.json)

    def answered(self, claim: claim_pb2.Claim, reason: str, *, duplicate: bool) -> None:
        """Its result was answered."""
        self.write("answered", claim.workflow.business_key, **_of(claim), reason=reason, duplicate=duplicate)


class Reader:
    """Reads a journal that others still write."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self._path = path
        self._position = 0
        self.facts: list[Fact] = []
        self.counts: Counter[str] = Counter()

    def look(self) -> "Reader":
        """Read what is new."""
        with self._path.open("rb") as file:
            file.seek(self._position)
            for line in file:
                if line.endswith(b"\n"):
                    self._position += len(line)
                    self._add(json.loads(line))
        return self

    def of(self, what: str) -> Iterator[Fact]:
        """The facts of this kind, in order."""
        return (fact for fact in self.facts if fact.what == what)

    def _add(self, fields: dict[str, object]) -> None:
        inputs = fields.get("inputs")
        if isinstance(inputs, list):
            fields["inputs"] = tuple((name, value) for name, value in inputs)
        fact = Fact(**fields)  # type: ignore[arg-type]  # the fields of a line are those of a Fact
        self.facts.append(fact)
        self.counts[fact.what] += 1


def describe(fact: Fact) -> str:
    """A line for people."""
    return " ".join(f"{name}={value}" for name, value in asdict(fact).items() if value)


def _of(claim: claim_pb2.Claim) -> dict[str, object]:
    return {"step": claim.step, "claim_no": claim.claim_no, "attempt": claim.attempt, "fence": claim.fence}

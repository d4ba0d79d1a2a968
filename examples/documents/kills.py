"""When to kill: driven by the activity log, at a begin that has no end yet, and judged by it afterwards."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from examples.documents.config import AIM_SECONDS, LOOK_SECONDS, POLL_SECONDS
from examples.documents.corpus import Document
from examples.documents.journal import Reader, Record
from examples.documents.processes import Process

WAVES = 3


class MissedError(Exception):
    """No step was seen in its middle, or it ended before the kill arrived: then the run proves nothing."""


@dataclass(frozen=True)
class Wave:
    """Documents that are handed in together, and the order in which one of them is aimed at: the longest work first."""

    documents: Sequence[Document]

    @property
    def targets(self) -> list[int]:
        return [document.number for document in sorted(self.documents, key=lambda document: -document.size_bytes)]


def waves(documents: Sequence[Document]) -> list[Wave]:
    """Three waves, one per kill, so that each kill meets work under way; the large documents are spread over them.

    Smallest first, so that the longest step is cut when most of its wave is further on; the second wave largest first, so that
    the server dies while the rest of it is still being handed in.
    """
    by_size = sorted(documents, key=lambda document: (document.size_bytes, document.number))
    chosen = [Wave(by_size[::-1][start::WAVES][::-1]) for start in range(WAVES)]
    chosen[1] = Wave(chosen[1].documents[::-1])
    return chosen


def in_the_middle(log: Reader, wave: Wave, step: str, age_seconds: float = 0.0) -> Record:
    """Waits until the log shows the step of the wave's largest document begun so long ago and not ended, and returns that begin.

    A document whose step went by unseen is given up for the next largest.

    Raises:
        MissedError: all went by, or none began in time.
    """
    deadline = time.monotonic() + AIM_SECONDS
    targets = wave.targets
    while targets and time.monotonic() < deadline:
        for record in log.open_executions():
            if record.document == targets[0] and record.step == step and time.time() - record.time >= age_seconds:
                return record
        if (targets[0], step) in log.ended:
            targets.pop(0)
        else:
            _pause(log, POLL_SECONDS)
    raise MissedError(f"no {step} was seen in its middle")


@dataclass(frozen=True)
class Hit:
    """A process that was killed in the middle of a step: its pid, when (Unix time, seconds), and the begin of the step."""

    process: Process
    pid: int
    time: float
    begun: Record

    def __str__(self) -> str:
        return f"kill -9 {self.process.name} {self.pid} in the middle of {describe(self.begun)}"


def strike(log: Reader, wave: Wave, step: str, victims: Sequence[Process], age_seconds: float = 0.0) -> Hit:
    """Waits for the middle of a step, as `in_the_middle`, and sends kill -9 to the one of the victims that runs it, else to the first.

    Raises:
        MissedError: there was no such moment, or the step came to its end before the kill.
    """
    begun = in_the_middle(log, wave, step, age_seconds)
    victim = next((process for process in victims if process.pid == begun.pid), victims[0])
    hit = Hit(victim, victim.pid, time.time(), begun)
    victim.kill()
    check_hit(log, begun, None if begun.pid == victim.pid else hit.time)
    return hit


def wait_begun(log: Reader, wave: Wave, documents: int = 1) -> None:
    """Waits until steps of so many documents of the wave have begun.

    Raises:
        MissedError: they do not in time.
    """
    deadline = time.monotonic() + AIM_SECONDS
    wanted = frozenset(wave.targets)
    while len({record.document for record in log.records if record.event == "begin"} & wanted) < documents:
        if time.monotonic() > deadline:
            raise MissedError(f"not even {documents} of {len(wanted)} documents were begun within {AIM_SECONDS:.0f} s")
        _pause(log, LOOK_SECONDS)
        log.news()


def begun_after(log: Reader, cut: Record, step: str) -> Record:
    """Waits until `step` of the document that was cut begins after it, and returns that begin.

    Raises:
        MissedError: it does not begin in time.
    """
    deadline = time.monotonic() + AIM_SECONDS
    while time.monotonic() < deadline:
        log.news()
        for record in log.records:
            if record.event == "begin" and (record.document, record.step) == (cut.document, step) and record.time > cut.time:
                return record
        _pause(log, LOOK_SECONDS)
    raise MissedError(f"{step}(doc {cut.document}) did not begin within {AIM_SECONDS:.0f} s")


def check_hit(log: Reader, begun: Record, killed_at: float | None = None) -> None:
    """Raises MissedError if the execution came to its end before the kill did.

    `killed_at` (Unix time, seconds): another process was killed, and this execution may end later. None: its own was, and it may not.
    """
    log.news()
    ends = [record for record in log.records if record.execution == begun.execution and record.event != "begin"]
    if any(killed_at is None or end.time <= killed_at for end in ends):
        raise MissedError(f"{begun.step}(doc {begun.document}) of pid {begun.pid} had ended when the kill arrived")


def describe(record: Record) -> str:
    """`vectorise(doc 17), attempt 1, on 4711`."""
    return f"{record.step}(doc {record.document}), attempt {record.attempt}, on {record.pid}"


def _pause(log: Reader, seconds: float) -> None:
    if log.abandoned.wait(seconds):
        raise MissedError("given up")

"""When to kill: driven by the activity log, at a begin that has no end yet, and judged by it afterwards."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from examples.documents.config import AGE_SECONDS, AIM_SECONDS, POLL_SECONDS
from examples.documents.corpus import Document
from examples.documents.journal import Reader, Record

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


def in_the_middle(log: Reader, wave: Wave, step: str) -> Record:
    """Waits until the log shows the step of the wave's largest document begun and not ended, and returns that begin.

    A document whose step went by unseen is given up for the next largest.

    Raises:
        MissedError: all went by, or none began in time.
    """
    deadline = time.monotonic() + AIM_SECONDS
    targets = wave.targets
    while targets and time.monotonic() < deadline:
        for record in log.open_executions():
            if record.document == targets[0] and record.step == step and time.time() - record.time >= AGE_SECONDS:
                return record
        if any(record.document == targets[0] and record.step == step and record.event == "end" for record in log.records):
            targets.pop(0)
        else:
            threading.Event().wait(POLL_SECONDS)
    raise MissedError(f"no {step} was seen in its middle")


def any_begun(log: Reader, wave: Wave) -> Record:
    """Waits until a step of any document of the wave begins, and returns that begin.

    Raises:
        MissedError: none begins in time.
    """
    deadline = time.monotonic() + AIM_SECONDS
    while time.monotonic() < deadline:
        log.news()
        for record in log.records:
            if record.event == "begin" and record.document in wave.targets:
                return record
        threading.Event().wait(POLL_SECONDS)
    raise MissedError(f"no step of {len(wave.targets)} documents began within {AIM_SECONDS:.0f} s")


def begun_again(log: Reader, cut: Record, step: str) -> Record:
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
        threading.Event().wait(POLL_SECONDS)
    raise MissedError(f"{step}(doc {cut.document}) did not begin again within {AIM_SECONDS:.0f} s")


def check_hit(log: Reader, begun: Record) -> None:
    """Raises MissedError if the execution came to its end before the kill did."""
    log.news()
    if any(record.execution == begun.execution and record.event != "begin" for record in log.records):
        raise MissedError(f"{begun.step}(doc {begun.document}) of pid {begun.pid} had ended when the kill arrived")


def describe(record: Record) -> str:
    """`vectorise(doc 17), attempt 1, on 4711`."""
    return f"{record.step}(doc {record.document}), attempt {record.attempt}, on {record.pid}"

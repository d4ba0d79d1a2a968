"""The numbers of the report: counted from the activity log and the index, never assumed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from examples.documents.index import Contents
from examples.documents.journal import Record


@dataclass(frozen=True)
class Again:
    """An execution of a step that had been begun before: the one before it, and this one."""

    before: Record
    record: Record
    result: Record | None
    """The end of an earlier execution of the step, None if none had come to its end: with it, this one is paid twice."""


@dataclass(frozen=True)
class Count:
    """What one way of doing the job came to."""

    submitted: int
    steps_begun: int
    steps_ended: int
    again: tuple[Again, ...]
    paid_twice_seconds: float
    """Work of executions whose step had been run to its end before."""
    documents_indexed: int
    documents_published: int
    lost: tuple[int, ...]
    """Documents handed in that are not both in the index and published."""
    entries_doubled: int
    publications_doubled: int

    @property
    def paid_twice(self) -> tuple[Again, ...]:
        return tuple(again for again in self.again if again.result is not None)


def count(submitted: Iterable[int], records: Sequence[Record], contents: Contents) -> Count:
    """Counts one run; `submitted` are the numbers of the documents that were handed in and accepted."""
    numbers = frozenset(submitted)
    done = contents.documents & contents.published
    again = tuple(begun_again(records))
    seconds = {record.execution: record.seconds for record in records if record.event != "begin"}
    return Count(
        submitted=len(numbers),
        steps_begun=sum(record.event == "begin" for record in records),
        steps_ended=sum(record.event == "end" for record in records),
        again=again,
        paid_twice_seconds=sum(seconds.get(item.record.execution, 0.0) for item in again if item.result is not None),
        documents_indexed=len(contents.documents),
        documents_published=len(contents.published),
        lost=tuple(sorted(numbers - done)),
        entries_doubled=contents.entries_doubled,
        publications_doubled=contents.publications_doubled,
    )


def begun_again(records: Sequence[Record]) -> list[Again]:
    """Every begin of a step of a document after the first, with the one before it. In the order of the log."""
    begun: dict[tuple[int, str], Record] = {}
    results: dict[tuple[int, str], Record] = {}
    found: list[Again] = []
    for record in records:
        step = (record.document, record.step)
        if record.event == "end":
            results[step] = record
        elif record.event == "begin":
            if step in begun:
                found.append(Again(begun[step], record, results.get(step)))
            begun[step] = record
    return found

"""The activity log, the counts from it, and the choice of a moment to kill."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from examples.documents import kills
from examples.documents.corpus import Document
from examples.documents.counting import count
from examples.documents.index import Contents
from examples.documents.journal import Event, Execution, Journal, JournalError, Reader, Record
from examples.documents.kills import MissedError, Wave


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "activity.jsonl"


def record(event: Event, step: str, pid: int, claim_no: int = 1, seconds: float = 0.0) -> Record:
    return Record(0.0, pid, event, 1, step, claim_no, claim_no, "", "ok" if event == "end" else "", seconds)


def test_begin_and_end_and_failure(path: Path) -> None:
    journal, log = Journal(path), Reader(path)
    with journal.step(Execution(1, "read", attempt=2, claim_no=3, key="k")):
        assert [(begun.document, begun.claim_no) for begun in log.open_executions()] == [(1, 3)]
    assert not log.open_executions()
    with pytest.raises(KeyError), journal.step(Execution(1, "clean")):
        raise KeyError
    log.news()
    assert [(line.event, line.step, line.outcome) for line in log.records] == [
        ("begin", "read", ""),
        ("end", "read", "ok"),
        ("begin", "clean", ""),
        ("failed", "clean", "KeyError"),
    ]
    journal.close()


def test_a_cut_line_is_no_record_and_a_broken_one_is_an_error(path: Path) -> None:
    journal, log = Journal(path), Reader(path)
    with journal.step(Execution(1, "read")):
        pass
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"time": 1')
    assert len(log.news()) == 2
    path.write_bytes(whole + b'{"time": 1}\n')
    with pytest.raises(JournalError, match="not a record"):
        log.news()
    journal.close()


def test_lines_of_two_processes_do_not_mix(path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from examples.documents.journal import *\n"
        "journal = Journal(Path(sys.argv[1]))\n"
        "for number in range(100):\n    with journal.step(Execution(number, 'read')): pass\n"
    )
    root = Path(__file__).parents[2]
    writers = [subprocess.Popen([sys.executable, "-c", program, str(path)], cwd=root) for _ in range(2)]
    assert [writer.wait(30) for writer in writers] == [0, 0]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == 400
    assert sorted(line["document"] for line in lines if line["event"] == "end") == sorted([*range(100), *range(100)])


def test_what_is_lost_doubled_and_paid_twice() -> None:
    records = [
        record("begin", "read", 10),
        record("end", "read", 10),
        record("begin", "clean", 10),
        record("begin", "read", 11, 2),
        record("end", "read", 11, 2, seconds=0.5),
        record("begin", "clean", 11, 2),
        record("end", "clean", 11, 2, seconds=0.25),
    ]
    counted = count([1, 2, 3], records, Contents(frozenset({1, 2}), 3, frozenset({1}), 1))
    assert (counted.submitted, counted.steps_begun, counted.steps_ended, counted.lost) == (3, 4, 3, (2, 3))
    assert [(again.record.step, again.result is not None) for again in counted.again] == [("read", True), ("clean", False)]
    assert counted.paid_twice_seconds == pytest.approx(0.5)
    assert (counted.entries_doubled, counted.publications_doubled) == (1, 0)


def test_a_result_counts_however_many_executions_ago() -> None:
    records = [record("begin", "read", 10), record("end", "read", 10), record("begin", "read", 11), record("begin", "read", 12)]
    assert [again.result is not None for again in count([1], records, Contents(frozenset(), 0, frozenset(), 0)).again] == [True, True]


def document(number: int, size: int) -> Document:
    return Document(number, f"d{number}", "", "text", size)


def test_three_waves_hold_every_document_once_and_the_large_ones_apart() -> None:
    documents = [document(number, number * 10) for number in range(1, 9)]
    first, second, third = kills.waves(documents)
    assert [wave.targets[0] for wave in (first, second, third)] == [8, 7, 6]
    assert sorted(first.targets + second.targets + third.targets) == list(range(1, 9))
    assert [chosen.number for chosen in first.documents] == [2, 5, 8]
    assert [chosen.number for chosen in second.documents] == [7, 4, 1]


def test_the_moment_is_a_begin_without_an_end_and_the_next_largest_if_one_went_by(path: Path) -> None:
    journal, log = Journal(path), Reader(path)
    wave = Wave([document(1, 10), document(2, 20)])
    with journal.step(Execution(2, "clean")):
        pass
    with journal.step(Execution(1, "clean")):
        begun = kills.in_the_middle(log, wave, "clean")
        assert begun.document == 1
        kills.check_hit(log, begun)
    with pytest.raises(MissedError, match=r"clean\(doc 1\) of pid \d+ had ended"):
        kills.check_hit(log, begun)
    with pytest.raises(MissedError, match="no clean was seen in its middle"):
        kills.in_the_middle(log, wave, "clean")
    journal.close()

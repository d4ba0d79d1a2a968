"""The old way's parts do what its description says, so that its numbers are of the pattern and not of a bug in it."""

from pathlib import Path

import pytest

from examples.documents.corpus import Document
from examples.documents.old_way.jobs import Jobs

DOCUMENT = Document(7, "name", "/path", "text", 5_000)


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    jobs = Jobs(tmp_path / "jobs.db")
    jobs.create()
    return jobs


def test_a_document_has_one_row_and_is_not_done_twice_once_done(jobs: Jobs) -> None:
    assert jobs.insert(DOCUMENT)
    assert not jobs.insert(DOCUMENT)
    assert jobs.begin(7) == (DOCUMENT, 1)
    assert jobs.begin(7) == (DOCUMENT, 2)
    jobs.finish(7)
    assert jobs.begin(7) is None
    assert jobs.begin(8) is None
    assert jobs.by_status() == {"queued": [], "processing": [], "done": [7]}


def test_the_reaper_takes_what_nobody_touched_and_leaves_what_is_queued(jobs: Jobs) -> None:
    jobs.insert(DOCUMENT)
    assert jobs.requeue_stale(-1) == []
    jobs.begin(7)
    assert jobs.requeue_stale(3600) == []
    jobs.touch(7)
    assert jobs.requeue_stale(3600) == []
    assert jobs.requeue_stale(-1) == [7]
    assert jobs.by_status()["queued"] == [7]


def test_a_click_is_stored_with_the_row(jobs: Jobs) -> None:
    jobs.insert(DOCUMENT)
    assert not jobs.publish_requested(7)
    jobs.request_publish(7)
    assert jobs.publish_requested(7)

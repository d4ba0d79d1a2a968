"""The index: one effect per key, whoever writes it and however often."""

import threading
from pathlib import Path

import numpy as np
import pytest

from examples.documents.index import Entry, FencedError, Index


@pytest.fixture
def index(tmp_path: Path) -> Index:
    index = Index(tmp_path / "index.db")
    index.create()
    return index


def entry(document: int, text: str = "some text") -> Entry:
    return Entry(document, f"name-{document}", "title", text, ["some text"], [1.0, 0.0])


def test_the_same_key_is_one_entry_and_another_key_another(index: Index) -> None:
    first = index.add(entry(1), "key-1")
    assert index.add(entry(1, "changed"), "key-1") == first
    assert index.contents().entries_doubled == 0
    assert index.add(entry(1), "key-2") != first
    assert (index.contents().entries, index.contents().entries_doubled) == (2, 1)


def test_ten_writers_of_one_key_make_one_entry(index: Index) -> None:
    barrier = threading.Barrier(10)
    ids: list[int] = []

    def write() -> None:
        barrier.wait()
        ids.append(index.add(entry(1), "key"))

    threads = [threading.Thread(target=write) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 10
    assert len(set(ids)) == 1
    assert index.contents().entries == 1


def test_publishing_is_idempotent_and_fenced(index: Index) -> None:
    first = index.publish(1, "signal", idempotency_key="a", fence=5)
    assert index.publish(1, "timer", idempotency_key="a", fence=5) == first
    with pytest.raises(FencedError, match="fence 5, beyond 4"):
        index.publish(1, "timer", idempotency_key="b", fence=4)
    assert index.contents().publications_doubled == 0
    index.publish(1, "signal", idempotency_key="c", fence=6)
    assert index.contents().publications_doubled == 1


def test_only_what_is_published_is_found(index: Index) -> None:
    vector = np.array([1.0, 0.0], dtype=np.float32)
    index.add(entry(1, "the quick brown fox"), "a")
    assert index.search("quick foxes", vector) == []
    index.publish(1, "signal", idempotency_key="a", fence=1)
    assert [hit.name for hit in index.search("quick foxes", vector)] == ["name-1"]


def test_no_character_of_a_query_is_syntax(index: Index) -> None:
    index.search('AND " OR ( * - : ^ NEAR', np.zeros(2, dtype=np.float32))
    index.search("", np.zeros(2, dtype=np.float32))

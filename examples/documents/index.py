"""The full-text index and what is published: SQLite with FTS5, one file, written by every worker process.

An effect is stored under an idempotency key, so the same effect again finds itself and changes nothing. Nothing here is keyed
by document alone: a caller that makes up a new key for each try does get a second entry, and the report counts it.
"""

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from examples.documents.config import INDEX_BUSY_SECONDS

FIRST = 10  # of reciprocal rank fusion (Cormack and others, 2009): 60 is for thousands of documents, dozens need more weight on top

SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    entry_id INTEGER PRIMARY KEY, idempotency_key TEXT NOT NULL UNIQUE, document INTEGER NOT NULL, name TEXT NOT NULL,
    summary TEXT NOT NULL, vector TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS publications (
    publication_id INTEGER PRIMARY KEY, idempotency_key TEXT NOT NULL UNIQUE, document INTEGER NOT NULL, fence INTEGER NOT NULL,
    reason TEXT NOT NULL
);
CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5(title, body, tokenize = 'porter unicode61');
"""


class FencedError(Exception):
    """A newer run of this document published already; an older one may not do it after it."""


@dataclass(frozen=True)
class Entry:
    """What is found: a document's title, text, summary and vector."""

    document: int
    name: str
    title: str
    text: str
    summary: list[str]
    vector: list[float]


@dataclass(frozen=True)
class Hit:
    """A document that answers a query; `score` only orders hits of one query."""

    document: int
    name: str
    score: float


@dataclass(frozen=True)
class Contents:
    """Counts over the whole index: documents with an entry, all entries, documents published, all publications."""

    documents: frozenset[int]
    entries: int
    published: frozenset[int]
    publications: int

    @property
    def entries_doubled(self) -> int:
        """Entries beyond the first of their document."""
        return self.entries - len(self.documents)

    @property
    def publications_doubled(self) -> int:
        """Publications beyond the first of their document."""
        return self.publications - len(self.published)


class Index:
    """The index in one file; every call opens its own connection, so threads and processes may share the object's path."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def create(self) -> None:
        """Makes the file and its tables where they are missing."""
        with self._connection() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(SCHEMA)

    def add(self, entry: Entry, idempotency_key: str) -> int:
        """Stores an entry, found by its words from then on, and returns its id; a key that is stored already changes nothing."""
        with self._writing() as connection:
            row = (idempotency_key, entry.document, entry.name, json.dumps(entry.summary), json.dumps(entry.vector))
            inserted = connection.execute(
                "INSERT INTO entries (idempotency_key, document, name, summary, vector) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (idempotency_key) DO NOTHING RETURNING entry_id",
                row,
            ).fetchone()
            if inserted is None:
                stored = connection.execute("SELECT entry_id FROM entries WHERE idempotency_key = ?", (idempotency_key,)).fetchone()
                return int(stored[0])
            connection.execute("INSERT INTO texts (rowid, title, body) VALUES (?, ?, ?)", (inserted[0], entry.title, entry.text))
            return int(inserted[0])

    def publish(self, document: int, reason: str, *, idempotency_key: str, fence: int) -> int:
        """Marks a document as published and returns the publication's id; a key that is stored already changes nothing.

        Raises:
            FencedError: a publication of a higher fence is stored: this caller is late.
        """
        with self._writing() as connection:
            newest = connection.execute("SELECT max(fence) FROM publications WHERE document = ?", (document,)).fetchone()[0]
            if newest is not None and newest > fence:
                raise FencedError(f"document {document} was published under fence {newest}, beyond {fence}")
            connection.execute(
                "INSERT INTO publications (idempotency_key, document, fence, reason) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (idempotency_key) DO NOTHING",
                (idempotency_key, document, fence, reason),
            )
            stored = connection.execute("SELECT publication_id FROM publications WHERE idempotency_key = ?", (idempotency_key,)).fetchone()
            return int(stored[0])

    def contents(self) -> Contents:
        """Counts what is there."""
        with self._connection() as connection:
            indexed = [row[0] for row in connection.execute("SELECT document FROM entries JOIN texts ON texts.rowid = entry_id")]
            published = [row[0] for row in connection.execute("SELECT document FROM publications")]
        return Contents(frozenset(indexed), len(indexed), frozenset(published), len(published))

    def search(self, query: str, vector: NDArray[np.float32], limit: int = 3) -> list[Hit]:
        """Published documents that answer `query`, best first: BM25 over the words and cosine over the vectors, ranks fused."""
        with self._connection() as connection:
            rows = connection.execute(
                "SELECT entry_id, document, name, vector FROM entries WHERE document IN (SELECT document FROM publications)"
            ).fetchall()
            by_words = [
                row[0]
                for row in connection.execute(
                    "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts, 4.0, 1.0), rowid", (_match(query),)
                )
            ]
        nearness = {row[0]: float(np.dot(np.asarray(json.loads(row[3]), dtype=np.float32), vector)) for row in rows}
        by_vector = sorted(nearness, key=lambda entry_id: (-nearness[entry_id], entry_id))
        scores = dict.fromkeys(nearness, 0.0)
        for ranking in (by_words, by_vector):
            for rank, entry_id in enumerate(ranking, start=1):
                if entry_id in scores:
                    scores[entry_id] += 1 / (FIRST + rank)
        best = sorted(rows, key=lambda row: (-scores[row[0]], row[0]))[:limit]
        return [Hit(row[1], row[2], round(scores[row[0]], 5)) for row in best]

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self._path, timeout=INDEX_BUSY_SECONDS, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            yield connection

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that takes the write lock at once, so that what it reads is still so when it writes."""
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")


def _match(query: str) -> str:
    """Any of the query's words, each quoted, so that no character of it is syntax."""
    return " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query)) or '""'

"""The status column: one row per document."""

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from examples.documents.config import INDEX_BUSY_SECONDS
from examples.documents.corpus import Document

SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, path TEXT NOT NULL, kind TEXT NOT NULL, size_bytes INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'queued', tries INTEGER NOT NULL DEFAULT 0, publish_requested INTEGER NOT NULL DEFAULT 0,
    updated_at REAL NOT NULL
)
"""


class Jobs:
    """The table in one SQLite file; every call is one transaction, stored when it returns."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def create(self) -> None:
        """Makes the file and the table where they are missing."""
        with self._connection() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(SCHEMA)

    def insert(self, document: Document) -> bool:
        """Makes the row of a document, `queued`; False if it exists."""
        values = {**asdict(document), "now": time.time()}
        with self._connection() as connection:
            cursor = connection.execute(
                "INSERT INTO jobs (number, name, path, kind, size_bytes, updated_at)"
                " VALUES (:number, :name, :path, :kind, :size_bytes, :now) ON CONFLICT DO NOTHING",
                values,
            )
            return cursor.rowcount == 1

    def begin(self, number: int) -> tuple[Document, int] | None:
        """Sets `processing` and counts the try; None if the document is done or unknown."""
        with self._connection() as connection:
            row = connection.execute(
                "UPDATE jobs SET status = 'processing', tries = tries + 1, updated_at = ? WHERE number = ? AND status <> 'done'"
                " RETURNING number, name, path, kind, size_bytes, tries",
                (time.time(), number),
            ).fetchone()
        return None if row is None else (Document(*row[:5]), int(row[5]))

    def touch(self, number: int) -> None:
        """Says that somebody works on it."""
        with self._connection() as connection:
            connection.execute("UPDATE jobs SET updated_at = ? WHERE number = ?", (time.time(), number))

    def finish(self, number: int) -> None:
        """Sets `done`."""
        with self._connection() as connection:
            connection.execute("UPDATE jobs SET status = 'done', updated_at = ? WHERE number = ?", (time.time(), number))

    def request_publish(self, number: int) -> None:
        """Stores somebody's click."""
        with self._connection() as connection:
            connection.execute("UPDATE jobs SET publish_requested = 1 WHERE number = ?", (number,))

    def publish_requested(self, number: int) -> bool:
        """Whether somebody clicked."""
        with self._connection() as connection:
            return bool(connection.execute("SELECT publish_requested FROM jobs WHERE number = ?", (number,)).fetchone()[0])

    def requeue_stale(self, seconds: float) -> list[int]:
        """The reaper's query: rows that are `processing` and untouched for `seconds` become `queued`; their numbers."""
        with self._connection() as connection:
            rows = connection.execute(
                "UPDATE jobs SET status = 'queued', updated_at = ? WHERE status = 'processing' AND updated_at < ? RETURNING number",
                (time.time(), time.time() - seconds),
            ).fetchall()
        return [row[0] for row in rows]

    def by_status(self) -> dict[str, list[int]]:
        """Document numbers per status."""
        with self._connection() as connection:
            rows = connection.execute("SELECT status, number FROM jobs ORDER BY number").fetchall()
        return {status: [number for other, number in rows if other == status] for status in ("queued", "processing", "done")}

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self._path, timeout=INDEX_BUSY_SECONDS, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            yield connection

"""The shop's stock and its bank, in SQL. SQLite here; README.md has the same for PostgreSQL."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from examples.orders.fence import superseded
from perdure import Failure

TABLES = """
CREATE TABLE IF NOT EXISTS stock (article TEXT PRIMARY KEY, pieces INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS reservations (number TEXT PRIMARY KEY, article TEXT, pieces INTEGER NOT NULL, fence INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS charges (key TEXT PRIMARY KEY, reference TEXT NOT NULL, cents INTEGER NOT NULL, refunded INTEGER NOT NULL);
INSERT OR IGNORE INTO stock VALUES ('lamp', 10);
"""


class Stock:
    """How many pieces there are, and how many each order has."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with closing(sqlite3.connect(path, timeout=10)) as database:
            database.executescript(TABLES)

    def reserve(self, number: str, article: str, pieces: int, fence: int) -> None:
        """Say how many pieces the order has now: said twice, it is the same. Raises Failure: order.superseded, stock.empty."""
        with self._transaction() as database:
            database.execute("INSERT OR IGNORE INTO reservations VALUES (?, ?, 0, 0)", (number, article))
            (had,) = database.execute("SELECT pieces FROM reservations WHERE number = ?", (number,)).fetchone()
            # The check and the write are one statement, or one transaction; a SELECT before an UPDATE outside of one is no fence.
            statement = "UPDATE reservations SET pieces = ?, fence = ? WHERE number = ? AND fence <= ?"
            if not database.execute(statement, (pieces, fence, number, fence)).rowcount:
                raise superseded(number, fence)
            statement = "UPDATE stock SET pieces = pieces - ? WHERE article = ? AND pieces >= ?"
            if not database.execute(statement, (pieces - had, article, pieces - had)).rowcount:
                raise Failure("stock.empty", f"not {pieces} of {article}", non_retryable=True)

    def pieces(self, article: str) -> int:
        """What is left."""
        with self._transaction() as database:
            (pieces,) = database.execute("SELECT pieces FROM stock WHERE article = ?", (article,)).fetchone()
            return int(pieces)

    # ---- a payment provider: it knows nothing of fences, but takes idempotency keys, as they do

    def charge(self, key: str, reference: str, cents: int) -> None:
        """Take the money, once per key."""
        with self._transaction() as database:
            database.execute("INSERT OR IGNORE INTO charges VALUES (?, ?, ?, 0)", (key, reference, cents))

    def refund(self, reference: str) -> None:
        """Give back all that was taken under this reference; nothing, if nothing was."""
        with self._transaction() as database:
            database.execute("UPDATE charges SET refunded = 1 WHERE reference = ?", (reference,))

    def charged(self) -> int:
        """Cents that were taken and not given back."""
        with self._transaction() as database:
            (cents,) = database.execute("SELECT COALESCE(SUM(cents), 0) FROM charges WHERE refunded = 0").fetchone()
            return int(cents)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, isolation_level=None, timeout=10)) as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")

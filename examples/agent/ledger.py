"""The budget: every call of a model is written down before it is made, and its answer when it is there.

So no call is paid twice: what was answered is never asked again, not after a kill -9 and not by a replay. And the budget holds,
whatever dies: a call whose answer was lost may have been paid, so it counts in full. Here it is a file of SQLite; for several machines
the same table in your PostgreSQL does it.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from examples.agent.model import Answer, NotCharged
from perdure import Failure

TABLE = """
CREATE TABLE IF NOT EXISTS calls (
    task TEXT, question TEXT, try INTEGER, reserved INTEGER NOT NULL, spent INTEGER, answer BLOB,
    PRIMARY KEY (task, question, try)
)
"""


class Ledger:
    """Calls by task and question."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._transaction() as database:
            database.execute(TABLE)

    def once(self, task: str, question: bytes, most: int, budget: int, ask: Callable[[], Answer]) -> Answer:
        """The answer that was given already, or a new one, if `budget` has `most` tokens left.

        Raises:
            Failure: agent.budget_exhausted; not retried.
        """
        digest = hashlib.sha256(question).hexdigest()
        found = self._reserve(task, digest, most, budget)
        if isinstance(found, Answer):
            return found
        try:
            answer = ask()
        except NotCharged:
            with self._transaction() as database:
                database.execute("DELETE FROM calls WHERE (task, question, try) = (?, ?, ?)", (task, digest, found))
            raise
        with self._transaction() as database:
            settled = (answer.tokens, msgspec.json.encode(answer), task, digest, found)
            database.execute("UPDATE calls SET spent = ?, answer = ? WHERE (task, question, try) = (?, ?, ?)", settled)
        return answer

    def used(self, task: str) -> int:
        """Tokens that count against the task's budget."""
        with self._transaction() as database:
            return _used(database, task)

    def _reserve(self, task: str, question: str, most: int, budget: int) -> Answer | int:
        """The answer, or the number of the try that is now reserved."""
        with self._transaction() as database:
            tries = database.execute("SELECT answer FROM calls WHERE (task, question) = (?, ?) ORDER BY try", (task, question)).fetchall()
            for (answer,) in tries:
                if answer is not None:
                    return msgspec.json.decode(answer, type=Answer)
            used = _used(database, task)
            if used + most > budget:
                raise Failure(
                    "agent.budget_exhausted", f"{used} of {budget} tokens are used, and the next call may need {most}", non_retryable=True
                )
            database.execute("INSERT INTO calls VALUES (?, ?, ?, ?, NULL, NULL)", (task, question, len(tries) + 1, most))
            return len(tries) + 1

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, isolation_level=None, timeout=10)) as database:
            database.execute("PRAGMA synchronous = FULL")
            database.execute("BEGIN IMMEDIATE")  # two workers at once: one reads what the other has reserved
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")


def _used(database: sqlite3.Connection, task: str) -> int:
    (used,) = database.execute("SELECT COALESCE(SUM(COALESCE(spent, reserved)), 0) FROM calls WHERE task = ?", (task,)).fetchone()
    return int(used)

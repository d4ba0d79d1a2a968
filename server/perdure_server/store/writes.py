"""One conditional write, and what the store's words about it prove."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bson.raw_bson import RawBSONDocument

from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.errors import DocumentTooLarge, StoreError, StoreUnavailable
from perdure_server.store import documents, limits
from perdure_server.store.driver import DUPLICATE_KEY, encoded, is_unavailable

Document = dict[str, Any]
Outcome = bool | StoreError | None  # None: not told by the reply

_TOO_LARGE: Final = frozenset({10334, 17419, 17420, 17280})
_BAD_VALUE: Final = 2  # an insert that is too large has only this code and a text


class Write:
    """One conditional write that waits for its answer. `old` None inserts."""

    __slots__ = ("body", "identity", "new", "old", "result", "size", "write_id")

    def __init__(self, old: Workflow | None, new: Workflow, write_id: int, result: asyncio.Future[bool]) -> None:
        self.old = old
        self.new = new
        self.write_id = write_id
        self.result = result
        self.identity = new.workflow_id
        if old is None:
            document = documents.encode(new)
            document[documents.WRITE_ID] = write_id
            self.body: RawBSONDocument = encoded(document)
        else:
            update = documents.encode_change(old, new)
            update.set[documents.WRITE_ID] = write_id
            self.body = encoded(update.operators())
        self.size = len(self.body.raw)
        if self.size > limits.DOCUMENT_BYTES:
            raise DocumentTooLarge(f"the write alone has {self.size} bytes")

    @property
    def document_bytes(self) -> int:
        """About how large the whole document is: a store that keeps a change in memory until its commit keeps that."""
        return self.size + self.new.inline_bytes + limits.STEP_BYTES * len(self.new.steps)

    def condition(self) -> Document:
        """What the stored document must still be."""
        base = self.old or self.new
        return {"_id": self.identity, "run_id": base.run_id, "revision": base.revision}

    def unbounded_condition(self) -> Document:
        """The same for SecantusDB, which reads its list of indexes for each field that an index could bound: `$exists` says none can."""
        base = self.old or self.new
        return {
            "_id": self.identity,
            "run_id": {"$eq": base.run_id, "$exists": True},
            "revision": {"$eq": base.revision, "$exists": True},
        }

    def answer(self, outcome: bool | StoreError) -> None:
        """Tells the caller, unless it has gone."""
        if self.result.done():
            return
        if isinstance(outcome, bool):
            self.result.set_result(outcome)
        else:
            self.result.set_exception(outcome)


def proof(write: Write, stored: Mapping[str, Any] | None) -> bool | None:
    """What the stored document proves about a write whose command was carried out; None = nothing."""
    if stored is None:
        return None
    if stored.get(documents.WRITE_ID) == write.write_id:
        return True
    old_run = write.old.run_id if write.old is not None else None
    if write.new.run_id != old_run:
        # A start or a new round: nobody else has made this run_id, and nothing goes back to the run before.
        return True if stored["run_id"] == write.new.run_id else False if stored["run_id"] == old_run else None
    if stored["run_id"] == old_run and stored["revision"] <= write.new.revision:
        return False
    return None


def outcome_of_error(write: Write, error: Mapping[str, Any]) -> Outcome:
    """What the caller of this write is told when the server refused it alone."""
    code = error["code"]
    if code == DUPLICATE_KEY and write.old is None:
        return False
    if code in _TOO_LARGE or (code == _BAD_VALUE and "too large" in error.get("errmsg", "")):
        return DocumentTooLarge(f"the store refused the document (code {code})")
    if is_unavailable(code):
        return StoreUnavailable(f"the store could not do it now (code {code})")
    return StoreError(f"the store refused the write (code {code})")


def distrust_if_not_replicated(reply: Mapping[str, Any], outcomes: list[Outcome]) -> None:
    """A write concern error means that what the primary did may still be lost: neither True nor False is known."""
    error = reply.get("writeConcernError")
    if error is None:
        return
    for index, outcome in enumerate(outcomes):
        if not isinstance(outcome, DocumentTooLarge):
            outcomes[index] = StoreUnavailable(f"the majority did not confirm in time (code {error.get('code')})")


def answer_all(batch: Sequence[Write], error: StoreError) -> None:
    """Tells every caller the same, each by an error of its own."""
    for write in batch:
        own = StoreUnavailable(str(error)) if isinstance(error, StoreUnavailable) else StoreError(str(error))
        own.__cause__ = error
        write.answer(own)

"""Group commit: writes that wait while batches are in flight go out together.

At most two batches are in flight; many writes that wait at once are divided over both. A batch holds one write per `_id`, and never one
whose `_id` is in the other batch, so a write that depends on another goes out after its acknowledgement. Every caller is answered for its
own write alone, and a caller that is cancelled leaves its write where it is.

Three roads. BULK_WRITE: the command of MongoDB 8 tells the result of each operation. INSERT_AND_UPDATE, for MongoDB 6 and 7: `insert` tells
it, too, `update` tells only how many matched, so a short count is settled by one read of the batch. To settle, every write leaves a fresh
`write_id` in the document. The stored one equal to ours proves that we wrote; the revision that we would have written under another
`write_id` proves that somebody else did. What neither proves is settled by the count, or is unknown. TRANSACTION, for the stand-in store
(transactions.py): the same, but some updates are one transaction; what spoils it undoes it, and they are sent again without one.
"""

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import Sequence
from enum import Enum
from typing import Any, Final, Protocol

from perdure_server.kernel.limits import SECOND
from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.errors import StoreError, StoreUnavailable
from perdure_server.ports.instruments import COMMIT_SIZE, COMMIT_TIME
from perdure_server.ports.telemetry import SILENCE, Meter
from perdure_server.store import documents, limits
from perdure_server.store.driver import MAJORITY, TransactionUndoneError
from perdure_server.store.transactions import Transactions
from perdure_server.store.writes import Outcome, Write, answer_all, distrust_if_not_replicated, outcome_of_error, proof

log = logging.getLogger(__name__)

Document = dict[str, Any]

_CONCERN: Final = {"writeConcern": MAJORITY}  # a transaction has its own, at its commit


class Road(Enum):
    """By which commands a batch goes out."""

    BULK_WRITE = "bulkWrite"
    INSERT_AND_UPDATE = "insert, update"
    TRANSACTION = "insert, and update in a transaction"


class Sender(Protocol):
    """What the committer needs of a connection; raises StoreUnavailable and StoreError."""

    database: str

    async def command(self, command: Document) -> Document:
        """Sends a command to the database."""

    async def admin_command(self, command: Document) -> Document:
        """Sends a command to the admin database."""


class Committer:
    """Owns the writes of the `workflows` collection. `commit` may be called by any task of the loop; `close` ends it."""

    def __init__(
        self, sender: Sender, collection: str, road: Road, meter: Meter = SILENCE, transactions: Transactions | None = None
    ) -> None:
        """`transactions` is given for the road of that name."""
        self.road = road
        self._meter = meter
        self.batches = 0
        self.writes = 0
        self.reads_to_settle = 0
        self.undone = 0
        self._sender = sender
        self._collection = collection
        self._transactions = transactions
        self._waiting: deque[Write] = deque()
        self._busy: set[bytes] = set()  # ids in flight
        self._in_flight: set[asyncio.Task[None]] = set()
        self._pump_is_due = False
        self._closed = False
        self._last_write_id = secrets.randbits(62)

    async def commit(self, old: Workflow | None, new: Workflow) -> bool:
        """As the port says."""
        if self._closed:
            raise StoreUnavailable("the store is closed")
        self._last_write_id = (self._last_write_id + 1) & 0x7FFF_FFFF_FFFF_FFFF
        result: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(Write(old, new, self._last_write_id, result))
        self._pump_soon()
        return await result

    async def close(self) -> None:
        """Refuses new commits and waits for those that were accepted."""
        self._closed = True
        while self._waiting or self._in_flight:
            self._pump()
            await asyncio.wait(set(self._in_flight), return_when=asyncio.FIRST_COMPLETED)

    def _pump_soon(self) -> None:
        # At the end of this round of the loop: what wakes together is sent together.
        if not self._pump_is_due and len(self._in_flight) < limits.BATCHES_IN_FLIGHT:
            self._pump_is_due = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        self._pump_is_due = False
        loop = asyncio.get_running_loop()
        while len(self._in_flight) < limits.BATCHES_IN_FLIGHT:
            batch = self._take()
            if not batch:
                return
            # Not the engine's tasks: a batch outlives every caller, and `close` waits for it.
            task = loop.create_task(self._run(batch), name="commit batch")
            self._in_flight.add(task)
            task.add_done_callback(self._landed)

    def _landed(self, task: asyncio.Task[None]) -> None:
        self._in_flight.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a %s failed; its callers were told that the result is unknown", task.get_name(), exc_info=error)
        if self._waiting:
            self._pump_soon()

    def _take(self) -> list[Write]:
        batch: list[Write] = []
        left: list[Write] = []
        size = 0
        most = min(limits.BATCH_WRITES, self._share())
        while self._waiting and len(batch) < most:
            write = self._waiting.popleft()
            if write.identity in self._busy:
                left.append(write)
                continue
            if batch and size + write.size > limits.BATCH_BYTES:
                left.append(write)
                break
            size += write.size
            batch.append(write)
            self._busy.add(write.identity)
        self._waiting.extendleft(reversed(left))
        return batch

    def _share(self) -> int:
        # A server carries out one command's writes one after the other: many are divided over what may be in flight.
        count = len(self._waiting)
        return count if count < limits.DIVIDED_FROM else -(-count // (limits.BATCHES_IN_FLIGHT - len(self._in_flight)))

    async def _run(self, batch: list[Write]) -> None:
        self.batches += 1
        self.writes += len(batch)
        self._meter.record(COMMIT_SIZE, len(batch))
        begun = time.perf_counter()
        try:
            await self._send(batch)
        finally:
            self._meter.record(COMMIT_TIME, (time.perf_counter() - begun) * SECOND)
            for write in batch:
                self._busy.discard(write.identity)
                write.answer(StoreUnavailable("the batch was broken off"))

    async def _send(self, batch: Sequence[Write], again: bool = False) -> None:
        try:
            outcomes = await self._by_road(batch)
        except StoreUnavailable as error:
            answer_all(batch, error)
            return
        except StoreError as error:
            if len(batch) == 1:
                answer_all(batch, error)
                return
            # One write spoiled the command for its neighbours: each goes alone.
            for write in batch:
                await self._send([write], again=True)
            return
        if again:
            # The refused command may have stored it: then the condition fails now for our own write.
            outcomes = [None if outcome is False else outcome for outcome in outcomes]
        if None in outcomes:
            await self._settle(batch, outcomes)
        for write, outcome in zip(batch, outcomes, strict=True):
            write.answer(StoreUnavailable("the result could not be told") if outcome is None else outcome)

    async def _by_road(self, batch: Sequence[Write]) -> list[Outcome]:
        return await (self._bulk_write(batch) if self.road is Road.BULK_WRITE else self._insert_and_update(batch))

    async def _bulk_write(self, batch: Sequence[Write]) -> list[Outcome]:
        operations: list[Document] = [
            {"insert": 0, "document": write.body}
            if write.old is None
            else {"update": 0, "filter": write.condition(), "updateMods": write.body, "multi": False}
            for write in batch
        ]
        command = {"bulkWrite": 1, "ops": operations, "nsInfo": [{"ns": f"{self._sender.database}.{self._collection}"}]}
        reply = await self._sender.admin_command({**command, "ordered": False, "errorsOnly": False, **_CONCERN})
        outcomes: list[Outcome] = [None] * len(batch)
        for result in reply["cursor"]["firstBatch"]:
            index = result["idx"]
            outcomes[index] = result["n"] == 1 if result["ok"] else outcome_of_error(batch[index], result)
        distrust_if_not_replicated(reply, outcomes)
        return outcomes

    async def _insert_and_update(self, batch: Sequence[Write]) -> list[Outcome]:
        inserts = [write for write in batch if write.old is None]
        updates = [write for write in batch if write.old is not None]
        if not updates:
            return await self._insert(inserts)
        if not inserts:
            return await self._update(updates)
        answers = await asyncio.gather(self._insert(inserts), self._update(updates), return_exceptions=True)
        found: dict[bytes, Outcome] = {}
        for part, answer in zip((inserts, updates), answers, strict=True):
            if isinstance(answer, StoreUnavailable):
                # The other command may have been answered: only these are unknown.
                found.update((write.identity, StoreUnavailable(str(answer))) for write in part)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                found.update(zip((write.identity for write in part), answer, strict=True))
        return [found[write.identity] for write in batch]

    async def _insert(self, batch: Sequence[Write]) -> list[Outcome]:
        reply = await self._sender.command(
            {"insert": self._collection, "documents": [write.body for write in batch], "ordered": False, "writeConcern": MAJORITY}
        )
        outcomes: list[Outcome] = [True] * len(batch)
        for error in reply.get("writeErrors", ()):
            outcomes[error["index"]] = outcome_of_error(batch[error["index"]], error)
        distrust_if_not_replicated(reply, outcomes)
        return outcomes

    async def _update(self, batch: Sequence[Write]) -> list[Outcome]:
        reply = await self._send_updates(batch)
        outcomes: list[Outcome] = [None] * len(batch)
        for error in reply.get("writeErrors", ()):
            outcomes[error["index"]] = outcome_of_error(batch[error["index"]], error)
        open_count = outcomes.count(None)
        if reply["n"] in {0, open_count}:
            outcomes = [reply["n"] == open_count if outcome is None else outcome for outcome in outcomes]
        elif None in outcomes:
            await self._settle(batch, outcomes, reply["n"])
        outcomes = [StoreUnavailable("the result could not be told") if outcome is None else outcome for outcome in outcomes]
        distrust_if_not_replicated(reply, outcomes)
        return outcomes

    async def _send_updates(self, batch: Sequence[Write]) -> Document:
        if self._transactions is None:
            updates = [{"q": write.condition(), "u": write.body, "multi": False} for write in batch]
            return await self._sender.command(self._update_command(updates) | _CONCERN)
        if len(batch) >= limits.TRANSACTION_FROM and sum(write.document_bytes for write in batch) <= limits.TRANSACTION_BYTES:
            # There `multi` saves a second look for the document; that there is no more than one, `_id` says.
            updates = [{"q": write.unbounded_condition(), "u": write.body, "multi": True} for write in batch]
            try:
                return await self._transactions.send(self._update_command(updates))
            except TransactionUndoneError:
                self.undone += 1
        updates = [{"q": write.unbounded_condition(), "u": write.body, "multi": False} for write in batch]
        return await self._sender.command(self._update_command(updates) | _CONCERN)

    def _update_command(self, updates: list[Document]) -> Document:
        return {"update": self._collection, "updates": updates, "ordered": False}

    async def _settle(self, batch: Sequence[Write], outcomes: list[Outcome], matched: int | None = None) -> None:
        """Fills in, from one read, what the reply did not tell. `matched` is how many of the open ones the reply counted, if it did.

        The command was acknowledged by the majority, and so was everything before it: a local read shows nothing that could be lost.
        """
        open_writes = {index: batch[index] for index, outcome in enumerate(outcomes) if outcome is None}
        try:
            stored = await self._read_back([write.identity for write in open_writes.values()])
        except StoreError as error:
            log.warning("the results of %d writes could not be read back", len(open_writes), exc_info=error)
            return
        for index, write in open_writes.items():
            outcomes[index] = proof(write, stored.get(write.identity))
        if matched is None:
            return
        left = [index for index in open_writes if outcomes[index] is None]
        missing = matched - sum(outcomes[index] is True for index in open_writes)
        if left and missing in {0, len(left)}:
            for index in left:
                outcomes[index] = missing > 0

    async def _read_back(self, ids: Sequence[bytes]) -> dict[bytes, Document]:
        self.reads_to_settle += 1
        reply = await self._sender.command(
            {
                "find": self._collection,
                "filter": {"_id": {"$in": ids}},
                "projection": {"run_id": 1, "revision": 1, documents.WRITE_ID: 1},
                "batchSize": len(ids),
                "singleBatch": True,
                "readConcern": {"level": "local"},
                "maxTimeMS": limits.READ_TIMEOUT_MS,
            }
        )
        return {document["_id"]: document for document in reply["cursor"]["firstBatch"]}
